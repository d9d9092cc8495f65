#include "collective/task.h"

namespace updraft::collective {
namespace {

class CollectiveTask final : public Task {
 public:
  CollectiveTask(std::shared_ptr<Communicator> communicator, Request request) : communicator_(std::move(communicator)) {
    kind = TaskKind::Control;
    operation_.request = std::move(request);
    cost.bytes = static_cast<int64_t>(operation_.request.count * operation_.request.element());
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

 private:
  std::shared_ptr<Communicator> communicator_;
  Communicator::Operation operation_;
  bool begun_ = false, numbered_ = false;
};

}  // namespace

void submit_collective(std::shared_ptr<Communicator> communicator, Request request, Stream& stream) {
  std::lock_guard lock(communicator->enqueueing());
  auto task = std::make_unique<CollectiveTask>(communicator, std::move(request));
  if (!stream.capturing()) task->number();
  stream.submit(task.release());
}

}  // namespace updraft::collective
