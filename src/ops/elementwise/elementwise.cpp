#include "ops/elementwise/elementwise.h"

#include <algorithm>
#include <cstring>

#include "device/chain/flat_chain.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/rows/logic.h"
#include "tensor/view_algebra.h"

namespace updraft {

void set_param(Params& params, int i, const aclScalar& value) {
  if (value.is_complex()) {
    params.set(i, value.to_complex());
  } else if (value.is_floating()) {
    params.set(i, value.to_double());
  } else {
    params.set(i, value.to_int());
  }
}

ScalarValue::ScalarValue(const aclScalar& s) : dtype(s.dtype) { std::memcpy(bytes, s.bytes, sizeof bytes); }

Source::Source(const aclScalar& s) : scalar_(true) {
  view_.dtype = s.dtype;
  std::memcpy(bytes_, s.bytes, sizeof bytes_);
}

void Source::round_to(DType t) {
  if (!scalar_ || !updraft::is_floating(view_.dtype)) return;
  double value = view_.dtype == DType::Double ? *reinterpret_cast<const double*>(bytes_) : 0;
  if (view_.dtype == DType::Float) value = *reinterpret_cast<const float*>(bytes_);
  else if (view_.dtype != DType::Double) return;
  if (t == DType::Float16) value = static_cast<float>(Half(static_cast<float>(value)));
  else if (t == DType::BFloat16) value = static_cast<float>(BFloat16(static_cast<float>(value)));
  else return;
  view_.dtype = DType::Double;
  std::memcpy(bytes_, &value, sizeof value);
}

bool Source::narrow_to(DType t) {
  if (view_.dtype == t) return true;
  if (!scalar_ || view_.dtype != DType::Int64) return false;
  int64_t value;
  std::memcpy(&value, bytes_, sizeof value);
  auto hold = [&](auto narrow) {
    narrow = static_cast<decltype(narrow)>(value);
    if (static_cast<int64_t>(narrow) != value) return false;
    std::memcpy(bytes_, &narrow, sizeof narrow);
    view_.dtype = t;
    return true;
  };
  switch (t) {
    case DType::UInt64: return value >= 0 && hold(uint64_t{});
    case DType::Int32: return hold(int32_t{});
    case DType::Int16: return hold(int16_t{});
    case DType::Int8: return hold(int8_t{});
    case DType::UInt8: return hold(uint8_t{});
    default: return false;
  }
}

namespace {
DType promote_or(DType a, DType b) { return a == DType::Undefined ? b : b == DType::Undefined ? a : promote(a, b); }
DType combine_categories(DType higher, DType lower) {
  if (is_complex(higher)) return higher;
  if (is_floating(higher)) {
    if (!is_complex(lower)) return higher;
    return higher == DType::Double ? DType::Complex128 : DType::Complex64;
  }
  if (higher == DType::Bool || is_floating(lower) || is_complex(lower)) return promote_or(higher, lower);
  return higher != DType::Undefined ? higher : lower;
}
}  // namespace

DType result_type(std::initializer_list<Source> in) {
  DType dims = DType::Undefined, zero = DType::Undefined, scalars = DType::Undefined;
  for (const Source& s : in) {
    if (s.scalar()) {
      DType t = is_complex(s.dtype())      ? DType::Complex64
                : is_floating(s.dtype())   ? DType::Float
                : s.dtype() == DType::Bool ? DType::Bool
                                           : DType::Int64;
      scalars = promote_or(scalars, t);
    } else if (s.shape().rank == 0) {
      zero = promote_or(zero, s.dtype());
    } else {
      dims = promote_or(dims, s.dtype());
    }
  }
  return combine_categories(dims, combine_categories(zero, scalars));
}

DType natural_type(Ew row, DType common) {
  if (row_of(row).boolean) return DType::Bool;
  if (row == ew::abs || row == ew::angle) common = real_of(common);
  const bool integers = row_of(row).fn[static_cast<int>(Compute::I64)] != nullptr;
  return is_integral(common, true) && !integers ? DType::Float : common;
}

DType promote_with_scalar(DType tensor, const aclScalar& scalar) {
  if (scalar.is_complex())
    return is_complex(tensor) ? tensor : tensor == DType::Double ? DType::Complex128 : DType::Complex64;
  if (scalar.is_floating()) return is_integral(tensor, true) ? DType::Float : tensor;
  if (tensor == DType::Bool && scalar.dtype != DType::Bool) return DType::Int64;
  return tensor;
}

Compute compute_for(Ew row, DType common, DType out) {
  const Compute a = compute_of(common), b = compute_of(out);
  if (row_of(row).boolean || a == b) return a;
  if (a == Compute::I64) return b;
  if (b == Compute::F64 && a == Compute::F32) return b;
  if (b == Compute::C128 || (b == Compute::C64 && a != Compute::C128)) return a == Compute::F64 ? Compute::C128 : b;
  return a;
}

namespace {
// Kernels on the storage type itself, where all operands have it (or are scalars that it can hold).
bool plan_native(Op& op, Ew row, std::initializer_list<Source> in, const TensorView& out, const Params& params) {
  if (in.size() > 2) return false;
  const Source &x = in.begin()[0], &y = in.begin()[in.size() - 1];
  const DType type = x.scalar() ? y.dtype() : x.dtype();
  if (!is_integral(type, true) || out.dtype != (row_of(row).boolean ? DType::Bool : type)) return false;
  Source a = x, b = y;
  if (!a.narrow_to(type) || !b.narrow_to(type)) return false;
  BlockFn fn = kernels().native_elementwise(row, type, params);
  if (!fn) return false;
  if (in.size() == 1) op.launch([=] { run_native(fn, {a.view()}, out, params); });
  else op.launch([=] { run_native(fn, {a.view(), b.view()}, out, params); });
  return true;
}

// Rows whose result on integers depends on their sign: for the others int64 and uint64 have the same bits.
bool has_order(Ew row) {
  switch (row) {
    case ew::copy:
    case ew::neg:
    case ew::square:
    case ew::cube:
    case ew::affine:
    case ew::add:
    case ew::sub:
    case ew::mul:
    case ew::addcmul:
    case ew::where:
    case ew::eq:
    case ew::ne:
    case ew::logical_and:
    case ew::logical_or:
    case ew::logical_xor:
    case ew::logical_not:
    case ew::isfinite:
    case ew::shift_left:
    case ew::bitwise_not:
    case ew::bitwise_and:
    case ew::bitwise_or:
    case ew::bitwise_xor: return false;
    default: return true;
  }
}
}  // namespace

namespace {
bool is_flat(std::initializer_list<Source> in, const TensorView& out) {
  return out.is_contiguous() && std::all_of(in.begin(), in.end(), [&](const Source& s) {
           return !s.scalar() && s.shape().same_shape(out) && s.shape().is_contiguous();
         });
}

/// out = fn(in …) on dense tensors of one shape.
template <int inputs>
class FlatRow final : public FlatWork {
 public:
  FlatRow(BlockFn fn, Compute compute, std::initializer_list<Source> in, const TensorView& out, const Params& params)
      : fn_(fn), compute_(compute), out_(out), params_(params) {
    for (int k = 0; k < inputs; ++k) in_[k] = in.begin()[k].shape();
  }
  void operator()() const { run_elementwise(fn_, compute_, in_, inputs, &out_, 1, params_, false); }

