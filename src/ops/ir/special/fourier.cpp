// Fourier transforms: those that torch.fft is compiled to, and MindSpore's own types: one for the last dimensions, and
// those of its functions of the same names.
#include "kernels/fourier.h"
#include "base/parallel.h"
#include "ops/ir/complex_parts.h"
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
  /// Another size of dimension d: value(of, i) gives its elements, where of(k) are the old ones.
  template <class F>
  void remake(size_t d, int64_t size, F&& value) {
    int64_t inner = 1;
    for (size_t k = d + 1; k < dims.size(); ++k) inner *= dims[k];
    const int64_t old = dims[d], outer = old > 0 && inner > 0 ? static_cast<int64_t>(values.size()) / (old * inner) : 0;
    std::vector<complex128> made(static_cast<size_t>(outer * size * inner));
    for (int64_t line = 0; line < outer * inner; ++line) {
      const complex128* from = values.data() + line / inner * old * inner + line % inner;
      complex128* to = made.data() + line / inner * size * inner + line % inner;
      for (int64_t i = 0; i < size; ++i) to[i * inner] = value([&](int64_t k) { return from[k * inner]; }, i);
    }
    values = std::move(made);
    dims[d] = size;
  }
  /// Cuts dimension d, or fills it with zeros.
  void resize(size_t d, int64_t size) {
    if (const int64_t old = dims[d]; size != old)
      remake(d, size, [old](auto&& of, int64_t i) { return i < old ? of(i) : complex128(0); });
  }
  /// All points of dimension d of which the first half is given: the other half mirrors it.
  void mirror(size_t d, int64_t size) {
    const int64_t given = dims[d];
    remake(d, size, [=](auto&& of, int64_t i) -> complex128 {
      const int64_t mirrored = size - i;
      if (i <= size / 2) return i < given ? of(i) : complex128(0);
      return mirrored < given ? std::conj(of(mirrored)) : complex128(0);
    });
  }
  void conjugate() {
    for (complex128& v : values) v = std::conj(v);
  }
};

DType spectrum_of(DType t) {
  return t == DType::Double || t == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}
DType signal_of(DType t) { return spectrum_of(t) == DType::Complex128 ? DType::Double : DType::Float; }

enum class Numbers : uint8_t { Complex, RealIn, RealOut };  ///< real ones have half a spectrum
struct Kind {
  Numbers numbers;
  bool inverse, hermitian;  ///< hermitian: the signal is half given, the spectrum is real
  size_t fewest;            ///< how many dimensions without a list: 1, 2, or 0 for all
};
struct Axis {
  size_t d;
  int64_t size;
};

/// The dimensions that are transformed, in their order, with the points of each.
std::vector<Axis> axes_of(const Op& op, const In& input, const OptIn& sizes, const OptIn& dim, const Kind& kind) {
  const auto rank = static_cast<size_t>(input->rank);
  const Dims given = sizes && sizes->numel() ? op.integers("s", sizes.handle) : Dims();
  Dims named = dim && dim->numel() ? op.integers("dim", dim.handle) : Dims();
  if (named.empty()) {
    const size_t n = kind.fewest ? kind.fewest : given.empty() ? rank : given.size();
    op.require(rank >= n && n > 0, "input is {}, want {} dimensions or more", describe(*input), std::max<size_t>(1, n));
    for (size_t d = rank - n; d < rank; ++d) named.push_back(static_cast<int64_t>(d));
  }
  op.require(given.empty() || given.size() == named.size(), "{} sizes for {} dimensions", given.size(), named.size());
  std::vector<Axis> axes;
  for (size_t i = 0; i < named.size(); ++i) {
    const int64_t d = named[i] < 0 ? named[i] + input->rank : named[i];
    op.require(d >= 0 && d < input->rank, "dim has {}, and input is {}", named[i], describe(*input));
    for (const Axis& other : axes)
      op.require(other.d != static_cast<size_t>(d), "dim names dimension {} twice", named[i]);
    const bool half = kind.numbers == Numbers::RealOut && i + 1 == named.size();
    int64_t size = half ? 2 * (input->dims[d] - 1) : input->dims[d];
    if (!given.empty() && given[i] != -1) size = given[i];
    op.require(size > 0, "a transform has {} points, want some", size);
    axes.push_back({static_cast<size_t>(d), size});
  }
  return axes;
}

