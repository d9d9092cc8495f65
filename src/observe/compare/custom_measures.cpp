#include "observe/compare/custom_measures.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/json_text.h"
#include "observe/compare/npy.h"
#include "observe/compare/result_files.h"

namespace updraft::compare {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The script beside the library: TREE/lib64/libupdraft.so, TREE/tools/….
std::string script() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&script), &info) && info.dli_fname) {
    std::error_code error;
    const fs::path library = fs::canonical(info.dli_fname, error);
    const fs::path found = library.parent_path().parent_path() / "tools/operator_cmp/compare/custom_measures.py";
    if (!error && fs::exists(found, error)) return found;
  }
  throw Error(code::kAclInvalidFile, "-c: tools/operator_cmp/compare/custom_measures.py is not beside the library");
}

std::string made_folder() {
  std::string path = (fs::temp_directory_path() / "updraft-measures-XXXXXX").string();
  if (!mkdtemp(path.data())) throw Error(code::kAclInvalidFile, "{} cannot be made: {}", path, std::strerror(errno));
  return path;
}

}  // namespace

CustomMeasures::CustomMeasures(const std::string& folder, const std::string& options) {
  const std::string path = script();
  const char* python = std::getenv("UPDRAFT_PYTHON");
  if (!python || !*python) python = "python3";
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
    throw Error(code::kAclInternal, "no pipe can be made: {}", std::strerror(errno));
  process_ = fork();
  if (process_ < 0) throw Error(code::kAclInternal, "no process can be started: {}", std::strerror(errno));
  if (process_ == 0) {
    dup2(down[0], 0);
    dup2(up[1], 1);
    execlp(python, python, path.c_str(), folder.c_str(), options.c_str(), nullptr);
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  to_ = down[1];
  from_ = up[0];
  std::string first;
  try {
    first = line();
  } catch (const Error&) {
    throw Error(code::kAclInvalidFile, "-c: {} with NumPy is wanted to run {} (UPDRAFT_PYTHON names another)", python,
                path);
  }
  const Json names = parse_json(first);
  if (names.is_object()) throw Error(code::kAclInvalidParam, "{}", names["error"].get<std::string>());
  names_ = names.get<std::vector<std::string>>();
  folder_ = made_folder();
}

CustomMeasures::~CustomMeasures() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

std::string CustomMeasures::line() {
  while (read_.find('\n') == std::string::npos) {
    char bytes[4096];
    const ssize_t n = read(from_, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(code::kAclInternal, "-c: the process of the custom measures has ended");
    read_.append(bytes, static_cast<size_t>(n));
  }
  const size_t end = read_.find('\n');
  std::string made = read_.substr(0, end);
  read_.erase(0, end + 1);
  return made;
}

std::vector<Cell> CustomMeasures::measure(const Array& x, const Array& y, const std::vector<std::string>& chosen,
                                          const std::string& mine, const std::string& golden, int64_t most) {
  std::lock_guard lock(mutex_);
  const std::string x_path = folder_ + "/mine.npy", y_path = folder_ + "/golden.npy";
  write_file(x_path, write_npy(x));
  write_file(y_path, write_npy(y));
  const std::string text = json_text(Json{{"mine", x_path},
                                          {"golden", y_path},
                                          {"names", chosen},
                                          {"my_output_dump_file", mine},
                                          {"ground_truth_dump_file", golden},
                                          {"max", most}}) +
                           "\n";
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  const bool sent = write(to_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  sigaction(SIGPIPE, &before, nullptr);
  if (!sent) throw Error(code::kAclInternal, "-c: the process of the custom measures has ended");
  std::vector<Cell> cells;
  for (const Json& one : parse_json(line())) {
    Cell cell{one.at(0).get<std::string>(), one.at(1).get<std::string>(), std::numeric_limits<double>::quiet_NaN()};
    char* end = nullptr;
    const double value = std::strtod(cell.text.c_str(), &end);
    if (end != cell.text.c_str() && *end == 0) cell.value = value;
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace updraft::compare
