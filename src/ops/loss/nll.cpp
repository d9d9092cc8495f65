// Negative log likelihood of class indices, for rows and for images. Only the targets' elements are read; the gradient
// costs one pass of zeros and one store a target.
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/loss/loss.h"
#include "ops/op.h"

namespace updraft {
namespace {

/// [N, C], [C] or [N, C, H, W] seen as N rows of C classes at S places.
struct Layout {
  int64_t rows = 1, classes = 1, places = 1, width = 1;
  int64_t row_stride = 0, class_stride = 0, height_stride = 0, place_stride = 0;

  explicit Layout(const TensorView& v) {
    if (v.rank == 1) {
      classes = v.dims[0];
      class_stride = v.strides[0];
      return;
    }
    rows = v.dims[0];
    classes = v.dims[1];
    row_stride = v.strides[0];
    class_stride = v.strides[1];
    if (v.rank == 4) {
      places = v.dims[2] * v.dims[3];
      width = v.dims[3];
      height_stride = v.strides[2];
      place_stride = v.strides[3];
    }
  }
  int64_t count() const { return rows * places; }

  /// Element offset of class 0 at position i, i + 1, ...
  struct Cursor {
    const Layout& layout;
    int64_t row, y, x, offset;
    Cursor(const Layout& l, int64_t i)
        : layout(l), row(i / l.places), y(i % l.places / l.width), x(i % l.places % l.width) {
      move();
    }
    void move() { offset = row * layout.row_stride + y * layout.height_stride + x * layout.place_stride; }
    void next() {
      offset += layout.place_stride;
      if (++x < layout.width) return;
      x = 0;
      if ((++y) * layout.width >= layout.places) {
        y = 0;
        ++row;
      }
      move();
    }
  };
};

struct Plan {
  TensorView self, target, weight;
  int64_t ignore;
  bool weighted;
};

[[noreturn]] void out_of_range(int64_t t, int64_t classes) {
  fail_kernel(fmt::format("nll_loss: target {} is out of range, want 0 to {}", t, classes - 1));
}

/// Target classes of a block of positions; -1 where the target is ignored.
void read_targets(const BlockReader& reader, int64_t at, int64_t n, int64_t classes, int64_t ignore, int64_t* to) {
  const auto* t = static_cast<const int64_t*>(reader.read(at, n, to));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = t[i];
    if (c == ignore) {
      to[i] = -1;
    } else if (c < 0 || c >= classes) {
      out_of_range(c, classes);
    } else {
      to[i] = c;
    }
  }
}

template <class T>
struct Wide {
  using type = std::conditional_t<std::is_same_v<T, double>, double, float>;
};

template <class T>
void forward(const Plan& p, Reduction reduction, const TensorView& result, const TensorView& total_weight) {
  using W = typename Wide<T>::type;
  const Layout layout(p.self);
  const int64_t n = layout.count();
  const int64_t blocks = (n + kBlockElements - 1) / kBlockElements;
  const Compute compute = compute_of(p.self.dtype);
  struct Part {
    double loss = 0, weight = 0;
  };
  std::vector<Part> parts(static_cast<size_t>(blocks));
  parallel_for(blocks, 8, [&](int64_t first, int64_t last) {
    const BlockReader targets(p.target, Compute::I64);
    const BlockWriter losses(reduction == Reduction::kNone ? result : p.self, compute);
    const bool each = reduction == Reduction::kNone;
    const LoadFn load_weight = kernels().load[static_cast<int>(p.weight.dtype)][static_cast<int>(compute)];
    const int64_t weight_size = static_cast<int64_t>(size_of(p.weight.dtype)), weight_stride = p.weight.stride(0);
    int64_t classes[kBlockElements];
    W values[kBlockElements];
    const T* data = p.self.as<const T>();
    for (int64_t b = first; b < last; ++b) {
      const int64_t at = b * kBlockElements, count = std::min(kBlockElements, n - at);
      read_targets(targets, at, count, layout.classes, p.ignore, classes);
      Part part;
      Layout::Cursor cursor(layout, at);
      for (int64_t i = 0; i < count; ++i, cursor.next()) {
        const int64_t c = classes[i];
        if (c < 0) {
          values[i] = 0;
          continue;
        }
        W w = 1;
        if (p.weighted) load_weight(&w, p.weight.as<const char>() + c * weight_stride * weight_size, 1, 1);
        const W v = -static_cast<W>(data[cursor.offset + c * layout.class_stride]) * w;
        values[i] = v;
        part.loss += static_cast<double>(v);
        part.weight += static_cast<double>(w);
      }
      parts[static_cast<size_t>(b)] = part;
      if (each) losses.write(at, count, values);
      if (each && losses.in_place())
        std::memcpy(losses.target(at, nullptr), values, static_cast<size_t>(count) * sizeof(W));
    }
  });
  Part total;
  for (const Part& part : parts) {
    total.loss += part.loss;
    total.weight += part.weight;
  }
  // As PyTorch: the total belongs to reductions only.
  store_one(total_weight, reduction == Reduction::kNone ? 0.0 : total.weight);
  if (reduction == Reduction::kMean) store_one(result, total.loss / total.weight);
  if (reduction == Reduction::kSum) store_one(result, total.loss);
}

template <class T>
void backward(const Plan& p, Reduction reduction, const TensorView& grad, const TensorView& total_weight,
              const TensorView& to) {
  using W = typename Wide<T>::type;
  const Layout layout(to);
  const int64_t n = layout.count();
  const Compute compute = compute_of(to.dtype);
  const bool rows = layout.places == 1 && layout.class_stride == 1;
  if (!rows) fill_elements(to, Params{});
  W scale = reduction == Reduction::kNone ? W(0) : static_cast<W>(load_one(grad));
  if (reduction == Reduction::kMean) scale /= static_cast<W>(load_one(total_weight));
  const LoadFn load_weight = kernels().load[static_cast<int>(p.weight.dtype)][static_cast<int>(compute)];
  const int64_t weight_size = static_cast<int64_t>(size_of(p.weight.dtype)), weight_stride = p.weight.stride(0);
  T* data = to.as<T>();
  const int64_t grain = rows ? std::max<int64_t>(1, 16384 / std::max<int64_t>(1, layout.classes)) : kBlockElements;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    const BlockReader targets(p.target, Compute::I64);
    const BlockReader grads(grad, compute);
    int64_t classes[kBlockElements];
    W buffer[kBlockElements];
    for (int64_t at = begin; at < end; at += kBlockElements) {
      const int64_t count = std::min(kBlockElements, end - at);
      read_targets(targets, at, count, layout.classes, p.ignore, classes);
      const W* g = reduction == Reduction::kNone ? static_cast<const W*>(grads.read(at, count, buffer)) : nullptr;
      Layout::Cursor cursor(layout, at);
      for (int64_t i = 0; i < count; ++i, cursor.next()) {
        T* row = data + cursor.offset;
        if (rows) std::memset(static_cast<void*>(row), 0, static_cast<size_t>(layout.classes) * sizeof(T));
        const int64_t c = classes[i];
        if (c < 0) continue;
        W w = 1;
        if (p.weighted) load_weight(&w, p.weight.as<const char>() + c * weight_stride * weight_size, 1, 1);
        row[c * layout.class_stride] = static_cast<T>(-(g ? g[i] : scale) * w);
      }
    }
  });
}

