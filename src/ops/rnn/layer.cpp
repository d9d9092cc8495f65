#include "ops/rnn/layer.h"

#include <cstring>

#include "base/parallel.h"
#include "kernels/matmul.h"
#include "kernels/pipeline.h"

namespace updraft {

namespace {

template <class T>
struct Array {
  std::vector<T> hold;
  T* data = nullptr;

  void zeros(int64_t n) {
    hold.assign(static_cast<size_t>(n), T(0));
    data = hold.data();
  }
  /// A contiguous copy of a view, zeros where it is absent.
  void take(const TensorView& v, int64_t n) {
    zeros(n);
    if (v.data && n) gather_to(data, DTypeOf<T>::value, v);
  }
  TensorView view(std::initializer_list<int64_t> dims) const {
    return TensorView::contiguous(data, DTypeOf<T>::value, dims.begin(), static_cast<int>(dims.size()));
  }
};

template <class T>
struct Runner {
  const RnnLayer& l;
  const int64_t steps, batch, input, hidden, gates;
  const int kinds;

  explicit Runner(const RnnLayer& layer)
      : l(layer),
        steps(layer.x.dims[0]),
        batch(layer.x.dims[1]),
        input(layer.x.dims[2]),
        hidden(layer.w_hidden.dims[1]),
        gates(layer.w_hidden.dims[0]),
        kinds(layer.gru ? 5 : 7) {}

  int64_t cell() const { return batch * hidden; }
  int64_t time(int64_t step) const { return l.reverse ? steps - 1 - step : step; }
  int64_t rows_at(int64_t t) const { return l.active.empty() ? batch : l.active[static_cast<size_t>(t)]; }
  int h_index() const { return l.gru ? 4 : 6; }

  static void give(const TensorView& to, const T* from) {
    if (to.data && !to.empty())
      copy_elements(to, TensorView::contiguous(const_cast<T*>(from), DTypeOf<T>::value, to.dims, to.rank));
  }

  template <class F>
  void each_row(int64_t n, F&& f) const {
    parallel_for(n, std::max<int64_t>(1, 2048 / std::max<int64_t>(1, hidden)), [&](int64_t b, int64_t e) {
      for (int64_t r = b; r < e; ++r) f(r);
    });
  }

  void forward() const {
    Array<T> x, w_in, w_hidden, b_in, b_hidden, h0, c0, in_gates, h_gates;
    x.take(l.x, steps * batch * input);
    w_in.take(l.w_in, gates * input);
    w_hidden.take(l.w_hidden, gates * hidden);
    b_in.take(l.b_in, gates);
    b_hidden.take(l.b_hidden, gates);
    h0.take(l.h0, cell());
    c0.take(l.c0, cell());
    in_gates.zeros(steps * batch * gates);
    matmul(x.view({steps * batch, input}), w_in.view({gates, input}).transpose(0, 1),
           in_gates.view({steps * batch, gates}));
    if (l.gru) h_gates.zeros(batch * gates);
    else
      for (int64_t g = 0; g < gates; ++g) b_in.data[g] += b_hidden.data[g];
    Array<T> saved[RnnLayer::kSaved], y;
    for (int k = 0; k < kinds; ++k) saved[k].zeros(steps * cell());
    if (!l.active.empty()) y.zeros(steps * cell());
    const T* h = h0.data;
    const T* c = c0.data;
    for (int64_t s = 0; s < steps; ++s) {
      const int64_t t = time(s), rows = rows_at(t);
      T* a = in_gates.data + t * batch * gates;
      Array<T> before;
      before.data = const_cast<T*>(h);
      if (l.gru)
        matmul(before.view({batch, hidden}), w_hidden.view({gates, hidden}).transpose(0, 1),
               h_gates.view({batch, gates}));
      else {
        Array<T> to;
        to.data = a;
        matmul(before.view({batch, hidden}), w_hidden.view({gates, hidden}).transpose(0, 1), to.view({batch, gates}),
               {.alpha = 1, .beta = 1});
      }
      each_row(batch, [&](int64_t r) {
        const int64_t at = t * cell() + r * hidden;
        T* out[RnnLayer::kSaved] = {};
        for (int k = 0; k < kinds; ++k) out[k] = saved[k].data + at;
        if (r >= rows) {  // a sequence that ended: its state stays
          std::memcpy(out[h_index()], h + r * hidden, static_cast<size_t>(hidden) * sizeof(T));
          if (!l.gru) std::memcpy(out[4], c + r * hidden, static_cast<size_t>(hidden) * sizeof(T));
          return;
        }
        if constexpr (sizeof(T) == 4) {
          if (l.gru)
            kernels().gru_cell_f32(out, a + r * gates, h_gates.data + r * gates, b_in.data, b_hidden.data,
                                   h + r * hidden, hidden);
          else kernels().lstm_cell_f32(out, a + r * gates, b_in.data, c + r * hidden, hidden);
        } else {
          if (l.gru)
            kernels().gru_cell_f64(out, a + r * gates, h_gates.data + r * gates, b_in.data, b_hidden.data,
                                   h + r * hidden, hidden);
          else kernels().lstm_cell_f64(out, a + r * gates, b_in.data, c + r * hidden, hidden);
        }
        if (y.data) std::memcpy(y.data + at, out[h_index()], static_cast<size_t>(hidden) * sizeof(T));
      });
      h = saved[h_index()].data + t * cell();
      if (!l.gru) c = saved[4].data + t * cell();
    }
    give(l.y, y.data ? y.data : saved[h_index()].data);
    give(l.h_last, h);
    give(l.c_last, c);
    for (int k = 0; k < kinds; ++k) give(l.saved[k], saved[k].data);
  }

