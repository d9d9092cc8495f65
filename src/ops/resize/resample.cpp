#include "ops/resize/resample.h"

#include <numeric>

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