  size_t rows() const override { return 1; }
  int64_t elements(size_t) const override { return out_.numel(); }
  int arrays(size_t, FlatArray* to) const override {
    for (int k = 0; k < inputs; ++k) to[k] = {in_[k].template as<char>(), in_[k].bytes()};
    to[inputs] = {out_.as<char>(), out_.bytes()};
    return inputs + 1;
  }
  void run_piece(size_t, int64_t begin, int64_t n) const override {
    TensorView in[inputs];
    for (int k = 0; k < inputs; ++k) in[k] = piece(in_[k], begin, n);
    const TensorView out = piece(out_, begin, n);
    run_elementwise(fn_, compute_, in, inputs, &out, 1, params_, false);
  }

 private:
  static TensorView piece(const TensorView& v, int64_t begin, int64_t n) {
    return TensorView::contiguous(v.as<char>() + begin * static_cast<int64_t>(size_of(v.dtype)), v.dtype, &n, 1);
  }

  BlockFn fn_;
  Compute compute_;
  TensorView in_[inputs], out_;
  Params params_;
};

/// How the elements of an operand go with those of a result that is taken as rows of `inner` elements.
enum class Along : uint8_t {
  Elements,  ///< one each
  All,       ///< one for all
  Rows,      ///< one for each row
  Columns,   ///< a row that all rows see
};

/// From so many elements on it pays to look whether broadcast operands have the order of a flat array.
constexpr int64_t kLeastRows = 32 << 10;
constexpr int64_t kShortestInner = 64;  ///< shorter rows cost more to hand out than they are worth

/// out = fn(in …) where the result is dense in any order of its dimensions, and operands lie in the same order, or are
/// numbers, rows or columns that are broadcast.
class FlatRows final : public FlatWork {
 public:
  FlatRows(BlockFn fn, Compute compute, std::initializer_list<Source> in, const TensorView& out, const Params& params,
           bool boolean)
      : fn_(fn),
        compute_(compute),
        inputs_(static_cast<int>(in.size())),
        boolean_(boolean),
        out_(out),
        params_(params) {
    for (const Source& s : in) in_.push_back(s);
    n_ = out.numel();
    usable_ = look();
  }
  bool usable() const { return usable_; }
  void operator()() const {
    TensorView in[kMost];
    for (int k = 0; k < inputs_; ++k) in[k] = in_[static_cast<size_t>(k)].view();
    run_elementwise(fn_, compute_, in, inputs_, &out_, 1, params_, boolean_);
  }

