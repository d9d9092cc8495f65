// LSTM over whole sequences, any number of layers, one or two directions. Products of all steps with the input weights
// are one matrix product; everything is computed in float.
#include <cmath>
#include <vector>

#include "kernels/matmul.h"
#include "kernels/pipeline.h"
#include "ops/op.h"

namespace updraft {
namespace {

struct Array {
  std::vector<float> values;
  TensorView view;
  Array() = default;
  explicit Array(std::initializer_list<int64_t> dims) {
    view = TensorView::contiguous(nullptr, DType::Float, dims.begin(), static_cast<int>(dims.size()));
    values.assign(static_cast<size_t>(view.numel()), 0.0f);
    view.data = values.data();
  }
  explicit Array(const TensorView& from) {
    values.resize(static_cast<size_t>(from.numel()));
    view = TensorView::contiguous(values.data(), DType::Float, from.dims, from.rank);
    if (!values.empty()) copy_elements(view, from);
  }
  Array(Array&&) = default;
  Array& operator=(Array&&) = default;
  float* data() { return values.data(); }
};

TensorView matrix(float* data, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  return TensorView::contiguous(data, DType::Float, dims, 2);
}
/// Entry k of the first dimension.
TensorView entry(const TensorView& v, int64_t k) {
  TensorView e = v;
  e.rank = v.rank - 1;
  e.data = v.as<char>() + k * v.strides[0] * static_cast<int64_t>(size_of(v.dtype));
  for (int d = 0; d < e.rank; ++d) {
    e.dims[d] = v.dims[d + 1];
    e.strides[d] = v.strides[d + 1];
  }
  return e;
}
/// [.., W] as columns [from, from + n).
TensorView columns(const TensorView& v, int64_t from, int64_t n) {
  TensorView c = v;
  c.data = v.as<char>() + from * v.strides[v.rank - 1] * static_cast<int64_t>(size_of(v.dtype));
  c.dims[c.rank - 1] = n;
  return c;
}
std::vector<TensorView> views(const OptTensors& list) {
  std::vector<TensorView> v;
  for (size_t i = 0; i < list.size(); ++i)
    if (list.item(i)) v.push_back(list[i]);
  return v;
}

struct Plan {
  TensorView input;  ///< [T, N, I]
  std::vector<TensorView> params, hx;
  int64_t layers, directions, each, steps, batch, hidden;
  bool biases;

