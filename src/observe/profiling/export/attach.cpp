#include "observe/profiling/export/attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "observe/profiling/dynamic_channel.h"

namespace updraft::profiling {
namespace {

constexpr int kAnswerSeconds = 120;  // a stop waits for what devices have begun

void say(const std::string& text) {
  std::fprintf(stdout, "%s\n", text.c_str());
  std::fflush(stdout);
}

int connect_to(pid_t process) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const DynamicAddress at = dynamic_address(process);
  if (fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&at.address), at.size) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool exists(pid_t process) { return std::filesystem::exists("/proc/" + std::to_string(process)); }

/// Processes that have an abstract socket of ours: the kernel lists them.
std::vector<pid_t> all_listening() {
  std::vector<pid_t> made;
  std::ifstream in("/proc/net/unix");
  const std::string mark = "@updraft-msprof-";
  for (std::string line; std::getline(in, line);)
    if (const size_t at = line.rfind(mark); at != std::string::npos) {
      const auto process = static_cast<pid_t>(std::atol(line.c_str() + at + mark.size()));
      if (process > 0 && std::find(made.begin(), made.end(), process) == made.end() && exists(process))
        made.push_back(process);
    }
  return made;
}

pid_t parent_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(in, text);
  const size_t end = text.rfind(')');  // the name may hold anything
  if (end == std::string::npos || end + 4 > text.size()) return 0;
  return static_cast<pid_t>(std::atol(text.c_str() + end + 4));
}

}  // namespace

std::vector<pid_t> listening(pid_t process) {
  std::vector<pid_t> made;
  for (pid_t one : all_listening()) {
    pid_t at = one;
    for (int steps = 0; at > 1 && at != process && steps < 64; ++steps) at = parent_of(at);
    if (at == process) made.push_back(one);
  }
  return made;
}

Attached::Attached(pid_t process) : process_(process), fd_(connect_to(process)) {
  if (fd_ < 0) {
    if (!exists(process)) throw Error(code::kAclInvalidParam, "there is no process {}", process);
    std::string others;
    for (pid_t one : all_listening()) others += fmt::format("{}{}", others.empty() ? "" : ", ", one);
    throw Error(code::kAclInvalidParam,
                "process {} cannot be profiled: it must be started with PROFILING_MODE=dynamic and have made its first "
                "call of an NPU{}",
                process, others.empty() ? "" : fmt::format("; these can: {}", others));
  }
  try {
    answer();
  } catch (...) {
    close(fd_);
    throw;
  }
}

Attached::~Attached() {
  if (fd_ >= 0) close(fd_);
}

Attached::Attached(Attached&& other) noexcept
    : process_(other.process_), fd_(other.fd_), read_(std::move(other.read_)) {
  other.fd_ = -1;
}

bool Attached::gone() const {
  pollfd one{fd_, POLLIN, 0};
  if (poll(&one, 1, 0) <= 0) return false;
  char byte;
  return recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0 || (one.revents & (POLLHUP | POLLERR)) != 0;
}

std::string Attached::answer() {
  while (read_.find('\n') == std::string::npos) {
    pollfd one{fd_, POLLIN, 0};
    const int ready = poll(&one, 1, kAnswerSeconds * 1000);
    if (ready < 0 && errno == EINTR) continue;
    char bytes[4096];
    const ssize_t n = ready > 0 ? recv(fd_, bytes, sizeof bytes, 0) : 0;
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw Error(code::kAclInternal, "process {} {}", process_, ready == 0 ? "does not answer" : "has ended");
    read_.append(bytes, static_cast<size_t>(n));
  }
  const size_t end = read_.find('\n');
  const std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  if (line.rfind("error ", 0) == 0) throw Error(code::kAclInvalidParam, "process {}: {}", process_, line.substr(6));
  return line.size() > 3 ? line.substr(3) : "";
}

std::string Attached::ask(const std::string& line) {
  const std::string text = line + "\n";
  if (send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw Error(code::kAclInternal, "process {} has ended", process_);
  return answer();
}

std::string Attached::start(const std::string& options) { return ask("start " + options); }
std::string Attached::stop() { return ask("stop"); }

bool Conversation::over() {
  if (launched_ && !alive_()) return true;
  if (attached_.empty()) return false;
  return std::all_of(attached_.begin(), attached_.end(), [](const Attached& a) { return a.gone(); });
}

void Conversation::find() {
  if (!launched_) return;
  for (pid_t process : listening(launched_)) {
    const bool known =
        std::any_of(attached_.begin(), attached_.end(), [&](const Attached& a) { return a.process() == process; });
    if (!known) attach(process);
  }
  if (attached_.empty())
    throw Error(code::kAclInvalidParam, "the program has not yet made its first call of an NPU: try again");
}

void Conversation::start() {
  if (running_) throw Error(code::kAclInvalidParam, "a profile runs already: say stop first");
  find();
  for (Attached& one : attached_) {
    if (one.gone()) continue;
    folders_.push_back(one.start(options_));
    running_ = true;
    say(fmt::format("[INFO] process {} is profiled: {}", one.process(), folders_.back()));
  }
}

void Conversation::stop() {
  if (!running_) throw Error(code::kAclInvalidParam, "no profile runs: say start first");
  running_ = false;
  for (Attached& one : attached_)
    if (!one.gone()) say(fmt::format("[INFO] process {}: stopped, {}", one.process(), one.stop()));
}

std::vector<std::string> Conversation::by_words() {
  const bool terminal = isatty(STDIN_FILENO);
  if (terminal) say("start begins a profile, stop ends it, quit (or q) leaves");
  std::string read;
  bool ended = false;
  while (!over()) {
    if (terminal && read.empty()) {
      std::fputs("> ", stdout);
      std::fflush(stdout);
    }
    size_t end;
    while ((end = read.find('\n')) == std::string::npos && !ended && !over()) {
      pollfd one{STDIN_FILENO, POLLIN, 0};
      if (poll(&one, 1, 200) <= 0) continue;
      char bytes[256];
      const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) ended = true;
      else read.append(bytes, static_cast<size_t>(n));
    }
    if (end == std::string::npos) {
      if (read.empty()) break;
      end = read.size();  // a last line without its end
      read += '\n';
    }
    std::string word = read.substr(0, end);
    read.erase(0, end + 1);
    word.erase(0, word.find_first_not_of(" \t\r"));
    word.erase(word.find_last_not_of(" \t\r") + 1);
    try {
      if (word == "start") start();
      else if (word == "stop") stop();
      else if (word == "quit" || word == "q") break;
      else if (!word.empty())
        throw Error(code::kAclInvalidParam, "\"{}\" is not known, want start, stop or quit", word);
    } catch (const Error& e) {
      if (over()) break;
      std::fprintf(stderr, "[ERROR] msprof: %s\n", e.text().c_str());
    }
  }
  if (running_ && !over()) stop();
  return folders_;
}

std::vector<std::string> Conversation::by_time(double delay, double duration) {
  using Clock = std::chrono::steady_clock;
  const auto pause = [] { poll(nullptr, 0, 50); };
  const auto after = [](double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  for (const auto begin = after(delay); Clock::now() < begin && !over();) pause();
  while (!over() && !running_) {  // the program may not have come so far
    try {
      start();
    } catch (const Error&) {
      if (!attached_.empty()) throw;
      pause();
    }
  }
  const auto end = after(std::max(duration, 0.0));
  while (!over() && (duration < 0 || Clock::now() < end)) pause();
  if (running_ && !over()) stop();
  return folders_;
}

}  // namespace updraft::profiling
