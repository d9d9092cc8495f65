// aclnnForeachNorm: one number for each tensor.
#include <cmath>
#include <limits>

#include "ops/foreach/list.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

struct NormTensor {
  TensorView in, out;
  bool flat;
};

struct Norm {
  double order;
  std::vector<NormTensor> tensors;
  ListUnits units;

  // A block of any type, summed in the way of the order.
  double block(const void* data, DType t, int64_t n) const {
    const KernelTable& table = kernels();
    const int kind = order == 0 ? 0 : order == 1 ? 1 : order == 2 ? 2 : 3;
    const bool special = order == 0 || order == 1 || order == 2 || std::isinf(order);
    const Compute compute = real_compute(t);
    alignas(64) char buffer[kListBlock * 8];
    if (t != storage_of(compute)) {
      table.load[static_cast<int>(t)][static_cast<int>(compute)](buffer, data, 1, n);
      data = buffer;
    }
    auto element = [&](int64_t i) {
      return compute == Compute::F64 ? std::abs(static_cast<const double*>(data)[i])
                                     : static_cast<double>(std::abs(static_cast<const float*>(data)[i]));
    };
    if (special && !(std::isinf(order) && order < 0))
      return compute == Compute::F64 ? table.foreach_norm_f64(static_cast<const double*>(data), n, kind)
                                     : table.foreach_norm_f32(static_cast<const float*>(data), n, kind);
    double total = std::isinf(order) ? std::numeric_limits<double>::infinity() : 0;
    for (int64_t i = 0; i < n; ++i) {
      if (std::isinf(order)) total = element(i) < total || std::isnan(element(i)) ? element(i) : total;
      else total += std::pow(element(i), order);
    }
    return total;
  }

  void run() {
    std::vector<double> parts(static_cast<size_t>(units.units()));
    const bool extreme = std::isinf(order);
    auto join = [&](double a, double b) {
      if (!extreme) return a + b;
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
      return order > 0 ? std::max(a, b) : std::min(a, b);
    };
    const double none = extreme && order < 0 ? std::numeric_limits<double>::infinity() : 0;
    // Others than flat tensors are gathered first.
    std::vector<std::vector<char>> hold;
    std::vector<const char*> data;
    for (NormTensor& t : tensors) {
      if (!t.flat) {
        hold.emplace_back(t.in.bytes());
        gather_to(hold.back().data(), t.in.dtype, t.in);
      }
      data.push_back(t.flat ? t.in.as<char>() : hold.back().data());
    }
    units.run([&](size_t i, int64_t unit, int64_t begin, int64_t n) {
      const DType t = tensors[i].in.dtype;
      double total = none;
      for (int64_t at = 0; at < n; at += kListBlock)
        total = join(total,
                     block(data[i] + (begin + at) * static_cast<int64_t>(size_of(t)), t, std::min(kListBlock, n - at)));
      parts[static_cast<size_t>(unit)] = total;
    });
    for (size_t i = 0; i < tensors.size(); ++i) {
      double total = none;
      const int64_t first = units.first(i), count = (tensors[i].in.numel() + kListUnit - 1) / kListUnit;
      for (int64_t u = first; u < first + count; ++u) total = join(total, parts[static_cast<size_t>(u)]);
      if (order == 2) total = std::sqrt(total);
      else if (order != 0 && order != 1 && !extreme) total = std::pow(total, 1 / order);
      const DType to = tensors[i].out.dtype;
      kernels().store[static_cast<int>(Compute::F64)][static_cast<int>(to)](tensors[i].out.data, 1, &total, 1);
    }
  }
};

}  // namespace

SAMPLE(aclnnForeachNorm, "out=f32[];f32[]")
ABOUT(aclnnForeachNorm, Vector, "out[i] = the norm of order ord of all elements of x[i]",
      "out[i] = x[i] 全部元素的 ord 阶范数")
ACLNN(aclnnForeachNorm, (Tensors, x), (Scalar, ord), (OutTensors, out)) {
  op.require(x.size() == out.size(), "out has {} tensors, want {}", out.size(), x.size());
  Norm norm;
  norm.order = ord->to_double();
  for (size_t i = 0; i < x.size(); ++i) {
    op.require(x.item(i) && out.item(i), "tensor {} of a list is null", i);
    op.require(is_floating(x[i].dtype), "x[{}] is {}, want a floating type", i, describe(x[i]));
    op.suggest(out[i], {}, x[i].dtype);
    op.require(out[i].numel() == 1 && is_floating(out[i].dtype), "out[{}] is {}, want one floating element", i,
               describe(out[i]));
    const TensorView* view = &x[i];
    norm.tensors.push_back({x[i], out[i], lie_alike(&view, 1)});
    norm.units.add(x[i].numel());
  }
  if (norm.tensors.empty()) return;
  op.work(norm.units.elements());
  op.launch([norm = std::move(norm)]() mutable { norm.run(); });
}

}  // namespace updraft
