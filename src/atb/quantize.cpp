// Numbers to INT8: ElewiseOperation of quantising by channels, and RmsNormOperation whose result is quantised.
#include "atb/atb_op.h"
#include "ops/gathered.h"

namespace updraft::atb_ops {
namespace {

constexpr int32_t kQuantPerChannel = 17, kNorm = 1, kToInt8 = 2;

void require_numbers(const Op& op, const char* name, const TensorView& v) {
  op.require(compute_of(v.dtype) == Compute::F32, "{} is {}, want FLOAT, FLOAT16 or BFLOAT16", name, describe(v));
}

/// x / scale in float.
void divide(Op& op, const TensorView& x, const In& scale, Temp& y) {
  Temp numbers(DType::Float), divisor(DType::Float);
  call(op, "aclnnCast", x, DType::Float, numbers);
  call(op, "aclnnCast", scale, DType::Float, divisor);
  call(op, "aclnnDiv", *numbers, *divisor, y);
}
void add_offset(Op& op, Temp& y, const OptIn& offset) {
  if (!offset || offset->empty()) return;
  Temp number(DType::Float);
  call(op, "aclnnCast", offset, DType::Float, number);
  call(op, "aclnnInplaceAdd", *y, *number, 1);
}
void to_int8(Op& op, Temp& y, const Out& out) {
  call(op, "aclnnClamp", *y, -128, 127, *y);
  call(op, "aclnnCast", *y, DType::Int8, out);
}

}  // namespace

// y = clamp(round(x / scale) + offset)
ATB_OP(Elewise, aclnnAscendQuant, (In, x), (In, scale), (OptIn, offset), (Out, y), (Int, elewiseType)) {
  op.require(elewiseType == kQuantPerChannel, "elewiseType is {}, supported is 17 (ELEWISE_QUANT_PER_CHANNEL)",
             elewiseType);
  require_numbers(op, "x", *x);
  require_numbers(op, "scale", *scale);
  op.result_like("y", *y, *x, DType::Int8);
  Temp numbers(DType::Float);
  divide(op, *x, scale, numbers);
  call(op, "aclnnInplaceRound", *numbers);
  add_offset(op, numbers, offset);
  to_int8(op, numbers, y);
}

// y = clamp(round((x / rms(x) * gamma + beta) / scale + offset))
ATB_OP(RmsNorm, aclnnRmsNorm, (In, x), (In, gamma), (In, beta), (In, scale), (OptIn, offset), (Out, y),
       (Int, layerType), (Int, quantType), (Double, epsilon)) {
  op.require(layerType == kNorm, "layerType is {}, supported is 1 (RMS_NORM_NORM)", layerType);
  op.require(quantType == kToInt8, "quantType is {}, supported is 2 (QUANT_INT8)", quantType);
  for (const auto& [name, v] : {std::pair("x", &*x), {"gamma", &*gamma}, {"beta", &*beta}, {"scale", &*scale}})
    require_numbers(op, name, *v);
  const int64_t size = row_length(*x);
  op.require(gamma->numel() == size && beta->numel() == size, "gamma is {} and beta {}, want {} numbers",
             describe(*gamma), describe(*beta), size);
  op.result_like("y", *y, *x, DType::Int8);
  const auto as_row = [size](const TensorView& v) {
    TensorView r = v;
    r.rank = 1;
    r.dims[0] = size, r.strides[0] = 1;
    return r;
  };
  Temp numbers(DType::Float), factors(DType::Float), shift(DType::Float), normal(DType::Float), scaled(DType::Float);
  call(op, "aclnnCast", x, DType::Float, numbers);
  call(op, "aclnnCast", as_row(*gamma), DType::Float, factors);
  call(op, "aclnnCast", as_row(*beta), DType::Float, shift);
  call(op, "aclnnRmsNorm", *numbers, *factors, epsilon, normal, nullptr);
  call(op, "aclnnInplaceAdd", *normal, *shift, 1);
  divide(op, *normal, scale, scaled);
  add_offset(op, scaled, offset);
  call(op, "aclnnInplaceRound", *scaled);
  to_int8(op, scaled, y);
}

}  // namespace updraft::atb_ops

template <>
atb::Status atb::CreateOperation(const infer::ElewiseParam& param, Operation** operation) {
  using namespace updraft;
  return atb_ops::make({"ElewiseOperation",
                        &atb_ops::Elewise_info,
                        {"x", "scale", "offset"},
                        {"y"},
                        [param](OpCall& call) { call.set("elewiseType", int64_t{param.elewiseType}); }},
                       operation);
}
template <>
atb::Status atb::CreateOperation(const infer::RmsNormParam& param, Operation** operation) {
  using namespace updraft;
  return atb_ops::make({"RmsNormOperation",
                        &atb_ops::RmsNorm_info,
                        {"x", "gamma", "beta", "scale", "offset"},
                        {"y"},
                        [param](OpCall& call) {
                          call.set("layerType", int64_t{param.layerType});
                          call.set("quantType", int64_t{param.quantType});
                          call.set("epsilon", static_cast<double>(param.epsilon));
                        }},
                       operation);
}