template <class F>
void visit_floating(const Op& op, DType t, F&& f) {
  switch (t) {
    case DType::Float: return f.template operator()<float>();
    case DType::Double: return f.template operator()<double>();
    case DType::Float16: return f.template operator()<Half>();
    case DType::BFloat16: return f.template operator()<BFloat16>();
    default: op.refuse("self is {}, want a floating type", name_of(t));
  }
}

Plan check(const Op& op, const TensorView& self, const TensorView& target, const OptIn& weight, int64_t ignore,
           bool images) {
  if (images) {
    op.require(self.rank == 4 && target.rank == 3, "self is {} and target {}, want [N,C,H,W] and [N,H,W]",
               describe(self), describe(target));
    const int64_t want[] = {self.dims[0], self.dims[2], self.dims[3]};
    op.require_shape("target", target, want, 3);
  } else {
    op.require(self.rank == 1 || self.rank == 2, "self is {}, want [N,C] or [C]", describe(self));
    op.require(target.numel() == (self.rank == 2 ? self.dims[0] : 1) && target.rank <= 1,
               "target is {}, want one class a row of self {}", describe(target), describe(self));
  }
  op.require(is_integral(target.dtype), "target is {}, want an integer type", describe(target));
  const int64_t classes = self.dims[self.rank == 1 ? 0 : 1];
  if (weight)
    op.require(weight->rank == 1 && weight->dims[0] == classes && is_floating(weight->dtype),
               "weight is {}, want {} floating-point values, one a class", describe(*weight), classes);
  return Plan{self, target, weight ? *weight : self, ignore, static_cast<bool>(weight)};
}

