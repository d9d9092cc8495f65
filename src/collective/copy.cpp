#include "collective/copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/parallel.h"
#include "collective/reduce.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace updraft::collective {
namespace {

constexpr int64_t kGrain = 512 << 10;  // bytes a worker should have to be worth waking
constexpr size_t kLine = 64;

#if defined(__x86_64__)
constexpr size_t kAhead = 512;  // the processor's own look-ahead ends at a page

inline void stream_line(char* to, const char* from) {
  __builtin_prefetch(from + kAhead, 0, 0);
  const auto* in = reinterpret_cast<const __m128i*>(from);
  auto* out = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1), c = _mm_loadu_si128(in + 2),
                d = _mm_loadu_si128(in + 3);
  _mm_stream_si128(out, a);
  _mm_stream_si128(out + 1, b);
  _mm_stream_si128(out + 2, c);
  _mm_stream_si128(out + 3, d);
}

/// Up to the first whole line of the target.
void begin_at_line(Copy& copy) {
  const size_t head = std::min<size_t>(copy.bytes, -reinterpret_cast<uintptr_t>(copy.to) & (kLine - 1));
  std::memcpy(copy.to, copy.from, head);
  copy = {copy.to + head, copy.from + head, copy.bytes - head};
}

/// Past the caches, a line of the one and a line of the other. Measured with 2 x 8 MiB: 1.02 to 1.05 times faster than
/// one after the other in one thread (bench_combine 8), about 1.2 times where two processes do it at once.
void copy_pair(Copy a, Copy b) {
  begin_at_line(a);
  begin_at_line(b);
  const size_t both = std::min(a.bytes, b.bytes) / kLine * kLine;
  for (size_t i = 0; i < both; i += kLine) {
    stream_line(a.to + i, a.from + i);
    stream_line(b.to + i, b.from + i);
  }
  for (const Copy& c : {a, b}) {
    size_t i = both;
    for (; i + kLine <= c.bytes; i += kLine) stream_line(c.to + i, c.from + i);
    std::memcpy(c.to + i, c.from + i, c.bytes - i);
  }
  _mm_sfence();  // before the flag that tells a peer of it
}
#endif

}  // namespace

void copy_bytes(char* to, const char* from, size_t bytes) {
  if (to == from || bytes == 0) return;
  parallel_for(static_cast<int64_t>(bytes), kGrain, [&](int64_t begin, int64_t end) {
    const void* in = from + begin;
    void* out = to + begin;
    reduce_blocks(Type::UInt8, Op::Sum, &in, 1, &out, 1, end - begin);
  });
}

void copy_all(const std::vector<Copy>& copies) {
  std::vector<Copy> left;
  size_t bytes = 0;
  for (const Copy& c : copies) {
    if (c.to == c.from || c.bytes == 0) continue;
    left.push_back(c);
    bytes += c.bytes;
  }
#if defined(__x86_64__)
  if (2 * static_cast<int64_t>(bytes) > cached_bytes()) {
    for (; left.size() > 1; left.resize(left.size() - 2)) {
      const Copy &a = left[left.size() - 2], &b = left.back();
      // Workers take the same part of both, in whole grains of the longer one.
      const size_t longer = std::max(a.bytes, b.bytes);
      parallel_for(static_cast<int64_t>(longer), kGrain, [&](int64_t begin, int64_t end) {
        const auto part = [&](const Copy& c) {
          const size_t from = std::min(c.bytes, static_cast<size_t>(begin));
          return Copy{c.to + from, c.from + from, std::min(c.bytes, static_cast<size_t>(end)) - from};
        };
        copy_pair(part(a), part(b));
      });
    }
  }
#endif
  for (const Copy& c : left) copy_bytes(c.to, c.from, c.bytes);
}

}  // namespace updraft::collective
