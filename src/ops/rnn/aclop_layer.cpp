#include "ops/rnn/aclop_layer.h"

#include "base/error.h"

namespace updraft {

void require_tensors(const AclopCall& call, size_t inputs, size_t outputs) {
  if (call.inputs.size() < inputs || call.outputs.size() < outputs)
    throw Error(code::kAclInvalidParam, "{} has {} inputs and {} outputs, want {} and {}", call.type,
                call.inputs.size(), call.outputs.size(), inputs, outputs);
  require_present(call, {0, 1}, {});
}

RnnLayer layer_of(const AclopCall& call, int64_t gates, const TensorView& w, const TensorView& u) {
  RnnLayer l;
  l.gru = gates == 3;
  l.x = with_steps(call.inputs[0].view);
  if (l.x.rank != 3 || w.rank != 2 || u.rank != 2 || w.dims[0] != l.x.dims[2] || u.dims[1] != gates * u.dims[0] ||
      w.dims[1] != u.dims[1])
    throw Error(code::kAclInvalidParam,
                "{}: x is {}, the weights are {} and {}, want [steps, batch, input], [input, {} * hidden] and [hidden, "
                "{} * hidden]",
                call.type, describe(l.x), describe(w), describe(u), gates, gates);
  l.w_in = w.transpose(0, 1);
  l.w_hidden = u.transpose(0, 1);
  auto direction = call.attributes.find("direction");
  l.reverse = direction != call.attributes.end() && direction->second.text == "REDIRECTIONAL";
  return l;
}

TensorView state_of(const TensorView& v) { return v.data && v.rank == 3 ? select(v, 0, 0) : v; }

TensorView with_steps(const TensorView& v) {
  if (!v.data || v.rank != 2) return v;
  TensorView s = v;
  for (int d = 2; d > 0; --d) {
    s.dims[d] = v.dims[d - 1];
    s.strides[d] = v.strides[d - 1];
  }
  s.dims[0] = 1;
  s.rank = 3;
  return s;
}

}  // namespace updraft
