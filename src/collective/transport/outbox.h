// What waits to be written to a connection.
#pragma once
#include <deque>
#include <string>

#include "collective/transport/frame.h"
#include "collective/transport/transport.h"

namespace updraft::collective {

class Outbox {
 public:
  /// A frame whose payload stays where it is until `done`.
  void push(const FrameHeader& header, const void* payload = nullptr, Completion done = {});
  /// The payload of an announced message, part by part, in turns with frames.
  void transfer(uint64_t number, const void* data, size_t bytes, Completion done);
  bool empty() const { return frames_.empty() && transfers_.empty(); }

  enum class Result { Drained, Blocked, Broken };
  /// Writes what the socket takes; errno says why it is broken.
  Result flush(int fd);

  /// Forgets what has not been written, with the error, and ends with a frame that says so where that is possible.
  void fail(const Error& error, const Error* tell);

 private:
  struct Entry {
    FrameHeader header;
    const void* payload;
    Completion done;
    std::string owned;  ///< the payload, if it is ours
  };
  struct Transfer {
    uint64_t number;
    const char* data;
    size_t bytes, at;
    Completion done;
  };
  void next_part();

  std::deque<Entry> frames_;
  std::deque<Transfer> transfers_;
  size_t written_ = 0;  ///< of the first frame
};

}  // namespace updraft::collective
