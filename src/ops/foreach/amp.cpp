// Loss scaling: the check for infinities that also unscales, and the update of the scale.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/parallel.h"
#include "kernels/blocks.h"
#include "ops/foreach/list.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

double scalar_at(const TensorView& v) {
  double value = 0;
  kernels().load[static_cast<int>(v.dtype)][static_cast<int>(Compute::F64)](&value, v.data, 0, 1);
  return value;
}
void set_scalar(const TensorView& v, double value) {
  kernels().store[static_cast<int>(Compute::F64)][static_cast<int>(v.dtype)](v.data, 1, &value, 1);
}

struct Unscale {
  std::vector<TensorView> tensors;
  std::vector<bool> flat;
  ListUnits units;

  // n elements from `data` on, in place; true when one is not finite.
  static bool block(char* data, DType t, int64_t n, double scale) {
    const KernelTable& table = kernels();
    if (t == DType::Float)
      return table.unscale_f32(reinterpret_cast<float*>(data), reinterpret_cast<float*>(data), n,
                               static_cast<float>(scale));
    if (t == DType::Double)
      return table.unscale_f64(reinterpret_cast<double*>(data), reinterpret_cast<double*>(data), n, scale);
    alignas(64) float buffer[kListBlock];
    constexpr int kF32 = static_cast<int>(Compute::F32);
    bool found = false;
    for (int64_t at = 0; at < n; at += kListBlock) {
      const int64_t m = std::min(kListBlock, n - at);
      table.load[static_cast<int>(t)][kF32](buffer, data + at * 2, 1, m);
      found |= table.unscale_f32(buffer, buffer, m, static_cast<float>(scale));
      if (scale != 1) table.store[kF32][static_cast<int>(t)](data + at * 2, 1, buffer, m);
    }
    return found;
  }

  bool run(double scale) {
    std::vector<std::vector<char>> hold;
    std::vector<char*> data;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!flat[i]) {
        hold.emplace_back(tensors[i].bytes());
        gather_to(hold.back().data(), tensors[i].dtype, tensors[i]);
      }
      data.push_back(flat[i] ? tensors[i].as<char>() : hold.back().data());
    }
    std::atomic<bool> found{false};
    units.run([&](size_t i, int64_t, int64_t begin, int64_t n) {
      const DType t = tensors[i].dtype;
      if (block(data[i] + begin * static_cast<int64_t>(size_of(t)), t, n, scale))
        found.store(true, std::memory_order_relaxed);
    });
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!flat[i])
        copy_elements(tensors[i], TensorView::contiguous(data[i], tensors[i].dtype, tensors[i].dims, tensors[i].rank));
    return found;
  }
};

}  // namespace

SAMPLE(aclnnForeachNonFiniteCheckAndUnscale, "foundInf=f32[1]:0..0.001 invScale=f32[1]")
ABOUT(aclnnForeachNonFiniteCheckAndUnscale, Vector,
      "Multiplies gradients by invScale in place and sets foundInf where one is not finite",
      "将各梯度原地乘以 invScale，出现非有限值时置 foundInf 为 1")
ACLNN(aclnnForeachNonFiniteCheckAndUnscale, (InOutTensors, scaledGrads), (InOut, foundInf), (In, invScale)) {
  op.require(foundInf->numel() == 1, "foundInf is {}, want one element", describe(*foundInf));
  op.require(invScale->numel() == 1, "invScale is {}, want one element", describe(*invScale));
  Unscale job;
  for (size_t i = 0; i < scaledGrads.size(); ++i) {
    op.require(scaledGrads.item(i) != nullptr, "scaledGrads[{}] is null", i);
    op.require(is_floating(scaledGrads[i].dtype), "scaledGrads[{}] is {}, want a floating type", i,
               describe(scaledGrads[i]));
    if (scaledGrads[i].empty()) continue;
    const TensorView* view = &scaledGrads[i];
    job.tensors.push_back(*view);
    job.flat.push_back(lie_alike(&view, 1));
    job.units.add(view->numel());
  }
  if (job.tensors.empty()) return;
  op.work(job.units.elements());
  op.launch([job = std::move(job), found = *foundInf, scale = *invScale]() mutable {
    if (job.run(scalar_at(scale))) set_scalar(found, 1);
  });
}

