#include "frontends/onnx/convert/window.h"

#include <algorithm>

namespace updraft::onnx {

bool Window::padded() const {
  return std::ranges::any_of(before, [](int64_t p) { return p != 0; }) ||
         std::ranges::any_of(after, [](int64_t p) { return p != 0; });
}
bool Window::dilated() const {
  return std::ranges::any_of(dilations, [](int64_t d) { return d != 1; });
}
Dims Window::pads() const {
  Dims both;
  for (size_t d = 0; d < before.size(); ++d) both.insert(both.end(), {before[d], after[d]});
  return both;
}

Window window_of(Conversion& c, Endpoint x, Dims kernel) {
  Window w;
  w.kernel = c.integers("kernel_shape", std::move(kernel));
  const size_t n = w.kernel.size();
  c.require(static_cast<size_t>(c.rank(x)) == n + 2, "the input is {}, the kernel has {} dimensions",
            describe(c.desc(x)), n);
  w.strides = c.integers("strides", Dims(n, 1));
  w.dilations = c.integers("dilations", Dims(n, 1));
  const Dims pads = c.integers("pads", Dims(2 * n, 0));
  c.require(w.strides.size() == n && w.dilations.size() == n && pads.size() == 2 * n,
            "kernel_shape, strides, dilations and pads have {}, {}, {} and {} values", n, w.strides.size(),
            w.dilations.size(), pads.size());
  for (size_t d = 0; d < n; ++d)
    c.require(w.kernel[d] > 0 && w.strides[d] > 0 && w.dilations[d] > 0,
              "kernel_shape, strides and dilations are {}, {} and {}, want positive ones", describe(w.kernel),
              describe(w.strides), describe(w.dilations));
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) return w;
  w.before.assign(n, 0);
  w.after.assign(n, 0);
  if (automatic == "VALID") return w;
  c.require(automatic == "SAME_UPPER" || automatic == "SAME_LOWER",
            "attribute auto_pad is \"{}\", want NOTSET, SAME_UPPER, SAME_LOWER or VALID", automatic);
  for (size_t d = 0; d < n; ++d) {
    const int64_t reach = (w.kernel[d] - 1) * w.dilations[d] + 1, step = w.strides[d];
    int64_t all = reach - 1;  // with steps of one the size does not matter
    if (step != 1) {
      const int64_t size = c.size(x, static_cast<int64_t>(d) + 2, "the input, with auto_pad,");
      all = std::max<int64_t>(0, ((size + step - 1) / step - 1) * step + reach - size);
    }
    w.before[d] = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
    w.after[d] = all - w.before[d];
  }
  return w;
}

Window with_height(const Window& w) {
  auto more = [](const Dims& values, int64_t first) {
    Dims all = {first};
    all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  return {more(w.kernel, 1), more(w.strides, 1), more(w.dilations, 1), more(w.before, 0), more(w.after, 0)};
}

Dims with_channels(const Dims& values) {
  Dims all = {1, 1};
  all.insert(all.end(), values.begin(), values.end());
  return all;
}

}  // namespace updraft::onnx
