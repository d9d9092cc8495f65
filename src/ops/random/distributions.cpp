// In-place distributions: uniform, normal, Bernoulli, integers, exponential.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/infer.h"
#include "ops/random/random.h"

namespace updraft {

RandomSource::RandomSource(const Op& op, const TensorView& s, const TensorView& o, uint64_t inside)
    : key{0, inside}, on_device(true), seed(s), offset(o) {
  op.require(s.numel() == 1 && is_integral(s.dtype), "seed is {}, want one integer", describe(s));
  op.require(o.numel() == 1 && is_integral(o.dtype), "offset is {}, want one integer", describe(o));
}

void fill_random(const TensorView& to, RandomKind kind, Compute compute, const RandomKey& key, const RandomParams& p) {
  const int64_t n = to.numel();
  parallel_for(n, 4 * kBlockElements, [&](int64_t begin, int64_t end) {
    const BlockWriter writer(to, compute);
    BlockBuffer buffer;
    for (int64_t at = begin; at < end; at += kBlockElements) {
      const int64_t count = std::min(kBlockElements, end - at);
      const bool direct = writer.in_place() && count == kBlockElements;
      void* block = direct ? writer.target(at, nullptr) : buffer.bytes;
      kernels().random_block(kind, block, static_cast<uint64_t>(at / kBlockElements), key, p);
      if (direct) continue;
      if (writer.in_place()) {
        std::copy_n(buffer.bytes, static_cast<size_t>(count) * size_of(compute),
                    static_cast<char*>(writer.target(at, nullptr)));
      } else {
        writer.write(at, count, block);
      }
    }
  });
}

namespace {

int significand_bits(DType t) {
  switch (t) {
    case DType::Float16: return 11;
    case DType::BFloat16: return 8;
    case DType::Double: return 53;
    default: return 24;
  }
}

/// The value of type t nearest to x.
double round_to(DType t, double x) {
  switch (t) {
    case DType::Float16: return static_cast<float>(Half(static_cast<float>(x)));
    case DType::BFloat16: return static_cast<float>(BFloat16(static_cast<float>(x)));
    case DType::Double: return x;
    default: return static_cast<float>(x);
  }
}
/// The largest value of type t below x, a value of type t.
double below(DType t, double x) {
  if (t == DType::Double) return std::nextafter(x, -INFINITY);
  if (t == DType::Float) return std::nextafter(static_cast<float>(x), -INFINITY);
  if (x == 0) return t == DType::Float16 ? -0x1p-24 : -0x1p-133;
  // Steps of the bit pattern are steps of the value, away from zero for positive numbers.
  uint16_t bits = t == DType::Float16 ? Half(static_cast<float>(x)).bits : BFloat16(static_cast<float>(x)).bits;
  bits = static_cast<uint16_t>(x > 0 ? bits - 1 : bits + 1);
  return t == DType::Float16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

/// Whole numbers and bools get what a conversion makes of numbers in FLOAT.
DType drawn_type(const Op& op, const TensorView& self) {
  op.require(is_floating(self.dtype) || is_integral(self.dtype, true), "self is {}, want a real type or BOOL",
             describe(self));
  return is_floating(self.dtype) ? self.dtype : DType::Float;
}

void plan_uniform(Op& op, const TensorView& self, double from, double to, const RandomSource& source) {
  const DType type = drawn_type(op, self);
  op.require(from <= to, "from is {} and to {}, want from <= to", from, to);
  RandomParams p;
  p.a = round_to(type, from);
  const double end = round_to(type, to);
  p.b = end - p.a;
  p.c = std::max(p.a, end > p.a ? below(type, end) : p.a);
  p.digits = std::min(24, significand_bits(type));
  if (self.empty()) return;
  op.work(self.numel() * 8);
  op.launch([=] {
    fill_random(self, for_type(self.dtype, RandomKind::kUniform, RandomKind::kUniform64), real_compute(self.dtype),
                source.read(), p);
  });
}

void plan_normal(Op& op, const TensorView& self, double mean, double deviation, const RandomSource& source) {
  drawn_type(op, self);
  op.require(deviation >= 0, "std is {}, want 0 or more", deviation);
  if (self.empty()) return;
  RandomParams p;
  p.a = mean;
  p.b = deviation;
  op.work(self.numel() * 20);
  op.launch([=] {
    fill_random(self, for_type(self.dtype, RandomKind::kNormal, RandomKind::kNormal64), real_compute(self.dtype),
                source.read(), p);
  });
}

/// out = mean + std * z, each a tensor (broadcast) or a number.
void plan_normal(Op& op, const TensorView* mean, double mean_value, const TensorView* deviation, double deviation_value,
                 const TensorView& out, const RandomSource& source) {
  if (op.inferring()) {
    const TensorView &a = mean ? *mean : *deviation, &b = deviation ? *deviation : *mean;
    int64_t dims[kMaxDims];
    const int rank = broadcast_shape(a.dims, a.rank, b.dims, b.rank, dims);
    op.suggest(out, dims, rank, promote(a.dtype, b.dtype));
  }
  op.require(is_floating(out.dtype), "out is {}, want a floating type", describe(out));
  const Compute compute = real_compute(out.dtype);
  TensorView m, d;
  if (mean) m = mean->expand_as(out);
  if (deviation) d = deviation->expand_as(out);
  if (out.empty()) return;
  op.work(out.numel() * 20);
  op.launch([=, with_mean = mean != nullptr, with_deviation = deviation != nullptr] {
    const RandomKey key = source.read();
    const int64_t n = out.numel();
    parallel_for(n, 4 * kBlockElements, [&](int64_t begin, int64_t end) {
      const BlockWriter writer(out, compute);
      const BlockReader means(with_mean ? m : out, compute), deviations(with_deviation ? d : out, compute);
      BlockBuffer z, a, b;
      RandomParams p;
      p.b = 1;
      for (int64_t at = begin; at < end; at += kBlockElements) {
        const int64_t count = std::min(kBlockElements, end - at);
        kernels().random_block(for_type(out.dtype, RandomKind::kNormal, RandomKind::kNormal64), z.bytes,
                               static_cast<uint64_t>(at / kBlockElements), key, p);
        const void* mean_block = with_mean ? means.read(at, count, a.bytes) : nullptr;
        const void* deviation_block = with_deviation ? deviations.read(at, count, b.bytes) : nullptr;
        auto combine = [&]<class T>() {
          const T* x = reinterpret_cast<const T*>(z.bytes);
          const T* mu = static_cast<const T*>(mean_block);
          const T* sigma = static_cast<const T*>(deviation_block);
          T* to = static_cast<T*>(writer.target(at, z.bytes));
          for (int64_t i = 0; i < count; ++i)
            to[i] =
                (mu ? mu[i] : static_cast<T>(mean_value)) + x[i] * (sigma ? sigma[i] : static_cast<T>(deviation_value));
          writer.write(at, count, to);
        };
        if (compute == Compute::F64) {
          combine.template operator()<double>();
        } else {
          combine.template operator()<float>();
        }
      }
    });
  });
}

void plan_bernoulli(Op& op, const TensorView& self, double probability, const RandomSource& source) {
  op.require(probability >= 0 && probability <= 1, "p is {}, want 0 to 1", probability);
  if (self.empty()) return;
  RandomParams p;
  p.a = probability;
  op.work(self.numel() * 8);
  op.launch([=] { fill_random(self, RandomKind::kBernoulli, Compute::F32, source.read(), p); });
}

void plan_bernoulli(Op& op, const TensorView& self, const TensorView& probability, const RandomSource& source) {
  const TensorView expanded = probability.expand_as(self);
  op.require(is_floating(probability.dtype), "p is {}, want a floating type", describe(probability));
  if (self.empty()) return;
  op.work(self.numel() * 10);
  op.launch([=] {
    const RandomKey key = source.read();
    parallel_for(self.numel(), 4 * kBlockElements, [&](int64_t begin, int64_t end) {
      const BlockWriter writer(self, Compute::F32);
      const BlockReader reader(expanded, Compute::F32);
      BlockBuffer unit, buffer;
      float result[kBlockElements];
      for (int64_t at = begin; at < end; at += kBlockElements) {
        const int64_t count = std::min(kBlockElements, end - at);
        kernels().random_block(RandomKind::kUnit, unit.bytes, static_cast<uint64_t>(at / kBlockElements), key, {});
        const float* u = reinterpret_cast<const float*>(unit.bytes);
        const float* p = static_cast<const float*>(reader.read(at, count, buffer.bytes));
        float* to = static_cast<float*>(writer.target(at, result));
        for (int64_t i = 0; i < count; ++i) {
          if (!(p[i] >= 0 && p[i] <= 1)) fail_kernel(fmt::format("bernoulli: probability {} is not in [0, 1]", p[i]));
          to[i] = u[i] < p[i] ? 1.0f : 0.0f;
        }
        writer.write(at, count, to);
      }
    });
  });
}

/// Integers of [from, from + range), 0 for all 2^64.
void plan_integers(Op& op, const TensorView& self, int64_t from, uint64_t range, const RandomSource& source) {
  op.require(!is_complex(self.dtype), "self is {}, want a real type", describe(self));
  if (self.empty()) return;
  RandomParams p;
  p.from = from;
  p.range = range;
  const bool wide = range == 0 || range >= (uint64_t{1} << 28);
  op.work(self.numel() * 8);
  op.launch([=] {
    fill_random(self, wide ? RandomKind::kIntegerWide : RandomKind::kInteger, Compute::I64, source.read(), p);
  });
}

/// The nearest number at or below v (`up`: at or above) that a type of so many significant bits holds.
int64_t held(int64_t v, int bits, bool up) {
  const int drop = std::bit_width(v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v)) - bits;
  if (drop <= 0) return v;
  const auto below = static_cast<int64_t>(static_cast<uint64_t>(v >> drop) << drop);
  int64_t above = 0;
  return !up || below == v || __builtin_add_overflow(below, int64_t{1} << drop, &above) ? below : above;
}

void plan_range(Op& op, const TensorView& self, int64_t from, int64_t to, const RandomSource& source) {
  op.require(from < to, "from is {} and to {}, want from < to", from, to);
  if (is_floating(self.dtype)) {
    // No number may be rounded out of the range.
    const int bits = significand_bits(self.dtype);
    const int64_t first = held(from, bits, true), last = held(to - 1, bits, false);
    if (first <= last) from = first, to = last + 1;
  }
  plan_integers(op, self, from, static_cast<uint64_t>(to) - static_cast<uint64_t>(from), source);
}

/// torch.Tensor.random_() without bounds: every non-negative number that the type holds exactly.
void plan_all(Op& op, const TensorView& self, const RandomSource& source) {
  uint64_t range = 0;
  switch (self.dtype) {
    case DType::Bool: range = 2; break;
    case DType::UInt8: range = 256; break;
    case DType::Int8: range = 128; break;
    case DType::Int16: range = 1u << 15; break;
    case DType::UInt16: range = 1u << 16; break;
    case DType::Int32: range = 1u << 31; break;
    case DType::UInt32: range = uint64_t{1} << 32; break;
    case DType::Int64: range = uint64_t{1} << 63; break;
    case DType::UInt64: range = 0; break;
    default: range = (uint64_t{1} << significand_bits(self.dtype)) + 1;
  }
  plan_integers(op, self, 0, range, source);
}

}  // namespace

ABOUT(aclnnInplaceUniform, Vector, "Fills selfRef with uniform random numbers of [from, to)",
      "以 [from, to) 均匀分布随机数填充 selfRef")
ACLNN(aclnnInplaceUniform, (InOut, selfRef), (Double, from), (Double, to), (UInt, seed), (UInt, offset)) {
  plan_uniform(op, *selfRef, from, to, {seed, offset});
}
ABOUT(aclnnInplaceUniformTensor, Vector, "As aclnnInplaceUniform, with seed and offset in tensors (captured graphs)",
      "与 aclnnInplaceUniform 相同，seed 与 offset 为张量（用于图捕获）")
ACLNN(aclnnInplaceUniformTensor, (InOut, selfRef), (Double, from), (Double, to), (In, seed), (In, offset),
      (UInt, offsetInGraph)) {
  plan_uniform(op, *selfRef, from, to, {op, *seed, *offset, offsetInGraph});
}

ABOUT(aclnnInplaceNormal, Vector, "Fills selfRef with normal random numbers of the given mean and std",
      "以均值 mean、标准差 std 的正态分布随机数填充 selfRef")
ACLNN(aclnnInplaceNormal, (InOut, selfRef), (Float, mean), (Float, std), (Int, seed), (Int, offset)) {
  plan_normal(op, *selfRef, mean, std, {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)});
}
ABOUT(aclnnInplaceNormalTensor, Vector, "As aclnnInplaceNormal, with seed and offset in tensors (captured graphs)",
      "与 aclnnInplaceNormal 相同，seed 与 offset 为张量（用于图捕获）")
