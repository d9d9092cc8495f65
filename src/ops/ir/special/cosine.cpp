// MindSpore's cosine transforms, of type II, by Fourier transforms of twice as many points; in double, so that results
// are rounded once.
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "kernels/fourier.h"
#include "ops/ir/complex_parts.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

enum class Norm : uint8_t { Backward, Forward, Ortho };  ///< as MindSpore counts them

struct Axis {
  int d;
  int64_t points;
};

/// What the orthogonal transform multiplies coefficient k with.
double orthogonal(int64_t k, int64_t points) { return std::sqrt((k == 0 ? 0.25 : 0.5) / static_cast<double>(points)); }

/// The transform of one line, forwards: 2 sum x[i] cos(pi k (2 i + 1) / 2 n).
struct Line {
  int64_t n;
  Norm norm;
  Fourier fourier{2 * n};
  complex128 turn(int64_t k) const {
    const double angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(2 * n);
    return {std::cos(angle), std::sin(angle)};
  }
  double factor(int64_t k) const {
    if (norm == Norm::Ortho) return orthogonal(k, n);
    return norm == Norm::Forward ? 0.5 / static_cast<double>(n) : 1.0;
  }
  void forwards(complex128* line, std::vector<complex128>& from, std::vector<complex128>& to) const {
    for (int64_t i = 0; i < n; ++i) from[static_cast<size_t>(i)] = from[static_cast<size_t>(2 * n - 1 - i)] = line[i];
    fourier.run(from.data(), to.data());
    for (int64_t k = 0; k < n; ++k) line[k] = to[static_cast<size_t>(k)] * std::conj(turn(k)) * factor(k);
  }
  void backwards(complex128* line, std::vector<complex128>& from, std::vector<complex128>& to) const {
    // An inverse Fourier transform is a transform of the points in reverse order, over their number.
    const auto points = static_cast<double>(2 * n);
    from[static_cast<size_t>(n)] = 0;
    for (int64_t k = 0; k < n; ++k) {
      const complex128 x = line[k] / (factor(k) * points);
      from[static_cast<size_t>(k ? 2 * n - k : 0)] = x * turn(k);
      if (k) from[static_cast<size_t>(k)] = -x * turn(2 * n - k);
    }
    fourier.run(from.data(), to.data());
    for (int64_t i = 0; i < n; ++i) line[i] = to[static_cast<size_t>(i)];
  }
};

int64_t one_of(const Op& op, const char* name, const OptIn& tensor, int64_t otherwise) {
  if (!tensor || tensor->numel() == 0) return otherwise;
  const Dims values = op.integers(name, tensor.handle);
  op.require(values.size() == 1, "{} has {} values, want one", name, values.size());
  return values[0];
}

/// `axes` in their order; a size of -1 is the input's.
void transform(Op& op, const In& x, const std::vector<Axis>& axes, const OptIn& type, const OptIn& norm, const Out& y,
               bool inverse) {
  op.require(is_complex(x->dtype) || is_floating(x->dtype) || is_integral(x->dtype), "x is {}, want numbers",
             describe(*x));
  const int64_t kind = one_of(op, "type", type, 2), mode = one_of(op, "norm", norm, static_cast<int64_t>(Norm::Ortho));
  op.require(kind == 2, "type is {}: the transform is there for type 2", kind);
  op.require(mode >= 0 && mode <= 2, "norm is {}, want 0 (backward), 1 (forward) or 2 (ortho)", mode);
  Dims dims = ir::dims_of(*x);
  for (const Axis& a : axes) dims[static_cast<size_t>(a.d)] = a.points;
  const bool plain = is_complex(x->dtype) || x->dtype == DType::Double;
  ir::result(op, "y", *y, dims, plain ? x->dtype : DType::Float);
  if (op.inferring() || y->empty()) return;
  for (const Axis& a : axes) op.require(a.points > 0, "dimension {} has no points", a.d);
  op.work(ir::count_of(dims) * 40);
  op.launch([=, from = *x, to = *y] {
    std::vector<complex128> values = gathered<complex128>(from);
    Dims now = ir::dims_of(from);
    for (const Axis& a : axes) {
      const auto d = static_cast<size_t>(a.d);
      int64_t inner = 1, outer = 1;
      for (size_t k = 0; k < d; ++k) outer *= now[k];
      for (size_t k = d + 1; k < now.size(); ++k) inner *= now[k];
      const int64_t had = now[d];
      const Line line{a.points, static_cast<Norm>(mode)};
      std::vector<complex128> made(static_cast<size_t>(outer * a.points * inner));
      parallel_for(outer * inner, std::max<int64_t>(1, 4096 / a.points), [&](int64_t begin, int64_t end) {
        std::vector<complex128> one(static_cast<size_t>(a.points)), first(2 * one.size()), second(first.size());
        for (; begin < end; ++begin) {
          const int64_t o = begin / inner, i = begin % inner;
          for (int64_t k = 0; k < a.points; ++k)
            one[static_cast<size_t>(k)] = k < had ? values[static_cast<size_t>((o * had + k) * inner + i)] : 0;
          if (inverse) line.backwards(one.data(), first, second);
          else line.forwards(one.data(), first, second);
          for (int64_t k = 0; k < a.points; ++k)
            made[static_cast<size_t>((o * a.points + k) * inner + i)] = one[static_cast<size_t>(k)];
        }
      });
      values = std::move(made);
      now[d] = a.points;
    }
    ir::write_parts(to, values);
  });
}

