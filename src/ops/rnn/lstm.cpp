// LSTM: whole networks (aclnn), one layer in one direction (aclop).
#include "kernels/pipeline.h"
#include "ops/aclop.h"
#include "ops/rnn/aclop_flops.h"
#include "ops/rnn/network.h"

namespace updraft {
namespace {

using Pointer = const void*;

int64_t cost(const RnnNetwork& net) { return net.x.dims[0] * net.x.dims[1] * net.params[0].numel() * net.layers; }

RnnNetwork network(const Op& op, const TensorView& input, const Tensors& params, const Tensors& hx,
                   const OptIn& batch_sizes, bool biases, int64_t layers, bool bidirectional, bool batch_first) {
  RnnNetwork net;
  net.biases = biases;
  net.layers = layers;
  net.directions = bidirectional ? 2 : 1;
  if (batch_sizes && !batch_sizes->empty()) net.batch_sizes = *batch_sizes;
  const TensorView* packed = net.batch_sizes.data ? &net.batch_sizes : nullptr;
  net.x = time_major(op, input, batch_first, packed);
  net.params = views_of(params);
  op.require(hx.size() == 0 || hx.size() == 2, "hx has {} tensors, want 2", hx.size());
  if (hx.size() == 2) {
    net.h0 = hx[0];
    net.c0 = hx[1];
  }
  check_network(op, net, 4);
  return net;
}

}  // namespace

ABOUT(aclnnLSTM, Cube, "LSTM network of layers and directions over a sequence, packed sequences too",
      "多层、可双向的 LSTM 网络，支持变长（packed）序列")
ACLNN(aclnnLSTM, (In, input), (Tensors, params), (Tensors, hx), (OptIn, batchSizes), (Bool, hasBiases),
      (Int, numLayers), (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst), (Out, output),
      (Out, hy), (Out, cy), (OptTensors, i), (OptTensors, j), (OptTensors, f), (OptTensors, o), (OptTensors, h),
      (OptTensors, c), (OptTensors, tanhc)) {
  op.require(!(train && dropout > 0 && numLayers > 1), "dropout {} between {} layers is not supported", dropout,
             numLayers);
  RnnNetwork net = network(op, *input, params, hx, batchSizes, hasBiases, numLayers, bidirectional, batchFirst);
  const TensorView* packed = net.batch_sizes.data ? &net.batch_sizes : nullptr;
  net.y = time_major(op, *output, batchFirst, packed);
  net.h_last = *hy;
  net.c_last = *cy;
  const OptTensors* lists[] = {&i, &f, &j, &o, &c, &tanhc, &h};
  for (int k = 0; k < RnnLayer::kSaved; ++k) net.saved[k] = views_of(*lists[k]);
  op.work(cost(net));
  op.flops(net.flops());
  op.launch([net = std::move(net)] { net.run(); });
}

ABOUT(aclnnLstmBackward, Cube, "Gradients of aclnnLSTM for input, states and parameters from its saved gates",
      "aclnnLSTM 对输入、初始状态与参数的反向梯度，由保存的门计算")
ACLNN(aclnnLstmBackward, (In, input), (Tensors, hx), (Tensors, params), (OptIn, gradY), (OptIn, gradHy),
      (OptIn, gradCy), (Tensors, i), (Tensors, j), (Tensors, f), (Tensors, o), (Tensors, h), (Tensors, c),
      (Tensors, tanhc), (OptIn, batchSizes), (Bool, hasBiases), (Int, numLayers), (Double, dropout), (Bool, train),
      (Bool, bidirectional), (Bool, batchFirst), (Pointer, outputMask), (Out, gradInput), (Out, gradH0), (Out, gradC0),
      (Tensors, gradParams)) {
  (void)outputMask;
  op.require(!(train && dropout > 0 && numLayers > 1), "dropout {} between {} layers is not supported", dropout,
             numLayers);
  RnnNetwork net = network(op, *input, params, hx, batchSizes, hasBiases, numLayers, bidirectional, batchFirst);
  const TensorView* packed = net.batch_sizes.data ? &net.batch_sizes : nullptr;
  if (gradY && !gradY->empty()) net.dy = time_major(op, *gradY, batchFirst, packed);
  if (gradHy && !gradHy->empty()) net.dh_last = *gradHy;
  if (gradCy && !gradCy->empty()) net.dc_last = *gradCy;
  const Tensors* lists[] = {&i, &f, &j, &o, &c, &tanhc, &h};
  for (int k = 0; k < RnnLayer::kSaved; ++k) {
    net.saved[k] = views_of(*lists[k]);
    op.require(static_cast<int64_t>(net.saved[k].size()) == net.cells(), "a list of gates has {} tensors, want {}",
               net.saved[k].size(), net.cells());
  }
  net.dx = time_major(op, *gradInput, batchFirst, packed);
  net.dh0 = *gradH0;
  net.dc0 = *gradC0;
  net.dparams = views_of(gradParams);
  op.require(net.dparams.size() == net.params.size(), "gradParams has {} tensors, want {}", net.dparams.size(),
             net.params.size());
  op.work(cost(net) * 2);
  op.flops(2 * net.flops());
  op.launch([net = std::move(net)] { net.run_backward(); });
}

// --- DynamicRNN: x [steps, batch, input], w [input + hidden, 4 hidden], b [4 hidden], gates in the order i f j o -----
namespace {

std::string text_of(const AclopCall& call, const char* name) {
  auto it = call.attributes.find(name);
  return it == call.attributes.end() ? "" : it->second.text;
}

TensorView state_of(const TensorView& v) {  // [1, batch, hidden] or [batch, hidden]
  return v.data && v.rank == 3 ? slice(v, 0, 0, 1, true) : v;
}

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

RnnLayer layer_of(const AclopCall& call, size_t want_inputs, size_t want_outputs) {
  if (call.inputs.size() < want_inputs || call.outputs.size() < want_outputs)
    throw Error(code::kAclInvalidParam, "{} has {} inputs and {} outputs, want {} and {}", call.type,
                call.inputs.size(), call.outputs.size(), want_inputs, want_outputs);
  RnnLayer l;
  l.x = call.inputs[0].view;
  const TensorView& w = call.inputs[1].view;
  if (l.x.rank != 3 || w.rank != 2 || w.dims[1] % 4 || w.dims[0] != l.x.dims[2] + w.dims[1] / 4)
    throw Error(code::kAclInvalidParam,
                "{}: x is {} and w is {}, want [steps, batch, input] and [input + hidden, 4 * hidden]", call.type,
                describe(l.x), describe(w));
  const int64_t input = l.x.dims[2], hidden = w.dims[1] / 4;
  l.w_in = slice(w, 0, 0, input).transpose(0, 1);
  l.w_hidden = slice(w, 0, input, hidden).transpose(0, 1);
  l.b_in = call.inputs[2].view;
  l.reverse = text_of(call, "direction") == "REDIRECTIONAL";
  return l;
}

ABOUT_ACLOP("DynamicRNN", Cube, "One LSTM layer in one direction over a sequence", "单层单向 LSTM", rnn_flops<1, 1>)
ACLOP("DynamicRNN", [](AclopCall& call) {
  RnnLayer l = layer_of(call, 6, 8);
  l.active = rows_of(call.inputs[3].view, l.x.dims[0], l.x.dims[1]);
  l.h0 = state_of(call.inputs[4].view);
  l.c0 = state_of(call.inputs[5].view);
  l.y = call.outputs[0].view;
  // outputs: y, h, c, i, j, f, o, tanh(c)
  const size_t from[RnnLayer::kSaved] = {3, 5, 4, 6, 2, 7, 1};
  for (size_t k = 0; k < RnnLayer::kSaved; ++k) l.saved[k] = call.outputs[from[k]].view;
  run_rnn(l);
})

ABOUT_ACLOP("DynamicRNNGrad", Cube, "Gradients of DynamicRNN", "DynamicRNN 的反向梯度", rnn_flops<1, 2>)
ACLOP("DynamicRNNGrad", [](AclopCall& call) {
  // x w b y init_h init_c h c dy dh dc i j f o tanhc seq_length … -> dw db dx dh_prev dc_prev
  RnnLayer l = layer_of(call, 17, 5);
  l.h0 = state_of(call.inputs[4].view);
  l.c0 = state_of(call.inputs[5].view);
  const size_t from[RnnLayer::kSaved] = {11, 13, 12, 14, 7, 15, 6};
  for (size_t k = 0; k < RnnLayer::kSaved; ++k) l.saved[k] = call.inputs[from[k]].view;
  l.active = rows_of(call.inputs[16].view, l.x.dims[0], l.x.dims[1]);
  l.dy = call.inputs[8].view;
  l.dh_last = state_of(call.inputs[9].view);
  l.dc_last = state_of(call.inputs[10].view);
  const int64_t input = l.x.dims[2], hidden = l.w_hidden.dims[1];
  const TensorView& dw = call.outputs[0].view;
  l.dw_in = slice(dw, 0, 0, input).transpose(0, 1);
  l.dw_hidden = slice(dw, 0, input, hidden).transpose(0, 1);
  l.db_in = call.outputs[1].view;
  l.dx = call.outputs[2].view;
  l.dh0 = state_of(call.outputs[3].view);
  l.dc0 = state_of(call.outputs[4].view);
  run_rnn_backward(l);
})

// The gradient comes without the dimension of steps.
TensorView steps_of(const TensorView& v) {
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

// --- DynamicRNNV2: a weight each for input and hidden, one bias ---
RnnLayer layer_of_two(const AclopCall& call, size_t want_inputs, size_t want_outputs) {
  if (call.inputs.size() < want_inputs || call.outputs.size() < want_outputs)
    throw Error(code::kAclInvalidParam, "{} has {} inputs and {} outputs, want {} and {}", call.type,
                call.inputs.size(), call.outputs.size(), want_inputs, want_outputs);
  RnnLayer l;
  l.x = steps_of(call.inputs[0].view);
  const TensorView &w = call.inputs[1].view, &u = call.inputs[2].view;
  if (l.x.rank != 3 || w.rank != 2 || u.rank != 2 || w.dims[0] != l.x.dims[2] || u.dims[1] != 4 * u.dims[0] ||
      w.dims[1] != u.dims[1])
    throw Error(code::kAclInvalidParam,
                "{}: x is {}, the weights are {} and {}, want [steps, batch, input], [input, 4 * hidden] and [hidden, "
                "4 * hidden]",
                call.type, describe(l.x), describe(w), describe(u));
  l.w_in = w.transpose(0, 1);
  l.w_hidden = u.transpose(0, 1);
  l.reverse = text_of(call, "direction") == "REDIRECTIONAL";
  return l;
}

ABOUT_ACLOP("DynamicRNNV2", Cube, "One LSTM layer in one direction, with separate input and hidden weights",
            "单层单向 LSTM，输入权重与隐藏权重分离", rnn_flops<2, 1>)
ACLOP("DynamicRNNV2", [](AclopCall& call) {
  // x w u b seq_length init_h init_c -> y h c i j f o tanhc
  RnnLayer l = layer_of_two(call, 7, 8);
  l.b_in = call.inputs[3].view;
  l.active = rows_of(call.inputs[4].view, l.x.dims[0], l.x.dims[1]);
  l.h0 = state_of(call.inputs[5].view);
  l.c0 = state_of(call.inputs[6].view);
  l.y = call.outputs[0].view;
  const size_t from[RnnLayer::kSaved] = {3, 5, 4, 6, 2, 7, 1};
  for (size_t k = 0; k < RnnLayer::kSaved; ++k) l.saved[k] = call.outputs[from[k]].view;
  run_rnn(l);
})

ABOUT_ACLOP("DynamicRNNV2Grad", Cube, "Gradients of DynamicRNNV2", "DynamicRNNV2 的反向梯度", rnn_flops<2, 2>)
ACLOP("DynamicRNNV2Grad", [](AclopCall& call) {
  // x w u y init_h init_c h c dy dh dc i j f o tanhc … -> dw du db dx dh_prev dc_prev
  RnnLayer l = layer_of_two(call, 16, 6);
  l.h0 = state_of(call.inputs[4].view);
  l.c0 = state_of(call.inputs[5].view);
  const size_t from[RnnLayer::kSaved] = {11, 13, 12, 14, 7, 15, 6};
  for (size_t k = 0; k < RnnLayer::kSaved; ++k) l.saved[k] = steps_of(call.inputs[from[k]].view);
  l.dy = steps_of(call.inputs[8].view);
  l.dh_last = state_of(call.inputs[9].view);
  l.dc_last = state_of(call.inputs[10].view);
  l.dw_in = call.outputs[0].view.transpose(0, 1);
  l.dw_hidden = call.outputs[1].view.transpose(0, 1);
  l.db_in = call.outputs[2].view;
  l.dx = steps_of(call.outputs[3].view);
  l.dh0 = state_of(call.outputs[4].view);
  l.dc0 = state_of(call.outputs[5].view);
  run_rnn_backward(l);
})

}  // namespace
}  // namespace updraft