ACLNN(aclnnInplaceNormalTensor, (InOut, selfRef), (Float, mean), (Float, std), (In, seed), (In, offset),
      (UInt, offsetInGraph)) {
  plan_normal(op, *selfRef, mean, std, {op, *seed, *offset, offsetInGraph});
}
ABOUT(aclnnNormalFloatFloat, Vector, "out = normal random numbers, mean and std numbers",
      "正态分布随机数，mean 与 std 均为标量")
ACLNN(aclnnNormalFloatFloat, (Float, mean), (Float, std), (Int, seed), (Int, offset), (Out, out)) {
  require_given(op, "out", *out);
  plan_normal(op, *out, mean, std, {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)});
}
SAMPLE(aclnnNormalFloatTensor, "std=f32[N,M]")
ABOUT(aclnnNormalFloatTensor, Vector, "out = normal random numbers, mean a number, std a tensor",
      "正态分布随机数，mean 为标量，std 为张量")
ACLNN(aclnnNormalFloatTensor, (Float, mean), (In, std), (Int, seed), (Int, offset), (Out, out)) {
  plan_normal(op, nullptr, mean, &*std, 0, *out, {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)});
}
SAMPLE(aclnnNormalTensorFloat, "mean=f32[N,M]")
ABOUT(aclnnNormalTensorFloat, Vector, "out = normal random numbers, mean a tensor, std a number",
      "正态分布随机数，mean 为张量，std 为标量")
