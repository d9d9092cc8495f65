#include "migrate/run/walk.h"

#include <sys/sendfile.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "migrate/report/files.h"
#include "migrate/rules/rule.h"
#include "migrate/text/file.h"

namespace updraft::migrate::run {
namespace fs = std::filesystem;
namespace {

Finding problem(const std::string& path, const std::string& why) {
  Finding f;
  f.rule = "IO001";
  f.category = Category::Failure;
  f.api = path;
  f.message = rules::told("IO001", {path, why});
  return f;
}

Finding left_out(const std::string& path, Text why) {
  Finding f;
  f.rule = "IO006";
  f.category = Category::Note;
  f.api = path;
  f.message = std::move(why);
  return f;
}

}  // namespace

FileKind classify(const fs::path& file) {
  std::array<char, 4096> head{};
  const std::string name = file.filename().string();
  // names that say it all are not opened
  for (std::string_view suffix : {".py", ".pyi", ".ipynb", ".sh", ".cu", ".cuh"})
    if (name.size() > suffix.size() && name.ends_with(suffix)) return text::kind_of(name, {});
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), head.size());
  return text::kind_of(file.generic_string(), std::string_view(head.data(), static_cast<std::size_t>(in.gcount())));
}

Tree walk(const fs::path& input) {
  Tree tree;
  std::error_code error;
  const fs::file_status status = fs::status(input, error);
  if (!fs::exists(status)) throw Error(code::kAclInvalidFile, "{}: there is no such file or folder", input.string());
  if (fs::is_regular_file(status)) {
    tree.root = input.parent_path().empty() ? fs::path(".") : input.parent_path();
    tree.entries.push_back({input.filename().string(), classify(input), false, fs::file_size(input, error)});
    return tree;
  }
  if (!fs::is_directory(status))
    throw Error(code::kAclInvalidFile, "{} is neither a file nor a folder", input.string());
  tree.root = input;
  std::vector<fs::path> open = {fs::path()};
  while (!open.empty()) {
    const fs::path folder = std::move(open.back());
    open.pop_back();
    fs::directory_iterator items(tree.root / folder, error);
    if (error) {
      tree.problems.push_back(problem(folder.generic_string(), error.message()));
      continue;
    }
    for (const fs::directory_entry& item : items) {
      const fs::path relative = folder / item.path().filename();
      const std::string path = relative.generic_string();
      if (item.is_symlink(error)) {
        tree.entries.push_back({path, FileKind::Other, true, 0});
        const fs::path target = fs::read_symlink(item.path(), error);
        const fs::path there = (folder / target).lexically_normal();
        if (!error && (target.is_absolute() || there.generic_string().starts_with("..")))
          tree.left_out.push_back(left_out(path, rules::told("IO006.link", {path, target.generic_string()})));
      } else if (item.is_directory(error)) {
        if (const std::string name = item.path().filename().string(); text::is_skipped_folder(name)) {
          // only where something would have been migrated: a package that is called wandb, an environment's sources
          if (name == "wandb" || name == "mlruns" || name == ".cache" || name == "venv" || name == ".env")
            tree.left_out.push_back(left_out(path, rules::told("IO006.folder", {path})));
          continue;
        }
        tree.folders.push_back(path);
        open.push_back(relative);
      } else if (item.is_regular_file(error)) {
        tree.entries.push_back({path, classify(item.path()), false, item.file_size(error)});
      }
    }
  }
  std::sort(tree.entries.begin(), tree.entries.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
  std::sort(tree.folders.begin(), tree.folders.end());
  return tree;
}

namespace fs = std::filesystem;
namespace {

class File {
 public:
  File(const fs::path& path, int flags, mode_t mode = 0)
      : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (fd_ < 0) fail(flags & O_CREAT ? "cannot be written" : "cannot be read");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const noexcept { return fd_; }
  [[noreturn]] void fail(const char* what) const {
    throw Error(code::kAclInvalidFile, "{} {}: {}", path_.string(), what, std::strerror(errno));
  }

 private:
  fs::path path_;
  int fd_;
};

mode_t mode_of(const File& file) {
  struct stat status {};
  return ::fstat(file.fd(), &status) == 0 ? status.st_mode & 07777 : 0644;
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::string text;
  read_file(path, text);
  return text;
}

void read_file(const fs::path& path, std::string& text) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) file.fail("cannot be read");
  text.resize(static_cast<std::size_t>(status.st_size));
  std::size_t at = 0;
  while (true) {
    if (at == text.size()) text.resize(text.size() + 4096);
    const ssize_t n = ::read(file.fd(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) file.fail("cannot be read");
    if (n == 0) break;
    at += static_cast<std::size_t>(n);
    if (at == static_cast<std::size_t>(status.st_size)) break;
  }
  text.resize(at);
}

void replace_file(const fs::path& path, std::string_view text, const fs::path& like) {
  struct stat status {};
  const mode_t mode = ::stat(like.c_str(), &status) == 0 ? status.st_mode & 07777 : 0644;
  if (const int error = replace_whole(path, text, mode); error != 0)
    throw Error(code::kAclInvalidFile, "{} cannot be written: {}", path.string(), std::strerror(error));
}

void copy_file(const fs::path& from, const fs::path& to) {
  const File in(from, O_RDONLY);
  const File out(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  while (true) {
    const ssize_t n = ::sendfile(out.fd(), in.fd(), nullptr, 1 << 20);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) out.fail("cannot be written");
  }
  if (::fchmod(out.fd(), mode_of(in)) != 0) out.fail("cannot be given its mode");
}

}  // namespace updraft::migrate::run
