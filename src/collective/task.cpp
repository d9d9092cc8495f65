#include "collective/task.h"

#include <iterator>

#include "device/argument.h"
#include "device/memory.h"

namespace updraft::collective {
namespace {

class CollectiveTask final : public Task {
 public:
  CollectiveTask(std::shared_ptr<Communicator> communicator, Request request) : communicator_(std::move(communicator)) {
    kind = TaskKind::Control;
    operation_.request = std::move(request);
    const Request& r = operation_.request;
    uint64_t bytes = r.count * r.element();
    if (!r.count)
      bytes = r.send_bytes(static_cast<int>(communicator_->rank()), static_cast<int>(communicator_->size()));
    for (const Message& m : r.messages) bytes += m.count * size_of(m.type);
    cost.bytes = static_cast<int64_t>(bytes);
    cost.unit = Unit::SDMA;
  }
  void number() {
    communicator_->number(operation_);
    numbered_ = true;
  }

  Control control(Stream& stream) override {
    begun_ = true;
    // Once it is parked the task, and with it the last pointer, may go while begin() is still returning.
    const auto keep = communicator_;
    return keep->begin(operation_, stream) ? Control::Done : Control::Parked;
  }
  // Other ranks count on the operation: it cannot be taken back. The communicator fails, and with it the operation.
  bool forget(Stream&) override {
    communicator_->abandon(operation_);
    return false;
  }
  bool replayed_by_stream() const override { return true; }
  // As any other call: numbered where it is put on the stream, so that other threads' calls do not come between.
  void replay(Stream& stream) override { submit_collective(communicator_, operation_.request, stream); }
  void release() override {
    if (numbered_ && !begun_) communicator_->drop(operation_);
    delete this;
  }
  const char* name() const override { return name_of(operation_.request.kind); }
  void arguments(ArgumentList& list) const override;

 private:
  std::shared_ptr<Communicator> communicator_;
  Communicator::Operation operation_;
  bool begun_ = false, numbered_ = false;
};

TensorArgument elements(const void* data, Type type, size_t bytes) {
  constexpr DType types[] = {DType::Int8,   DType::Int16,  DType::Int32,  DType::Float16,
                             DType::Float,  DType::Int64,  DType::UInt64, DType::UInt8,
                             DType::UInt16, DType::UInt32, DType::Double, DType::BFloat16};
  static_assert(std::size(types) == kTypes);
  const auto count = static_cast<int64_t>(bytes / size_of(type));
  TensorArgument tensor;
  tensor.storage = const_cast<void*>(data);
  tensor.view = TensorView::contiguous(host_address(data), types[static_cast<int>(type)], &count, 1);
  return tensor;
}

void CollectiveTask::arguments(ArgumentList& list) const {
  const Request& r = operation_.request;
  const int rank = static_cast<int>(communicator_->rank()), ranks = static_cast<int>(communicator_->size());
  const size_t sent = r.send_bytes(rank, ranks), received = r.receive_bytes(rank, ranks);
  if (r.kind == Kind::Broadcast) {
    list.add("buf", sent ? Direction::In : Direction::Out, elements(r.receive, r.type, received));
  } else {
    if (sent) list.add("sendBuf", Direction::In, elements(r.send, r.type, sent));
    if (received) list.add("recvBuf", Direction::Out, elements(r.receive, r.type, received));
  }
  for (size_t i = 0; i < r.messages.size(); ++i) {
    const Message& m = r.messages[i];
    const auto item = r.messages.size() == 1 ? -1 : static_cast<int32_t>(i);
    list.add("buf", m.send ? Direction::In : Direction::Out, elements(m.data, m.type, m.count * size_of(m.type)), item);
    list.add("remoteRank", Direction::In, int64_t{m.peer}, item);
  }
  list.add("count", Direction::In, static_cast<int64_t>(r.count));
  if (reduces(r.kind)) list.add("op", Direction::In, std::string(name_of(r.op)));
  if (has_root(r.kind)) list.add("root", Direction::In, int64_t{r.root});
  list.add("comm", Direction::In, communicator_->name());
  list.add("rank", Direction::In, int64_t{rank});
  list.add("ranks", Direction::In, int64_t{ranks});
}

}  // namespace

void submit_collective(std::shared_ptr<Communicator> communicator, Request request, Stream& stream) {
  Communicator& keeps = *communicator;  // the caller's pointer, too, lives until this returns
  auto task = std::make_unique<CollectiveTask>(std::move(communicator), std::move(request));
  std::lock_guard lock(keeps.enqueueing());
  if (!stream.capturing()) task->number();
  stream.submit(task.release());
}

}  // namespace updraft::collective
