// Philox4x32-10 (Salmon et al., 2011) and the distributions made of its words, 1024 results a block.
#include "kernels/random.h"

#include <bit>

#include "kernels/simd/math.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int kCounters = 256;
constexpr int kWords = 4 * kCounters;

inline uint32_t high(uint32_t a, uint32_t b) { return static_cast<uint32_t>((static_cast<uint64_t>(a) * b) >> 32); }

// Word w of counter c stands at [w * 256 + c], which keeps every loop vertical. The counter is made of the position
// in the call (low half) and of the call's offset (high half): calls with different offsets never share a counter.
void philox(uint32_t* words, uint64_t block, const RandomKey& key) {
  constexpr int kLanes = 32;
  const uint64_t first = block * kCounters;  // a multiple of 256: the high half is the same for all counters
  for (int c = 0; c < kCounters; c += kLanes) {
    uint32_t a[kLanes], b[kLanes], d[kLanes], e[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      a[i] = static_cast<uint32_t>(first) + static_cast<uint32_t>(c + i);
      b[i] = static_cast<uint32_t>(first >> 32);
      d[i] = static_cast<uint32_t>(key.offset);
      e[i] = static_cast<uint32_t>(key.offset >> 32);
    }
    uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < kLanes; ++i) {
        const uint32_t high_a = high(a[i], 0xD2511F53u), low_a = a[i] * 0xD2511F53u;
        const uint32_t high_d = high(d[i], 0xCD9E8D57u), low_d = d[i] * 0xCD9E8D57u;
        a[i] = high_d ^ b[i] ^ k0;
        d[i] = high_a ^ e[i] ^ k1;
        b[i] = low_d;
        e[i] = low_a;
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < kLanes; ++i) {
      words[c + i] = a[i];
      words[kCounters + c + i] = b[i];
      words[2 * kCounters + c + i] = d[i];
      words[3 * kCounters + c + i] = e[i];
    }
  }
}

// 24 bits as a float in [0, 1); the conversion from int is the one that every vector unit has.
inline float unit(uint32_t w) { return static_cast<float>(static_cast<int32_t>(w >> 8)) * 0x1p-24f; }
// In (0, 1], with small values as fine as 2^-32.
inline float positive_unit(uint32_t w) {
  return static_cast<float>(static_cast<int32_t>(w >> 1)) * 0x1p-31f + 0x1p-32f;
}
// 53 bits; through the exponent, as vector units before AVX-512 do not convert 64-bit integers.
inline double unit64(uint32_t hi, uint32_t lo) {
  return static_cast<double>(static_cast<int32_t>(hi >> 5)) * 0x1p-27 +
         static_cast<double>(static_cast<int32_t>(lo >> 6)) * 0x1p-53;
}

// Cosine and sine of a random angle: the top two bits choose the quadrant, the others an angle in [-pi/4, pi/4), where
// short polynomials (Cephes, Moshier) are exact to the last bits.
inline float flip(float x, uint32_t sign) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) ^ sign); }
inline double flip(double x, uint32_t sign) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) ^ static_cast<uint64_t>(sign) << 32);
}
inline float sine(float r) {
  const float z = r * r;
  return ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
}
inline float cosine(float r) {
  const float z = r * r;
  return ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
}
inline double sine(double r) {
  const double z = r * r;
  return (((((1.58962301576546568060e-10 * z - 2.50507477628578072866e-8) * z + 2.75573136213857245213e-6) * z -
            1.98412698295895385996e-4) *
               z +
           8.33333333332211858878e-3) *
              z -
          1.66666666666666307295e-1) *
             z * r +
         r;
}
inline double cosine(double r) {
  const double z = r * r;
  return (((((-1.13585365213876817300e-11 * z + 2.08757008419747316778e-9) * z - 2.75573141792967388112e-7) * z +
            2.48015872888517045348e-5) *
               z -
           1.38888888888730564116e-3) *
              z +
          4.16666666666665929218e-2) *
             z * z -
         0.5 * z + 1.0;
}
// The point at angle r in quadrant q (two bits).
template <class T>
inline void turn(T& x, T& y, T r, uint32_t q) {
  const T c = cosine(r), s = sine(r);
  x = flip(q & 1 ? s : c, (q + 1) << 30 & 0x80000000u);
  y = flip(q & 1 ? c : s, q << 30 & 0x80000000u);
}

