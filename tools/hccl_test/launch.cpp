#include "launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"

namespace hccl_test {
namespace {

using namespace std::chrono_literals;

struct Launcher {
  const char *rank, *ranks, *local, *job;
};
// The first that is there: ranks that start_ranks started, OpenMPI, PMI (MPICH, Intel MPI, Slurm), torchrun.
constexpr Launcher kLaunchers[] = {
    {"HCCL_TEST_RANK", "HCCL_TEST_RANKS", "HCCL_TEST_RANK", "HCCL_TEST_JOB"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_MCA_ess_base_jobid"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_JOBID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT"},
    {"RANK_ID", "RANK_SIZE", "DEVICE_ID", "HCCL_TEST_JOB"},
};

const Launcher* launcher() {
  for (const Launcher& l : kLaunchers)
    if (getenv(l.rank) && getenv(l.ranks)) return &l;
  return nullptr;
}

int number(const char* name, int least) {
  const char* text = getenv(name);
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end || value < least || value > 1 << 20)
    throw std::invalid_argument(std::string(name) + " is " + text + ", want a number from " + std::to_string(least));
  return static_cast<int>(value);
}

std::string text_of(const char* name) { return getenv(name) ? getenv(name) : ""; }

volatile sig_atomic_t interrupted = 0;
void on_signal(int) { interrupted = 1; }

}  // namespace

bool launched() { return launcher() != nullptr; }

Place place(const Options& options) {
  Place p;
  if (!options.rank_table.empty()) {
    p.rank = options.rank;
    p.rank_table = options.rank_table;
    if (getenv("DEVICE_ID")) p.local = number("DEVICE_ID", 0);
    return p;
  }
  const Launcher* l = launcher();
  if (!l) return p;
  p.rank = number(l->rank, 0);
  p.ranks = number(l->ranks, 1);
  if (p.rank >= p.ranks)
    throw std::invalid_argument(std::string(l->rank) + " is " + std::to_string(p.rank) + ", want less than " +
                                l->ranks + ", " + std::to_string(p.ranks));
  p.local = options.ranks ? p.rank % options.ranks : getenv(l->local) ? number(l->local, 0) : p.rank;
  p.job = text_of(l->job) + "/" + text_of("MASTER_ADDR") + "/" + text_of("TORCHELASTIC_RUN_ID");
  p.root_info = options.root_info;
  p.chosen = !p.root_info.empty();
  if (p.root_info.empty() && p.ranks > 1) {
    const std::string job = text_of(l->job);
    if (job.empty())
      throw std::invalid_argument(
          "the ranks were started by something without a number of the job: --root-info FILE must "
          "name a file that all of them see");
    p.root_info =
        (std::filesystem::temp_directory_path() / ("hccl_test-" + std::to_string(getuid()) + "-" + job)).string();
  }
  return p;
}

namespace {

// The root info holds the key of the job: nobody else may read it. Written under a name that nobody can have planted,
// and moved, so that no one reads half of it and no link is followed.
void write_root_info(const std::string& path, const std::string& text) {
  std::string half = path + ".XXXXXX";
  const int fd = mkostemp(half.data(), O_CLOEXEC);  // mode 0600, O_EXCL
  bool good = fd >= 0;
  for (size_t at = 0; good && at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n > 0) at += static_cast<size_t>(n);
    good = n > 0 || errno == EINTR;
  }
  if (fd >= 0) good = close(fd) == 0 && good;
  if (good && std::rename(half.c_str(), path.c_str()) == 0) return;
  const int why = errno;
  if (fd >= 0) unlink(half.c_str());
  throw std::runtime_error("cannot write " + path + ": " + std::strerror(why));
}

/// What is there of so many bytes. Where others know the file's name it counts only if it is this user's.
std::string read_root_info(const Place& place, size_t bytes) {
  const int fd = open(place.root_info.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (place.chosen ? 0 : O_NOFOLLOW));
  if (fd < 0) return "";
  struct stat info;
  std::string text(bytes, '\0');
  size_t have = 0;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (place.chosen || info.st_uid == geteuid()))
    for (ssize_t n; have < bytes && (n = read(fd, text.data() + have, bytes - have)) > 0;)
      have += static_cast<size_t>(n);
  close(fd);
  text.resize(have);
  return text;
}

}  // namespace

