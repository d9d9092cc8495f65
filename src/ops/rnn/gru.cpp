// GRU: whole networks.
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
ABOUT(aclnnGRU, Cube, "GRU network of layers and directions over a sequence (packed too), dropout between layers",
      "多层、可双向的 GRU 网络，支持变长（packed）序列与层间 dropout")
ACLNN(aclnnGRU, (In, input), (Tensors, params), (OptIn, hx), (OptIn, batchSizes), (Bool, hasBiases), (Int, numLayers),
      (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst), (Out, output), (Out, hy),
      (OptOutTensors, r), (OptOutTensors, z), (OptOutTensors, n), (OptOutTensors, hn), (OptOutTensors, h)) {
  RnnNetwork net = network(op, *input, params, hx, batchSizes, hasBiases, numLayers, bidirectional, batchFirst);
  set_dropout(op, net, dropout, train);
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

}  // namespace updraft
