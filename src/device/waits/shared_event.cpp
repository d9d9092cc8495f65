#include "device/waits/shared_event.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "base/error.h"
#include "device/device.h"
#include "device/stream.h"
#include "device/waits/value_wait.h"

namespace updraft {
namespace {

constexpr std::chrono::microseconds kShortest{20}, kLongest{1000};

struct Name {
  char word[16];
  int32_t process, file;
  uint64_t inode;
};
constexpr char kWord[16] = "updraft-event";
static_assert(sizeof(Name) <= sizeof(SharedEvent::Handle));

class SharedRecordTask final : public Task {
 public:
  SharedRecordTask(std::shared_ptr<SharedEvent> event, uint64_t generation)
      : event_(std::move(event)), generation_(generation) {
    kind = TaskKind::Control;
  }
  Control control(Stream& stream) override {
    stream.head_is_over();
    finish();
    return Control::Done;
  }
  void release() override {
    finish();  // dropped by an abort: nobody must wait for it for ever
    delete this;
  }
  const char* name() const override { return "EVENT_RECORD"; }

 private:
  void finish() {
    if (generation_) event_->complete(generation_);
    generation_ = 0;
  }
  std::shared_ptr<SharedEvent> event_;
  uint64_t generation_;
};

void refuse_capture(const Stream& stream) {
  if (stream.capturing())
    throw Error(code::kRtFeatureNotSupport, "stream {} is being captured: events between processes take no part in it",
                stream.id());
}

}  // namespace

std::shared_ptr<SharedEvent> SharedEvent::map(int file) {
  void* page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) {
    const int why = errno;
    close(file);
    throw Error(code::kRtMemoryAllocation, "no memory for a shared event: {}", std::strerror(why));
  }
  return std::shared_ptr<SharedEvent>(new SharedEvent(file, static_cast<Page*>(page)));
}

std::shared_ptr<SharedEvent> SharedEvent::create() {
  const int file = memfd_create("updraft-event", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, kBytes) != 0) {
    const int why = errno;
    if (file >= 0) close(file);
    throw Error(code::kRtMemoryAllocation, "no memory for a shared event: {}", std::strerror(why));
  }
  auto event = map(file);
  event->page_->magic = kMagic;
  return event;
}

std::shared_ptr<SharedEvent> SharedEvent::open(const Handle& handle) {
  Name name;
  std::memcpy(&name, handle.data(), sizeof name);
  if (std::memcmp(name.word, kWord, sizeof kWord) != 0)
    throw Error(code::kRtParamInvalid, "the handle is none of aclrtIpcGetEventHandle");
  const std::string path = fmt::format("/proc/{}/fd/{}", name.process, name.file);
  // The number may be another file's by now: nothing but the event itself is opened.
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || info.st_ino != name.inode || info.st_size < static_cast<off_t>(kBytes))
    throw Error(code::kRtParamInvalid, "process {} has no such event (any more)", name.process);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    throw Error(code::kRtParamInvalid, "the event of process {} cannot be opened: {}", name.process,
                std::strerror(errno));
  auto event = map(file);
  if (event->page_->magic != kMagic)
    throw Error(code::kRtParamInvalid, "file {} of process {} is not an event", name.file, name.process);
  return event;
}

SharedEvent::~SharedEvent() {
  munmap(page_, kBytes);
  close(file_);
}

SharedEvent::Handle SharedEvent::handle() const {
  struct stat info {};
  fstat(file_, &info);
  Name name{};
  std::memcpy(name.word, kWord, sizeof kWord);
  name.process = getpid();
  name.file = file_;
  name.inode = info.st_ino;
  Handle handle{};
  std::memcpy(handle.data(), &name, sizeof name);
  return handle;
}

void SharedEvent::record(Stream& stream) {
  refuse_capture(stream);
  stream.submit(new SharedRecordTask(shared_from_this(), page_->recorded.fetch_add(1) + 1));
}

void SharedEvent::wait(Stream& stream, std::chrono::nanoseconds limit) {
  refuse_capture(stream);
  const uint64_t generation = page_->recorded.load();
  auto& done = page_->done(generation);
  if (done.load() >= generation) return;
  wait_for_value(stream, {&done, generation, ValueTest::GreaterOrEqual, shared_from_this()}, limit);
}

void SharedEvent::reset(Stream& stream) {
  refuse_capture(stream);
  complete(page_->recorded.load());
}

bool SharedEvent::query() const {
  const uint64_t generation = page_->recorded.load();
  return page_->done(generation).load() >= generation;
}

void SharedEvent::synchronize(int32_t timeout_ms) const {
  const uint64_t target = page_->recorded.load();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  auto pause = kShortest;
  while (page_->done(target).load() < target) {
    if (timeout_ms >= 0 && std::chrono::steady_clock::now() >= end)
      throw Error(code::kRtWaitTimeout, "the event was not reached within {} ms", timeout_ms);
    std::this_thread::sleep_for(pause);
    pause = std::min(kLongest, pause + pause / 4);
  }
}

void SharedEvent::complete(uint64_t generation) {
  auto& done = page_->done(generation);
  uint64_t now = done.load();
  while (now < generation && !done.compare_exchange_weak(now, generation)) {}
  values_changed();
}

}  // namespace updraft
