// Fourier transforms over the last dimensions: MindSpore's own type for all of them.
#include "kernels/fourier.h"
#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

struct Spectrum {
  Dims dims;
  std::vector<complex128> values;

  /// Transforms dimension d; backwards without a factor.
  void transform(size_t d, bool inverse) {
    const int64_t n = dims[d];
    int64_t inner = 1;
    for (size_t k = d + 1; k < dims.size(); ++k) inner *= dims[k];
    const Fourier fourier(n);
    const int64_t lines = n ? static_cast<int64_t>(values.size()) / n : 0;
    parallel_for(lines, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n)), [&](int64_t begin, int64_t end) {
      std::vector<complex128> from(static_cast<size_t>(n)), to(from.size());
      for (; begin < end; ++begin) {
        complex128* line = values.data() + begin / inner * n * inner + begin % inner;
        for (int64_t i = 0; i < n; ++i)
          from[static_cast<size_t>(i)] = inverse ? std::conj(line[i * inner]) : line[i * inner];
        fourier.run(from.data(), to.data());
        for (int64_t i = 0; i < n; ++i)
          line[i * inner] = inverse ? std::conj(to[static_cast<size_t>(i)]) : to[static_cast<size_t>(i)];
      }
    });
  }
  /// Another size of the last dimension: value(row, i) gives its elements.
  template <class F>
  void resize_last(int64_t size, F&& value) {
    const int64_t old = dims.back(), rows = old ? static_cast<int64_t>(values.size()) / old : 0;
    std::vector<complex128> made(static_cast<size_t>(rows * size));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < size; ++i) made[static_cast<size_t>(r * size + i)] = value(values.data() + r * old, i);
    values = std::move(made);
    dims.back() = size;
  }
};

DType spectrum_of(DType t) {
  return t == DType::Double || t == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}
DType signal_of(DType t) { return spectrum_of(t) == DType::Complex128 ? DType::Double : DType::Float; }

}  // namespace

ABOUT(CustFFTWithSize, AICPU, "Fourier transforms of the last dimensions, of complex or of real numbers",
      "末几维的傅里叶变换（复数或实数）")
IR_OP(CustFFTWithSize, CustFFTWithSize, (In, x), (Out, y), (Int, signal_ndim), (Bool, inverse), (Bool, real),
      (Text, norm, "backward"), (Bool, onesided, true), (Ints, signal_sizes, nullptr)) {
  const std::string_view word = norm;
  op.require(word == "backward" || word == "forward" || word == "ortho",
             "attribute norm is \"{}\", want backward, forward or ortho", norm);
  op.require(signal_ndim >= 1 && signal_ndim <= 3 && x->rank >= signal_ndim,
             "x is {} and attribute signal_ndim {}, want 1 to 3 of its dimensions", describe(*x), signal_ndim);
  op.require(is_complex(x->dtype) != (real && !inverse), "x is {}: want {} numbers for this transform", describe(*x),
             real && !inverse ? "real" : "complex");
  const size_t count = signal_sizes.size(), n = static_cast<size_t>(signal_ndim);
  op.require(count == 0 || count == n, "attribute signal_sizes has {} values, want none or {}", count, n);
  const Dims from = ir::dims_of(*x);
  Dims sizes = from;  // of the transforms
  const bool half_in = real && inverse && onesided, half_out = real && !inverse && onesided;
  if (half_in) sizes.back() = count ? signal_sizes[n - 1] : 2 * (from.back() - 1);
  for (size_t d = from.size() - n; d < from.size(); ++d)
    op.require(sizes[d] > 0, "a transform has {} points, want some", sizes[d]);
  Dims dims = sizes;
  if (half_out) dims.back() = sizes.back() / 2 + 1;
  ir::result(op, "y", *y, dims, real && inverse ? signal_of(x->dtype) : spectrum_of(x->dtype));
  if (op.inferring() || y->empty()) return;
  double points = 1;
  for (size_t d = sizes.size() - n; d < sizes.size(); ++d) points *= static_cast<double>(sizes[d]);
  const bool all = inverse ? word == "backward" : word == "forward";
  const double factor = word == "ortho" ? 1 / std::sqrt(points) : all ? 1 / points : 1;
  op.work(static_cast<int64_t>(static_cast<double>(ir::count_of(sizes)) * 20));
  op.launch([=, view = *x, to = *y] {
    Spectrum s{from, gathered<complex128>(view)};
    const size_t last = from.size() - 1;
    for (size_t d = last + 1 - n; d < last; ++d) s.transform(d, inverse);
    if (half_in) {  // the other half mirrors this one
      const int64_t given = from.back(), size = sizes.back();
      s.resize_last(size, [&](const complex128* row, int64_t i) -> complex128 {
        const int64_t mirrored = size - i;
        if (i <= size / 2) return i < given ? row[i] : complex128(0);
        return mirrored < given ? std::conj(row[mirrored]) : complex128(0);
      });
    }
    s.transform(last, inverse);
    if (half_out) s.resize_last(dims.back(), [](const complex128* row, int64_t i) { return row[i]; });
    for (complex128& v : s.values) v *= factor;
    if (!(real && inverse)) return write_all(to, s.values);
    std::vector<double> parts;
    for (const complex128& v : s.values) parts.push_back(v.real());
    write_all(to, parts);
  });
}

}  // namespace updraft