void normal(float* to, const uint32_t* w, float mean, float deviation) {
  for (int half = 0; half < 2; ++half) {
    const uint32_t* radius = w + half * 2 * kCounters;
    const uint32_t* angle = radius + kCounters;
    float* x = to + half * 2 * kCounters;
    float* y = x + kCounters;
#pragma GCC ivdep
    for (int i = 0; i < kCounters; ++i) {
      const float r = m::sqrt(-2.0f * m::log(positive_unit(radius[i]))) * deviation;
      float a, b;
      turn(a, b, static_cast<float>(static_cast<int32_t>(angle[i] << 2)) * 3.65722951e-10f, angle[i] >> 30);
      x[i] = mean + r * a;
      y[i] = mean + r * b;
    }
  }
}

void normal64(double* to, const uint32_t* hi, const uint32_t* lo, double mean, double deviation) {
  constexpr int kHalf = kWords / 2;
#pragma GCC ivdep
  for (int i = 0; i < kHalf; ++i) {
    const double r = m::sqrt(-2.0 * m::log(1.0 - unit64(hi[i], lo[i]))) * deviation;
    const uint32_t angle = hi[kHalf + i];
    double a, b;
    turn(a, b, (unit64(angle << 2, lo[kHalf + i]) - 0.5) * 1.57079632679489661923, angle >> 30);
    to[i] = mean + r * a;
    to[kHalf + i] = mean + r * b;
  }
}

// Bit i of word j is the verdict on word 32 i + j: any order will do for random words, this one is vertical.
void keep_bits(uint32_t* bits, const uint32_t* w, double drop) {
  const double scaled = drop * 0x1p31;
  const bool none = scaled >= 2147483647.0;
  const int32_t threshold = none ? 2147483647 : scaled > 0 ? static_cast<int32_t>(scaled + 0.5) : 0;
  alignas(64) uint32_t acc[32] = {};
  for (int i = 0; i < 32; ++i) {
    const uint32_t bit = none ? 0u : 1u << i;
    // Negative where the word's upper 31 bits are not below the threshold.
    for (int j = 0; j < 32; ++j)
      acc[j] |= static_cast<uint32_t>((threshold - 1 - static_cast<int32_t>(w[32 * i + j] >> 1)) >> 31) & bit;
  }
  for (int j = 0; j < 32; ++j) bits[j] = acc[j];
}

template <class T>
void apply_mask(T* to, const T* from, const uint32_t* bits, T scale, int64_t n) {
  int64_t j = 0;
  for (; (j + 1) * 32 <= n; ++j) {
    const uint32_t word = bits[j];
#pragma GCC ivdep
    for (int i = 0; i < 32; ++i) to[32 * j + i] = from[32 * j + i] * ((word >> i) & 1u ? scale : T(0));
  }
  for (int64_t i = j * 32; i < n; ++i) to[i] = from[i] * ((bits[j] >> (i & 31)) & 1u ? scale : T(0));
}

}  // namespace

