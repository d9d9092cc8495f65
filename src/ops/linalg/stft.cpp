// Short-time Fourier transform: the spectra of windowed frames of a signal.
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/fourier.h"
#include "kernels/pipeline.h"
#include "ops/op.h"

namespace updraft {
namespace {

std::vector<complex128> read(const TensorView& v) {
  std::vector<complex128> values(static_cast<size_t>(v.numel()));
  if (!values.empty()) gather_to(values.data(), DType::Complex128, v);
  return values;
}

}  // namespace

// The one operator with this prefix: its name is not aclnnStft. The client passes winLength as an int.
SAMPLE(aclStft,
       "self=f32[2,64] window=f32[16] nFft=16 hopLength=8 winLength=16 onesided=true returnComplex=true out=c64[2,9,7]")
ABOUT(aclStft, Vector, "Short-time Fourier transform: spectra of windowed frames of a signal",
      "短时傅里叶变换：信号各加窗帧的频谱")
ACLNN(aclStft, (In, self), (OptIn, window), (Out, out), (Int, nFft), (Int, hopLength), (Int32, winLength),
      (Bool, normalized), (Bool, onesided), (Bool, returnComplex)) {
  op.require(self->rank == 1 || self->rank == 2, "self is {}, want one or two dimensions", describe(*self));
  const int64_t batch = self->rank == 2 ? self->dims[0] : 1, length = self->dims[self->rank - 1];
  op.require(nFft > 0 && nFft <= length, "nFft is {}, want 1 to the signal's length, {}", nFft, length);
  op.require(hopLength > 0, "hopLength is {}, want more than 0", hopLength);
  op.require(winLength > 0 && winLength <= nFft, "winLength is {}, want 1 to nFft, {}", winLength, nFft);
  if (window)
    op.require(window->rank == 1 && window->dims[0] == winLength, "window is {}, want {} elements", describe(*window),
               winLength);
  op.require(!onesided || !(is_complex(self->dtype) || (window && is_complex(window->dtype))),
             "onesided is true, but self is {}: want a real signal and window", describe(*self));
  const int64_t frames = (length - nFft) / hopLength + 1, n = onesided ? nFft / 2 + 1 : nFft;
  const int64_t dims[] = {batch, n, frames, 2};
  const int skip = self->rank == 2 ? 0 : 1;
  const DType part = real_of(self->dtype);
  op.result("out", *out, dims + skip, (returnComplex ? 3 : 4) - skip, returnComplex ? complex_of(part) : part);
  op.require(is_complex(out->dtype) == returnComplex && (is_floating(out->dtype) || is_complex(out->dtype)),
             "out is {}, want a {} type", describe(*out), returnComplex ? "complex" : "floating");
  if (out->empty()) return;
  op.work(batch * frames * nFft * 16);
  op.launch([=, self = *self, out = *out, window = window ? *window : TensorView()] {
    const std::vector<complex128> signal = read(self);
    std::vector<complex128> weight(static_cast<size_t>(nFft), complex128(0));
    std::fill_n(weight.begin() + (nFft - winLength) / 2, winLength, complex128(1));
    if (window.data) {
      const std::vector<complex128> values = read(window);
      std::copy(values.begin(), values.end(), weight.begin() + (nFft - winLength) / 2);
    }
    const Fourier fourier(nFft);
    const double scale = normalized ? 1 / std::sqrt(static_cast<double>(nFft)) : 1;
    std::vector<complex128> result(static_cast<size_t>(batch * n * frames));
    parallel_for(batch * frames, std::max<int64_t>(1, 2048 / nFft), [&](int64_t begin, int64_t end) {
      std::vector<complex128> frame(static_cast<size_t>(nFft)), spectrum(frame.size());
      for (; begin < end; ++begin) {
        const int64_t b = begin / frames, f = begin % frames;
        const complex128* from = signal.data() + b * length + f * hopLength;
        for (size_t i = 0; i < frame.size(); ++i) frame[i] = from[i] * weight[i];
        fourier.run(frame.data(), spectrum.data());
        for (int64_t k = 0; k < n; ++k)
          result[static_cast<size_t>((b * n + k) * frames + f)] = spectrum[static_cast<size_t>(k)] * scale;
      }
    });
    copy_elements(out, TensorView::contiguous(result.data(), returnComplex ? DType::Complex128 : DType::Double,
                                              out.dims, out.rank));
  });
}

}  // namespace updraft
