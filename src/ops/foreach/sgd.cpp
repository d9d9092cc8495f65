// Fused SGD over lists.
#include "ops/foreach/optimizer.h"

namespace updraft {
namespace {

struct SgdTensor {
  TensorView view[3];  // var, grad, momentum (or no data)
};

struct Sgd {
  double numbers[kSgdNumbers];
  int flags;
  TensorView grad_scale;
  std::vector<SgdTensor> tensors;
  ListUnits units;

  template <class T>
  static void unit(void* const* data, const DType* type, const double* numbers, int flags, int64_t begin, int64_t n) {
    const KernelTable& table = kernels();
    constexpr Compute compute = sizeof(T) == 4 ? Compute::F32 : Compute::F64;
    constexpr int kType = static_cast<int>(compute);
    T c[kSgdNumbers];
    for (int i = 0; i < kSgdNumbers; ++i) c[i] = static_cast<T>(numbers[i]);
    alignas(64) T buffer[3][kListBlock];
    for (int64_t at = begin; at < begin + n; at += kListBlock) {
      const int64_t m = std::min(kListBlock, begin + n - at);
      T* p[3] = {};
      char* from[3] = {};
      for (int k = 0; k < 3; ++k) {
        if (!data[k]) continue;
        from[k] = static_cast<char*>(data[k]) + at * static_cast<int64_t>(size_of(type[k]));
        if (type[k] == storage_of(compute)) {
          p[k] = reinterpret_cast<T*>(from[k]);
        } else {
          table.load[static_cast<int>(type[k])][kType](buffer[k], from[k], 1, m);
          p[k] = buffer[k];
        }
      }
      if constexpr (sizeof(T) == 4) table.sgd_f32(p[0], p[1], p[2], c, flags, m);
      else table.sgd_f64(p[0], p[1], p[2], c, flags, m);
      for (int k = 0; k < 3; ++k)
        if (p[k] && p[k] == buffer[k]) table.store[kType][static_cast<int>(type[k])](from[k], 1, buffer[k], m);
    }
  }

  void run() {
    if (grad_scale.data) {
      numbers[kGradScale] = number_at(grad_scale);
      flags |= 8;
    }
    // Tensors whose operands lie differently are gathered, and scattered afterwards.
    struct Arrays {
      void* data[3];
      DType type[3];
      std::vector<char> hold[3];
    };
    std::vector<Arrays> arrays(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorView* views[3];
      int count = 0;
      for (const TensorView& v : tensors[i].view)
        if (v.data) views[count++] = &v;
      const bool alike = lie_alike(views, count);
      for (size_t k = 0; k < 3; ++k) {
        const TensorView& v = tensors[i].view[k];
        arrays[i].data[k] = v.data;
        arrays[i].type[k] = v.dtype;
        if (alike || !v.data) continue;
        arrays[i].hold[k].resize(v.bytes());
        gather_to(arrays[i].hold[k].data(), v.dtype, v);
        arrays[i].data[k] = arrays[i].hold[k].data();
      }
    }
    units.run([&](size_t i, int64_t, int64_t begin, int64_t n) {
      const Arrays& a = arrays[i];
      if (a.type[0] == DType::Double) unit<double>(a.data, a.type, numbers, flags, begin, n);
      else unit<float>(a.data, a.type, numbers, flags, begin, n);
    });
    for (size_t i = 0; i < tensors.size(); ++i)
      for (size_t k = 0; k < 3; ++k)
        if (const TensorView& v = tensors[i].view[k]; v.data && !arrays[i].hold[k].empty())
          copy_elements(v, TensorView::contiguous(arrays[i].data[k], v.dtype, v.dims, v.rank));
  }
};

}  // namespace

SAMPLE(aclnnFusedSgd,
       "params=f32[N,M];f32[M] grads=f32[N,M];f32[M] momentumBuffers=f32[N,M];f32[M] weightDecay=0.1 momentum=0.9 "
       "lr=0.1 dampening=0")
ABOUT(aclnnFusedSgd, Vector, "One SGD step of all params: weight decay, momentum, dampening, Nesterov, gradient scale",
      "对全部 params 执行一步 SGD：权重衰减、动量、阻尼、Nesterov 与梯度缩放")
ACLNN(aclnnFusedSgd, (InOutTensors, params), (Tensors, grads), (OptInOutTensors, momentumBuffers), (OptIn, gradScale),
      (Float, weightDecay), (Float, momentum), (Float, lr), (Float, dampening), (Bool, nesterov), (Bool, maximize),
      (Bool, isFirstStep)) {
  require_lists(op, {{"params", &params}, {"grads", &grads}});
  const bool buffers = momentumBuffers.size() != 0;
  op.require(!buffers || momentumBuffers.size() == params.size(), "momentumBuffers has {} tensors, want {}",
             momentumBuffers.size(), params.size());
  Sgd job{};
  job.numbers[kGradScale] = 1;
  job.numbers[kWeightDecay] = weightDecay;
  job.numbers[kMomentum] = momentum;
  job.numbers[kDampening] = dampening;
  job.numbers[kRate] = lr;
  job.flags = (nesterov ? 1 : 0) | (maximize ? 2 : 0) | (isFirstStep ? 4 : 0);
  if (gradScale) job.grad_scale = *gradScale;
  for (size_t i = 0; i < params.size(); ++i) {
    op.require(is_floating(params[i].dtype), "params[{}] is {}, want a floating type", i, describe(params[i]));
    if (params[i].empty()) continue;
    SgdTensor t;
    t.view[0] = params[i];
    t.view[1] = grads[i];
    if (buffers) {
      op.require(momentumBuffers.item(i) && momentumBuffers[i].same_shape(params[i]),
                 "momentumBuffers[{}] does not have the shape of its parameter", i);
      t.view[2] = momentumBuffers[i];
    }
    job.tensors.push_back(t);
    job.units.add(params[i].numel());
  }
  if (job.tensors.empty()) return;
  op.work(job.units.elements() * 2);
  op.launch([job = std::move(job)]() mutable { job.run(); });
}

}  // namespace updraft