ACLNN(aclnnNormalTensorFloat, (In, mean), (Float, std), (Int, seed), (Int, offset), (Out, out)) {
  op.require(std >= 0, "std is {}, want 0 or more", std);
  plan_normal(op, &*mean, 0, nullptr, std, *out, {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)});
}
SAMPLE(aclnnNormalTensorTensor, "mean=f32[N,M] std=f32[N,M]")
ABOUT(aclnnNormalTensorTensor, Vector, "out = normal random numbers, mean and std tensors",
      "正态分布随机数，mean 与 std 均为张量")
ACLNN(aclnnNormalTensorTensor, (In, mean), (In, std), (Int, seed), (Int, offset), (Out, out)) {
  plan_normal(op, &*mean, 0, &*std, 0, *out, {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)});
}

ABOUT(aclnnInplaceBernoulli, Vector, "Fills selfRef with 1 of probability prob, else 0",
      "以概率 prob 将 selfRef 各元素置 1，否则置 0")
ACLNN(aclnnInplaceBernoulli, (InOut, selfRef), (Scalar, prob), (UInt, seed), (UInt, offset)) {
  plan_bernoulli(op, *selfRef, prob->to_double(), {seed, offset});
}
SAMPLE(aclnnInplaceBernoulliTensor, "prob=f32[N,M]")
ABOUT(aclnnInplaceBernoulliTensor, Vector, "Fills selfRef with 1 of the probability in the tensor prob, else 0",
      "按张量 prob 给出的概率将 selfRef 各元素置 1，否则置 0")