  size_t rows() const override { return 1; }
  int64_t elements(size_t) const override { return n_; }
  int arrays(size_t, FlatArray* to) const override {
    int count = 0;
    for (int k = 0; k < inputs_; ++k) {
      const Source& s = in_[static_cast<size_t>(k)];
      if (!s.scalar()) to[count++] = {s.shape().as<char>(), s.shape().bytes(), along_[k] != Along::Elements};
    }
    to[count++] = {out_.as<char>(), out_.bytes()};
    return count;
  }
  void run_piece(size_t, int64_t begin, int64_t n) const override {
    if (inner_ == 0) return run_rows(begin, 1, n);
    for (const int64_t end = begin + n; begin < end;) {
      const int64_t column = begin % inner_, left = end - begin;
      const int64_t rows = column == 0 && left >= inner_ ? left / inner_ : 1;
      const int64_t width = column == 0 && left >= inner_ ? inner_ : std::min(left, inner_ - column);
      run_rows(begin, rows, width);
      begin += rows * width;
    }
  }

 private:
  static constexpr int kMost = FlatWork::kMostArrays - 1;

  /// False where an operand is none of Along.
  bool look() {
    const TensorView* const all[] = {&out_};
    int order[kMaxDims];
    const int kept = memory_order(all, order);
    int64_t expected = 1;
    for (int i = kept - 1; i >= 0; expected *= out_.dims[order[i--]])
      if (out_.strides[order[i]] != expected) return false;
    if (expected != n_) return false;
    for (int k = 0; k < inputs_; ++k)
      if (!look_at(in_[static_cast<size_t>(k)], order, kept, along_[k])) return false;
    return true;
  }
  bool look_at(const Source& s, const int* order, int kept, Along& along) {
    const TensorView& v = s.shape();
    along = Along::All;
    if (s.scalar() || v.numel() == 1) return true;
    int first = kept, last = -1;  // the dimensions in which it is not broadcast
    int64_t expected = 1, behind = 1, seen = 1;
    for (int i = kept - 1; i >= 0; --i) {
      const int d = order[i] - (out_.rank - v.rank);
      if (d < 0 || v.dims[d] == 1) continue;
      if (v.strides[d] != expected) return false;
      expected *= v.dims[d];
      first = i;
      last = std::max(last, i);
    }
    for (int i = first; i <= last; ++i) seen *= out_.dims[order[i]];
    for (int i = last + 1; i < kept; ++i) behind *= out_.dims[order[i]];
    if (seen != v.numel()) return false;  // broadcast in between
    if (seen == n_) {
      along = Along::Elements;
      return true;
    }
    if (behind != 1 && first != 0) return false;  // broadcast on both sides
    along = behind == 1 ? Along::Columns : Along::Rows;
    const int64_t inner = behind == 1 ? seen : behind;
    if (inner < kShortestInner || (inner_ != 0 && inner_ != inner)) return false;
    inner_ = inner;
    return true;
  }