  void backward() const {
    Array<T> x, w_in, w_hidden, h0, c0, dy, dh, dc, saved[RnnLayer::kSaved], a, b, h_before;
    x.take(l.x, steps * batch * input);
    w_in.take(l.w_in, gates * input);
    w_hidden.take(l.w_hidden, gates * hidden);
    h0.take(l.h0, cell());
    c0.take(l.c0, cell());
    dy.take(l.dy, steps * cell());
    dh.take(l.dh_last, cell());
    dc.take(l.dc_last, cell());
    for (int k = 0; k < kinds; ++k) saved[k].take(l.saved[k], steps * cell());
    a.zeros(steps * batch * gates);
    if (l.gru) b.zeros(steps * batch * gates);
    h_before.zeros(steps * cell());
    const T* h_gates = l.gru ? b.data : a.data;
    Array<T> through;  // what flows through rows that ended, and through GRU's own path
    through.zeros(cell());
    for (int64_t s = steps - 1; s >= 0; --s) {
      const int64_t t = time(s), rows = rows_at(t);
      const T* h_prev = s ? saved[h_index()].data + time(s - 1) * cell() : h0.data;
      const T* c_prev = s ? saved[4].data + time(s - 1) * cell() : c0.data;
      std::memcpy(h_before.data + t * cell(), h_prev, static_cast<size_t>(cell()) * sizeof(T));
      each_row(batch, [&](int64_t r) {
        const int64_t at = t * cell() + r * hidden;
        T* d = dh.data + r * hidden;
        T* rest = through.data + r * hidden;
        if (r >= rows) {
          std::memcpy(rest, d, static_cast<size_t>(hidden) * sizeof(T));
          return;
        }
        for (int64_t k = 0; k < hidden; ++k) d[k] += dy.data[at + k];
        T* ga = a.data + (t * batch + r) * gates;
        if (l.gru) {
          const T* from[] = {saved[0].data + at, saved[1].data + at, saved[2].data + at, saved[3].data + at,
                             h_prev + r * hidden};
          T* gb = b.data + (t * batch + r) * gates;
          if constexpr (sizeof(T) == 4) kernels().gru_cell_backward_f32(ga, gb, d, from, hidden);
          else kernels().gru_cell_backward_f64(ga, gb, d, from, hidden);
          std::memcpy(rest, d, static_cast<size_t>(hidden) * sizeof(T));
        } else {
          const T* from[] = {saved[0].data + at, saved[1].data + at, saved[2].data + at,
                             saved[3].data + at, saved[5].data + at, c_prev + r * hidden};
          if constexpr (sizeof(T) == 4) kernels().lstm_cell_backward_f32(ga, d, dc.data + r * hidden, from, hidden);
          else kernels().lstm_cell_backward_f64(ga, d, dc.data + r * hidden, from, hidden);
          std::memset(rest, 0, static_cast<size_t>(hidden) * sizeof(T));
        }
      });
      Array<T> g;
      g.data = const_cast<T*>(h_gates) + t * batch * gates;
      std::memcpy(dh.data, through.data, static_cast<size_t>(cell()) * sizeof(T));
      matmul(g.view({batch, gates}), w_hidden.view({gates, hidden}), dh.view({batch, hidden}), {.alpha = 1, .beta = 1});
    }
    give(l.dh0, dh.data);
    give(l.dc0, dc.data);
    const int64_t n = steps * batch;
    Array<T> out, hg;
    hg.data = const_cast<T*>(h_gates);
    if (l.dx.data) {
      if (l.add_dx) out.take(l.dx, n * input);
      else out.zeros(n * input);
      matmul(a.view({n, gates}), w_in.view({gates, input}), out.view({n, input}),
             {.alpha = 1, .beta = l.add_dx ? 1.0 : 0.0});
      give(l.dx, out.data);
    }
    if (l.dw_in.data) {
      out.zeros(gates * input);
      matmul(a.view({n, gates}).transpose(0, 1), x.view({n, input}), out.view({gates, input}));
      give(l.dw_in, out.data);
    }
    if (l.dw_hidden.data) {
      out.zeros(gates * hidden);
      matmul(hg.view({n, gates}).transpose(0, 1), h_before.view({n, hidden}), out.view({gates, hidden}));
      give(l.dw_hidden, out.data);
    }
    auto sum = [&](const TensorView& to, const T* from) {
      if (!to.data) return;
      std::vector<double> total(static_cast<size_t>(gates));
      for (int64_t r = 0; r < n; ++r)
        for (int64_t k = 0; k < gates; ++k) total[static_cast<size_t>(k)] += static_cast<double>(from[r * gates + k]);
      out.zeros(gates);
      for (int64_t k = 0; k < gates; ++k) out.data[k] = static_cast<T>(total[static_cast<size_t>(k)]);
      give(to, out.data);
    };
    sum(l.db_in, a.data);
    sum(l.db_hidden, h_gates);
  }
};

}  // namespace

void run_rnn(const RnnLayer& layer) {
  if (layer.x.dims[0] == 0 || layer.x.dims[1] == 0) return;
  if (layer.x.dtype == DType::Double) Runner<double>(layer).forward();
  else Runner<float>(layer).forward();
}
void run_rnn_backward(const RnnLayer& layer) {
  if (layer.x.dims[0] == 0 || layer.x.dims[1] == 0) return;
  if (layer.x.dtype == DType::Double) Runner<double>(layer).backward();
  else Runner<float>(layer).backward();
}

}  // namespace updraft
