// LSTM: whole networks.
#include "ops/rnn/network.h"

namespace updraft {
namespace {

// hx: hidden and cell states, or nothing.
RnnNetwork network(const Op& op, const TensorView& input, const Tensors& params, const Tensors& hx,
                   const OptIn& batch_sizes, bool biases, int64_t layers, double dropout, bool train,
                   bool bidirectional, bool batch_first) {
  RnnNetwork net = network_of(op, input, params, batch_sizes, biases, layers, bidirectional, batch_first);
  op.require(hx.size() == 0 || hx.size() == 2, "hx has {} tensors, want 2", hx.size());
  if (hx.size() == 2) {
    net.h0 = hx[0];
    net.c0 = hx[1];
  }
  check_network(op, net, 4);
  set_dropout(op, net, dropout, train);
  return net;
}

}  // namespace

SAMPLE(
    aclnnLSTM,
    "input=f32[5,2,M] params=f32[12,M];f32[12,3];f32[12];f32[12] hx=f32[1,2,3];f32[1,2,3] hasBiases=true numLayers=1 "
    "dropout=0 output=f32[5,2,3] hy=f32[1,2,3] cy=f32[1,2,3] i=null j=null f=null o=null h=null c=null tanhc=null")
ABOUT(aclnnLSTM, Cube, "LSTM network of layers and directions over a sequence (packed too), dropout between layers",
      "多层、可双向的 LSTM 网络，支持变长（packed）序列与层间 dropout")
ACLNN(aclnnLSTM, (In, input), (Tensors, params), (Tensors, hx), (OptIn, batchSizes), (Bool, hasBiases),
      (Int, numLayers), (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst), (Out, output),
      (Out, hy), (Out, cy), (OptOutTensors, i), (OptOutTensors, j), (OptOutTensors, f), (OptOutTensors, o),
      (OptOutTensors, h), (OptOutTensors, c), (OptOutTensors, tanhc)) {
  RnnNetwork net =
      network(op, *input, params, hx, batchSizes, hasBiases, numLayers, dropout, train, bidirectional, batchFirst);
  suggest_network(op, net, *input, *output, {&*hy, &*cy}, {i, f, j, o, c, tanhc, h});
  net.h_last = *hy;
  net.c_last = *cy;
  plan_network(op, std::move(net), *output, {i, f, j, o, c, tanhc, h});
}

ABOUT(aclnnLstmBackward, Cube, "Gradients of aclnnLSTM for input, states and parameters from its saved gates",
      "aclnnLSTM 对输入、初始状态与参数的反向梯度，由保存的门计算")
ACLNN(aclnnLstmBackward, (In, input), (Tensors, hx), (Tensors, params), (OptIn, gradY), (OptIn, gradHy),
      (OptIn, gradCy), (Tensors, i), (Tensors, j), (Tensors, f), (Tensors, o), (Tensors, h), (Tensors, c),
      (Tensors, tanhc), (OptIn, batchSizes), (Bool, hasBiases), (Int, numLayers), (Double, dropout), (Bool, train),
      (Bool, bidirectional), (Bool, batchFirst), (OptBools, outputMask), (Out, gradInput), (Out, gradH0), (Out, gradC0),
      (OutTensors, gradParams)) {
  (void)outputMask;
  RnnNetwork net =
      network(op, *input, params, hx, batchSizes, hasBiases, numLayers, dropout, train, bidirectional, batchFirst);
  suggest_network_gradients(op, net, *input, *gradInput, {&*gradH0, &*gradC0}, gradParams);
  if (gradCy && !gradCy->empty()) net.dc_last = *gradCy;
  net.dc0 = *gradC0;
  plan_network_backward(op, std::move(net), gradY, gradHy, {i, f, j, o, c, tanhc, h}, *gradInput, *gradH0, gradParams);
}

}  // namespace updraft
