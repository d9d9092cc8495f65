// GRU: whole networks (aclnn), one layer in one direction (aclop).
#include "ops/aclop.h"
#include "ops/rnn/aclop_flops.h"
#include "ops/rnn/network.h"

namespace updraft {
namespace {

int64_t cost(const RnnNetwork& net) { return net.x.dims[0] * net.x.dims[1] * net.params[0].numel() * net.layers; }

RnnNetwork network(const Op& op, const TensorView& input, const Tensors& params, const OptIn& hx,
                   const OptIn& batch_sizes, bool biases, int64_t layers, bool bidirectional, bool batch_first) {
  RnnNetwork net;
  net.gru = true;
  net.biases = biases;
  net.layers = layers;
  net.directions = bidirectional ? 2 : 1;
  if (batch_sizes && !batch_sizes->empty()) net.batch_sizes = *batch_sizes;
  net.x = time_major(op, input, batch_first, net.batch_sizes.data ? &net.batch_sizes : nullptr);
  net.params = views_of(params);
  if (hx) net.h0 = *hx;
  check_network(op, net, 3);
  return net;
}

}  // namespace

ABOUT(aclnnGRU, Cube, "GRU network of layers and directions over a sequence, packed sequences too",
      "多层、可双向的 GRU 网络，支持变长（packed）序列")
ACLNN(aclnnGRU, (In, input), (Tensors, params), (OptIn, hx), (OptIn, batchSizes), (Bool, hasBiases), (Int, numLayers),
      (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst), (Out, output), (Out, hy),
      (OptTensors, r), (OptTensors, z), (OptTensors, n), (OptTensors, hn), (OptTensors, h)) {
  op.require(!(train && dropout > 0 && numLayers > 1), "dropout {} between {} layers is not supported", dropout,
             numLayers);
  RnnNetwork net = network(op, *input, params, hx, batchSizes, hasBiases, numLayers, bidirectional, batchFirst);
  net.y = time_major(op, *output, batchFirst, net.batch_sizes.data ? &net.batch_sizes : nullptr);
  net.h_last = *hy;
  const OptTensors* lists[] = {&r, &z, &n, &hn, &h};
  for (int k = 0; k < 5; ++k) net.saved[k] = views_of(*lists[k]);
  op.work(cost(net));
  op.flops(net.flops());
  op.launch([net = std::move(net)] { net.run(); });
}

ABOUT(aclnnGRUBackward, Cube, "Gradients of aclnnGRU for input, state and parameters from its saved gates",
      "aclnnGRU 对输入、初始状态与参数的反向梯度，由保存的门计算")
ACLNN(aclnnGRUBackward, (In, input), (Tensors, params), (OptIn, hx), (OptIn, gradY), (OptIn, gradHy), (Tensors, r),
      (Tensors, z), (Tensors, n), (Tensors, hn), (Tensors, h), (OptIn, batchSizes), (Bool, hasBiases), (Int, numLayers),
      (Bool, bidirectional), (Bool, batchFirst), (Out, gradInput), (Out, gradH0), (Tensors, gradParams)) {
  RnnNetwork net = network(op, *input, params, hx, batchSizes, hasBiases, numLayers, bidirectional, batchFirst);
  const TensorView* packed = net.batch_sizes.data ? &net.batch_sizes : nullptr;
  if (gradY && !gradY->empty()) net.dy = time_major(op, *gradY, batchFirst, packed);
  if (gradHy && !gradHy->empty()) net.dh_last = *gradHy;
  const Tensors* lists[] = {&r, &z, &n, &hn, &h};
  for (int k = 0; k < 5; ++k) {
    net.saved[k] = views_of(*lists[k]);
    op.require(static_cast<int64_t>(net.saved[k].size()) == net.cells(), "a list of gates has {} tensors, want {}",
               net.saved[k].size(), net.cells());
  }
  net.dx = time_major(op, *gradInput, batchFirst, packed);
  net.dh0 = *gradH0;
  net.dparams = views_of(gradParams);
  op.require(net.dparams.size() == net.params.size(), "gradParams has {} tensors, want {}", net.dparams.size(),
             net.params.size());
  op.work(cost(net) * 2);
  op.flops(2 * net.flops());
  op.launch([net = std::move(net)] { net.run_backward(); });
}

// --- DynamicGRUV2: weights [input, 3 hidden] and [hidden, 3 hidden], gates in the order r z n, reset after the product
// ---
namespace {

TensorView state_of(const TensorView& v) { return v.data && v.rank == 3 ? slice(v, 0, 0, 1, true) : v; }

RnnLayer layer_of(const AclopCall& call, size_t want_inputs, size_t want_outputs) {
  if (call.inputs.size() < want_inputs || call.outputs.size() < want_outputs)
    throw Error(code::kAclInvalidParam, "{} has {} inputs and {} outputs, want {} and {}", call.type,
                call.inputs.size(), call.outputs.size(), want_inputs, want_outputs);
  RnnLayer l;
  l.gru = true;
  l.x = call.inputs[0].view;
  const TensorView &w = call.inputs[1].view, &u = call.inputs[2].view;
  if (l.x.rank != 3 || w.rank != 2 || u.rank != 2 || w.dims[0] != l.x.dims[2] || u.dims[1] != 3 * u.dims[0] ||
      w.dims[1] != u.dims[1])
    throw Error(code::kAclInvalidParam,
                "{}: x is {}, the weights are {} and {}, want [steps, batch, input], [input, 3 * hidden] and [hidden, "
                "3 * hidden]",
                call.type, describe(l.x), describe(w), describe(u));
  l.w_in = w.transpose(0, 1);
  l.w_hidden = u.transpose(0, 1);
  return l;
}

ABOUT_ACLOP("DynamicGRUV2", Cube, "One GRU layer in one direction over a sequence", "单层单向 GRU", rnn_flops<2, 1>)
ACLOP("DynamicGRUV2", [](AclopCall& call) {
  // x w u b_in b_hidden seq_length init_h -> y h z r n hidden_new
  RnnLayer l = layer_of(call, 7, 6);
  l.b_in = call.inputs[3].view;
  l.b_hidden = call.inputs[4].view;
  l.h0 = state_of(call.inputs[6].view);
  l.y = call.outputs[0].view;
  const size_t from[] = {3, 2, 4, 5, 1};
  for (size_t k = 0; k < 5; ++k) l.saved[k] = call.outputs[from[k]].view;
  run_rnn(l);
})

ABOUT_ACLOP("DynamicGRUV2Grad", Cube, "Gradients of DynamicGRUV2", "DynamicGRUV2 的反向梯度", rnn_flops<2, 2>)
ACLOP("DynamicGRUV2Grad", [](AclopCall& call) {
  // x w u y init_h h dy dh z r n hidden_new … -> dw du db_in db_hidden dx dh_prev
  RnnLayer l = layer_of(call, 12, 6);
  l.h0 = state_of(call.inputs[4].view);
  const size_t from[] = {9, 8, 10, 11, 5};
  for (size_t k = 0; k < 5; ++k) l.saved[k] = call.inputs[from[k]].view;
  l.dy = call.inputs[6].view;
  l.dh_last = state_of(call.inputs[7].view);
  l.dw_in = call.outputs[0].view.transpose(0, 1);
  l.dw_hidden = call.outputs[1].view.transpose(0, 1);
  l.db_in = call.outputs[2].view;
  l.db_hidden = call.outputs[3].view;
  l.dx = call.outputs[4].view;
  l.dh0 = state_of(call.outputs[5].view);
  run_rnn_backward(l);
})

}  // namespace
}  // namespace updraft
