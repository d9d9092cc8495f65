// Sampling: multinomial draws from rows of weights, and random permutations.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"
#include "ops/random/random.h"

namespace updraft {
namespace {

/// Words of one key in order, a block at a time.
class Words {
 public:
  Words(const RandomKey& key, uint64_t first_block) : key_(key), block_(first_block) {}
  uint64_t next64() {
    if (at_ + 2 > kBlockElements) {
      kernels().random_block(RandomKind::kWords, words_, block_++, key_, {});
      at_ = 0;
    }
    const uint64_t value = static_cast<uint64_t>(words_[at_]) << 32 | words_[at_ + 1];
    at_ += 2;
    return value;
  }
  /// Uniform in [0, n).
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(next64()) * n) >> 64); }
  /// 53 bits in [0, 1).
  double unit() { return static_cast<double>(next64() >> 11) * 0x1p-53; }

 private:
  RandomKey key_;
  uint64_t block_;
  int64_t at_ = kBlockElements;
  uint32_t words_[kBlockElements];
};

double check_weight(double w, int64_t row) {
  if (!(w >= 0 && w <= std::numeric_limits<double>::max()))
    fail_kernel(fmt::format("multinomial: row {} holds the weight {}, want finite values of 0 or more", row, w));
  return w;
}

[[noreturn]] void no_weight(int64_t row) {
  fail_kernel(fmt::format("multinomial: the weights of row {} sum to 0", row));
}

void plan_multinomial(Op& op, const TensorView& self, int64_t samples, bool replacement, const RandomSource& source,
                      const TensorView& out) {
  op.require(self.rank == 1 || self.rank == 2, "self is {}, want one or two dimensions", describe(self));
  op.require(is_floating(self.dtype), "self is {}, want a floating type", describe(self));
  const int64_t classes = self.dims[self.rank - 1], rows = self.rank == 2 ? self.dims[0] : 1;
  op.require(samples > 0, "numsamples is {}, want 1 or more", samples);
  op.require(replacement || samples <= classes, "numsamples is {}, want at most {} without replacement", samples,
             classes);
  if (self.rank == 2) op.suggest(out, {rows, samples}, DType::Int64);
  else op.suggest(out, {samples}, DType::Int64);
  op.require(out.numel() == rows * samples && out.rank == self.rank, "out is {}, want {} samples for each of {} rows",
             describe(out), samples, rows);
  op.require(is_integral(out.dtype), "out is {}, want an integer type", describe(out));
  if (out.empty()) return;
  op.require(classes > 0, "self is {}, want at least one class", describe(self));
  op.work(rows * (classes * 10 + samples * 20));
  op.launch([=] {
    const RandomKey key = source.read();
    const int64_t drawn = 2 * (replacement ? samples : classes);  // words a row
    const auto blocks = static_cast<uint64_t>((drawn + kBlockElements - 1) / kBlockElements);
    parallel_for(rows, std::max<int64_t>(1, 4096 / (classes + samples)), [&](int64_t begin, int64_t end) {
      const BlockReader reader(self, Compute::F64);
      const BlockWriter writer(out, Compute::I64);
      std::vector<double> weights(static_cast<size_t>(classes));
      std::vector<int64_t> order, picked(static_cast<size_t>(samples));
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t c = 0; c < classes; c += kBlockElements) {
          const int64_t count = std::min(kBlockElements, classes - c);
          const void* block = reader.read(row * classes + c, count, &weights[static_cast<size_t>(c)]);
          if (block != &weights[static_cast<size_t>(c)])
            std::copy_n(static_cast<const double*>(block), count, &weights[static_cast<size_t>(c)]);
        }
        Words words(key, static_cast<uint64_t>(row) * blocks);
        if (replacement) {
          double total = 0;
          for (double& w : weights) w = total += check_weight(w, row);
          if (!(total > 0)) no_weight(row);
          for (int64_t& p : picked) {
            // The first class whose running total is above the draw: a class of weight 0 is never that.
            auto it = std::upper_bound(weights.begin(), weights.end(), words.unit() * total);
            while (it == weights.end() || (it != weights.begin() && *it == *(it - 1))) --it;
            p = it - weights.begin();
          }
        } else {
          // Exponential races: the order of arrival is an order of sampling without replacement.
          double total = 0;
          for (double& w : weights) {
            total += check_weight(w, row);
            const double e = -std::log(1 - words.unit());
            w = w > 0 ? e / w : INFINITY;
          }
          if (!(total > 0)) no_weight(row);
          order.resize(static_cast<size_t>(classes));
          std::iota(order.begin(), order.end(), int64_t{0});
          auto sooner = [&](int64_t a, int64_t b) {
            const double x = weights[static_cast<size_t>(a)], y = weights[static_cast<size_t>(b)];
            return x != y ? x < y : a < b;
          };
          if (samples < classes) std::nth_element(order.begin(), order.begin() + samples, order.end(), sooner);
          std::sort(order.begin(), order.begin() + samples, sooner);
          std::copy_n(order.begin(), samples, picked.begin());
        }
        for (int64_t s = 0; s < samples; s += kBlockElements) {
          const int64_t count = std::min(kBlockElements, samples - s), at = row * samples + s;
          if (writer.in_place())
            std::copy_n(&picked[static_cast<size_t>(s)], count, static_cast<int64_t*>(writer.target(at, nullptr)));
          else writer.write(at, count, &picked[static_cast<size_t>(s)]);
        }
      }
    });
  });
}

