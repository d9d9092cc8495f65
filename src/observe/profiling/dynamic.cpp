#include "observe/profiling/dynamic.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include "base/config.h"
#include "base/error.h"
#include "base/log.h"
#include "device/soc.h"
#include "observe/profiling/dynamic_channel.h"
#include "observe/profiling/session.h"

namespace updraft::profiling {
namespace {

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;

  /// The next line without its end; nothing when the other side has gone, or after `milliseconds` (-1: never).
  std::optional<std::string> line(int milliseconds) {
    while (true) {
      if (const size_t end = read_.find('\n'); end != std::string::npos) {
        std::string made = read_.substr(0, end);
        read_.erase(0, end + 1);
        return made;
      }
      if (read_.size() > kLongestLine) return {};
      pollfd one{fd_, POLLIN, 0};
      const int ready = poll(&one, 1, milliseconds);
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return {};
      char bytes[4096];
      const ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return {};
      read_.append(bytes, static_cast<size_t>(n));
    }
  }
  void say(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    text += '\n';
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
  }
  /// The same user, or root.
  bool may() const {
    ucred who{};
    socklen_t size = sizeof who;
    return getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && (who.uid == geteuid() || who.uid == 0);
  }

 private:
  const int fd_;
  std::string read_;
};

std::atomic<bool> g_served{false};

// What an msprof does with this process. The program may profile itself as well, one of the two at a time.
class Visit {
 public:
  ~Visit() {
    try {
      if (!folder_.empty()) stop_profile();
    } catch (const Error& e) { UPDRAFT_LOG(kWarning, "PROFILING", "msprof has gone: {}", e.text()); }
  }

  /// What to answer; nothing for quit.
  std::optional<std::string> answer(const std::string& line) {
    try {
      if (line.rfind("start ", 0) == 0) return "ok " + start_profile(line.substr(6));
      if (line == "stop") return "ok " + stop_profile();
      if (line == "quit") return {};
      throw Error(code::kAclInvalidParam, "\"{}\" is not known, want start, stop or quit", line.substr(0, 40));
    } catch (const Error& e) { return "error " + e.text(); } catch (const std::exception& e) {
      return std::string("error ") + e.what();
    }
  }
  bool runs() const { return !folder_.empty(); }

 private:
  std::string start_profile(const std::string& options) {
    if (runs()) throw Error(100042, "a profile runs already: stop it first");
    OptionRules rules;
    rules.source = "msprof";
    rules.product = soc().name;
    rules.card = Config::get().card_fidelity;
    rules.training = false;
    Settings settings = read_options(options, rules);
    prepare(settings.output);
    try {
      start(std::move(settings));
    } catch (...) {
      finish();
      throw;
    }
    const auto now = recorder();
    folder_ = now ? now->folder() : "?";
    return folder_;
  }
  std::string stop_profile() {
    if (!runs()) throw Error(100043, "no profile runs: start one first");
    std::string folder;
    folder.swap(folder_);
    finish();
    return folder;
  }

  std::string folder_;
};

void serve(Connection& connection) {
  if (!connection.may()) return connection.say("error this process belongs to another user");
  if (g_served.exchange(true)) return connection.say("error another msprof is with this process");
  {
    Visit visit;
    connection.say("ok");
    while (true) {
      const auto line = connection.line(visit.runs() ? -1 : kIdleMinutes * 60 * 1000);
      if (!line) break;
      const auto text = visit.answer(*line);
      if (!text) break;
      connection.say(*text);
    }
  }
  g_served = false;
  connection.say("ok");
}

}  // namespace

void wait_for_msprof() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const DynamicAddress at = dynamic_address(getpid());
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&at.address), at.size) != 0 || ::listen(fd, 4) != 0) {
    const int why = errno;
    if (fd >= 0) close(fd);
    throw Error(500005, "PROFILING_MODE is dynamic, and no msprof can reach this process: {}", std::strerror(why));
  }
  // The program's signals are for its own threads: these begin with all of them blocked.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([fd] {
    pthread_setname_np(pthread_self(), "msprof");
    while (true) {
      const int one = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
      if (one < 0) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {  // the program may close some of its files
          poll(nullptr, 0, 1000);
          continue;
        }
        return;
      }
      // A thread for each, so that the second one is told that there is a first.
      std::thread([one] {
        pthread_setname_np(pthread_self(), "msprof");
        Connection connection(one);
        serve(connection);
      }).detach();
    }
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  UPDRAFT_LOG(kInfo, "PROFILING", "waits for msprof --dynamic=on --pid={}", getpid());
}

}  // namespace updraft::profiling