void random_block(RandomKind kind, void* to, uint64_t block, const RandomKey& key, const RandomParams& p) {
  alignas(64) uint32_t w[kWords];
  alignas(64) uint32_t low[kWords];
  const bool wide = kind == RandomKind::kUniform64 || kind == RandomKind::kNormal64 ||
                    kind == RandomKind::kExponential64 || kind == RandomKind::kIntegerWide;
  if (kind == RandomKind::kWords) {
    philox(static_cast<uint32_t*>(to), block, key);
    return;
  }
  if (wide) {
    philox(w, 2 * block, key);
    philox(low, 2 * block + 1, key);
  } else {
    philox(w, block, key);
  }
  switch (kind) {
    case RandomKind::kUniform: {
      float* x = static_cast<float*>(to);
      const float a = static_cast<float>(p.a), b = static_cast<float>(p.b), c = static_cast<float>(p.c);
      const int shift = 32 - p.digits;
      float scale = 1;
      for (int i = 0; i < p.digits; ++i) scale *= 0.5f;
      for (int i = 0; i < kWords; ++i) {
        const float v = a + static_cast<float>(static_cast<int32_t>(w[i] >> shift)) * scale * b;
        x[i] = v > c ? c : v;
      }
      break;
    }
    case RandomKind::kUniform64: {
      double* x = static_cast<double*>(to);
      for (int i = 0; i < kWords; ++i) {
        const double v = p.a + unit64(w[i], low[i]) * p.b;
        x[i] = v > p.c ? p.c : v;
      }
      break;
    }
    case RandomKind::kUnit: {
      float* x = static_cast<float*>(to);
      for (int i = 0; i < kWords; ++i) x[i] = unit(w[i]);
      break;
    }
    case RandomKind::kNormal:
      normal(static_cast<float*>(to), w, static_cast<float>(p.a), static_cast<float>(p.b));
      break;
    case RandomKind::kNormal64: normal64(static_cast<double*>(to), w, low, p.a, p.b); break;
    case RandomKind::kBernoulli: {
      // The same verdicts as those of dropout's masks: clients expect dropout in place, which draws these, to drop what
      // dropout out of place does from the same seed.
      float* x = static_cast<float*>(to);
      alignas(64) uint32_t bits[32];
      keep_bits(bits, w, 1 - p.a);
      for (int j = 0; j < 32; ++j)
        for (int i = 0; i < 32; ++i) x[32 * j + i] = static_cast<float>(static_cast<int32_t>(bits[j] >> i & 1u));
      break;
    }
    case RandomKind::kExponential: {
      float* x = static_cast<float*>(to);
      const float a = static_cast<float>(-p.a);
      for (int i = 0; i < kWords; ++i) {
        const float v = m::log(positive_unit(w[i])) * a;
        x[i] = v > 0x1p-25f * -a ? v : 0x1p-25f * -a;
      }
      break;
    }
    case RandomKind::kExponential64: {
      double* x = static_cast<double*>(to);
      for (int i = 0; i < kWords; ++i) x[i] = -p.a * m::log(1.0 - unit64(w[i], low[i]) - 0x1p-54);
      break;
    }
    case RandomKind::kInteger: {
      int64_t* x = static_cast<int64_t*>(to);
      const uint32_t range = static_cast<uint32_t>(p.range);
      for (int i = 0; i < kWords; ++i) x[i] = static_cast<int64_t>(static_cast<uint64_t>(p.from) + high(w[i], range));
      break;
    }
    case RandomKind::kIntegerWide: {
      uint64_t* x = static_cast<uint64_t*>(to);
      const uint64_t from = static_cast<uint64_t>(p.from);
      for (int i = 0; i < kWords; ++i) {
        const uint64_t value = static_cast<uint64_t>(w[i]) << 32 | low[i];
        x[i] =
            from + (p.range ? static_cast<uint64_t>((static_cast<unsigned __int128>(value) * p.range) >> 64) : value);
      }
      break;
    }
    case RandomKind::kKeepBits: keep_bits(static_cast<uint32_t*>(to), w, p.a); break;
    default: break;
  }
}

void apply_mask_f32(float* to, const float* from, const uint32_t* bits, float scale, int64_t n) {
  apply_mask(to, from, bits, scale, n);
}
void apply_mask_f64(double* to, const double* from, const uint32_t* bits, double scale, int64_t n) {
  apply_mask(to, from, bits, scale, n);
}

}  // namespace updraft::UPDRAFT_ISA
