// Arrays combined element by element: the arithmetic of collectives. Memory is the limit, so each input is read once
// and each output written once; between them is a chunk in registers.
#include "kernels/combine.h"

#include <algorithm>
#include <type_traits>

#include "kernels/simd/stream.h"
#include "kernels/simd/widen.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int kUnroll = 8;  // accumulators: half of the registers of the smallest instruction set

/// Elements as they lie in memory, and the vectors that they are combined in.
template <class T>
struct Element {
  typedef T V __attribute__((vector_size(kVectorBytes), may_alias));
  static constexpr int kBytes = kVectorBytes;  // of memory a vector
  static UPDRAFT_VECTOR_INLINE V load(const char* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static UPDRAFT_VECTOR_INLINE void store(char* p, V v) { std::memcpy(p, &v, sizeof v); }
};

template <class H>
struct HalfElement {
  using V = VectorF;
  static constexpr int kBytes = kVectorBytes / 2;
  static UPDRAFT_VECTOR_INLINE V load(const char* p) { return widen(reinterpret_cast<const H*>(p)); }
  static UPDRAFT_VECTOR_INLINE void store(char* p, V v) { narrow(reinterpret_cast<H*>(p), v); }
};
template <>
struct Element<Half> : HalfElement<Half> {};
template <>
struct Element<BFloat16> : HalfElement<BFloat16> {};

template <Combine O, class V>
UPDRAFT_VECTOR_INLINE V combine_vectors(V a, V b) {
  if constexpr (O == Combine::add) return a + b;
  else if constexpr (O == Combine::multiply) return a * b;
  // b is the new value: it wins when it is beyond a or NaN; a NaN in a stays, no comparison beats it.
  else if constexpr (O == Combine::maximum) return ((b > a) | (b != b)) ? b : a;
  else return ((b < a) | (b != b)) ? b : a;
}

/// A line from anywhere to lines past the caches.
UPDRAFT_VECTOR_INLINE void stream_line(void* const* out, int outputs, int64_t at, const char* from) {
#if defined(__AVX512F__)
  const __m512i v = _mm512_loadu_si512(from);
  for (int k = 0; k < outputs; ++k) _mm512_stream_si512(reinterpret_cast<__m512i*>(static_cast<char*>(out[k]) + at), v);
#elif defined(__AVX__)
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
  for (int k = 0; k < outputs; ++k) {
    auto* p = reinterpret_cast<__m256i*>(static_cast<char*>(out[k]) + at);
    _mm256_stream_si256(p, low);
    _mm256_stream_si256(p + 1, high);
  }
#else
  alignas(kLine) char line[kLine];
  std::memcpy(line, from, kLine);
  for (int k = 0; k < outputs; ++k) stream_chunk(static_cast<char*>(out[k]) + at, line, kLine);
#endif
}

template <Combine O, class T>
struct Combiner {
  using E = Element<T>;
  using V = typename E::V;
  static constexpr int kChunk = kUnroll * E::kBytes;
  static_assert(kChunk % kLine == 0);
  static constexpr int kAhead = 1024;

  static const char* at(const void* p, int64_t byte) { return static_cast<const char*>(p) + byte; }
  static char* at(void* p, int64_t byte) { return static_cast<char*>(p) + byte; }

  static UPDRAFT_VECTOR_INLINE void add_chunk(V* sum, const char* p) {
    for (int j = 0; j < kUnroll; ++j) sum[j] = combine_vectors<O>(sum[j], E::load(p + j * E::kBytes));
  }

  /// At most a chunk, by way of a padded copy.
  static void part(const CombineArrays& a, int64_t begin, int64_t bytes) {
    if (bytes == 0) return;
    const size_t size = static_cast<size_t>(bytes);
    alignas(kLine) char chunk[kChunk] = {};
    V sum[kUnroll];
    std::memcpy(chunk, at(a.in[0], begin), size);
    for (int j = 0; j < kUnroll; ++j) sum[j] = E::load(chunk + j * E::kBytes);
    for (int k = 1; k < a.inputs; ++k) {
      std::memcpy(chunk, at(a.in[k], begin), size);
      add_chunk(sum, chunk);
    }
    for (int j = 0; j < kUnroll; ++j) E::store(chunk + j * E::kBytes, sum[j]);
    for (int k = 0; k < a.outputs; ++k) std::memcpy(at(a.out[k], begin), chunk, size);
  }

