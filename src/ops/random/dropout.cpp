// Dropout: masks of one bit an element (bit i % 8 of byte i / 8, 1 keeps; a whole number of 128-bit groups), and what
// applies them.
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/random/random.h"

namespace updraft {
namespace {

constexpr int64_t kBlockBytes = kBlockElements / 8;

int64_t mask_bytes(int64_t elements) { return (elements + 127) / 128 * 16; }

void require_mask(const Op& op, const TensorView& mask, int64_t elements) {
  op.require((mask.dtype == DType::UInt8 || mask.dtype == DType::UInt1) && mask.is_contiguous(),
             "mask is {}, want contiguous UINT8", describe(mask));
  const int64_t bytes = mask.dtype == DType::UInt1 ? mask.numel() / 8 : mask.numel();
  op.require(bytes >= (elements + 7) / 8, "mask is {}, want {} bytes for {} elements", describe(mask),
             mask_bytes(elements), elements);
}

void require_probability(const Op& op, double p) { op.require(p >= 0 && p <= 1, "p is {}, want 0 to 1", p); }

/// Bits of all elements, and of what the allocation has behind them up to its 128-bit group.
void generate(uint8_t* mask, int64_t bytes, double drop, const RandomKey& key) {
  RandomParams p;
  p.a = drop;
  parallel_for(bytes, 4 * kBlockBytes, [&](int64_t begin, int64_t end) {
    uint32_t bits[32];
    for (int64_t at = begin; at < end; at += kBlockBytes) {
      kernels().random_block(RandomKind::kKeepBits, bits, static_cast<uint64_t>(at / kBlockBytes), key, p);
      std::memcpy(mask + at, bits, static_cast<size_t>(std::min(kBlockBytes, end - at)));
    }
  });
}

void plan_mask(Op& op, const Ints& shape, double drop, const RandomSource& source, const TensorView& out) {
  require_probability(op, drop);
  int64_t elements = 1;
  for (int64_t d : *shape)
    op.require(d >= 0 && !__builtin_mul_overflow(elements, d, &elements) && elements < INT64_MAX - 1024,
               "{} is not a shape", describe_shape(shape->data(), static_cast<int>(shape.size())));
  op.suggest(out, {mask_bytes(elements)}, DType::UInt8);
  require_mask(op, out, elements);
  const int64_t bytes = std::min(mask_bytes(elements), out.numel());
  if (bytes == 0) return;
  op.work(elements * 4);
  op.launch([=, mask = out.as<uint8_t>()] { generate(mask, bytes, drop, source.read()); });
}

/// A mask of one bool an element (the client lets callers bring their own) as bits.
std::vector<uint8_t> pack(const TensorView& mask) {
  std::vector<uint8_t> bytes(static_cast<size_t>(mask.numel())), bits(static_cast<size_t>(mask_bytes(mask.numel())));
  gather_to(bytes.data(), DType::Bool, mask);
  for (size_t i = 0; i < bytes.size(); ++i) bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | bytes[i] << (i % 8));
  return bits;
}

void apply(const TensorView& to, const TensorView& from, const uint8_t* mask, double drop) {
  const Compute compute = real_compute(from.dtype);
  const double scale = drop >= 1 ? 0 : 1 / (1 - drop);
  const int64_t n = from.numel();
  parallel_for(n, 8 * kBlockElements, [&](int64_t begin, int64_t end) {
    const BlockReader reader(from, compute);
    const BlockWriter writer(to, compute);
    BlockBuffer in, out;
    uint32_t bits[32];
    for (int64_t at = begin; at < end; at += kBlockElements) {
      const int64_t count = std::min(kBlockElements, end - at);
      std::memcpy(bits, mask + at / 8, static_cast<size_t>((count + 7) / 8));
      const void* x = reader.read(at, count, in.bytes);
      void* y = writer.target(at, out.bytes);
      if (compute == Compute::F64) {
        kernels().apply_mask_f64(static_cast<double*>(y), static_cast<const double*>(x), bits, scale, count);
      } else {
        kernels().apply_mask_f32(static_cast<float*>(y), static_cast<const float*>(x), bits, static_cast<float>(scale),
                                 count);
      }
      writer.write(at, count, y);
    }
  });
}

}  // namespace

SAMPLE(aclnnDropoutGenMask, "shape=128 prob=0.5 out=u8[16]!")
ABOUT(aclnnDropoutGenMask, Vector, "out = bit mask for elements of shape; a bit is 0 with probability prob",
      "为 shape 生成按位掩码，各位以概率 prob 为 0")
ACLNN(aclnnDropoutGenMask, (Ints, shape), (Double, prob), (Int, seed), (Int, offset), (Out, out)) {
  plan_mask(op, shape, prob, {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)}, *out);
}
SAMPLE(aclnnDropoutGenMaskV2, "shape=128 prob=0.5 out=u8[16]!")
ABOUT(aclnnDropoutGenMaskV2, Vector, "As aclnnDropoutGenMask; probDataType is accepted and not read",
      "与 aclnnDropoutGenMask 相同，probDataType 不影响结果")
