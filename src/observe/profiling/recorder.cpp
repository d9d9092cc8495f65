#include "observe/profiling/recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "observe/profiling/describe.h"

namespace updraft::profiling {
namespace {

constexpr size_t kFull = 64 << 10;  ///< bytes of a thread's buffer for a file

std::atomic<uint64_t> g_serials{0};
std::atomic<bool> g_child{false};

}  // namespace

// What a thread has collected. The lock is the thread's own but for flush().
struct Recorder::Buffer {
  std::mutex mutex;
  uint64_t serial = 0;
  std::vector<std::pair<int, std::string>> bytes;  ///< by device, -1 the host: two or three of them
  std::unordered_set<uint64_t> texts;              ///< that the recorder has already
  Shapes shapes;

  std::string& of(int device) {
    for (auto& [d, text] : bytes)
      if (d == device) return text;
    bytes.emplace_back(device, std::string());
    bytes.back().second.reserve(kFull + 4096);
    return bytes.back().second;
  }
};

Recorder::Recorder(std::string folder, Settings settings)
    : folder_(std::move(folder)), settings_(std::move(settings)), serial_(++g_serials), moved_(kMostDevices) {
  store_ = std::make_shared<Store>(settings_.output, settings_.storage_limit);
  texts_ = std::make_unique<RecordFile>(store_, folder_ + "/host/data", "texts", -1, false);
  files_[-1] = std::make_unique<RecordFile>(store_, folder_ + "/host/data", "host", -1);
  for (const int device : settings_.devices) file(device);
}

Recorder::~Recorder() { flush(); }

void Recorder::forget_in_child() { g_child.store(true, std::memory_order_relaxed); }

uint32_t Recorder::wants() const {
  uint32_t bits = watch::kRawTimes;
  const uint64_t data = settings_.data;
  if (data & data::kAnyTasks) bits |= watch::kTasks;
  // Shapes and communicators: all but the leanest level.
  if (data & data::kAnyTasks & ~(data::kTaskTimeL0 | data::kTaskMemory)) bits |= watch::kArguments;
  // Calls are also the host's end of the arrows to the tasks.
  if (data & (data::kAclApi | data::kRuntimeApi | data::kAnyTasks)) bits |= watch::kCalls;
  if (data & data::kMarkers) bits |= watch::kTasks;
  if (settings_.interconnect_frequency) bits |= watch::kTasks | watch::kArguments;  // of collectives
  return bits;
}

bool Recorder::records(int device) const {
  return device >= 0 && device < kMostDevices &&
         (settings_.devices.empty() ||
          std::find(settings_.devices.begin(), settings_.devices.end(), device) != settings_.devices.end());
}

Recorder::Buffer& Recorder::buffer() {
  thread_local std::shared_ptr<Buffer> mine;
  if (!mine || mine->serial != serial_) {
    mine = std::make_shared<Buffer>();
    mine->serial = serial_;
    std::lock_guard lock(mutex_);
    buffers_.push_back(mine);
  }
  return *mine;
}

RecordFile& Recorder::file(int device) {
  std::lock_guard lock(mutex_);
  auto& file = files_[device];
  if (!file)
    file =
        std::make_unique<RecordFile>(store_, folder_ + "/device_" + std::to_string(device) + "/data", "device", device);
  return *file;
}

void Recorder::write(int device, std::string& bytes) {
  if (bytes.empty()) return;
  if (!file(device).write(bytes)) lose();
  bytes.clear();
}

void Recorder::lose() {
  int none = 0;
  lost_error_.compare_exchange_strong(none, errno, std::memory_order_relaxed);
  lost_.fetch_add(1, std::memory_order_relaxed);
  lost_in_all_.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::append(int device, Kind kind, const void* head, size_t head_bytes, const void* tail, size_t tail_bytes) {
  if (g_child.load(std::memory_order_relaxed)) return;
  Buffer& mine = buffer();
  std::lock_guard lock(mine.mutex);
  std::string& bytes = mine.of(device);
  const RecordHeader header{static_cast<uint16_t>(kind),
                            static_cast<uint16_t>(sizeof(RecordHeader) + head_bytes + tail_bytes)};
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(static_cast<const char*>(head), head_bytes);
  if (tail_bytes) bytes.append(static_cast<const char*>(tail), tail_bytes);
  if (bytes.size() >= kFull) write(device, bytes);
}

uint64_t Recorder::text(std::string_view text) {
  constexpr size_t kLongest = 60000;  // a record's length has 16 bits
  if (text.size() > kLongest) text = text.substr(0, kLongest);
  const TextRecord record{text_id(text)};
  Buffer& mine = buffer();
  if (mine.texts.count(record.id)) return record.id;
  mine.texts.insert(record.id);
  std::lock_guard lock(text_mutex_);
  if (!known_texts_.insert(record.id).second) return record.id;
  const RecordHeader header{static_cast<uint16_t>(Kind::Text),
                            static_cast<uint16_t>(sizeof(RecordHeader) + sizeof(record) + text.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(&record), sizeof(record));
  bytes.append(text);
  if (!texts_->write(bytes)) lose();
  return record.id;
}

void Recorder::task_ended(const TaskEvent& task) {
  if (task.device >= 0 && !records(task.device)) return;
  if (task.device < 0 && task.stream != TaskEvent::kNoStream) return;
  const int device = task.device < 0 ? (settings_.devices.empty() ? 0 : settings_.devices[0]) : task.device;
  if (!task.begun.raw || g_child.load(std::memory_order_relaxed)) return;  // it never began
  TaskRecord record{};
  record.id = task.id;
  record.correlation = task.correlation;
  record.submitted = task.submitted.raw;
  record.begun = task.begun.raw;
  record.ended = task.ended.raw;
  record.name = text(task.name);
  record.flops = task.cost.flops;
  record.bytes = task.cost.bytes;
  record.device = device;
  record.stream = task.stream;
  record.model = task.model;
  record.index = task.index;
  record.thread = task.thread;
  record.submitter = task.submitter;
  record.kind = static_cast<uint8_t>(task.kind);
  record.outcome = static_cast<uint8_t>(task.outcome);
  record.unit = static_cast<uint8_t>(task.cost.unit);
  if (task.arguments_known && (wants() & watch::kArguments)) {
    if (is_collective(task)) {
      record.arguments = text(describe_collective_task(task.arguments));
    } else if (settings_.data & data::kOpAttributes) {
      record.arguments = text(describe_tensor_task(task.arguments, true));
    } else {
      Buffer& mine = buffer();
      const uint64_t shape = hash_tensors(task.arguments);
      uint64_t& known = mine.shapes[shape];
      if (!known) known = text(describe_tensor_task(task.arguments));
      record.arguments = known;
    }
  }
  moved_[static_cast<size_t>(device)].fetch_add(static_cast<uint64_t>(std::max<int64_t>(task.cost.bytes, 0)),
                                                std::memory_order_relaxed);
  append(device, Kind::Task, &record, sizeof(record));
}

void Recorder::call_ended(const ApiCall& call) {
  if (call.depth > 0 || !call.begin.raw) return;
  CallRecord record{};
  record.name = text(call.name);
  record.begin = call.begin.raw;
  record.end = call.end.raw;
  record.correlation = call.correlation;
  record.thread = call.thread;
  record.code = call.code;
  record.depth = static_cast<uint16_t>(call.depth);
  record.phase = static_cast<uint8_t>(call.phase);
  record.implemented = call.implemented;
  append(-1, Kind::Call, &record, sizeof(record));
}

void Recorder::report(ReportKind what, const void* data, size_t bytes) {
  const ReportRecord record{static_cast<uint32_t>(what), 0};
  append(-1, Kind::Report, &record, sizeof(record), data, std::min<size_t>(bytes, 1024));
}

void Recorder::marker(MarkerRecord marker) { append(-1, Kind::Marker, &marker, sizeof(marker)); }
void Recorder::step(const StepRecord& step) { append(-1, Kind::Step, &step, sizeof(step)); }
void Recorder::memory(MemoryRecord record) { append(record.device, Kind::Memory, &record, sizeof(record)); }
void Recorder::host_sample(const HostSampleRecord& sample) { append(-1, Kind::HostSample, &sample, sizeof(sample)); }

void Recorder::flush() {
  if (g_child.load(std::memory_order_relaxed)) return;
  std::vector<std::shared_ptr<Buffer>> all;
  {
    std::lock_guard lock(mutex_);
    all = buffers_;
    // A buffer whose thread has ended is kept by nobody else.
    std::erase_if(buffers_, [](const auto& b) { return b.use_count() == 2; });
  }
  for (const auto& one : all) {
    std::lock_guard lock(one->mutex);
    for (auto& [device, bytes] : one->bytes) write(device, bytes);
  }
  if (const uint64_t lost = lost_.exchange(0)) {
    const LostRecord record{stamp(watch::kRawTimes).raw, lost};
    append(-1, Kind::Lost, &record, sizeof(record));
  }
}

void Recorder::close() {
  flush();
  if (g_child.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  for (auto& [device, file] : files_) file->close();
}

}  // namespace updraft::profiling