template <class T>
void permute(T* to, int64_t n, const RandomKey& key) {
  Words words(key, 0);
  // Inside out, so that the values need no first pass.
  for (int64_t i = 0; i < n; ++i) {
    const auto j = static_cast<int64_t>(words.below(static_cast<uint64_t>(i + 1)));
    to[i] = to[j];
    to[j] = static_cast<T>(i);
  }
}

}  // namespace

SAMPLE(aclnnMultinomial, "numsamples=2 replacement=true out=i64[N,2]")
ABOUT(aclnnMultinomial, AICPU, "numsamples indices drawn from each row of weights, with or without replacement",
      "按每行权重抽取 numsamples 个索引，可放回或不放回")
ACLNN(aclnnMultinomial, (In, self), (Int, numsamples), (Bool, replacement), (Int, seed), (Int, offset), (Out, out)) {
  plan_multinomial(op, *self, numsamples, replacement, {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)},
                   *out);
}
SAMPLE(aclnnMultinomialTensor, "numsamples=2 replacement=true seed=i64[1] offset=i64[1] offsetInGraph=0 out=i64[N,2]")
ABOUT(aclnnMultinomialTensor, AICPU, "As aclnnMultinomial, with seed and offset in tensors (captured graphs)",
      "与 aclnnMultinomial 相同，seed 与 offset 为张量（用于图捕获）")
ACLNN(aclnnMultinomialTensor, (In, self), (Int, numsamples), (Bool, replacement), (In, seed), (In, offset),
      (UInt, offsetInGraph), (Out, out)) {
  plan_multinomial(op, *self, numsamples, replacement, {op, *seed, *offset, offsetInGraph}, *out);
}

SAMPLE(aclnnRandperm, "n=M out=i64[M]")
ABOUT(aclnnRandperm, AICPU, "out = a random order of 0 to n - 1", "0 到 n - 1 的随机排列")
ACLNN(aclnnRandperm, (Int, n), (Int, seed), (Int, offset), (Out, out)) {
  op.require(n >= 0, "n is {}, want 0 or more", n);
  op.result("out", *out, {n}, DType::Int64);
  op.require(!is_complex(out->dtype), "out is {}, want a real type", describe(*out));
  if (n == 0) return;
  op.work(n * 6);
  op.launch([n, to = *out, key = RandomKey{static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)}] {
    if (to.is_contiguous() && to.dtype == DType::Int64) return permute(to.as<int64_t>(), n, key);
    if (to.is_contiguous() && to.dtype == DType::Int32) return permute(to.as<int32_t>(), n, key);
    std::vector<int64_t> values(static_cast<size_t>(n));
    permute(values.data(), n, key);
    const BlockWriter writer(to, Compute::I64);
    for (int64_t at = 0; at < n; at += kBlockElements) {
      const int64_t count = std::min(kBlockElements, n - at);
      if (writer.in_place()) std::copy_n(values.data() + at, count, static_cast<int64_t*>(writer.target(at, nullptr)));
      else writer.write(at, count, values.data() + at);
    }
  });
}

}  // namespace updraft