void plan_forward(Op& op, const Plan& plan, int64_t code, const TensorView& result, const TensorView& total_weight) {
  const Reduction reduction = reduction_of(op, code);
  suggest_loss(op, reduction, plan.target, plan.self.dtype, result);
  op.suggest(total_weight, {}, plan.weighted ? plan.weight.dtype : plan.self.dtype);
  require_single(op, "totalWeight", total_weight);
  if (reduction != Reduction::kNone) {
    require_single(op, "out", result);
  } else {
    op.require(result.numel() == plan.target.numel(), "out is {}, want the shape of target {}", describe(result),
               describe(plan.target));
  }
  op.work(plan.target.numel() * 8);
  visit_floating(op, plan.self.dtype,
                 [&]<class T>() { op.launch([=] { forward<T>(plan, reduction, result, total_weight); }); });
}

void plan_backward(Op& op, const TensorView& grad, const Plan& plan, int64_t code, const TensorView& total_weight,
                   const TensorView& to) {
  const Reduction reduction = reduction_of(op, code);
  op.result_like("gradInput", to, plan.self, plan.self.dtype);
  op.require(grad.numel() == (reduction == Reduction::kNone ? plan.target.numel() : 1),
             "gradOutput is {}, which does not match reduction {}", describe(grad), code);
  if (reduction == Reduction::kMean) require_single(op, "totalWeight", total_weight);
  if (to.empty()) return;
  visit_floating(op, to.dtype,
                 [&]<class T>() { op.launch([=] { backward<T>(plan, reduction, grad, total_weight, to); }); });
}

}  // namespace

CARD(aclnnNLLLoss, on("self", kFloats))
ABOUT(aclnnNLLLoss, Vector,
      "Negative log likelihood: -weight[target] * self[target], reduced; totalWeight is the divisor",
      "负对数似然 -weight[target] * self[target] 并归约，totalWeight 为除数")
ACLNN(aclnnNLLLoss, (In, self), (In, target), (OptIn, weight), (Int, reduction), (Int, ignoreIndex), (Out, out),
      (Out, totalWeight)) {
  plan_forward(op, check(op, *self, *target, weight, ignoreIndex, false), reduction, *out, *totalWeight);
}
ABOUT(aclnnNLLLossBackward, Vector, "Gradient of aclnnNLLLoss: -weight at the targets, else 0",
      "aclnnNLLLoss 的反向梯度：目标处为负权重，其余为 0")
ACLNN(aclnnNLLLossBackward, (In, gradOutput), (In, self), (In, target), (OptIn, weight), (Int, reduction),
      (Int, ignoreIndex), (In, totalWeight), (Out, out)) {
  plan_backward(op, *gradOutput, check(op, *self, *target, weight, ignoreIndex, false), reduction, *totalWeight, *out);
}
ABOUT(aclnnNLLLoss2d, Vector, "Negative log likelihood at each pixel of [N, C, H, W]",
      "[N, C, H, W] 逐像素的负对数似然")
ACLNN(aclnnNLLLoss2d, (In, self), (In, target), (OptIn, weight), (Int, reduction), (Int, ignoreIndex), (Out, out),
      (Out, totalWeight)) {
  plan_forward(op, check(op, *self, *target, weight, ignoreIndex, true), reduction, *out, *totalWeight);
}
ABOUT(aclnnNLLLoss2dBackward, Vector, "Gradient of aclnnNLLLoss2d", "aclnnNLLLoss2d 的反向梯度")
ACLNN(aclnnNLLLoss2dBackward, (In, gradOutput), (In, self), (In, target), (OptIn, weight), (Int, reduction),
      (Int, ignoreIndex), (In, totalWeight), (Out, out)) {
  plan_backward(op, *gradOutput, check(op, *self, *target, weight, ignoreIndex, true), reduction, *totalWeight, *out);
}

}  // namespace updraft
