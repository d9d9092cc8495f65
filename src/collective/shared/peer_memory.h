// Device memory of other processes on this host, mapped once a process whatever the number of communicators.
#pragma once
#include <cstddef>
#include <memory>

namespace updraft::collective {

class PeerMemory {
 public:
  /// Maps the whole memory file behind `fd` (which stays the caller's); a file that is mapped already is shared. Throws
  /// EI0007 when it cannot be mapped.
  static std::shared_ptr<PeerMemory> import(int fd);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;

  char* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  int fd() const { return fd_; }

 private:
  PeerMemory(char* base, size_t bytes, int fd) : base_(base), bytes_(bytes), fd_(fd) {}
  char* base_;
  size_t bytes_;
  int fd_;  // a copy
};

}  // namespace updraft::collective