// Clients clear overflow and call it for each of their gradients.
SAMPLE(aclnnAllFinite, "overflow=bool[1]!")
ABOUT(aclnnAllFinite, Vector, "Sets overflow to 1 where an element of gradient is not finite, else leaves it",
      "gradient 出现非有限值时置 overflow 为 1，否则保持不变")
ACLNN(aclnnAllFinite, (In, gradient), (InOut, overflow)) {
  op.require(overflow->numel() == 1, "overflow is {}, want one element", describe(*overflow));
  op.require(is_floating(gradient->dtype), "gradient is {}, want a floating type", describe(*gradient));
  if (gradient->empty()) return;
  op.work(gradient->numel());
  op.launch([from = *gradient, found = *overflow] {
    std::atomic<bool> bad{false};
    const Compute compute = real_compute(from.dtype);
    parallel_for(from.numel(), 16 * kBlockElements, [&](int64_t begin, int64_t end) {
      const BlockReader reader(from, compute);
      BlockBuffer buffer;
      const auto finite = []<class T>(const T* x, int64_t n) {
        T sum = 0;  // becomes NaN, and stays so
        for (int64_t i = 0; i < n; ++i) sum += x[i] * T{0};
        return sum == T{0};
      };
      for (int64_t at = begin; at < end; at += kBlockElements) {
        const int64_t n = std::min(kBlockElements, end - at);
        const void* x = reader.read(at, n, buffer.bytes);
        if (compute == Compute::F64 ? !finite(static_cast<const double*>(x), n)
                                    : !finite(static_cast<const float*>(x), n))
          bad.store(true, std::memory_order_relaxed);
      }
    });
    if (bad) set_scalar(found, 1);
  });
}

// currentScale and growthTracker come as inputs and as outputs; both may be the same tensors.
SAMPLE(aclnnAmpUpdateScale,
       "currentScale=f32[1]:8..9 growthTracker=i32[1]:1..2 foundInf=f32[1]:0..0 growthFactor=2 backoffFactor=0.5 "
       "growthInterval=2000 updatedScale=f32[1] updatedGrowthTracker=i32[1]")
ABOUT(aclnnAmpUpdateScale, Vector,
      "Loss scale of the next step: shrunk after overflow, grown after growthInterval good steps",
      "更新损失缩放系数：溢出后缩小，连续 growthInterval 步无溢出后放大")
ACLNN(aclnnAmpUpdateScale, (In, currentScale), (In, growthTracker), (In, foundInf), (Double, growthFactor),
      (Double, backoffFactor), (Int, growthInterval), (Out, updatedScale), (Out, updatedGrowthTracker)) {
  op.suggest_like(*updatedScale, *currentScale, currentScale->dtype);
  op.suggest_like(*updatedGrowthTracker, *growthTracker, growthTracker->dtype);
  op.require(currentScale->numel() == 1 && updatedScale->numel() == 1, "currentScale is {}, want one element",
             describe(*currentScale));
  op.require(growthTracker->numel() == 1 && updatedGrowthTracker->numel() == 1, "growthTracker is {}, want one element",
             describe(*growthTracker));
  op.require(foundInf->numel() == 1, "foundInf is {}, want one element", describe(*foundInf));
  op.launch([=, scale_in = *currentScale, tracker_in = *growthTracker, found = *foundInf, scale_out = *updatedScale,
             tracker_out = *updatedGrowthTracker] {
    double scale = scalar_at(scale_in), tracker = scalar_at(tracker_in);
    if (scalar_at(found) != 0) {
      scale *= backoffFactor;
      tracker = 0;
    } else if (tracker + 1 == static_cast<double>(growthInterval)) {
      const float grown = static_cast<float>(scale * growthFactor);
      if (std::isfinite(grown)) scale = grown;
      tracker = 0;
    } else {
      tracker += 1;
    }
    set_scalar(scale_out, scale);
    set_scalar(tracker_out, tracker);
  });
}

}  // namespace updraft
