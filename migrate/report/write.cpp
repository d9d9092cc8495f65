#include "migrate/report/write.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/error.h"
#include "migrate/replace.h"

namespace updraft::migrate::report {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, int error) {
  const char* advice = error == EACCES || error == EPERM || error == EROFS
                           ? "take a folder that you may write to (-o DIR)"
                       : error == ENOSPC || error == EDQUOT ? "free some space, or take another folder (-o DIR)"
                       : error == EISDIR                    ? "a folder has that name: take another one (-o DIR)"
                       : error == ENOTDIR                   ? "a part of the path is a file, wanted a folder (-o DIR)"
                       : error == ENAMETOOLONG              ? "take a shorter path (-o DIR)"
                                                            : "take another folder (-o DIR)";
  throw Error(code::kAclInvalidFile, "the report {} cannot be written: {}; {}", path.string(), std::strerror(error),
              advice);
}

}  // namespace

void write_file(const fs::path& path, std::string_view text) {
  struct stat at {};
  if (::stat(path.c_str(), &at) == 0 && S_ISDIR(at.st_mode)) refuse(path, EISDIR);
  if (const int error = replace_whole(path, text); error != 0) refuse(path, error);
}

void write_files(const fs::path& folder, std::span<const ReportFile> files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error(code::kAclInvalidFile, "the folder for the reports, {}, cannot be made: {}; take another one (-o DIR)",
                folder.string(), error.message());
  for (const ReportFile& file : files) {
    const fs::path path = folder / file.name;
    if (!file.only_with_text || !file.text.empty()) {
      write_file(path, file.text);
    } else if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      refuse(path, errno);
    }
  }
}

}  // namespace updraft::migrate::report
