#include "observe/profiling/subscription.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "base/log.h"
#include "observe/dump/names.h"

namespace updraft::profiling {

Subscription::Subscription(uint32_t model, int fd, bool times) : model_(model), fd_(fd), times_(times) {
  // A reader that has gone must not end the program: with SIGPIPE blocked its pipe is an error like others.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  writer_ = std::thread([this] { write_all(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Subscription::~Subscription() { finish(); }

void Subscription::task_ended(const TaskEvent& task) {
  const bool computes = task.kind == TaskKind::Compute && task.index >= 0;
  const bool exchanges = task.kind == TaskKind::Control && std::string_view(task.name).starts_with("Hccl");
  if (task.model != model_ || !(computes || exchanges) || task.outcome != Outcome::Done) return;
  OperatorRecord record;
  record.model = model_;
  if (times_) {
    record.begin = task.begun.monotonic;
    record.end = task.ended.monotonic;
  }
  record.thread = task.thread;
  const std::string type = dump::type_of(task);
  const std::string_view name = *task.node ? task.node : task.name;
  record.type_length = static_cast<uint16_t>(std::min(type.size(), OperatorRecord::kTextBytes / 4));
  record.name_length = static_cast<uint16_t>(std::min(name.size(), OperatorRecord::kTextBytes - record.type_length));
  std::memcpy(record.text, type.data(), record.type_length);
  std::memcpy(record.text + record.type_length, name.data(), record.name_length);
  std::lock_guard lock(mutex_);
  if (broken_ || ends_) return;
  if (waiting_.size() >= kMostWaiting) {
    if (lost_++ == 0)
      UPDRAFT_LOG(kWarning, "PROFILING", "model {}: its subscriber does not read: operators are left out", model_);
    return;
  }
  waiting_.push_back(record);
  more_.notify_one();
}

void Subscription::write_all() {
  pthread_setname_np(pthread_self(), "subscription");
  std::unique_lock lock(mutex_);
  while (true) {
    more_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const OperatorRecord record = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    bool written = false;
    for (int waited = 0;;) {
      pollfd one{fd_, POLLOUT, 0};
      const int ready = poll(&one, 1, 50);
      if (ready > 0) {
        const ssize_t n = write(fd_, &record, sizeof record);
        written = n == static_cast<ssize_t>(sizeof record);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        break;
      }
      if (ready < 0 && errno != EINTR) break;
      std::lock_guard again(mutex_);
      if (ends_ && (waited += 50) >= kPatience) break;
    }
    lock.lock();
    if (!written) {
      broken_ = true;
      lost_ += waiting_.size() + 1;
      waiting_.clear();
      UPDRAFT_LOG(kWarning, "PROFILING", "model {}: its subscriber cannot be written to: {} operators are left out",
                  model_, lost_);
    }
  }
}

void Subscription::finish() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  more_.notify_one();
  if (writer_.joinable()) writer_.join();
}

}  // namespace updraft::profiling
