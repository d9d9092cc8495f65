// One step of an LSTM whose two products are done: gates in the order input, forget, cell, output.
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/op.h"

namespace updraft {
namespace {

/// Part k of the gates [N, 4H] as [N, H].
TensorView gate(const TensorView& gates, int k) {
  TensorView v = gates;
  v.dims[1] = gates.dims[1] / 4;
  v.data = gates.as<char>() + k * v.dims[1] * gates.strides[1] * static_cast<int64_t>(size_of(gates.dtype));
  return v;
}

void check_gates(const Op& op, const char* name, const TensorView& gates, const TensorView& c) {
  op.require(c.rank == 2 && is_floating(c.dtype), "cx is {}, want floating-point states [N,H]", describe(c));
  op.require(gates.rank == 2 && gates.dims[0] == c.dims[0] && gates.dims[1] == 4 * c.dims[1], "{} is {}, want [{},{}]",
             name, describe(gates), c.dims[0], 4 * c.dims[1]);
}

}  // namespace

ACLNN(aclnnThnnFusedLstmCell, (In, inputGates), (In, hiddenGates), (In, cx), (OptIn, inputBias), (OptIn, hiddenBias),
      (Out, hy), (Out, cy), (Out, storage)) {
  check_gates(op, "inputGates", *inputGates, *cx);
  check_gates(op, "hiddenGates", *hiddenGates, *cx);
  check_gates(op, "storage", *storage, *cx);
  op.require_same_shape("cx", *cx, "hy", *hy);
  op.require_same_shape("cx", *cx, "cy", *cy);
  if (cx->empty()) return;
  op.work(storage->numel() * 30);
  const TensorView bi = inputBias ? inputBias->expand_as(*inputGates) : *inputGates;
  const TensorView bh = hiddenBias ? hiddenBias->expand_as(*inputGates) : *inputGates;
  op.launch([bi, bh, with_i = static_cast<bool>(inputBias), with_h = static_cast<bool>(hiddenBias), xi = *inputGates,
             xh = *hiddenGates, c = *cx, h_out = *hy, c_out = *cy, gates = *storage] {
    const Compute compute = compute_of(c.dtype);
    const auto n = static_cast<size_t>(gates.numel());
    const DType type = storage_of(compute);
    std::vector<char> memory((n + n / 4 * 2) * size_of(type));
    TensorView sum = TensorView::contiguous(memory.data(), type, gates.dims, gates.rank);
    TensorView next = TensorView::contiguous(memory.data() + n * size_of(type), type, c.dims, c.rank);
    TensorView part = TensorView::contiguous(memory.data() + (n + n / 4) * size_of(type), type, c.dims, c.rank);
    auto run = [&](Ew row, std::initializer_list<TensorView> in, const TensorView& to) {
      Params one;
      one.set(0, int64_t{1});
      run_elementwise(elementwise_kernel(row, compute), compute, in, {to}, one);
    };
    run(Ew::add, {xi, xh}, sum);
    if (with_i) run(Ew::add, {sum, bi}, sum);
    if (with_h) run(Ew::add, {sum, bh}, sum);
    for (int k = 0; k < 4; ++k) run(k == 2 ? Ew::tanh : Ew::sigmoid, {gate(sum, k)}, gate(sum, k));
    run(Ew::mul, {gate(sum, 1), c}, next);
    run(Ew::mul, {gate(sum, 0), gate(sum, 2)}, part);
    run(Ew::add, {next, part}, next);
    run(Ew::tanh, {next}, part);
    run(Ew::mul, {gate(sum, 3), part}, h_out);
    copy_elements(c_out, next);
    copy_elements(gates, sum);
  });
}

ACLNN(aclnnThnnFusedLstmCellBackward, (OptIn, gradHy), (OptIn, gradCy), (In, cx), (In, cy), (In, storage),
      (Bool, hasBias), (Out, gradGates), (Out, gradCx), (Out, gradBias)) {
  check_gates(op, "storage", *storage, *cx);
  check_gates(op, "gradGates", *gradGates, *cx);
  op.require_same_shape("cx", *cx, "cy", *cy);
  op.require_same_shape("cx", *cx, "gradCx", *gradCx);
  op.require(!hasBias || gradBias->numel() == storage->dims[1], "gradBias is {}, want {} elements", describe(*gradBias),
             storage->dims[1]);
  op.work(storage->numel() * 30);
  const TensorView gh = gradHy ? *gradHy : *cx, gc = gradCy ? *gradCy : *cx;
  op.launch([gh, gc, with_h = static_cast<bool>(gradHy), with_c = static_cast<bool>(gradCy), c = *cx, c_next = *cy,
             gates = *storage, to = *gradGates, to_c = *gradCx, bias = *gradBias, hasBias] {
    const int64_t rows = c.dims[0], width = c.dims[1];
    auto read = [](const TensorView& v) {
      std::vector<double> x(static_cast<size_t>(v.numel()));
      if (!x.empty()) gather_to(x.data(), DType::Double, v);
      return x;
    };
    const std::vector<double> g = read(gates), before = read(c), after = read(c_next);
    const std::vector<double> dh = with_h ? read(gh) : std::vector<double>(before.size(), 0.0);
    const std::vector<double> dc = with_c ? read(gc) : std::vector<double>(before.size(), 0.0);
    std::vector<double> d(g.size()), dc_before(before.size()), db(static_cast<size_t>(4 * width), 0.0);
    parallel_for(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, width)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        for (int64_t j = 0; j < width; ++j) {
          const auto at = static_cast<size_t>(r * width + j);
          const double* x = g.data() + r * 4 * width + j;
          double* y = d.data() + r * 4 * width + j;
          const double i = x[0], f = x[width], z = x[2 * width], o = x[3 * width], t = std::tanh(after[at]);
          const double through = dc[at] + dh[at] * o * (1 - t * t);
          y[0] = through * z * i * (1 - i);
          y[width] = through * before[at] * f * (1 - f);
          y[2 * width] = through * i * (1 - z * z);
          y[3 * width] = dh[at] * t * o * (1 - o);
          dc_before[at] = through * f;
        }
    });
    auto write = [](const TensorView& v, std::vector<double>& x) {
      if (!v.empty()) copy_elements(v, TensorView::contiguous(x.data(), DType::Double, v.dims, v.rank));
    };
    write(to, d);
    write(to_c, dc_before);
    if (!hasBias) return;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < 4 * width; ++j) db[static_cast<size_t>(j)] += d[static_cast<size_t>(r * 4 * width + j)];
    write(bias, db);
  });
}

}  // namespace updraft
