#include "collective/message_trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "collective/error.h"

namespace updraft::collective {

MessageTrace* MessageTrace::get() {
  static const std::unique_ptr<MessageTrace> trace = [] {
    const char* path = std::getenv("UPDRAFT_HCCL_MESSAGES");
    return path && *path ? std::make_unique<MessageTrace>(path) : nullptr;
  }();
  return trace.get();
}

MessageTrace::MessageTrace(std::string path) {
  for (size_t at; (at = path.find("%p")) != std::string::npos;) path.replace(at, 2, std::to_string(getpid()));
  // Lines go out one by one, each at once at the end of the file: several processes may share it, and a process that is
  // killed has written what it sent.
  file_ = std::fopen(path.c_str(), "ae");
  if (!file_)
    throw Error(result::kOpenFile,
                "EI0001: UPDRAFT_HCCL_MESSAGES is {}, which cannot be written: {}. Name a file in a folder that exists",
                path, std::strerror(errno));
  std::setvbuf(file_, nullptr, _IOLBF, 4096);
  std::fseek(file_, 0, SEEK_END);
  if (std::ftell(file_) == 0) std::fputs("operation,kind,round,src,dst,bytes,communicator\n", file_);
}

void MessageTrace::sent(const Communicator& communicator, const Communicator::Operation& operation, size_t round,
                        uint32_t to, size_t bytes) {
  const std::string line = fmt::format("{},{},{},{},{},{},{}\n", operation.ticket, name_of(operation.request.kind),
                                       round, communicator.rank(), to, bytes, communicator.name());
  std::fwrite(line.data(), 1, line.size(), file_);
}

}  // namespace updraft::collective