  /// Elements [begin, begin + rows * width), in one row or in whole rows.
  void run_rows(int64_t begin, int64_t rows, int64_t width) const {
    const int64_t dims[] = {rows, width};
    auto part = [&](const TensorView& v, int64_t at, int64_t row_step, int64_t step) {
      TensorView piece =
          TensorView::contiguous(v.as<char>() + at * static_cast<int64_t>(size_of(v.dtype)), v.dtype, dims, 2);
      piece.strides[0] = row_step;
      piece.strides[1] = step;
      return piece;
    };
    TensorView in[kMost];
    for (int k = 0; k < inputs_; ++k) {
      const Source& s = in_[static_cast<size_t>(k)];
      switch (along_[k]) {
        case Along::Elements: in[k] = part(s.shape(), begin, width, 1); break;
        case Along::Columns: in[k] = part(s.shape(), begin % inner_, 0, 1); break;
        case Along::Rows: in[k] = part(s.shape(), begin / inner_, 1, 0); break;
        case Along::All: in[k] = part(s.view(), 0, 0, 0); break;
      }
    }
    const TensorView out = part(out_, begin, width, 1);
    run_elementwise(fn_, compute_, in, inputs_, &out, 1, params_, boolean_);
  }

  BlockFn fn_;
  Compute compute_;
  int inputs_;
  bool boolean_, usable_ = false;
  Along along_[kMost] = {};
  int64_t n_ = 0, inner_ = 0;  ///< inner_: 0 where no operand is broadcast along rows or columns
  std::vector<Source> in_;
  TensorView out_;
  Params params_;
};
}  // namespace

namespace {
/// A sum, difference or product with a number, as x * a + b: arrays alone need no buffers. The number is not rounded to
/// a half's type, so it is no operand of the same kind.
bool with_number(Ew row, Compute compute, std::initializer_list<Source> in, const TensorView& out, Params& params) {
  if (compute != Compute::F32 || in.size() != 2 || (!is_half(out.dtype) && out.dtype != DType::Float)) return false;
  const Source &x = in.begin()[0], &y = in.begin()[1];
  if (x.scalar() || !y.scalar() || x.dtype() != out.dtype || is_complex(y.dtype())) return false;
  float number = 0;
  kernels().load[static_cast<int>(y.dtype())][static_cast<int>(compute)](&number, y.view().data, 1, 1);
  switch (row) {
    case ew::add: params.f32[1] = params.f32[0] * number, params.f32[0] = 1; return true;
    case ew::sub: params.f32[1] = -(params.f32[0] * number), params.f32[0] = 1; return true;
    case ew::mul: params.f32[1] = -0.0f, params.f32[0] = number; return true;  // -0 changes no sum, not of zeros either
    default: return false;
  }
}

/// Leaves checked operands to the stream.
void launch_elementwise(Op& op, BlockFn fn, Compute compute, std::initializer_list<Source> in, const TensorView& out,
                        const Params& params, bool boolean) {
  if (!boolean && is_flat(in, out)) {
    if (in.size() == 1) op.launch_flat(FlatRow<1>(fn, compute, in, out, params));
    else if (in.size() == 2) op.launch_flat(FlatRow<2>(fn, compute, in, out, params));
    else op.launch_flat(FlatRow<3>(fn, compute, in, out, params));
    return;
  }
  if (in.size() < FlatWork::kMostArrays && out.numel() >= kLeastRows) {
    if (FlatRows rows(fn, compute, in, out, params, boolean); rows.usable()) {
      op.launch_flat(std::move(rows));
      return;
    }
  }
  switch (in.size()) {
    case 1:
      op.launch([=, x = in.begin()[0]] { run_elementwise(fn, compute, {x.view()}, {out}, params, boolean); });
      break;
    case 2:
      op.launch([=, x = in.begin()[0], y = in.begin()[1]] {
        run_elementwise(fn, compute, {x.view(), y.view()}, {out}, params, boolean);
      });
      break;
    default:
      op.launch([=, x = in.begin()[0], y = in.begin()[1], z = in.begin()[2]] {
        run_elementwise(fn, compute, {x.view(), y.view(), z.view()}, {out}, params, boolean);
      });
  }
}
}  // namespace

void plan_elementwise(Op& op, Ew row, Compute compute, std::initializer_list<Source> in, const TensorView& out,
                      const Params& params) {
  plan_elementwise(op, row, compute, DType::Undefined, in, out, params);
}

void plan_elementwise(Op& op, Ew row, Compute compute, DType type, std::initializer_list<Source> in,
                      const TensorView& out, const Params& params) {
  // Clients ask for exp of int32 with an int32 result and the like: computed in float, cut off when stored.
  if (compute == Compute::I64 && !row_of(row).fn[static_cast<int>(compute)]) compute = Compute::F32;
  const BlockFn fn = elementwise_kernel(row, compute);
  const bool boolean = row_of(row).boolean;
  int64_t dims[kMaxDims];
  int rank = 0;
  for (const Source& s : in) {
    const TensorView& v = s.shape();
    rank = broadcast_shape(dims, rank, v.dims, v.rank, dims);
  }
  // Scalars alone leave out's shape open.
  if (op.inferring() || !std::all_of(in.begin(), in.end(), [](const Source& s) { return s.scalar(); }))
    op.result("out", out, dims, rank,
              type == DType::Undefined && op.inferring() ? natural_type(row, result_type(in)) : type);
  if (out.empty()) return;
  if (plan_native(op, row, in, out, params)) return;
  if (compute == Compute::I64 && has_order(row))
    for (const Source& s : in)
      op.require(
          s.dtype() != DType::UInt64,
          "an input is {}, which is computed as INT64 here and would be wrong from 2^63 on: want another type for "
          "{}",
          describe(s.shape()), row_of(row).name);
  if (Params p = params; with_number(row, compute, in, out, p))
    return launch_elementwise(op, elementwise_kernel(ew::affine, compute), compute, {in.begin()[0]}, out, p, boolean);
  launch_elementwise(op, fn, compute, in, out, params, boolean);
}

void plan_elementwise(Op& op, Ew row, std::initializer_list<Source> in, const TensorView& out, const Params& params) {
  plan_elementwise(op, row, compute_for(row, result_type(in), out.dtype), in, out, params);
}

void plan_unary(Op& op, Ew row, const TensorView& self, const TensorView& out, const Params& params) {
  plan_elementwise(op, row, compute_for(row, self.dtype, out.dtype), {self}, out, params);
}

namespace {
/// The result has the operands' type before it is stored: a sum of halves that overflows is infinite in a float out,
/// too.
void plan_rounded(Op& op, Ew row, DType common, const Source& self, const Source& other, const TensorView& out,
                  const Params& params) {
  int64_t dims[kMaxDims];
  int rank = broadcast_shape(dims, 0, self.shape().dims, self.shape().rank, dims);
  rank = broadcast_shape(dims, rank, other.shape().dims, other.shape().rank, dims);
  op.result("out", out, dims, rank, op.inferring() ? natural_type(row, common) : DType::Undefined);
  if (out.empty()) return;
  const TensorView rounded = op.temporary(common, out.dims, out.rank);
  BlockFn fn = elementwise_kernel(row, Compute::F32), copy = elementwise_kernel(ew::copy, Compute::F32);
  op.launch([=] {
    run_elementwise(fn, Compute::F32, {self.view(), other.view()}, {rounded}, params, false);
    run_elementwise(copy, Compute::F32, {rounded}, {out}, {}, false);
  });
}
}  // namespace

void plan_binary(Op& op, Ew row, const Source& self, const Source& other, const TensorView& out, const Params& params) {
  const std::initializer_list<Source> in = {self, other};  // made once: a source holds a whole view
  const DType common = result_type(in);
  if (row_of(row).boolean && is_half(common) && (self.scalar() || other.scalar())) {
    Source x = self, y = other;
    x.round_to(common);
    y.round_to(common);
    plan_elementwise(op, row, compute_of(common), {x, y}, out, params);
    return;
  }
  if (is_half(common) && !row_of(row).boolean && (out.dtype == DType::Float || out.dtype == DType::Double)) {
    plan_rounded(op, row, common, self, other, out, params);
    return;
  }
  plan_elementwise(op, row, compute_for(row, common, out.dtype), in, out, params);
}

}  // namespace updraft
