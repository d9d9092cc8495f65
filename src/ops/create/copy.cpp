// Copies, casts and fills.
#include "ops/aclop.h"
#include "ops/elementwise/elementwise.h"

namespace updraft {

ABOUT(aclnnInplaceCopy, Vector, "Copies src into selfRef with broadcasting and conversion of the data type",
      "将 src 拷贝到 selfRef，支持广播与数据类型转换")
ACLNN(aclnnInplaceCopy, (InOut, selfRef), (In, src)) {
  TensorView from = src->same_shape(*selfRef) ? *src : src->expand_as(*selfRef);
  if (selfRef->empty()) return;
  op.launch([to = *selfRef, from] { copy_elements(to, from); });
}

SAMPLE(aclnnCast, "dtype=f16 out=f16[N,M]")
ABOUT(aclnnCast, Vector, "out = self converted to dtype", "将 self 转换为数据类型 dtype")
ACLNN(aclnnCast, (In, self), (Type, dtype), (Out, out)) {
  op.result_like("out", *out, *self, dtype);
  op.require(out->dtype == dtype, "out is {}, want data type {}", describe(*out), name_of(dtype));
  if (out->empty()) return;
  op.launch([to = *out, from = *self] { copy_elements(to, from); });
}

static void plan_fill(Op& op, const TensorView& to, const Params& value) {
  if (!to.empty()) op.launch([=] { fill_elements(to, value); });
}

ABOUT(aclnnInplaceFillScalar, Vector, "Writes the scalar value to every element of selfRef",
      "将 selfRef 的全部元素置为标量 value")
ACLNN(aclnnInplaceFillScalar, (InOut, selfRef), (Scalar, value)) {
  Params p;
  set_param(p, 0, *value);
  plan_fill(op, *selfRef, p);
}

SAMPLE(aclnnInplaceFillTensor, "value=f32[]")
ABOUT(aclnnInplaceFillTensor, Vector, "Writes the one element of the tensor value to every element of selfRef",
      "将 selfRef 的全部元素置为单元素张量 value 的值")
ACLNN(aclnnInplaceFillTensor, (InOut, selfRef), (In, value)) {
  op.require(value->numel() == 1, "value is {}, want one element", describe(*value));
  if (selfRef->empty()) return;
  TensorView one = TensorView::contiguous(value->data, value->dtype, nullptr, 0);
  op.launch([to = *selfRef, from = one.expand_as(*selfRef)] { copy_elements(to, from); });
}

ABOUT(aclnnInplaceZero, Vector, "Writes 0 to every element of selfRef", "将 selfRef 清零")
ACLNN(aclnnInplaceZero, (InOut, selfRef)) {
  Params p;
  plan_fill(op, *selfRef, p);
}

ABOUT(aclnnInplaceOne, Vector, "Writes 1 to every element of selfRef", "将 selfRef 置为全 1")
ACLNN(aclnnInplaceOne, (InOut, selfRef)) {
  Params p;
  p.set(0, int64_t{1});
  plan_fill(op, *selfRef, p);
}

// --- aclops ---
namespace {
void copy(AclopCall& call) {
  require_present(call, {0}, {0});
  const TensorView &from = call.inputs[0].view, &to = call.outputs[0].view;
  if (call.type == "Identity" && from.numel() == to.numel() && !from.same_shape(to) && from.is_contiguous()) {
    copy_elements(to, TensorView::contiguous(from.data, from.dtype, to.dims, to.rank));
    return;
  }
  bool fits = from.rank <= to.rank;
  for (int d = 1; fits && d <= from.rank; ++d)
    fits = from.dims[from.rank - d] == 1 || from.dims[from.rank - d] == to.dims[to.rank - d];
  if (!fits)
    throw Error(code::kAclInvalidParam, "{}: the input is {}, which does not fit an output of {}", call.type,
                describe(from), describe(to));
  if (!to.empty()) copy_elements(to, from);
}
void fill(AclopCall& call, int64_t value) {
  require_present(call, {}, {0});
  Params p;
  p.set(0, value);
  if (!call.outputs[0].view.empty()) fill_elements(call.outputs[0].view, p);
}

ABOUT_ACLOP("Cast", Vector, "out = self in the type of out", "out = self，转换为 out 的类型")
ACLOP("Cast", copy)
ABOUT_ACLOP("BroadcastTo", Vector, "out = self, repeated to the shape of out", "out = self，广播到 out 的形状")
ACLOP("BroadcastTo", copy)
ABOUT_ACLOP("Identity", Vector, "out = self, in the format of out", "out = self，采用 out 的格式")
ACLOP("Identity", copy)
ABOUT_ACLOP("OnesLike", Vector, "Ones in the shape of self", "与 self 同形的全 1 张量")
ACLOP("OnesLike", [](AclopCall& call) { fill(call, 1); })
ABOUT_ACLOP("ZerosLike", Vector, "Zeros in the shape of self", "与 self 同形的全 0 张量")
ACLOP("ZerosLike", [](AclopCall& call) { fill(call, 0); })
}  // namespace

}  // namespace updraft