void transform_one(Op& op, const In& x, const OptIn& type, const OptIn& n, const OptIn& axis, const OptIn& norm,
                   const Out& y, bool inverse) {
  const auto d = static_cast<int>(ir::axis_of(op, "axis", one_of(op, "axis", axis, -1), x->rank));
  const int64_t size = one_of(op, "n", n, -1);
  transform(op, x, {{d, size == -1 ? x->dims[d] : size}}, type, norm, y, inverse);
}

void transform_several(Op& op, const In& x, const OptIn& type, const OptIn& s, const OptIn& axes, const OptIn& norm,
                       const Out& y, bool inverse) {
  const Dims sizes = s && s->numel() ? op.integers("s", s.handle) : Dims();
  Dims named = axes && axes->numel() ? op.integers("axes", axes.handle) : Dims();
  if (named.empty()) {
    const auto count = sizes.empty() ? x->rank : static_cast<int>(sizes.size());
    op.require(count <= x->rank, "s has {} sizes, and x is {}", sizes.size(), describe(*x));
    for (int d = x->rank - count; d < x->rank; ++d) named.push_back(d);
  }
  named = ir::axes_of(op, "axes", named, x->rank);
  op.require(sizes.empty() || sizes.size() == named.size(), "s has {} sizes for {} axes", sizes.size(), named.size());
  std::vector<Axis> all;
  for (size_t i = 0; i < named.size(); ++i) {
    const auto d = static_cast<int>(named[i]);
    all.push_back({d, sizes.empty() || sizes[i] == -1 ? x->dims[d] : sizes[i]});
  }
  transform(op, x, all, type, norm, y, inverse);
}

}  // namespace

#define COSINE(Type, text, chinese, inverse)                                                                        \
  ABOUT(Cust##Type, AICPU, text, chinese)                                                                           \
  IR_OP(Cust##Type, Cust##Type, (In, x), (OptIn, type), (OptIn, n), (OptIn, axis), (OptIn, norm), (Out, y)) {       \
    transform_one(op, x, type, n, axis, norm, y, inverse);                                                          \
  }                                                                                                                 \
  ABOUT(Cust##Type##N, AICPU, text ", several dimensions", chinese "（多维）")                                      \
  IR_OP(Cust##Type##N, Cust##Type##N, (In, x), (OptIn, type), (OptIn, s), (OptIn, axes), (OptIn, norm), (Out, y)) { \
    transform_several(op, x, type, s, axes, norm, y, inverse);                                                      \
  }
COSINE(DCT, "Cosine transform, type II", "离散余弦变换（II 型）", false)
COSINE(IDCT, "Inverse cosine transform, type II", "离散余弦逆变换（II 型）", true)
#undef COSINE

ABOUT(CustFFTOrtho, AICPU, "Coefficients of a cosine transform times what makes it orthogonal, or over that",
      "余弦变换系数乘以（或除以）正交化因子")
IR_OP(CustFFTOrtho, CustFFTOrtho, (In, input), (In, axes), (Out, y), (Bool, forward)) {
  const Dims named = ir::axes_of(op, "axes", op.integers("axes", axes.handle), input->rank);
  op.result_like("y", *y, *input, input->dtype);
  if (op.inferring() || y->empty()) return;
  op.work(y->numel() * 4);
  op.launch([=, from = *input, to = *y, forwards = bool{forward}] {
    std::vector<complex128> values = gathered<complex128>(from);
    for (const int64_t d : named) {
      int64_t inner = 1;
      for (int64_t k = d + 1; k < from.rank; ++k) inner *= from.dims[k];
      const int64_t points = from.dims[d];
      for (size_t i = 0; i < values.size(); ++i) {
        const double factor = orthogonal(static_cast<int64_t>(i) / inner % points, points);
        values[i] *= forwards ? factor : 1 / factor;
      }
    }
    ir::write_parts(to, values);
  });
}

}  // namespace updraft