HcclRootInfo exchange(const Place& place) {
  HcclRootInfo info;
  const std::string head = "hccl_test " + place.job + "\n";
  if (place.rank == 0) {
    HCCL(HcclGetRootInfo(&info));
    if (place.ranks == 1) return info;
    write_root_info(place.root_info, head + std::string(info.internal, sizeof info.internal));
    return info;
  }
  for (const auto deadline = std::chrono::steady_clock::now() + 120s; std::chrono::steady_clock::now() < deadline;
       std::this_thread::sleep_for(5ms)) {
    const std::string found = read_root_info(place, head.size() + sizeof info.internal);
    if (found.size() != head.size() + sizeof info.internal || !found.starts_with(head)) continue;
    std::memcpy(info.internal, found.data() + head.size(), sizeof info.internal);
    return info;
  }
  throw std::runtime_error("rank 0 has not written " + place.root_info +
                           " in 120 s: does it run, and does this rank see the file?");
}

void forget(const Place& place) {
  if (place.rank == 0 && place.ranks > 1) std::remove(place.root_info.c_str());
}

int start_ranks(const Options& options, char** argv) {
  std::string folder = (std::filesystem::temp_directory_path() / "hccl_test-XXXXXX").string();
  if (!mkdtemp(folder.data())) throw std::runtime_error("cannot make " + folder + ": " + std::strerror(errno));
  const std::string file = folder + "/root", job = std::to_string(getpid());
  std::vector<std::string> arguments;
  for (char** a = argv; *a; ++a) arguments.push_back(*a);
  arguments.insert(arguments.end(), {"--root-info", file});
  std::vector<char*> list;
  for (std::string& a : arguments) list.push_back(a.data());
  list.push_back(nullptr);

  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  const pid_t self = getpid();
  std::vector<pid_t> children;
  for (int r = 0; r < options.ranks; ++r) {
    const pid_t child = fork();
    if (child < 0) {
      std::fprintf(stderr, "hccl_test: cannot start rank %d: %s\n", r, std::strerror(errno));
      interrupted = 1;
      break;
    }
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != self) _exit(1);
      const std::string rank = std::to_string(r), ranks = std::to_string(options.ranks);
      for (const char* name : {"HCCL_TEST_RANK", "RANK_ID"}) setenv(name, rank.c_str(), 1);
      for (const char* name : {"HCCL_TEST_RANKS", "RANK_SIZE"}) setenv(name, ranks.c_str(), 1);
      setenv("HCCL_TEST_JOB", job.c_str(), 1);
      execv("/proc/self/exe", list.data());
      std::fprintf(stderr, "hccl_test: cannot execute itself: %s\n", std::strerror(errno));
      _exit(127);
    }
    children.push_back(child);
  }

  // One that fails leaves the others waiting: they get some time to say so themselves, then they are ended.
  int result = interrupted ? 1 : 0, kills = 0;
  auto deadline = std::chrono::steady_clock::time_point::max();
  auto give = [&](std::chrono::seconds time) {
    deadline = std::min(deadline, std::chrono::steady_clock::now() + time);
  };
  while (!children.empty()) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child > 0) {
      std::erase(children, child);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      if (WIFSIGNALED(status) && !kills)
        std::fprintf(stderr, "hccl_test: a rank died: %s\n", strsignal(WTERMSIG(status)));
      result = 1;
      give(10s);
      continue;
    }
    if (interrupted && kills == 0) give(0s), result = 1;
    if (std::chrono::steady_clock::now() >= deadline) {
      for (pid_t c : children) kill(c, kills ? SIGKILL : SIGTERM);
      ++kills;
      deadline = std::chrono::steady_clock::now() + 5s;
    }
    std::this_thread::sleep_for(2ms);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}

}  // namespace hccl_test
