#include "npu_device/feeds.h"

#include <algorithm>
#include <condition_variable>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <thread>

#include "base/channel.h"
#include "base/signals_blocked.h"
#include "npu_device/host_operator.h"

namespace updraft::npu_device {
namespace {

/// Batches that wait for their steps: enough for a data set that falters, little beside what a step itself takes.
constexpr size_t kMostBatches = 16, kMostBytes = 64u << 20;
/// How long the end of a process waits for a data set to notice.
constexpr std::chrono::seconds kPatience{5};

size_t depth_for(const std::vector<Value>& batch) {
  size_t bytes = 1;
  for (const Value& value : batch)
    if (value.kind == Value::Kind::Tensor) bytes += value.bytes();
  return std::clamp<size_t>(kMostBytes / bytes, 1, kMostBatches);
}

/// The tensor behind a handle.
class Resolved {
 public:
  explicit Resolved(const HandlePointer& handle) {
    const Status status;
    tensor_ = tf().TFE_TensorHandleResolve(handle.get(), status);
    status.check();
  }
  ~Resolved() { tf().TF_DeleteTensor(tensor_); }
  Resolved(const Resolved&) = delete;
  const void* data() const { return tf().TF_TensorData(tensor_); }

 private:
  TF_Tensor* tensor_ = nullptr;
};

/// What operators do with iterators.
enum class Use : uint8_t { None, Take, TakeOptional, Begin, Save };
Use use_of(std::string_view type) {
  if (type == "IteratorGetNext" || type == "IteratorGetNextSync") return Use::Take;
  if (type == "IteratorGetNextAsOptional") return Use::TakeOptional;
  if (type == "SerializeIterator") return Use::Save;
  constexpr std::string_view kBegin[] = {"DeleteIterator", "DeserializeIterator", "DestroyResourceOp", "MakeIterator"};
  return std::ranges::find(kBegin, type) == std::end(kBegin) ? Use::None : Use::Begin;
}

}  // namespace

std::string iterator_key(const Handles& handles, const Value& iterator) {
  if (iterator.kind != Value::Kind::Host || iterator.type != ElementType::Resource) return {};
  try {
    HostCall call(handles, "IteratorToStringHandle");
    call.add(iterator.host);
    const Resolved text(call.run(1).at(0));
    const auto* message = static_cast<const TF_TString*>(text.data());
    protozero::pbf_reader handle(tf().TF_StringGetDataPointer(message), tf().TF_StringGetSize(message));
    std::string container, name;
    while (handle.next()) {  // a ResourceHandleProto
      if (handle.tag() == 2) container = handle.get_string();
      else if (handle.tag() == 3) name = handle.get_string();
      else handle.skip();
    }
    return container + '\n' + name;
  } catch (const StatusError&) { return {}; }  // it is something else
}

class Feeds::Feed {
 public:
  Feed(const Handles& handles, const tensorflow::NodeDef& def, size_t tensors, Value iterator, int64_t batches,
       std::shared_ptr<const void> keeps)
      : iterator_(std::move(iterator)),
        tensor_(iterator_.host),
        left_(batches),
        cancel_(tf().TFE_NewCancellationManager()) {
    const SignalsBlocked blocked;
    thread_ = std::thread([this, &handles, &def, tensors, batches, keeps = std::move(keeps)] {
      read(handles, def, tensors, batches);
      channel_.stop();
      const std::lock_guard lock(mutex_);
      over_ = true;
      ended_.notify_all();
    });
  }
  ~Feed() {
    if (!drained()) cancel();
    finish();
    channel_.stop();
    thread_.join();
    tf().TFE_DeleteCancellationManager(cancel_);
  }
  Feed(const Feed&) = delete;

  /// Where TensorFlow has the resource's handle: nobody else's is there while this is.
  const void* address() const { return tensor_.data(); }
  /// False: all that the thread reads has been taken. Throws what the data set failed with.
  bool take(std::vector<Value>& batch) {
    Batch next;
    if (channel_.receive(next) == Channel<Batch>::Outcome::Stopped) return false;
    --left_;
    if (next.failure) {
      left_ = 0;
      throw StatusError(*next.failure);
    }
    batch = std::move(next.values);
    return true;
  }
  /// Nothing is left to take.
  bool drained() const { return left_ <= 0; }
  /// Nothing has been read that nobody took; waits for the thread, which is finishing.
  bool is_empty() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return over_; });
    return channel_.size() == 0;
  }
  /// What is being read is the last, and there is room for it.
  void finish() {
    finishing_ = true;
    channel_.set_capacity(SIZE_MAX);
  }
  void cancel() {
    finish();
    tf().TFE_CancellationManagerStartCancel(cancel_);
  }
  bool wait_until(std::chrono::steady_clock::time_point limit) {
    std::unique_lock lock(mutex_);
    return ended_.wait_until(lock, limit, [&] { return over_; });
  }

 private:
  struct Batch {
    std::vector<Value> values;
    std::optional<StatusError> failure;
  };

  void read(const Handles& handles, const tensorflow::NodeDef& def, size_t tensors, int64_t batches) {
    for (int64_t i = 0; i < batches && !finishing_; ++i) {
      Batch batch;
      try {
        batch.values = run_on_cpu(handles, def, {iterator_}, tensors, cancel_);
      } catch (const StatusError& e) { batch.failure = e; } catch (const std::exception& e) {
        batch.failure = StatusError(StatusCode::Internal, e.what());
      }
      const bool failed = batch.failure.has_value();
      if (!i && !finishing_) channel_.set_capacity(depth_for(batch.values));
      if (finishing_) channel_.set_capacity(SIZE_MAX);
      if (channel_.send(std::move(batch)) != Channel<Batch>::Outcome::Done || failed) return;
    }
  }

  const Value iterator_;
  const Resolved tensor_;
  Channel<Batch> channel_{1};
  std::atomic<int64_t> left_;
  std::atomic<bool> finishing_{false};
  TFE_CancellationManager* cancel_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;
};

