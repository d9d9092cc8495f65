// One peer's outgoing messages: small ones leave at once while the peer's window has room, others are announced and
// leave when they are wanted.
#pragma once
#include <unordered_map>

#include "collective/transport/outbox.h"

namespace updraft::collective {

class Sender final : public FrameSink {
 public:
  Outbox outbox;

  void send(uint64_t tag, const void* data, size_t bytes, Completion done);
  void fail(const Error& error, const Error* tell);

  Body begin(const FrameHeader& header) override;
  void end() override;

 private:
  struct Waiting {
    const void* data;
    size_t bytes;
    Completion done;
  };
  std::unordered_map<uint64_t, Waiting> waiting_;  ///< announced
  uint64_t announced_ = 0;
  size_t used_ = 0;  ///< of the window
  FrameHeader header_{};
  char text_[kTextBytes];
};

}  // namespace updraft::collective
