// The file that aclInit reads.
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "acl/acl.h"
#include "input.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int fd = memfd_create("configuration", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  int code = aclInit(path.c_str());
  // 100009 and 100010: what dump and profiling refuse.
  static constexpr int kCodes[] = {0, 100000, 100003, 100006, 100009, 100010, 200001};
  if (std::ranges::find(kCodes, code) == std::end(kCodes)) fuzz::wrong("aclInit", code);
  if (code == 0) {
    if (int end = aclFinalize()) fuzz::wrong("aclFinalize", end);
  } else if (!aclGetRecentErrMsg()) {
    fuzz::wrong("aclInit failed without a text", code);
  }
  return 0;
}