  const TensorView& param(int64_t cell, int64_t k) const { return params[static_cast<size_t>(cell * each + k)]; }
};

Plan check(const Op& op, const TensorView& input, const OptTensors& params, const OptTensors& hx, const OptIn& packed,
           bool biases, int64_t layers, double dropout, bool train, bool two, bool batch_first) {
  op.require(!packed, "batchSizes is given, want null: packed sequences are not available");
  op.require(!(dropout > 0 && train && layers > 1), "dropout is {} between {} layers, want 0", dropout, layers);
  op.require(input.rank == 3 && is_floating(input.dtype), "input is {}, want a sequence of three dimensions",
             describe(input));
  Plan p{batch_first ? input.transpose(0, 1) : input, views(params), views(hx), layers, two ? 2 : 1, biases ? 4 : 2,
         0, 0, 0, biases};
  op.require(static_cast<int64_t>(p.params.size()) == layers * p.directions * p.each, "there are {} parameters, want {}",
             p.params.size(), layers * p.directions * p.each);
  op.require(p.hx.size() == 2, "there are {} states, want 2", p.hx.size());
  p.steps = p.input.dims[0];
  p.batch = p.input.dims[1];
  p.hidden = p.params[0].dims[0] / 4;
  for (const TensorView& s : p.hx)
    op.require(s.numel() == layers * p.directions * p.batch * p.hidden, "a state is {}, want [{},{},{}]", describe(s),
               layers * p.directions, p.batch, p.hidden);
  return p;
}

void apply(Ew row, const TensorView& x) {
  run_elementwise(elementwise_kernel(row, Compute::F32), Compute::F32, {x}, {x}, Params{});
}
void add(const TensorView& x, const TensorView& y) {
  Params one;
  one.set(0, int64_t{1});
  run_elementwise(elementwise_kernel(Ew::add, Compute::F32), Compute::F32, {x, y}, {x}, one);
}

struct Saved {
  std::vector<TensorView> i, j, f, o, h, c, tanh_c;
};

void forward(const Plan& p, const TensorView& out, const TensorView& out_h, const TensorView& out_c, const Saved& saved) {
  const int64_t t_n = p.steps * p.batch, h = p.hidden, state = p.batch * h;
  Array x(p.input);
  const Array h0(p.hx[0]), c0(p.hx[1]);
  for (int64_t layer = 0; layer < p.layers; ++layer) {
    Array y({p.steps, p.batch, p.directions * h});
    const int64_t width = x.view.dims[2];
    for (int64_t direction = 0; direction < p.directions; ++direction) {
      const int64_t cell = layer * p.directions + direction;
      Array w_hh(p.param(cell, 1)), gates({p.steps, p.batch, 4 * h}), c({p.steps, p.batch, h}), tc({p.steps, p.batch, h});
      Array hs({p.steps, p.batch, h});
      Array w_ih(p.param(cell, 0));
      matmul(matrix(x.data(), t_n, width), w_ih.view.transpose(0, 1), matrix(gates.data(), t_n, 4 * h));
      for (int64_t k = 2; k < p.each; ++k) add(gates.view, p.param(cell, k).expand_as(gates.view));
      const float* h_before = h0.values.data() + cell * state;
      const float* c_before = c0.values.data() + cell * state;
      for (int64_t step = 0; step < p.steps; ++step) {
        const int64_t t = direction ? p.steps - 1 - step : step;
        const TensorView g = entry(gates.view, t);
        MatmulOptions accumulate;
        accumulate.beta = 1;
        matmul(matrix(const_cast<float*>(h_before), p.batch, h), w_hh.view.transpose(0, 1), g, accumulate);
        for (int64_t k = 0; k < 4; ++k) apply(k == 2 ? Ew::tanh : Ew::sigmoid, columns(g, k * h, h));
        float* c_now = c.data() + t * state;
        float* t_now = tc.data() + t * state;
        float* h_now = hs.data() + t * state;
        for (int64_t n = 0; n < p.batch; ++n) {
          const float* row = g.as<float>() + n * 4 * h;
          for (int64_t k = 0; k < h; ++k)
            c_now[n * h + k] = row[h + k] * c_before[n * h + k] + row[k] * row[2 * h + k];
        }
        copy_elements(matrix(t_now, p.batch, h), matrix(c_now, p.batch, h));
        apply(Ew::tanh, matrix(t_now, p.batch, h));
        for (int64_t n = 0; n < p.batch; ++n)
          for (int64_t k = 0; k < h; ++k) h_now[n * h + k] = g.as<float>()[n * 4 * h + 3 * h + k] * t_now[n * h + k];
        h_before = h_now;
        c_before = c_now;
      }
      copy_elements(columns(y.view, direction * h, h), hs.view);
      copy_elements(entry(out_h, cell), matrix(const_cast<float*>(h_before), p.batch, h));
      copy_elements(entry(out_c, cell), matrix(const_cast<float*>(c_before), p.batch, h));
      auto keep = [&](const std::vector<TensorView>& list, const TensorView& value) {
        const auto at = static_cast<size_t>(cell);
        if (at < list.size() && list[at].numel() == value.numel()) copy_elements(list[at], value);
      };
      keep(saved.i, columns(gates.view, 0, h));
      keep(saved.f, columns(gates.view, h, h));
      keep(saved.j, columns(gates.view, 2 * h, h));
      keep(saved.o, columns(gates.view, 3 * h, h));
      keep(saved.h, hs.view);
      keep(saved.c, c.view);
      keep(saved.tanh_c, tc.view);
    }
    x = std::move(y);
  }
  copy_elements(out, x.view);
}

struct Gradients {
  TensorView y, hy, cy;
  bool with_y, with_h, with_c;
};

void backward(const Plan& p, const Gradients& g, const Saved& saved, const TensorView& to_x, const TensorView& to_h,
              const TensorView& to_c, const std::vector<TensorView>& to_params) {
  const int64_t t_n = p.steps * p.batch, h = p.hidden, state = p.batch * h;
  const Array h0(p.hx[0]), c0(p.hx[1]);
  Array dy = g.with_y ? Array(g.y) : Array({p.steps, p.batch, p.directions * h});
  for (int64_t layer = p.layers - 1; layer >= 0; --layer) {
    Array x;
    if (layer == 0) {
      x = Array(p.input);
    } else {
      x = Array({p.steps, p.batch, p.directions * h});
      for (int64_t d = 0; d < p.directions; ++d)
        copy_elements(columns(x.view, d * h, h), saved.h[static_cast<size_t>((layer - 1) * p.directions + d)]);
    }
    const int64_t width = x.view.dims[2];
    Array dx({p.steps, p.batch, width});
    for (int64_t direction = 0; direction < p.directions; ++direction) {
      const int64_t cell = layer * p.directions + direction;
      const auto at = static_cast<size_t>(cell);
      Array i(saved.i[at]), j(saved.j[at]), f(saved.f[at]), o(saved.o[at]), hs(saved.h[at]), c(saved.c[at]),
          tc(saved.tanh_c[at]);
      Array w_ih(p.param(cell, 0)), w_hh(p.param(cell, 1)), d({p.steps, p.batch, 4 * h}), before({p.steps, p.batch, h});
      Array dh({p.batch, h}), dc({p.batch, h});
      if (g.with_h) copy_elements(dh.view, entry(g.hy, cell));
      if (g.with_c) copy_elements(dc.view, entry(g.cy, cell));
      for (int64_t step = p.steps - 1; step >= 0; --step) {
        const int64_t t = direction ? p.steps - 1 - step : step, t_before = direction ? t + 1 : t - 1;
        const float* c_before = step ? c.data() + t_before * state : c0.values.data() + cell * state;
        const float* h_before = step ? hs.data() + t_before * state : h0.values.data() + cell * state;
        std::copy_n(h_before, state, before.data() + t * state);
        add(dh.view, columns(entry(dy.view, t), direction * h, h));
        float* to = d.data() + t * p.batch * 4 * h;
        for (int64_t n = 0; n < p.batch; ++n)
          for (int64_t k = 0; k < h; ++k) {
            const auto s = static_cast<size_t>(n * h + k), e = static_cast<size_t>(t * state + n * h + k);
            const float ii = i.values[e], jj = j.values[e], ff = f.values[e], oo = o.values[e], tt = tc.values[e];
            const float through = dc.values[s] + dh.values[s] * oo * (1 - tt * tt);
            float* row = to + n * 4 * h + k;
            row[0] = through * jj * ii * (1 - ii);
            row[h] = through * c_before[s] * ff * (1 - ff);
            row[2 * h] = through * ii * (1 - jj * jj);
            row[3 * h] = dh.values[s] * tt * oo * (1 - oo);
            dc.values[s] = through * ff;
          }
        matmul(matrix(to, p.batch, 4 * h), w_hh.view, dh.view);
      }
      copy_elements(entry(to_h, cell), dh.view);
      copy_elements(entry(to_c, cell), dc.view);
      const TensorView all = matrix(d.data(), t_n, 4 * h);
      MatmulOptions accumulate;
      accumulate.beta = 1;
      matmul(all, w_ih.view, matrix(dx.data(), t_n, width), accumulate);
      auto param = [&](int64_t k) { return to_params[static_cast<size_t>(cell * p.each + k)]; };
      Array dw({4 * h, width}), du({4 * h, h});
      matmul(all.transpose(0, 1), matrix(x.data(), t_n, width), dw.view);
      matmul(all.transpose(0, 1), matrix(before.data(), t_n, h), du.view);
      copy_elements(param(0), dw.view);
      copy_elements(param(1), du.view);
      if (!p.biases) continue;
      std::vector<double> sums(static_cast<size_t>(4 * h), 0.0);
      for (int64_t r = 0; r < t_n; ++r)
        for (int64_t k = 0; k < 4 * h; ++k) sums[static_cast<size_t>(k)] += static_cast<double>(d.values[static_cast<size_t>(r * 4 * h + k)]);
      for (int64_t k = 2; k < 4; ++k) {
        const TensorView to = param(k);
        copy_elements(to, TensorView::contiguous(sums.data(), DType::Double, to.dims, to.rank));
      }
    }
    dy = std::move(dx);
  }
  copy_elements(to_x, dy.view);
}

}  // namespace

ACLNN(aclnnLSTM, (In, input), (OptTensors, params), (OptTensors, hx), (OptIn, batchSizes), (Bool, hasBiases),
      (Int, numLayers), (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst), (Out, output),
      (Out, hy), (Out, cy), (OptTensors, iOut), (OptTensors, jOut), (OptTensors, fOut), (OptTensors, oOut),
      (OptTensors, hOut), (OptTensors, cOut), (OptTensors, tanhCOut)) {
  const Plan plan = check(op, *input, params, hx, batchSizes, hasBiases, numLayers, dropout, train, bidirectional, batchFirst);
  const TensorView out = batchFirst ? output->transpose(0, 1) : *output;
  const int64_t want[] = {plan.steps, plan.batch, plan.directions * plan.hidden};
  op.require_shape("output", out, want, 3);
  if (out.empty()) return;
  op.work(int64_t{1} << 30);
  op.launch([plan, out, h = *hy, c = *cy,
             saved = Saved{views(iOut), views(jOut), views(fOut), views(oOut), views(hOut), views(cOut), views(tanhCOut)}] {
    forward(plan, out, h, c, saved);
  });
}

ACLNN(aclnnLstmBackward, (In, input), (OptTensors, hx), (OptTensors, params), (OptIn, dy), (OptIn, dh), (OptIn, dc),
      (OptTensors, i), (OptTensors, j), (OptTensors, f), (OptTensors, o), (OptTensors, h), (OptTensors, c),
      (OptTensors, tanhC), (OptIn, batchSizes), (Bool, hasBiases), (Int, numLayers), (Double, dropout), (Bool, train),
      (Bool, bidirectional), (Bool, batchFirst), (OptIn, outputMask), (Out, dx), (Out, dhPrev), (Out, dcPrev),
      (OptTensors, dparams)) {
  (void)outputMask;
  const Plan plan = check(op, *input, params, hx, batchSizes, hasBiases, numLayers, dropout, train, bidirectional, batchFirst);
  const Saved saved{views(i), views(j), views(f), views(o), views(h), views(c), views(tanhC)};
  const auto cells = static_cast<size_t>(plan.layers * plan.directions);
  op.require(saved.i.size() == cells && saved.h.size() == cells && saved.tanh_c.size() == cells,
             "there are {} gate tensors, want {}", saved.i.size(), cells);
  op.require(dparams.size() == plan.params.size(), "there are {} parameter gradients, want {}", dparams.size(),
             plan.params.size());
  if (input->empty()) return;
  const TensorView any = *input;
  const Gradients g{dy ? (batchFirst ? dy->transpose(0, 1) : *dy) : any, dh ? *dh : any, dc ? *dc : any,
                    static_cast<bool>(dy), static_cast<bool>(dh), static_cast<bool>(dc)};
  op.work(int64_t{1} << 30);
  op.launch([plan, g, saved, x = batchFirst ? dx->transpose(0, 1) : *dx, h_to = *dhPrev, c_to = *dcPrev,
             p_to = views(dparams)] { backward(plan, g, saved, x, h_to, c_to, p_to); });
}

}  // namespace updraft
