#include "ops/rnn/dropout.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/pipeline.h"

namespace updraft {

namespace {
constexpr int64_t kBlock = 1024;  // results of kernels().random_block

uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ b) * 0x9e3779b97f4a7c15u;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t digest_bytes(uint64_t start, const char* bytes, size_t n) {
  // four independent chains, as one waits for its own product
  uint64_t chain[4] = {start, ~start, start + n, ~start + n};
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    uint64_t word[4];
    std::memcpy(word, bytes + i, sizeof word);
    for (int k = 0; k < 4; ++k) chain[k] = mix(chain[k], word[k]);
  }
  uint64_t rest[4] = {};
  std::memcpy(rest, bytes + i, n - i);
  uint64_t all = n;
  for (int k = 0; k < 4; ++k) all = mix(all + chain[k], rest[k]);
  return all;
}
}  // namespace

uint64_t digest(std::span<const TensorView> views) {
  uint64_t all = 0;
  for (const TensorView& v : views) {
    if (!v.data || v.empty()) continue;
    ScratchScope scratch;
    const char* bytes = v.as<char>();
    if (!v.is_contiguous()) {
      char* copy = scratch.take<char>(v.bytes());
      gather_to(copy, v.dtype, v);
      bytes = copy;
    }
    all = digest_bytes(all, bytes, v.bytes());
  }
  return all;
}

void LayerDropout::apply(const TensorView& x, int64_t border) const {
  const RandomKey own{key.seed, key.offset + static_cast<uint64_t>(border)};
  RandomParams params;
  params.a = p;
  const double scale = p >= 1 ? 0 : 1 / (1 - p);
  const int64_t n = x.numel();
  parallel_for(n, 8 * kBlock, [&](int64_t begin, int64_t end) {
    uint32_t bits[kBlock / 32];
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t count = std::min(kBlock, end - at);
      kernels().random_block(RandomKind::kKeepBits, bits, static_cast<uint64_t>(at / kBlock), own, params);
      if (x.dtype == DType::Double) {
        double* d = x.as<double>() + at;
        kernels().apply_mask_f64(d, d, bits, scale, count);
      } else {
        float* f = x.as<float>() + at;
        kernels().apply_mask_f32(f, f, bits, static_cast<float>(scale), count);
      }
    }
  });
}

}  // namespace updraft