ACLNN(aclnnInplaceBernoulliTensor, (InOut, selfRef), (In, prob), (UInt, seed), (UInt, offset)) {
  plan_bernoulli(op, *selfRef, *prob, {seed, offset});
}

ABOUT(aclnnInplaceRandom, Vector, "Fills selfRef with random integers of [from, to)",
      "以 [from, to) 内的随机整数填充 selfRef")
ACLNN(aclnnInplaceRandom, (InOut, selfRef), (Int, from), (Int, to), (UInt, seed), (UInt, offset)) {
  plan_range(op, *selfRef, from, to, {seed, offset});
}
ABOUT(aclnnInplaceRandomTensor, Vector, "As aclnnInplaceRandom, with seed and offset in tensors (captured graphs)",
      "与 aclnnInplaceRandom 相同，seed 与 offset 为张量（用于图捕获）")
ACLNN(aclnnInplaceRandomTensor, (InOut, selfRef), (Int, from), (Int, to), (In, seed), (In, offset),
      (UInt, offsetInGraph)) {
  plan_range(op, *selfRef, from, to, {op, *seed, *offset, offsetInGraph});
}
ABOUT(aclnnInplaceRandomWithoutFromTo, Vector, "Fills selfRef with non-negative integers that its type holds exactly",
      "以数据类型可精确表示的非负随机整数填充 selfRef")
