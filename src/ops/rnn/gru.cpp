// GRU: whole networks (aclnn), one layer in one direction (aclop).
#include "ops/rnn/aclop_flops.h"
#include "ops/rnn/aclop_layer.h"
#include "ops/rnn/network.h"

namespace updraft {
namespace {

RnnNetwork network(const Op& op, const TensorView& input, const Tensors& params, const OptIn& hx,
                   const OptIn& batch_sizes, bool biases, int64_t layers, bool bidirectional, bool batch_first) {
  RnnNetwork net = network_of(op, input, params, batch_sizes, biases, layers, bidirectional, batch_first);
  net.gru = true;
  if (hx) net.h0 = *hx;
  check_network(op, net, 3);
  return net;
}

}  // namespace

SAMPLE(aclnnGRU,
       "input=f32[5,2,M] params=f32[9,M];f32[9,3];f32[9];f32[9] hx=f32[1,2,3] hasBiases=true numLayers=1 dropout=0 "
       "output=f32[5,2,3] hy=f32[1,2,3] r=null z=null n=null hn=null h=null")
ABOUT(aclnnGRU, Cube, "GRU network of layers and directions over a sequence, packed sequences too",
      "多层、可双向的 GRU 网络，支持变长（packed）序列")
ACLNN(aclnnGRU, (In, input), (Tensors, params), (OptIn, hx), (OptIn, batchSizes), (Bool, hasBiases), (Int, numLayers),
      (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst), (Out, output), (Out, hy),
      (OptOutTensors, r), (OptOutTensors, z), (OptOutTensors, n), (OptOutTensors, hn), (OptOutTensors, h)) {
  op.require(!(train && dropout > 0 && numLayers > 1), "dropout {} between {} layers is not supported", dropout,
             numLayers);
  RnnNetwork net = network(op, *input, params, hx, batchSizes, hasBiases, numLayers, bidirectional, batchFirst);
  suggest_network(op, net, *input, *output, {&*hy}, {r, z, n, hn, h});
  net.h_last = *hy;
  plan_network(op, std::move(net), *output, {r, z, n, hn, h});
}

ABOUT(aclnnGRUBackward, Cube, "Gradients of aclnnGRU for input, state and parameters from its saved gates",
      "aclnnGRU 对输入、初始状态与参数的反向梯度，由保存的门计算")
ACLNN(aclnnGRUBackward, (In, input), (Tensors, params), (OptIn, hx), (OptIn, gradY), (OptIn, gradHy), (Tensors, r),
      (Tensors, z), (Tensors, n), (Tensors, hn), (Tensors, h), (OptIn, batchSizes), (Bool, hasBiases), (Int, numLayers),
      (Bool, bidirectional), (Bool, batchFirst), (Out, gradInput), (Out, gradH0), (OutTensors, gradParams)) {
  RnnNetwork net = network(op, *input, params, hx, batchSizes, hasBiases, numLayers, bidirectional, batchFirst);
  suggest_network_gradients(op, net, *input, *gradInput, {&*gradH0}, gradParams);
  plan_network_backward(op, std::move(net), gradY, gradHy, {r, z, n, hn, h}, *gradInput, *gradH0, gradParams);
}

// --- DynamicGRUV2: weights [input, 3 hidden] and [hidden, 3 hidden], gates in the order r z n, reset after the product
// ---
namespace {

ABOUT_ACLOP("DynamicGRUV2", Cube, "One GRU layer in one direction over a sequence", "单层单向 GRU", rnn_flops<2, 1>)
ACLOP("DynamicGRUV2", [](AclopCall& call) {
  // x w u b_in b_hidden seq_length init_h -> y h z r n hidden_new
  require_tensors(call, 7, 6);
  require_present(call, {2}, {0});
  RnnLayer l = layer_of(call, 3, call.inputs[1].view, call.inputs[2].view);
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
  require_tensors(call, 12, 6);
  require_present(call, {2, 5, 8, 9, 10, 11}, {});
  RnnLayer l = layer_of(call, 3, call.inputs[1].view, call.inputs[2].view);
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
