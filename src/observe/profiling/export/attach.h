// msprof --dynamic: profiles of programs that run already.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace updraft::profiling {

/// A program that runs with PROFILING_MODE=dynamic, as msprof sees it.
class Attached {
 public:
  /// Throws Error where the process does not listen, belongs to somebody else or has another msprof.
  explicit Attached(pid_t process);
  ~Attached();
  Attached(Attached&& other) noexcept;
  Attached(const Attached&) = delete;

  pid_t process() const { return process_; }
  /// Begins a profile with these options (JSON in one line); gives its folder. Throws Error with what the program says.
  std::string start(const std::string& options);
  /// Ends it; gives its folder.
  std::string stop();
  /// The process has ended, or has sent msprof away.
  bool gone() const;

 private:
  std::string ask(const std::string& line);
  std::string answer();

  pid_t process_;
  int fd_;
  std::string read_;
};

/// The process itself, if it listens, and those below it that do: a program that is started by a script is found.
std::vector<pid_t> listening(pid_t process);

/// What starts and stops profiles in one or more processes.
class Conversation {
 public:
  /// `options` as PROFILING_OPTIONS has them; `alive` tells whether the program that msprof has started goes on.
  Conversation(std::string options, std::function<bool()> alive)
      : options_(std::move(options)), alive_(std::move(alive)) {}
  /// Throws Error.
  void attach(pid_t process) { attached_.emplace_back(process); }
  /// What listens at this process or below it is attached when start is said.
  void launched(pid_t process) { launched_ = process; }
  /// The commands start, stop, quit (or q) from stdin, until quit, the end of stdin, or that of all processes. Gives
  /// the folders of the profiles.
  std::vector<std::string> by_words();
  /// --delay and --duration, in seconds. `duration` < 0: until the end of the program.
  std::vector<std::string> by_time(double delay, double duration);

 private:
  bool over();
  void find();
  void start();
  void stop();

  const std::string options_;
  const std::function<bool()> alive_;
  pid_t launched_ = 0;
  std::vector<Attached> attached_;
  bool running_ = false;
  std::vector<std::string> folders_;
};

}  // namespace updraft::profiling
