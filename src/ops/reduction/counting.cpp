// Histograms, counts of integers, and putting pooled maxima back.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/pipeline.h"
#include "ops/infer.h"
#include "ops/reduction/reduction.h"

namespace updraft {

SAMPLE(aclnnHistc, "bins=4 min=0 max=1 out=f32[4]")
ABOUT(aclnnHistc, Vector, "Counts of the elements in bins equal intervals from min to max",
      "将 [min, max] 等分为 bins 个区间并统计元素个数")
ACLNN(aclnnHistc, (In, self), (Int, bins), (Scalar, min), (Scalar, max), (Out, out)) {
  op.require(bins > 0, "bins is {}, want at least 1", bins);
  op.suggest(*out, {bins}, is_floating(self->dtype) ? self->dtype : DType::Float);
  op.require(out->numel() == bins, "out is {}, want {} elements", describe(*out), bins);
  op.require(!is_complex(self->dtype), "self is {}: complex numbers have no order", describe(*self));
  op.require(std::isfinite(min->to_double()) && std::isfinite(max->to_double()),
             "min is {} and max {}, want finite numbers", min->to_double(), max->to_double());
  op.require(min->to_double() <= max->to_double(), "min is {}, greater than max, {}", min->to_double(),
             max->to_double());
  op.work(self->numel() * 8);
  op.launch([=, self = *self, out = *out, low = min->to_double(), high = max->to_double()] {
    const int64_t n = self.numel();
    double left = low, right = high;
    const bool single = self.dtype == DType::Float || is_half(self.dtype);
    std::vector<double> values(static_cast<size_t>(n));
    if (n) gather_to(values.data(), DType::Double, self);
    if (left == right && n) {
      left = *std::min_element(values.begin(), values.end());
      right = *std::max_element(values.begin(), values.end());
      if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); })) left = right = NAN;
    }
    if (!std::isfinite(left) || !std::isfinite(right))
      fail_kernel(
          fmt::format("aclnnHistc: self's values are from {} to {}: give min and max, finite ones", left, right));
    if (left == right) {
      left -= 1;
      right += 1;
    }
    std::vector<int64_t> count(static_cast<size_t>(bins));
    const float fl = static_cast<float>(left), fr = static_cast<float>(right), fb = static_cast<float>(bins);
    for (double v : values) {
      if (!(v >= left && v <= right)) continue;
      // In the tensor's own precision, so that values on an edge fall as they do in PyTorch.
      const double at = single ? static_cast<double>((static_cast<float>(v) - fl) * fb / (fr - fl))
                               : (v - left) * static_cast<double>(bins) / (right - left);
      // Not a number where the range's width overflows.
      ++count[static_cast<size_t>(!(at > 0)                        ? 0
                                  : at < static_cast<double>(bins) ? static_cast<int64_t>(at)
                                                                   : bins - 1)];
    }
    copy_elements(out, TensorView::contiguous(count.data(), DType::Int64, out.dims, out.rank));
  });
}

SAMPLE(aclnnBincount, "self=i32[M] minlength=4 out=i64[4]")
ABOUT(aclnnBincount, AICPU, "out[v] = how often, or with which sum of weights, the integer v occurs in self",
      "out[v] = 整数 v 在 self 中出现的次数或 weights 之和")
ACLNN(aclnnBincount, (In, self), (OptIn, weights), (Int, minlength), (Out, out)) {
  op.require(is_integral(self->dtype, true), "self is {}, want integers", describe(*self));
  op.require(self->rank <= 1, "self is {}, want one dimension", describe(*self));
  require_given(op, "out", *out);
  op.require(out->numel() >= minlength, "out is {}, want at least minlength = {} elements", describe(*out), minlength);
  if (weights)
    op.require(weights->numel() == self->numel(), "weights is {}, want {} elements", describe(*weights), self->numel());
  op.work(self->numel() * 8);
  op.launch([=, self = *self, out = *out, weights = weights ? *weights : TensorView()] {
    const size_t n = static_cast<size_t>(self.numel()), bins = static_cast<size_t>(out.numel());
    std::vector<int64_t> values(n);
    if (n) gather_to(values.data(), DType::Int64, self);
    for (int64_t v : values)
      if (v < 0 || v >= static_cast<int64_t>(bins))
        fail_kernel(fmt::format("aclnnBincount: {} is out of range, want 0 to {}", v, static_cast<int64_t>(bins) - 1));
    const bool weighted = weights.dtype != DType::Undefined;
    if (!weighted || !is_floating(out.dtype)) {
      std::vector<int64_t> count(bins), w;
      if (weighted && n) {
        w.resize(n);
        gather_to(w.data(), DType::Int64, weights);
      }
      for (size_t i = 0; i < n; ++i) count[static_cast<size_t>(values[i])] += weighted ? w[i] : 1;
      if (bins) copy_elements(out, TensorView::contiguous(count.data(), DType::Int64, out.dims, out.rank));
      return;
    }
    std::vector<double> w(n), total(bins);
    if (n) gather_to(w.data(), DType::Double, weights);
    for (size_t i = 0; i < n; ++i) total[static_cast<size_t>(values[i])] += w[i];
    if (bins) copy_elements(out, TensorView::contiguous(total.data(), DType::Double, out.dims, out.rank));
  });
}