ACLNN(aclnnInplaceRandomWithoutFromTo, (InOut, selfRef), (UInt, seed), (UInt, offset)) {
  plan_all(op, *selfRef, {seed, offset});
}
ABOUT(aclnnInplaceRandomWithoutFromToTensor, Vector,
      "As aclnnInplaceRandomWithoutFromTo, with seed and offset in tensors",
      "与 aclnnInplaceRandomWithoutFromTo 相同，seed 与 offset 为张量")
ACLNN(aclnnInplaceRandomWithoutFromToTensor, (InOut, selfRef), (In, seed), (In, offset), (UInt, offsetInGraph)) {
  plan_all(op, *selfRef, {op, *seed, *offset, offsetInGraph});
}

SAMPLE(aclnnSimThreadExponential, "selfRef=f32[24] count=24")
ABOUT(aclnnSimThreadExponential, Vector, "Fills selfRef with exponential random numbers of the rate lambda",
      "以速率 lambda 的指数分布随机数填充 selfRef")
ACLNN(aclnnSimThreadExponential, (InOut, selfRef), (Int, count), (Double, lambda), (Int, seed), (Int, offset)) {
  op.require(lambda > 0, "lambda is {}, want above 0", lambda);
  op.require(count == selfRef->numel(), "count is {} and selfRef {}", count, describe(*selfRef));
  op.require(is_floating(selfRef->dtype), "selfRef is {}, want a floating type", describe(*selfRef));
  if (selfRef->empty()) return;
  RandomParams p;
  p.a = 1 / lambda;
  const RandomKey key{static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)};
  op.work(count * 12);
  op.launch([=, to = *selfRef] {
    fill_random(to, for_type(to.dtype, RandomKind::kExponential, RandomKind::kExponential64), real_compute(to.dtype),
                key, p);
  });
}

}  // namespace updraft
