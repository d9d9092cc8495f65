#include "ops/resize/resample.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "tensor/view_algebra.h"

namespace updraft {

TapTable::TapTable(int64_t in, int64_t out, int count, bool unit) {
  taps.in = in;
  taps.out = out;
  taps.count = count;
  taps.unit = unit;
  index.resize(static_cast<size_t>(out * count));
  if (!unit) weight.resize(index.size());
}

void TapTable::finish() {
  taps.index = index.data();
  weight_f32.assign(weight.begin(), weight.end());
  taps.f32 = weight_f32.data();
  taps.f64 = weight.data();
}

namespace {

/// Images whose channels lie innermost on both sides, and each point of the result is one of the input's: whole pixels
/// move.
bool moves_pixels(const std::vector<TapTable>& tables, const TensorView& in, const TensorView& out) {
  constexpr int64_t kLeast = 4;  // channels: less is a matter for planes
  return tables.size() == 2 &&
         std::ranges::all_of(tables, [](const TapTable& t) { return t.taps.unit && t.taps.count == 1; }) &&
         in.rank == 4 && in.dtype == out.dtype && in.dims[1] >= kLeast && in.strides[1] == 1 && out.strides[1] == 1;
}

void move_pixels(const TapTable& high, const TapTable& wide, const TensorView& in, const TensorView& out) {
  const int64_t lines = out.dims[2], width = out.dims[3];
  const size_t bytes = static_cast<size_t>(out.dims[1]) * size_of(out.dtype);
  parallel_for(out.dims[0] * lines, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width * out.dims[1])),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t image = i / lines, line = i % lines;
                   const int64_t to = image * out.strides[0] + line * out.strides[2];
                   const int64_t from = image * in.strides[0] + high.index[static_cast<size_t>(line)] * in.strides[2];
                   for (int64_t x = 0; x < width; ++x)
                     std::memcpy(at_element(out, to + x * out.strides[3]),
                                 at_element(in, from + wide.index[static_cast<size_t>(x)] * in.strides[3]), bytes);
                 }
               });
}

}  // namespace

void plan_resample(Op& op, std::vector<TapTable> tables, const TensorView& in, const TensorView& out, bool backward) {
  const int spatial = static_cast<int>(tables.size());
  const TensorView& source = backward ? out : in;
  const TensorView& target = backward ? in : out;
  op.require(source.rank == target.rank && source.rank >= spatial + 1,
             "input is {}, output is {}, want {} or {} dimensions", describe(source), describe(target), spatial + 1,
             spatial + 2);
  const int outer = source.rank - spatial;
  for (int d = 0; d < outer; ++d)
    op.require(source.dims[d] == target.dims[d], "input is {}, output is {}: batch and channels differ",
               describe(source), describe(target));
  for (int d = 0; d < spatial; ++d) {
    const Taps& t = tables[static_cast<size_t>(d)].taps;
    op.require(source.dims[outer + d] == t.in && target.dims[outer + d] == t.out,
               "input is {}, output is {}, want sizes {} and {} of dimension {}", describe(source), describe(target),
               t.in, t.out, outer + d);
  }
  if (out.empty()) return;
  const Compute c = compute_of(out.dtype);
  if (source.empty()) op.refuse("input is {}, want planes that are not empty", describe(source));
  if (!backward && moves_pixels(tables, in, out)) {
    op.work(in.numel() + out.numel());
    op.launch([tables = std::make_shared<std::vector<TapTable>>(std::move(tables)), in, out] {
      move_pixels((*tables)[0], (*tables)[1], in, out);
    });
    return;
  }
  auto kept = std::make_shared<std::vector<TapTable>>();
  for (int d = spatial; d < 3; ++d) kept->emplace_back();
  for (TapTable& t : tables) kept->push_back(std::move(t));
  for (TapTable& t : *kept) t.finish();
  int64_t each = 1;
  for (const TapTable& t : *kept) each *= t.taps.count;
  const Planes from(in, spatial, c), to(out, spatial, c);
  op.work(in.numel() + out.numel() + (backward ? in : out).numel() * each);
  op.launch([=] {
    const Taps taps[3] = {(*kept)[0].taps, (*kept)[1].taps, (*kept)[2].taps};
    const auto fn = backward ? kernels().resample_backward : kernels().resample;
    map_planes(from, to, [&](const void* x, void* y) { fn(taps, c, x, y); });
  });
}

}  // namespace updraft