namespace {

// Leading dimensions are planes; an index counts within its plane of the output.
void plan_unpool(Op& op, const TensorView& self, const TensorView& indices, const Ints& size, int spatial,
                 const TensorView& out) {
  if (op.inferring()) {
    op.require(static_cast<int>(size.size()) == spatial && self.rank >= spatial, "outputSize has {} values, want {}",
               size.size(), spatial);
    int64_t dims[kMaxDims];
    std::copy_n(self.dims, self.rank - spatial, dims);
    std::copy_n(size->begin(), spatial, dims + self.rank - spatial);
    op.suggest(out, dims, self.rank, self.dtype);
  }
  op.require_same_shape("self", self, "indices", indices);
  op.require(is_integral(indices.dtype), "indices is {}, want integers", describe(indices));
  op.require(self.rank == out.rank && (self.rank == spatial + 1 || self.rank == spatial + 2),
             "self is {} and out {}, want {} or {} dimensions", describe(self), describe(out), spatial + 1,
             spatial + 2);
  op.require(self.dtype == out.dtype, "out is {}, want the data type of self, {}", describe(out), name_of(self.dtype));
  op.require(std::equal(self.dims, self.dims + self.rank - spatial, out.dims), "self is {} and out {}: planes differ",
             describe(self), describe(out));
  if (out.empty()) return;
  op.work(out.numel() * 4);
  op.launch([=] {
    fill_elements(out, Params{});
    const int64_t n = self.numel();
    if (n == 0) return;
    int64_t planes = 1;
    for (int d = 0; d < self.rank - spatial; ++d) planes *= self.dims[d];
    const int64_t in_area = n / planes, out_area = out.numel() / planes;
    const int64_t size = static_cast<int64_t>(size_of(self.dtype));
    std::vector<int64_t> at(static_cast<size_t>(n));
    gather_to(at.data(), DType::Int64, indices);
    const bool plain = self.is_contiguous() && out.is_contiguous();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t k = at[static_cast<size_t>(i)];
      if (k < 0 || k >= out_area)
        fail_kernel(fmt::format("{}: index {} is out of range, want 0 to {}", "max_unpool", k, out_area - 1));
      const int64_t to = i / in_area * out_area + k;
      std::memcpy(out.as<char>() + (plain ? to : out.offset_of(to)) * size,
                  self.as<char>() + (plain ? i : self.offset_of(i)) * size, static_cast<size_t>(size));
    }
  });
}

}  // namespace

SAMPLE(aclnnMaxUnpool2d, "self=f32[1,1,1,1] indices=i64[1,1,1,1]:2..3 outputSize=4,4 out=f32[1,1,4,4]")
ABOUT(aclnnMaxUnpool2d, Vector, "Puts pooled maxima back to their indices in a plane of zeros",
      "将最大池化结果按 indices 放回二维平面，其余为 0")
ACLNN(aclnnMaxUnpool2d, (In, self), (In, indices), (Ints, outputSize), (Out, out)) {
  plan_unpool(op, *self, *indices, outputSize, 2, *out);
}
SAMPLE(aclnnMaxUnpool3d,
       "self=f32[1,1,1,1,1] indices=i64[1,1,1,1,1]:2..3 outputSize=2,4,4 stride=2,2,2 padding=0,0,0 out=f32[1,1,2,4,4]")
ABOUT(aclnnMaxUnpool3d, Vector, "Puts pooled maxima back to their indices in a volume of zeros",
      "将最大池化结果按 indices 放回三维空间，其余为 0")
ACLNN(aclnnMaxUnpool3d, (In, self), (In, indices), (Ints, outputSize), (Ints, stride), (Ints, padding), (Out, out)) {
  (void)stride;
  (void)padding;
  plan_unpool(op, *self, *indices, outputSize, 3, *out);
}

}  // namespace updraft
