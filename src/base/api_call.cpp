#include "base/api_call.h"

namespace updraft {
namespace {

std::atomic<uint64_t> g_correlations{0};
std::atomic<void (*)(const ApiCall&)> g_sink{nullptr};

struct Place {
  uint32_t depth = 0;
  uint64_t correlation = 0;
};
thread_local Place t_place;

}  // namespace

uint64_t current_correlation() { return t_place.correlation; }

void set_call_sink(void (*sink)(const ApiCall&)) { g_sink.store(sink, std::memory_order_release); }

InsideLibrary::InsideLibrary() { ++t_place.depth; }
InsideLibrary::~InsideLibrary() { --t_place.depth; }

void ApiScope::open(const char* name, ApiCall::Phase phase) {
  bits_ = watched_bits();
  if (bits_ == 0) return;
  open_ = true;
  outer_ = t_place.correlation;
  call_ = {};
  call_.name = name;
  call_.phase = phase;
  call_.implemented = true;
  call_.depth = t_place.depth++;
  call_.correlation = g_correlations.fetch_add(1, std::memory_order_relaxed) + 1;
  // What an inner call submits belongs to the call that the client made.
  if (call_.depth == 0) t_place.correlation = call_.correlation;
  if (!(bits_ & watch::kCalls)) return;  // only the correlation is wanted
  call_.thread = thread_number();
  call_.begin = wanted_stamp(bits_);
}

void ApiScope::close() {
  --t_place.depth;
  t_place.correlation = outer_;
  if (!(bits_ & watch::kCalls)) return;
  call_.end = wanted_stamp(bits_);
  if (auto* sink = g_sink.load(std::memory_order_acquire)) sink(call_);
}

}  // namespace updraft
