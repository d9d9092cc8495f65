// UPDRAFT_HCCL_MESSAGES: the messages that this process sends to other hosts, as lines of CSV.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "collective/communicator.h"

namespace updraft::collective {

class MessageTrace {
 public:
  /// Null when the variable is not set. Throws EI0001 when the file cannot be written.
  static MessageTrace* get();
  /// %p is this process' number. What is there is appended to.
  explicit MessageTrace(std::string path);
  ~MessageTrace() { std::fclose(file_); }
  MessageTrace(const MessageTrace&) = delete;

  /// A message of a round of this rank's operation to another rank.
  void sent(const Communicator& communicator, const Communicator::Operation& operation, size_t round, uint32_t to,
            size_t bytes);

 private:
  std::FILE* file_;
};

}  // namespace updraft::collective
