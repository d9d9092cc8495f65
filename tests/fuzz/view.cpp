// Views with any dimensions and strides: what extent_of accepts can be walked, sliced and compared without overflow.
#include "base/error.h"
#include "input.h"
#include "tensor/extent.h"

using namespace updraft;

namespace {

TensorView read_view(fuzz::Input& in) {
  static char memory[16];
  TensorView v;
  v.data = memory;
  v.dtype = static_cast<DType>(in.below(34));
  v.rank = in.below(kMaxDims + 1);
  for (int i = 0; i < v.rank; ++i) {
    v.dims[i] = in.one_in(8) ? in.number<int64_t>() : in.odd_number();
    v.strides[i] = in.one_in(8) ? in.number<int64_t>() : in.odd_number();
  }
  return v;
}

void inside(const Extent& e, int64_t element, int64_t size) {
  if (element * size < e.low || (element + 1) * size > e.high) fuzz::wrong("an element outside the extent", element);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  TensorView a = read_view(in), b = read_view(in);
  const auto ea = extent_of(a), eb = extent_of(b);
  describe_shape(a.dims, a.rank);
  if (!ea) return 0;
  describe(a);
  const auto bytes = static_cast<int64_t>(size_of(a.dtype));
  if (a.numel() < 0) fuzz::wrong("elements", a.numel());
  a.is_contiguous();
  if (bytes && a.numel() > 0) {
    const int64_t n = std::min<int64_t>(a.numel(), 4096);
    for (int64_t i = 0; i < n; ++i) inside(*ea, a.offset_of(i), bytes);
    inside(*ea, a.offset_of(a.numel() - 1), bytes);
    StridedLoop<1> loop({&a});
    int64_t seen = 0;
    loop.rows(a.numel() - n, a.numel(), [&](const int64_t(&offset)[1], int64_t linear, int64_t run) {
      if (run <= 0) fuzz::wrong("an empty run", run);
      inside(*ea, offset[0], bytes);
      inside(*ea, offset[0] + (run - 1) * loop.strides[0][loop.rank - 1], bytes);
      if (offset[0] != a.offset_of(linear)) fuzz::wrong("another offset", offset[0]);
      seen += run;
    });
    if (seen != n) fuzz::wrong("elements seen", seen);
  }
  try {
    a.wrap_dim(in.odd_number());
  } catch (const Error&) {}
  if (a.rank) a.transpose(in.below(a.rank), in.below(a.rank));
  if (!eb) return 0;
  may_overlap(a, b);
  int64_t out[kMaxDims];
  try {
    int rank = broadcast_shape(a.dims, a.rank, b.dims, b.rank, out);
    TensorView wide = a.expand(out, rank);
    if (auto e = extent_of(wide); e && bytes && wide.numel() > 0) inside(*ea, wide.offset_of(wide.numel() - 1), bytes);
  } catch (const Error& e) { fuzz::documented("broadcast", e.code()); }
  return 0;
}