ACLNN(aclnnDropoutGenMaskV2, (Ints, shape), (Double, prob), (Int, seed), (Int, offset), (Type, probDataType),
      (Out, out)) {
  (void)probDataType;
  plan_mask(op, shape, prob, {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)}, *out);
}
SAMPLE(aclnnDropoutGenMaskV2Tensor, "shape=128 prob=0.5 seed=i64[1] offset=i64[1] offsetInGraph=0 out=u8[16]!")
ABOUT(aclnnDropoutGenMaskV2Tensor, Vector,
      "As aclnnDropoutGenMaskV2, with seed and offset in tensors (captured graphs)",
      "与 aclnnDropoutGenMaskV2 相同，seed 与 offset 为张量（用于图捕获）")
ACLNN(aclnnDropoutGenMaskV2Tensor, (Ints, shape), (Double, prob), (In, seed), (In, offset), (UInt, offsetInGraph),
      (Type, probDataType), (Out, out)) {
  (void)probDataType;
  plan_mask(op, shape, prob, {op, *seed, *offset, offsetInGraph}, *out);
}

SAMPLE(aclnnDropoutDoMask, "self=f32[128] mask=u8[16]:0..255! prob=0.5 out=f32[128]")
ABOUT(aclnnDropoutDoMask, Vector, "out = self / (1 - prob) where the mask's bit is 1, else 0",
      "掩码位为 1 处 out = self / (1 - prob)，其余为 0")
ACLNN(aclnnDropoutDoMask, (In, self), (In, mask), (Double, prob), (Out, out)) {
  require_probability(op, prob);
  op.require(is_floating(self->dtype), "self is {}, want a floating type", describe(*self));
  op.result_like("out", *out, *self, self->dtype);
  if (mask->dtype == DType::Bool && mask->numel() == self->numel()) {
    if (self->empty()) return;
    op.launch([=, to = *out, from = *self, m = *mask] { apply(to, from, pack(m).data(), prob); });
    return;
  }
  require_mask(op, *mask, self->numel());
  if (self->empty()) return;
  op.launch([=, to = *out, from = *self, bits = mask->as<uint8_t>()] { apply(to, from, bits, prob); });
}

SAMPLE(aclnnDropout, "input=f32[128] p=0 train=true out=f32[128] maskOut=u8[16]!")
ABOUT(aclnnDropout, Vector, "Dropout with probability p, and its bit mask; without train a copy and a mask of ones",
      "概率为 p 的 dropout 与按位掩码；train 为假时直接复制，掩码全 1")
ACLNN(aclnnDropout, (In, input), (Double, p), (Bool, train), (Int, seed), (Int, offset), (Out, out), (Out, maskOut)) {
  require_probability(op, p);
  op.require(is_floating(input->dtype), "input is {}, want a floating type", describe(*input));
  op.result_like("out", *out, *input, input->dtype);
  op.suggest(*maskOut, {mask_bytes(input->numel())}, DType::UInt8);
  require_mask(op, *maskOut, input->numel());
  if (input->empty()) return;
  op.work(input->numel() * 6);
  op.launch([=, from = *input, to = *out, bits = maskOut->as<uint8_t>(), drop = train ? p : 0.0,
             bytes = std::min(mask_bytes(input->numel()), maskOut->numel())] {
    generate(bits, bytes, drop, RandomKey{static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)});
    apply(to, from, bits, drop);
  });
}

SAMPLE(aclnnDropoutV3, "input=f32[128] p=0.5 out=f32[128] mask=u8[16]!")
ABOUT(aclnnDropoutV3, Vector, "Dropout with probability p in one step: out and its bit mask",
      "一步完成概率为 p 的 dropout，输出 out 与按位掩码")
ACLNN(aclnnDropoutV3, (In, input), (OptIn, noiseShape), (Double, p), (UInt, seed), (UInt, offset), (Out, out),
      (Out, mask)) {
  require_probability(op, p);
  op.require(!noiseShape, "optionalNoiseShape is given, want null: masks broadcast over dimensions are not available");
  op.require(is_floating(input->dtype), "input is {}, want a floating type", describe(*input));
  op.result_like("out", *out, *input, input->dtype);
  op.suggest(*mask, {mask_bytes(input->numel())}, DType::UInt8);
  require_mask(op, *mask, input->numel());
  if (input->empty()) return;
  op.work(input->numel() * 6);
  op.launch([=, from = *input, to = *out, bits = mask->as<uint8_t>(),
             bytes = std::min(mask_bytes(input->numel()), mask->numel())] {
    generate(bits, bytes, p, RandomKey{seed, offset});
    apply(to, from, bits, p);
  });
}

}  // namespace updraft