void transform(Op& op, const In& input, const OptIn& sizes, const OptIn& dim, const OptIn& norm, const Out& y,
               const Kind& kind) {
  op.require(kind.numbers != Numbers::RealIn || !is_complex(input->dtype), "input is {}, want real numbers",
             describe(*input));
  const std::vector<Axis> axes = axes_of(op, input, sizes, dim, kind);
  const Axis last = axes.back();
  Dims dims = ir::dims_of(*input);
  double points = 1;
  for (const Axis& a : axes) {
    dims[a.d] = a.size;
    points *= static_cast<double>(a.size);
  }
  if (kind.numbers == Numbers::RealIn) dims[last.d] = last.size / 2 + 1;
  ir::result(op, "y", *y, dims, kind.numbers == Numbers::RealOut ? signal_of(input->dtype) : spectrum_of(input->dtype));
  const Dims modes = norm && norm->numel() ? op.integers("norm", norm.handle) : Dims{0};
  op.require(modes.size() == 1 && modes[0] >= 0 && modes[0] <= 2,
             "norm is {}, want 0 (backward), 1 (forward) or 2 (ortho)", modes.empty() ? -1 : modes[0]);
  if (op.inferring() || y->empty()) return;
  // The factor is that of the way that the name says; a hermitian signal goes the other way.
  const bool all = kind.inverse ? modes[0] == 0 : modes[0] == 1;
  const double factor = modes[0] == 2 ? 1 / std::sqrt(points) : all ? 1 / points : 1;
  op.work(static_cast<int64_t>(static_cast<double>(ir::count_of(dims)) * 20));
  op.launch([=, view = *input, to = *y] {
    Spectrum s{ir::dims_of(view), gathered<complex128>(view)};
    const bool backwards = kind.hermitian ? !kind.inverse : kind.inverse;
    if (kind.hermitian && kind.numbers == Numbers::RealOut) s.conjugate();
    for (const Axis& a : axes) {
      const bool half = a.d == last.d && kind.numbers == Numbers::RealOut;
      s.resize(a.d, half ? a.size / 2 + 1 : a.size);
    }
    for (size_t i = 0; i + 1 < axes.size(); ++i) s.transform(axes[i].d, backwards);
    if (kind.numbers == Numbers::RealOut) s.mirror(last.d, last.size);
    s.transform(last.d, backwards);
    if (kind.numbers == Numbers::RealIn) s.resize(last.d, last.size / 2 + 1);
    if (kind.hermitian && kind.numbers == Numbers::RealIn) s.conjugate();
    for (complex128& v : s.values) v *= factor;
    if (kind.numbers == Numbers::RealOut) return write_all(to, ir::real_parts(s.values));
    write_all(to, s.values);
  });
}

}  // namespace

#define FOURIER(Type, text, chinese, sizes, ...)                                                      \
  ABOUT(Cust##Type, AICPU, text, chinese)                                                             \
  IR_OP(Cust##Type, Cust##Type, (In, input), (OptIn, sizes), (OptIn, dim), (OptIn, norm), (Out, y)) { \
    transform(op, input, sizes, dim, norm, y, {__VA_ARGS__});                                         \
  }
#define FOURIERS(Type, text, chinese, ...)                                         \
  FOURIER(Type, text, chinese, n, __VA_ARGS__, 1)                                  \
  FOURIER(Type##2, text ", two dimensions", chinese "（二维）", s, __VA_ARGS__, 2) \
  FOURIER(Type##N, text ", several dimensions", chinese "（多维）", s, __VA_ARGS__, 0)
FOURIERS(FFT, "Fourier transform", "傅里叶变换", Numbers::Complex, false, false)
FOURIERS(IFFT, "Inverse Fourier transform", "傅里叶逆变换", Numbers::Complex, true, false)
FOURIERS(RFFT, "Fourier transform of real numbers: half a spectrum", "实数的傅里叶变换（半谱）", Numbers::RealIn, false,
         false)
FOURIERS(IRFFT, "Inverse Fourier transform of half a spectrum, to real numbers", "半谱的傅里叶逆变换，结果为实数",
         Numbers::RealOut, true, false)
FOURIERS(HFFT, "Fourier transform of half a hermitian signal: a real spectrum",
         "厄米信号（半边）的傅里叶变换，频谱为实数", Numbers::RealOut, false, true)
FOURIERS(IHFFT, "Inverse Fourier transform of a real spectrum: half a hermitian signal",
         "实频谱的傅里叶逆变换，结果为半边厄米信号", Numbers::RealIn, true, true)
#undef FOURIERS
#undef FOURIER

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
    if (half_in) s.mirror(last, sizes.back());
    s.transform(last, inverse);
    if (half_out) s.resize(last, dims.back());
    for (complex128& v : s.values) v *= factor;
    if (!(real && inverse)) return write_all(to, s.values);
    write_all(to, ir::real_parts(s.values));
  });
}