Feeds::Ahead::~Ahead() {
  for (const std::string& key : keys_) {
    const std::shared_ptr<Feed> feed = feeds_.find(key);
    if (!feed) continue;
    feed->finish();
    if (feed->drained()) feeds_.drop(key, feed.get());
  }
}

std::shared_ptr<Feeds::Feed> Feeds::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = feeds_.find(key);
  return found == feeds_.end() ? nullptr : found->second;
}

std::pair<std::string, std::shared_ptr<Feeds::Feed>> Feeds::find_of(const Value& iterator) {
  if (iterator.kind != Value::Kind::Host || iterator.type != ElementType::Resource) return {};
  const Resolved tensor(iterator.host);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, feed] : feeds_)
      if (feed->address() == tensor.data()) return {key, feed};
  }
  const std::string key = iterator_key(handles_, iterator);
  return {key, find(key)};
}

void Feeds::drop(const std::string& key, const Feed* feed) {
  std::shared_ptr<Feed> last;  // whose thread is waited for without the lock
  const std::lock_guard lock(mutex_);
  const auto found = feeds_.find(key);
  if (found == feeds_.end() || found->second.get() != feed) return;
  last = std::move(found->second);
  feeds_.erase(found);
  count_ = feeds_.size();
}

std::unique_ptr<Feeds::Ahead> Feeds::start(const LoopForm& form, int64_t steps, const std::vector<Value>& arguments,
                                           std::shared_ptr<const void> keeps) {
  struct Wanted {
    const LoopForm::Source* source;
    Value iterator;
    int64_t batches = 0;
    bool spoiled = false;
  };
  std::map<std::string, Wanted> wanted;
  for (const LoopForm::Source& source : form.sources()) {
    Value iterator;
    if (!source.maker) {
      iterator = arguments.at(static_cast<size_t>(source.argument));
    } else {
      std::vector<Value> inputs;
      if (source.maker_argument >= 0) inputs.push_back(arguments.at(static_cast<size_t>(source.maker_argument)));
      iterator = run_on_cpu(handles_, *source.maker, inputs, 1).at(0);
    }
    const std::string key = iterator_key(handles_, iterator);
    if (key.empty()) continue;
    Wanted& of = wanted.try_emplace(key, Wanted{&source, iterator}).first->second;
    if (source.batch) of.source = &source;
    of.spoiled = of.spoiled || !source.each;
    int64_t batches = 0;
    if (__builtin_mul_overflow(steps, source.each, &batches) ||
        __builtin_add_overflow(batches, steps ? source.behind : 0, &batches) ||
        __builtin_add_overflow(of.batches, batches, &of.batches))
      of.spoiled = true;
  }
  std::vector<std::string> keys;
  for (const auto& [key, of] : wanted) {
    if (of.spoiled || of.batches < 2) continue;
    const std::lock_guard lock(mutex_);
    if (closed_ || feeds_.contains(key)) continue;  // what a step that failed left comes first
    feeds_[key] =
        std::make_shared<Feed>(handles_, *of.source->batch, of.source->tensors, of.iterator, of.batches, keeps);
    count_ = feeds_.size();
    keys.push_back(key);
  }
  return keys.empty() ? nullptr : std::make_unique<Ahead>(*this, std::move(keys));
}

bool Feeds::run(const tensorflow::NodeDef& def, const std::vector<Value>& inputs, std::vector<Value>& results) {
  const Use use = count_ ? use_of(def.type) : Use::None;
  if (use == Use::None) return false;
  const auto& [key, feed] = find_of(inputs.at(def.type == "MakeIterator" ? 1 : 0));  // it has the data set first
  if (!feed) return false;
  if (use == Use::Begin || (use == Use::Save && feed->is_empty())) {
    drop(key, feed.get());
    return false;
  }
  if (use == Use::Save)
    throw StatusError(StatusCode::FailedPrecondition,
                      "the iterator cannot be saved: a loop of which a step failed had read batches ahead; take these "
                      "before, or make a new iterator");
  auto done = [&](HostCall&& call) { results = {handles_.tensor_of(call.run(1).at(0).get())}; };
  std::vector<Value> batch;
  try {
    if (!feed->take(batch)) {
      drop(key, feed.get());
      return false;
    }
    if (feed->drained()) drop(key, feed.get());
  } catch (const StatusError& e) {
    drop(key, feed.get());
    if (use != Use::TakeOptional || e.code() != StatusCode::OutOfRange) throw;
    done(HostCall(handles_, "OptionalNone"));
    return true;
  }
  if (use == Use::Take) {
    results = std::move(batch);
    return true;
  }
  HostCall make(handles_, "OptionalFromValue");
  make.set("Toutput_types", def.attributes.at("output_types").message);
  for (const Value& value : batch) make.add(handles_.on_cpu(value));
  done(std::move(make));
  return true;
}

void Feeds::close() {
  std::vector<std::shared_ptr<Feed>> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto& [key, feed] : feeds_) all.push_back(feed);
  }
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  for (const auto& feed : all) feed->cancel();
  for (const auto& feed : all) feed->wait_until(limit);
  // a data set that does not notice keeps its thread: TensorFlow's own threads are left like that, too
}

}  // namespace updraft::npu_device
