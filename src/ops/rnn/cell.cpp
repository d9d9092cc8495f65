// The fused LSTM cell: gates i f j o of [batch, 4 hidden] in, states out; `storage` keeps the activated gates.
#include <algorithm>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "kernels/rows/functions.h"
#include "ops/op.h"
#include "ops/rnn/layer.h"

namespace updraft {
namespace {

/// A view's elements in a contiguous array; zeros where it is absent.
template <class T>
struct Wide {
  T* data;
  Wide(ScratchScope& scratch, int64_t n, const TensorView& v = {}) : data(scratch.take<T>(static_cast<size_t>(n))) {
    if (v.data && n) gather_to(data, DTypeOf<T>::value, v);
    else std::fill_n(data, n, T(0));
  }
  void give(const TensorView& v) const {
    if (v.data && !v.empty()) copy_elements(v, TensorView::contiguous(data, DTypeOf<T>::value, v.dims, v.rank));
  }
};

struct Cell {
  TensorView in_gates, hidden_gates, c, in_bias, hidden_bias, h_out, c_out, storage;

  template <class T>
  void run() const {
    const int64_t batch = c.dims[0], n = c.dims[1];
    ScratchScope scratch;
    const Wide<T> a(scratch, batch * 4 * n, in_gates), b(scratch, batch * 4 * n, hidden_gates),
        before(scratch, batch * n, c), bias(scratch, 4 * n, in_bias), more(scratch, 4 * n, hidden_bias),
        h(scratch, batch * n), next(scratch, batch * n), kept(scratch, batch * 4 * n), tanh_c(scratch, batch * n);
    for (int64_t k = 0; k < 4 * n; ++k) bias.data[k] += more.data[k];
    parallel_for(batch, std::max<int64_t>(1, 2048 / std::max<int64_t>(1, n)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        T* g = a.data + r * 4 * n;
        for (int64_t k = 0; k < 4 * n; ++k) g[k] += b.data[r * 4 * n + k];
        T* s = kept.data + r * 4 * n;
        T* out[] = {s, s + n, s + 2 * n, s + 3 * n, next.data + r * n, tanh_c.data + r * n, h.data + r * n};
        if constexpr (sizeof(T) == 4) kernels().lstm_cell_f32(out, g, bias.data, before.data + r * n, n);
        else kernels().lstm_cell_f64(out, g, bias.data, before.data + r * n, n);
      }
    });
    h.give(h_out);
    next.give(c_out);
    kept.give(storage);
  }
};

struct CellBackward {
  TensorView grad_h, grad_c, c_before, c_after, storage, grad_gates, grad_c_before, grad_bias;

  template <class T>
  void run() const {
    const int64_t batch = c_before.dims[0], n = c_before.dims[1];
    ScratchScope scratch;
    const Wide<T> dh(scratch, batch * n, grad_h), dc(scratch, batch * n, grad_c), before(scratch, batch * n, c_before),
        after(scratch, batch * n, c_after), kept(scratch, batch * 4 * n, storage), gates(scratch, batch * 4 * n);
    const int64_t cells = batch * n;
    const TensorView tanh_c = TensorView::contiguous(after.data, DTypeOf<T>::value, &cells, 1);
    // tanh(c) again, from the rounded c that the forward pass left
    run_elementwise(elementwise_kernel(ew::tanh, compute_of(DTypeOf<T>::value)), compute_of(DTypeOf<T>::value),
                    {tanh_c}, {tanh_c}, Params{});
    for (int64_t r = 0; r < batch; ++r) {
      const T* s = kept.data + r * 4 * n;
      const T* saved[] = {s, s + n, s + 2 * n, s + 3 * n, after.data + r * n, before.data + r * n};
      if constexpr (sizeof(T) == 4)
        kernels().lstm_cell_backward_f32(gates.data + r * 4 * n, dh.data + r * n, dc.data + r * n, saved, n);
      else kernels().lstm_cell_backward_f64(gates.data + r * 4 * n, dh.data + r * n, dc.data + r * n, saved, n);
    }
    gates.give(grad_gates);
    dc.give(grad_c_before);
    if (!grad_bias.data) return;
    double* total = scratch.take<double>(static_cast<size_t>(4 * n));
    std::fill_n(total, 4 * n, 0.0);
    for (int64_t r = 0; r < batch; ++r)
      for (int64_t k = 0; k < 4 * n; ++k) total[k] += static_cast<double>(gates.data[r * 4 * n + k]);
    const Wide<T> bias(scratch, 4 * n);
    for (int64_t k = 0; k < 4 * n; ++k) bias.data[k] = static_cast<T>(total[k]);
    bias.give(grad_bias);
  }
};

}  // namespace