// What the gradients of these functions ask for.
ABOUT(CustFFTShapeCopy, AICPU, "input cut to a shape, or filled with zeros", "将 input 截断或补零为指定形状")
IR_OP(CustFFTShapeCopy, CustFFTShapeCopy, (In, input), (In, shape), (Out, y)) {
  const Dims dims = op.integers("shape", shape.handle);
  op.require(dims.size() == static_cast<size_t>(input->rank), "shape has {} sizes, and input is {}", dims.size(),
             describe(*input));
  for (int64_t n : dims) op.require(n >= 0, "shape has {}", n);
  ir::result(op, "y", *y, dims, input->dtype);
  if (op.inferring() || y->empty()) return;
  TensorView from = *input, to = *y;
  for (int d = 0; d < to.rank; ++d) {
    from = narrow(from, d, 0, std::min(from.dims[d], dims[static_cast<size_t>(d)]));
    to = narrow(to, d, 0, from.dims[d]);
  }
  call(op, "aclnnInplaceZero", *y);
  if (!to.empty()) call(op, "aclnnInplaceCopy", to, from);
}
ABOUT(CustIRFFTDouble, AICPU, "Half a spectrum: what stands for two points of the whole one is doubled",
      "半谱中代表两个频点的元素加倍")
IR_OP(CustIRFFTDouble, CustIRFFTDouble, (In, input), (OptIn, n), (OptIn, dim), (Out, y)) {
  const Dims points = n && n->numel() ? op.integers("n", n.handle) : Dims(),
             named = dim && dim->numel() ? op.integers("dim", dim.handle) : Dims{-1};
  op.require(!named.empty() && named.back() >= -input->rank && named.back() < input->rank,
             "dim has {}, and input is {}", named.empty() ? 0 : named.back(), describe(*input));
  op.result_like("y", *y, *input, input->dtype);
  if (op.inferring() || y->empty()) return;
  const auto d = static_cast<int>(named.back() < 0 ? named.back() + input->rank : named.back());
  const int64_t size = points.empty() ? 2 * (input->dims[d] - 1) : points.back(), last = (size - 1) / 2;
  call(op, "aclnnInplaceCopy", *y, *input);
  if (const int64_t count = std::min(last, input->dims[d] - 1); count > 0)
    call(op, "aclnnInplaceMuls", narrow(*y, d, 1, count), 2.0);
}

// --- as torch.fft is compiled to them -----------------------------------------------------------------------------
namespace {
void transform_last(Op& op, const In& x, const Out& y, int dimensions) {
  op.require(is_complex(x->dtype) && x->rank >= dimensions, "x is {}, want complex numbers of {} dimensions or more",
             describe(*x), dimensions);
  op.result_like("y", *y, *x, x->dtype);
  if (x->empty()) return;
  op.work(x->numel() * 16 * dimensions);
  op.launch([view = *x, to = *y, dimensions] {
    Spectrum s{ir::dims_of(view), gathered<complex128>(view)};
    for (size_t d = s.dims.size() - static_cast<size_t>(dimensions); d < s.dims.size(); ++d) s.transform(d, false);
    write_all(to, s.values);
  });
}
}  // namespace
ABOUT(FFT, Vector, "The Fourier transforms of x along its last dimension, not scaled",
      "沿 x 最后一维的傅里叶变换，不归一化")
IR_OP(FFT, FFT, (In, x), (Out, y)) { transform_last(op, x, y, 1); }
ABOUT(FFT2D, Vector, "The Fourier transforms of x along its last two dimensions, not scaled",
      "沿 x 最后两维的二维傅里叶变换，不归一化")
IR_OP(FFT2D, FFT2D, (In, x), (Out, y)) { transform_last(op, x, y, 2); }

}  // namespace updraft
