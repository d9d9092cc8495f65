// Streams that wait for a thread, the oldest first: a list through the streams themselves, so that nothing is
// allocated.
#pragma once
#include "device/stream.h"

namespace updraft {

/// Who uses it holds a lock of its own.
class StreamQueue {
 public:
  Stream* front() const { return head_; }
  void push(Stream& stream) {
    stream.next_ready = nullptr;
    (tail_ ? tail_->next_ready : head_) = &stream;
    tail_ = &stream;
  }
  /// Takes a stream out; `before` is the one in front of it, null for the first.
  Stream* take(Stream* stream, Stream* before) {
    (before ? before->next_ready : head_) = stream->next_ready;
    if (tail_ == stream) tail_ = before;
    return stream;
  }

 private:
  Stream* head_ = nullptr;
  Stream* tail_ = nullptr;
};

}  // namespace updraft
