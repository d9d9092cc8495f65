// Products: LinearOperation.
#include "atb/atb_op.h"
#include "kernels/matmul/matmul.h"

namespace updraft::atb_ops {

ATB_OP(Linear, aclnnMm, (In, x), (In, weight), (OptIn, accum), (Out, out), (Bool, transposeA), (Bool, transposeB),
       (Bool, hasBias), (Int, outDataType)) {
  op.require(!hasBias, "hasBias is true, supported is false");
  op.require(outDataType == -1, "outDataType is {}, supported is -1 (undefined)", outDataType);
  op.require(x->rank == 2 && weight->rank == 2, "x is {} and weight {}, want two dimensions each", describe(*x),
             describe(*weight));
  for (const auto& [name, v] : {std::pair("x", &*x), {"weight", &*weight}})
    op.require(compute_of(v->dtype) == Compute::F32, "{} is {}, want FLOAT, FLOAT16 or BFLOAT16", name, describe(*v));
  const TensorView a = transposeA ? x->transpose(0, 1) : *x, b = transposeB ? weight->transpose(0, 1) : *weight;
  op.require(a.dims[1] == b.dims[0], "x is {} and weight {}: inner sizes are {} and {}", describe(*x),
             describe(*weight), a.dims[1], b.dims[0]);
  op.result("out", *out, {a.dims[0], b.dims[1]}, accum ? accum->dtype : x->dtype);
  if (accum) op.require_same_shape("accum", *accum, "out", *out);
  const int64_t products = a.dims[0] * a.dims[1] * b.dims[1];
  op.work(products);
  op.flops(2 * products);
  if (out->empty()) return;
  op.launch([a, b, add = accum ? *accum : TensorView(), out = *out] {
    MatmulOptions options;
    if (add.data) options.beta = 1, options.add = &add;
    matmul(a, b, out, options);
  });
}

}  // namespace updraft::atb_ops

template <>
atb::Status atb::CreateOperation(const infer::LinearParam& param, Operation** operation) {
  using namespace updraft;
  std::vector<const char*> inputs{"x", "weight"};
  if (param.enAccum) inputs.push_back("accum");
  return atb_ops::make({"LinearOperation",
                        &atb_ops::Linear_info,
                        std::move(inputs),
                        {"out"},
                        [param](OpCall& call) {
                          call.set("transposeA", param.transposeA);
                          call.set("transposeB", param.transposeB);
                          call.set("hasBias", param.hasBias);
                          call.set("outDataType", int64_t{param.outDataType});
                        }},
                       operation);
}
