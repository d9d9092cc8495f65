// The records that other processes of a device leave: one whose text is the input, held by a lock as theirs are.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <string>

#include "device/process_record.h"
#include "input.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  updraft::open_process_record(0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int fd = [] {
    int made = open((std::string(getenv("UPDRAFT_RUN_DIR")) + "/devices/0/1").c_str(), O_RDWR | O_CREAT, 0600);
    flock(made, LOCK_EX);
    return made;
  }();
  if (fd < 0) fuzz::wrong("no record", fd);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  size_t used = updraft::other_processes_use(0);
  if (used > SIZE_MAX / 2) fuzz::wrong("use of other processes", static_cast<int64_t>(used));
  updraft::update_process_record(0, size);
  return 0;
}