SAMPLE(aclnnThnnFusedLstmCell,
       "inputGates=f32[N,4M] hiddenGates=f32[N,4M] c=f32[N,M] inputBias=f32[4M] hiddenBias=f32[4M] storage=f32[N,4M]")
ABOUT(aclnnThnnFusedLstmCell, Vector, "One LSTM step from the products of its gates: h, cNext and the activated gates",
      "由门的乘积计算一步 LSTM：输出 h、cNext 与激活后的门")
ACLNN(aclnnThnnFusedLstmCell, (In, inputGates), (In, hiddenGates), (In, c), (OptIn, inputBias), (OptIn, hiddenBias),
      (Out, h), (Out, cNext), (Out, storage)) {
  op.require(c->rank == 2 && inputGates->rank == 2 && inputGates->dims[0] == c->dims[0] &&
                 inputGates->dims[1] == 4 * c->dims[1],
             "inputGates is {} and c is {}, want [batch, 4 * hidden] and [batch, hidden]", describe(*inputGates),
             describe(*c));
  op.require_same_shape("inputGates", *inputGates, "hiddenGates", *hiddenGates);
  op.result_like("h", *h, *c, c->dtype);
  op.result_like("cNext", *cNext, *c, c->dtype);
  op.result_like("storage", *storage, *inputGates, inputGates->dtype);
  Cell cell{*inputGates, *hiddenGates, *c, {}, {}, *h, *cNext, *storage};
  if (inputBias) cell.in_bias = *inputBias;
  if (hiddenBias) cell.hidden_bias = *hiddenBias;
  if (c->empty()) return;
  op.work(inputGates->numel() * 8);
  op.kernel_scratch(static_cast<size_t>(inputGates->numel() * 4 + 2 * inputGates->dims[1]) *
                    size_of(storage_of(compute_of(c->dtype))));
  op.launch([cell] {
    if (cell.c.dtype == DType::Double) cell.run<double>();
    else cell.run<float>();
  });
}

SAMPLE(aclnnThnnFusedLstmCellBackward,
       "gradH=f32[N,M] gradC=f32[N,M] storage=f32[N,4M] hasBias=true gradGates=f32[N,4M] gradCBefore=f32[N,M] "
       "gradBias=f32[4M]")
ABOUT(aclnnThnnFusedLstmCellBackward, Vector,
      "Gradients of aclnnThnnFusedLstmCell for the gates, the cell state and the bias",
      "aclnnThnnFusedLstmCell 对门、细胞状态与偏置的反向梯度")
ACLNN(aclnnThnnFusedLstmCellBackward, (OptIn, gradH), (OptIn, gradC), (In, cBefore), (In, cAfter), (In, storage),
      (Bool, hasBias), (Out, gradGates), (Out, gradCBefore), (OptOut, gradBias)) {
  op.require(cBefore->rank == 2 && storage->rank == 2 && storage->dims[0] == cBefore->dims[0] &&
                 storage->dims[1] == 4 * cBefore->dims[1],
             "storage is {} and cx is {}, want [batch, 4 * hidden] and [batch, hidden]", describe(*storage),
             describe(*cBefore));
  op.require_same_shape("cx", *cBefore, "cy", *cAfter);
  op.result_like("gradGates", *gradGates, *storage, storage->dtype);
  op.suggest_like(*gradCBefore, *cBefore, cBefore->dtype);
  if (gradBias) op.suggest(*gradBias, {storage->dims[1]}, storage->dtype);
  CellBackward cell{{}, {}, *cBefore, *cAfter, *storage, *gradGates, *gradCBefore, {}};
  if (gradH && !gradH->empty()) cell.grad_h = *gradH;
  if (gradC && !gradC->empty()) cell.grad_c = *gradC;
  if (gradBias && hasBias) cell.grad_bias = *gradBias;
  if (cBefore->empty()) return;
  op.work(storage->numel() * 8);
  op.kernel_scratch(static_cast<size_t>(storage->numel() * 3 + 3 * storage->dims[1]) *
                    size_of(storage_of(compute_of(cBefore->dtype))));
  op.launch([cell] {
    if (cell.c_before.dtype == DType::Double) cell.run<double>();
    else cell.run<float>();
  });
}

}  // namespace updraft