  static void run(const CombineArrays& a, int64_t bytes) {
    int64_t i = 0;
    if (a.streamed > 0) {
      i = std::min(bytes, static_cast<int64_t>(-reinterpret_cast<uintptr_t>(a.out[0]) & (kLine - 1)));
      part(a, 0, i);
    }
    if (a.inputs == 1 && a.outputs == a.streamed)
      for (; i + kLine <= bytes; i += kLine) {
        __builtin_prefetch(at(a.in[0], i + kAhead), 0, 0);
        stream_line(a.out, a.outputs, i, at(a.in[0], i));
      }
    for (; i + kChunk <= bytes; i += kChunk) {
      // The processor's own look-ahead ends at a page: memory that processes share mostly has small ones.
      for (int k = 0; k < a.inputs; ++k)
        for (int b = 0; b < kChunk; b += kLine) __builtin_prefetch(at(a.in[k], i + kAhead + b), 0, 0);
      V sum[kUnroll];
      for (int j = 0; j < kUnroll; ++j) sum[j] = E::load(at(a.in[0], i + j * E::kBytes));
      for (int k = 1; k < a.inputs; ++k) add_chunk(sum, at(a.in[k], i));
      alignas(kLine) char chunk[kChunk];
      for (int j = 0; j < kUnroll; ++j) E::store(chunk + j * E::kBytes, sum[j]);
      int k = 0;
      for (; k < a.streamed; ++k) stream_chunk(at(a.out[k], i), chunk, kChunk);
      for (; k < a.outputs; ++k) std::memcpy(at(a.out[k], i), chunk, kChunk);
    }
    part(a, i, bytes - i);
    if (a.streamed > 0) stream_fence();  // before the flag that tells a peer of them
  }
};

template <Combine O>
void run_type(DType type, const CombineArrays& a, int64_t n) {
  // Integers wrap around: sums and products are those of the unsigned type.
  constexpr bool kOrder = O == Combine::maximum || O == Combine::minimum;
  switch (type) {
    case DType::Int8: return Combiner<O, std::conditional_t<kOrder, int8_t, uint8_t>>::run(a, n);
    case DType::Int16: return Combiner<O, std::conditional_t<kOrder, int16_t, uint16_t>>::run(a, n * 2);
    case DType::Int32: return Combiner<O, std::conditional_t<kOrder, int32_t, uint32_t>>::run(a, n * 4);
    case DType::Int64: return Combiner<O, std::conditional_t<kOrder, int64_t, uint64_t>>::run(a, n * 8);
    case DType::UInt8: return Combiner<O, uint8_t>::run(a, n);
    case DType::UInt16: return Combiner<O, uint16_t>::run(a, n * 2);
    case DType::UInt32: return Combiner<O, uint32_t>::run(a, n * 4);
    case DType::UInt64: return Combiner<O, uint64_t>::run(a, n * 8);
    case DType::Float16: return Combiner<O, Half>::run(a, n * 2);
    case DType::BFloat16: return Combiner<O, BFloat16>::run(a, n * 2);
    case DType::Double: return Combiner<O, double>::run(a, n * 8);
    default: return Combiner<O, float>::run(a, n * 4);
  }
}

}  // namespace

void combine(Combine op, DType type, const CombineArrays& arrays, int64_t n) {
  switch (op) {
    case Combine::add: return run_type<Combine::add>(type, arrays, n);
    case Combine::multiply: return run_type<Combine::multiply>(type, arrays, n);
    case Combine::maximum: return run_type<Combine::maximum>(type, arrays, n);
    default: return run_type<Combine::minimum>(type, arrays, n);
  }
}

}  // namespace updraft::UPDRAFT_ISA
