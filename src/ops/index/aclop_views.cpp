// Parts and orders of a tensor in the aclop era: what torch_npu makes inputs of other aclops contiguous with.
#include "kernels/pipeline.h"
#include "ops/aclop_as_aclnn.h"

namespace updraft {
namespace {

void copy_part(const AclopCall& call, const TensorView& part) {
  const TensorView& out = call.outputs[0].view;
  if (!part.same_shape(out))
    throw Error(code::kAclInvalidParam, "{}: the output is {}, want shape {}", call.type, describe(out),
                describe_shape(part.dims, part.rank));
  if (!out.empty()) copy_elements(out, part);
}

void require_count(const AclopCall& call, const char* what, const std::vector<int64_t>& values, int rank) {
  if (values.size() != static_cast<size_t>(rank))
    throw Error(code::kAclInvalidParam, "{}: {} has {} values, want {}", call.type, what, values.size(), rank);
}

/// Elements begin, begin + step, … of dimension d of `v`.
void take(const AclopCall& call, TensorView& v, int d, int64_t begin, int64_t n, int64_t step) {
  const int64_t last = n > 0 ? begin + (n - 1) * step : begin;
  if (n < 0 || (n > 0 && (begin < 0 || begin >= v.dims[d] || last < 0 || last >= v.dims[d])))
    throw Error(code::kAclInvalidParam, "{}: {} elements from {} on are outside dimension {} of {}", call.type, n,
                begin, d, describe(v));
  if (n > 0) v.data = v.as<char>() + begin * v.strides[d] * static_cast<int64_t>(size_of(v.dtype));
  v.dims[d] = n;
  v.strides[d] *= step;
}

ABOUT_ACLOP("Slice", Vector, "The part of self of the given size at the given offsets",
            "self 中位于给定偏移、给定大小的部分")
ACLOP("Slice", [](AclopCall& call) {
  require_present(call, {0}, {0});
  AclnnCall as(call);
  TensorView v = call.inputs[0].view;
  const std::vector<int64_t> offsets = as.values(1), size = as.values(2);
  require_count(call, "offsets", offsets, v.rank);
  require_count(call, "size", size, v.rank);
  for (int d = 0; d < v.rank; ++d) {
    const auto i = static_cast<size_t>(d);
    take(call, v, d, offsets[i], size[i] == -1 ? v.dims[d] - offsets[i] : size[i], 1);
  }
  copy_part(call, v);
})

ABOUT_ACLOP("StridedSlice", Vector, "The part of self from begin to end by strides",
            "self 从 begin 到 end、按步长的部分")
ACLOP("StridedSlice", [](AclopCall& call) {
  require_present(call, {0}, {0});
  AclnnCall as(call);
  TensorView v = call.inputs[0].view;
  const std::vector<int64_t> begin = as.values(1), end = as.values(2), steps = as.values(3);
  require_count(call, "begin", begin, v.rank);
  require_count(call, "end", end, v.rank);
  require_count(call, "strides", steps, v.rank);
  for (const char* mask : {"ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
    if (call.integer(mask, 0))
      throw Error(code::kAclInvalidParam, "StridedSlice: attribute {} is {}, want 0", mask, call.integer(mask, 0));
  const int64_t begin_mask = call.integer("begin_mask", 0), end_mask = call.integer("end_mask", 0);
  for (int d = 0; d < v.rank; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t size = v.dims[d], step = steps[i];
    if (step == 0) throw Error(code::kAclInvalidParam, "StridedSlice: stride {} is 0", d);
    auto clamped = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + size : at, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
    };
    const int64_t first = begin_mask >> d & 1 ? (step > 0 ? 0 : size - 1) : clamped(begin[i]);
    const int64_t stop = end_mask >> d & 1 ? (step > 0 ? size : -1) : clamped(end[i]);
    const int64_t n = step > 0 ? (stop - first + step - 1) / step : (first - stop - step - 1) / -step;
    take(call, v, d, first, std::max<int64_t>(0, n), step);
  }
  copy_part(call, v);
})

ABOUT_ACLOP("Transpose", Vector, "self with its dimensions in the order that perm gives", "按 perm 重排 self 的维度")
ACLOP("Transpose", [](AclopCall& call) {
  require_present(call, {0}, {0});
  AclnnCall as(call);
  const TensorView& v = call.inputs[0].view;
  const std::vector<int64_t> order = as.values(1);
  require_count(call, "perm", order, v.rank);
  TensorView to = v;
  uint64_t seen = 0;
  for (int d = 0; d < v.rank; ++d) {
    const int64_t from = order[static_cast<size_t>(d)];
    if (from < 0 || from >= v.rank || (seen >> from & 1))
      throw Error(code::kAclInvalidParam, "Transpose: perm is no order of {} dimensions", v.rank);
    seen |= uint64_t{1} << from;
    to.dims[d] = v.dims[from];
    to.strides[d] = v.strides[from];
  }
  copy_part(call, to);
})

ABOUT_ACLOP("AsStrided", Vector, "The elements of self's memory that a size, strides and an offset name",
            "由大小、步长与偏移指定的 self 内存中的元素")
ACLOP("AsStrided", [](AclopCall& call) {
  require_present(call, {0}, {0});
  AclnnCall as(call);
  TensorView v = call.inputs[0].view;
  const std::vector<int64_t> size = as.values(1), strides = as.values(2);
  const int64_t offset = call.inputs.size() > 3 && call.inputs[3].view.data ? as.values(3).at(0) : 0, all = v.numel();
  if (size.size() > static_cast<size_t>(kMaxDims))
    throw Error(code::kAclInvalidParam, "AsStrided: size has {} values, want at most {}", size.size(), kMaxDims);
  require_count(call, "stride", strides, static_cast<int>(size.size()));
  v.rank = static_cast<int>(size.size());
  int64_t last = offset;
  bool empty = false, fits = offset >= 0;
  for (size_t d = 0; d < size.size(); ++d) {
    v.dims[d] = size[d];
    v.strides[d] = strides[d];
    empty = empty || size[d] == 0;
    int64_t reach = 0;
    fits = fits && size[d] >= 0 && strides[d] >= 0 && !__builtin_mul_overflow(size[d] - 1, strides[d], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
  }
  if (!empty && (!fits || last >= all))
    throw Error(code::kAclInvalidParam, "AsStrided: size, strides and offset {} reach outside the {} elements of self",
                offset, all);
  if (!empty) v.data = v.as<char>() + offset * static_cast<int64_t>(size_of(v.dtype));
  copy_part(call, v);
})

}  // namespace
}  // namespace updraft
