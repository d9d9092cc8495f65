// A task that does nothing: the moment at which its stream reaches it is a mark on the device's timeline.
#pragma once
#include "device/stream.h"
#include "device/streams.h"

namespace updraft::profiling {

class MarkerTask final : public Task {
 public:
  explicit MarkerTask(const char* name) : name_(name) { kind = TaskKind::Control; }
  void release() override { delete this; }
  const char* name() const override { return name_; }

 private:
  const char* const name_;
};

/// Puts one on the stream. `name` must live as long as the process.
inline void mark_stream(void* stream, const char* name) { pin_stream(stream)->submit(new MarkerTask(name)); }

}  // namespace updraft::profiling
