#include "tensor/view.h"

#include "base/error.h"

namespace updraft {

int TensorView::wrap_dim(int64_t dim) const {
  int64_t n = std::max(rank, 1);
  if (dim < -n || dim >= n)
    throw Error(code::kAclnnParamInvalid, "dim {} is out of range: {} has {} dimensions, want [{}, {}]", dim,
                describe(*this), rank, -n, n - 1);
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

TensorView TensorView::contiguous(void* data, DType t, const int64_t* dims, int rank) {
  if (rank > kMaxDims)
    throw Error(code::kAclnnParamInvalid, "a tensor has {} dimensions, the most is {}", rank, kMaxDims);
  TensorView v;
  v.data = data;
  v.dtype = t;
  v.rank = rank;
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    v.dims[i] = dims[i];
    v.strides[i] = stride;
    // What does not fit is no shape; extent_of says so.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(dims[i], 1), &stride)) stride = INT64_MAX;
  }
  return v;
}

TensorView TensorView::expand(const int64_t* to, int to_rank) const {
  if (rank > to_rank)
    throw Error(code::kAclnnParamInvalid, "{} cannot be broadcast to {}", describe(*this), describe_shape(to, to_rank));
  TensorView v;
  v.data = data;
  v.dtype = dtype;
  v.rank = to_rank;
  for (int i = 0; i < to_rank; ++i) {
    int s = i - (to_rank - rank);
    v.dims[i] = to[i];
    if (s < 0 || (dims[s] == 1 && to[i] != 1)) {
      v.strides[i] = 0;
    } else if (dims[s] == to[i]) {
      v.strides[i] = strides[s];
    } else {
      throw Error(code::kAclnnParamInvalid, "{} cannot be broadcast to {}", describe(*this),
                  describe_shape(to, to_rank));
    }
  }
  return v;
}

TensorView TensorView::transpose(int a, int b) const {
  TensorView v = *this;
  std::swap(v.dims[a], v.dims[b]);
  std::swap(v.strides[a], v.strides[b]);
  return v;
}

fmt::format_context::iterator write_text(fmt::format_context& to, std::string_view text) {
  return std::copy(text.begin(), text.end(), to.out());
}

std::string DescribedShape::text() const {
  std::string text = "[";
  for (int i = 0; i < rank; ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

std::string DescribedView::text() const {
  std::string text = name_of(view.dtype) + describe_shape(view.dims, view.rank).text();
  if (!view.is_contiguous()) text += " strides " + describe_shape(view.strides, view.rank).text();
  return text;
}

int broadcast_shape(const int64_t* a, int ra, const int64_t* b, int rb, int64_t* out) {
  int rank = std::max(ra, rb);
  for (int i = rank - 1; i >= 0; --i) {  // from the end: out may be a or b
    int ia = i - (rank - ra), ib = i - (rank - rb);
    int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1)
      throw Error(code::kAclnnParamInvalid, "shapes {} and {} cannot be broadcast together", describe_shape(a, ra),
                  describe_shape(b, rb));
    out[i] = da == 1 ? db : da;
  }
  return rank;
}

namespace {
struct Span {
  uintptr_t begin, end;
};
Span span_of(const TensorView& v) {
  int64_t low = 0, high = 0;
  for (int i = 0; i < v.rank; ++i) (v.strides[i] < 0 ? low : high) += (v.dims[i] - 1) * v.strides[i];
  auto size = static_cast<int64_t>(size_of(v.dtype));
  auto p = reinterpret_cast<uintptr_t>(v.data);
  return {p + static_cast<uintptr_t>(low * size), p + static_cast<uintptr_t>((high + 1) * size)};
}
}  // namespace

bool may_overlap(const TensorView& a, const TensorView& b) {
  if (!a.data || !b.data || a.empty() || b.empty()) return false;
  Span x = span_of(a), y = span_of(b);
  return x.begin < y.end && y.begin < x.end;
}

}  // namespace updraft
