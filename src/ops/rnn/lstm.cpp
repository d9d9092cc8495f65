// LSTM: whole networks (aclnn), one layer in one direction (aclop).
#include "kernels/pipeline.h"
#include "ops/rnn/aclop_flops.h"
#include "ops/rnn/aclop_layer.h"
#include "ops/rnn/network.h"

namespace updraft {
namespace {

// hx: hidden and cell states, or nothing.
RnnNetwork network(const Op& op, const TensorView& input, const Tensors& params, const Tensors& hx,
                   const OptIn& batch_sizes, bool biases, int64_t layers, double dropout, bool train,
                   bool bidirectional, bool batch_first) {
  op.require(!(train && dropout > 0 && layers > 1), "dropout {} between {} layers is not supported", dropout, layers);
  RnnNetwork net = network_of(op, input, params, batch_sizes, biases, layers, bidirectional, batch_first);
  op.require(hx.size() == 0 || hx.size() == 2, "hx has {} tensors, want 2", hx.size());
  if (hx.size() == 2) {
    net.h0 = hx[0];
    net.c0 = hx[1];
  }
  check_network(op, net, 4);
  return net;
}

}  // namespace

SAMPLE(
    aclnnLSTM,
    "input=f32[5,2,M] params=f32[12,M];f32[12,3];f32[12];f32[12] hx=f32[1,2,3];f32[1,2,3] hasBiases=true numLayers=1 "
    "dropout=0 output=f32[5,2,3] hy=f32[1,2,3] cy=f32[1,2,3] i=null j=null f=null o=null h=null c=null tanhc=null")
ABOUT(aclnnLSTM, Cube, "LSTM network of layers and directions over a sequence, packed sequences too",
      "多层、可双向的 LSTM 网络，支持变长（packed）序列")
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

namespace {

// The rows at each step from a mask [steps, batch, hidden]; sequences are sorted by length.
std::vector<int64_t> rows_of(const TensorView& mask, int64_t steps, int64_t batch) {
  std::vector<int64_t> rows;
  if (!mask.data || mask.rank != 3 || mask.dims[0] != steps || mask.dims[1] != batch) return rows;
  for (int64_t t = 0; t < steps; ++t) {
    int64_t n = 0;
    for (int64_t b = 0; b < batch; ++b) {
      float on = 0;
      kernels().load[static_cast<int>(mask.dtype)][static_cast<int>(Compute::F32)](
          &on,
          mask.as<char>() + (t * mask.strides[0] + b * mask.strides[1]) * static_cast<int64_t>(size_of(mask.dtype)), 0,
          1);
      n += on > 0.5f;
    }
    rows.push_back(n);
  }
  return rows;
}

// Behind the weights, both forms have b, seq_length, init_h, init_c -> y h c i j f o tanhc.
void forward(AclopCall& call, RnnLayer&& l, size_t at) {
  l.b_in = call.inputs[at].view;
  l.active = rows_of(call.inputs[at + 1].view, l.x.dims[0], l.x.dims[1]);
  l.h0 = state_of(call.inputs[at + 2].view);
  l.c0 = state_of(call.inputs[at + 3].view);
  require_present(call, {}, {0});
  l.y = call.outputs[0].view;
  const size_t from[RnnLayer::kSaved] = {3, 5, 4, 6, 2, 7, 1};
  for (size_t k = 0; k < RnnLayer::kSaved; ++k) l.saved[k] = call.outputs[from[k]].view;
  run_rnn(l);
}

// Both forms have y init_h init_c h c dy dh dc i j f o tanhc from input 3 on, db dx dh_prev dc_prev from output `at`
// on.
void backward(AclopCall& call, RnnLayer&& l, size_t at) {
  require_present(call, {6, 7, 11, 12, 13, 14, 15}, {});
  l.h0 = state_of(call.inputs[4].view);
  l.c0 = state_of(call.inputs[5].view);
  const size_t from[RnnLayer::kSaved] = {11, 13, 12, 14, 7, 15, 6};
  for (size_t k = 0; k < RnnLayer::kSaved; ++k) l.saved[k] = with_steps(call.inputs[from[k]].view);
  l.dy = with_steps(call.inputs[8].view);
  l.dh_last = state_of(call.inputs[9].view);
  l.dc_last = state_of(call.inputs[10].view);
  l.db_in = call.outputs[at].view;
  l.dx = with_steps(call.outputs[at + 1].view);
  l.dh0 = state_of(call.outputs[at + 2].view);
  l.dc0 = state_of(call.outputs[at + 3].view);
  run_rnn_backward(l);
}

// --- DynamicRNN: x [steps, batch, input], w [input + hidden, 4 hidden], b [4 hidden], gates in the order i f j o -----
RnnLayer layer_of_one(const AclopCall& call, size_t want_inputs, size_t want_outputs) {
  require_tensors(call, want_inputs, want_outputs);
  const TensorView &x = call.inputs[0].view, &w = call.inputs[1].view;
  if (x.rank != 3 || w.rank != 2 || w.dims[1] % 4 || w.dims[0] != x.dims[2] + w.dims[1] / 4)
    throw Error(
        code::kAclInvalidParam,
        "{}: x is {} and w is {}, want [steps, batch, input] and [input + hidden, 4 * hidden]{}", call.type,
        describe(x), describe(w),
        x.rank == 3 && w.rank == 2 && w.dims[0] < x.dims[2] + w.dims[1] / 4
            ? "; a projection (proj_size of torch.nn.LSTM) is not part of the operator: project its output with "
              "torch.nn.Linear, or run the module on the CPU"
            : "");
  return layer_of(call, 4, narrow(w, 0, 0, x.dims[2]), narrow(w, 0, x.dims[2], w.dims[1] / 4));
}

ABOUT_ACLOP("DynamicRNN", Cube, "One LSTM layer in one direction over a sequence", "单层单向 LSTM", rnn_flops<1, 1>)
ACLOP("DynamicRNN", [](AclopCall& call) { forward(call, layer_of_one(call, 6, 8), 2); })

ABOUT_ACLOP("DynamicRNNGrad", Cube, "Gradients of DynamicRNN", "DynamicRNN 的反向梯度", rnn_flops<1, 2>)
ACLOP("DynamicRNNGrad", [](AclopCall& call) {
  // x w b y init_h init_c h c dy dh dc i j f o tanhc seq_length … -> dw db dx dh_prev dc_prev
  RnnLayer l = layer_of_one(call, 17, 5);
  l.active = rows_of(call.inputs[16].view, l.x.dims[0], l.x.dims[1]);
  const int64_t input = l.x.dims[2];
  const TensorView& dw = call.outputs[0].view;
  l.dw_in = narrow(dw, 0, 0, input).transpose(0, 1);
  l.dw_hidden = narrow(dw, 0, input, l.w_hidden.dims[1]).transpose(0, 1);
  backward(call, std::move(l), 1);
})

// --- DynamicRNNV2: a weight each for input and hidden, one bias ---
ABOUT_ACLOP("DynamicRNNV2", Cube, "One LSTM layer in one direction, with separate input and hidden weights",
            "单层单向 LSTM，输入权重与隐藏权重分离", rnn_flops<2, 1>)
ACLOP("DynamicRNNV2", [](AclopCall& call) {
  require_tensors(call, 7, 8);
  require_present(call, {2}, {});
  forward(call, layer_of(call, 4, call.inputs[1].view, call.inputs[2].view), 3);
})

ABOUT_ACLOP("DynamicRNNV2Grad", Cube, "Gradients of DynamicRNNV2", "DynamicRNNV2 的反向梯度", rnn_flops<2, 2>)
ACLOP("DynamicRNNV2Grad", [](AclopCall& call) {
  // x w u y init_h init_c h c dy dh dc i j f o tanhc … -> dw du db dx dh_prev dc_prev
  require_tensors(call, 16, 6);
  require_present(call, {2}, {});
  RnnLayer l = layer_of(call, 4, call.inputs[1].view, call.inputs[2].view);
  l.dw_in = call.outputs[0].view.transpose(0, 1);
  l.dw_hidden = call.outputs[1].view.transpose(0, 1);
  backward(call, std::move(l), 2);
})

}  // namespace
}  // namespace updraft
