#include "ops/rnn/layer.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/matmul/matmul.h"
#include "kernels/pipeline.h"

namespace updraft {

namespace {

template <class T>
struct Array {
  T* data = nullptr;
  int64_t size = 0;

  void zero() const { std::fill_n(data, size, T(0)); }
  /// A contiguous copy of a view, zeros where it is absent.
  void fill(const TensorView& v) const {
    if (v.data && size) gather_to(data, DTypeOf<T>::value, v);
    else zero();
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

  /// Gives an array its elements, from a scope or, to be counted, none.
  static auto from_scope(ScratchScope& scratch) {
    return [&](Array<T>& a, int64_t n) { a = {scratch.take<T>(static_cast<size_t>(n)), n}; };
  }
  static auto counted(size_t& bytes) {
    return [&](Array<T>& a, int64_t n) {
      a.size = n;
      bytes += scratch_size(static_cast<size_t>(n) * sizeof(T));
    };
  }

  template <class F>
  void each_row(int64_t n, F&& f) const {
    parallel_for(n, std::max<int64_t>(1, 2048 / std::max<int64_t>(1, hidden)), [&](int64_t b, int64_t e) {
      for (int64_t r = b; r < e; ++r) f(r);
    });
  }

  struct Forward {
    Array<T> x, w_in, w_hidden, b_in, b_hidden, h0, c0, in_gates, h_gates, saved[RnnLayer::kSaved], y;
  };
  template <class Take>
  Forward forward_arrays(Take&& take) const {
    Forward m;
    take(m.x, steps * batch * input);
    take(m.w_in, gates * input);
    take(m.w_hidden, gates * hidden);
    take(m.b_in, gates);
    take(m.b_hidden, gates);
    take(m.h0, cell());
    take(m.c0, cell());
    take(m.in_gates, steps * batch * gates);
    if (l.gru) take(m.h_gates, batch * gates);
    for (int k = 0; k < kinds; ++k) take(m.saved[k], steps * cell());
    if (!l.active.empty()) take(m.y, steps * cell());
    return m;
  }
  size_t forward_scratch() const {
    size_t bytes = 0;
    const Forward m = forward_arrays(counted(bytes));
    const TensorView w = m.w_hidden.view({gates, hidden}).transpose(0, 1), h = m.h0.view({batch, hidden}),
                     a = m.in_gates.view({batch, gates});
    return bytes +
           std::max(matmul_scratch(m.x.view({steps * batch, input}), m.w_in.view({gates, input}).transpose(0, 1),
                                   m.in_gates.view({steps * batch, gates})),
                    l.gru ? matmul_scratch(h, w, a) : matmul_scratch(h, w, a, {.beta = 1}));
  }

  void forward() const {
    ScratchScope scratch;
    const auto [x, w_in, w_hidden, b_in, b_hidden, h0, c0, in_gates, h_gates, saved, y] =
        forward_arrays(from_scope(scratch));
    x.fill(l.x);
    w_in.fill(l.w_in);
    w_hidden.fill(l.w_hidden);
    b_in.fill(l.b_in);
    b_hidden.fill(l.b_hidden);
    h0.fill(l.h0);
    c0.fill(l.c0);
    for (const Array<T>& v : saved) v.zero();
    y.zero();
    matmul(x.view({steps * batch, input}), w_in.view({gates, input}).transpose(0, 1),
           in_gates.view({steps * batch, gates}));
    if (!l.gru)
      for (int64_t g = 0; g < gates; ++g) b_in.data[g] += b_hidden.data[g];
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

  struct Backward {
    Array<T> x, w_in, w_hidden, h0, c0, dy, dh, dc, saved[RnnLayer::kSaved], a, b, h_before;
    Array<T> through;  // what flows through rows that ended, and through GRU's own path
  };
  template <class Take>
  Backward backward_arrays(Take&& take) const {
    Backward m;
    take(m.x, steps * batch * input);
    take(m.w_in, gates * input);
    take(m.w_hidden, gates * hidden);
    take(m.h0, cell());
    take(m.c0, cell());
    take(m.dy, steps * cell());
    take(m.dh, cell());
    take(m.dc, cell());
    for (int k = 0; k < kinds; ++k) take(m.saved[k], steps * cell());
    take(m.a, steps * batch * gates);
    if (l.gru) take(m.b, steps * batch * gates);
    take(m.h_before, steps * cell());
    take(m.through, cell());
    return m;
  }
  size_t backward_scratch() const {
    size_t bytes = 0, most = 0;
    const Backward m = backward_arrays(counted(bytes));
    const int64_t n = steps * batch;
    const TensorView g = m.a.view({n, gates}), w_in = m.w_in.view({gates, input}), x = m.x.view({n, input});
    auto gradient = [&](int64_t elements, size_t product) {
      most = std::max(most, scratch_size(static_cast<size_t>(elements) * sizeof(T)) + product);
    };
    const Array<T> out;
    gradient(0, matmul_scratch(m.a.view({batch, gates}), m.w_hidden.view({gates, hidden}), m.dh.view({batch, hidden}),
                               {.beta = 1}));
    if (l.dx.data) gradient(n * input, matmul_scratch(g, w_in, out.view({n, input}), {.beta = l.add_dx ? 1.0 : 0.0}));
    gradient(gates * input, matmul_scratch(g.transpose(0, 1), x, out.view({gates, input})));
    gradient(gates * hidden,
             matmul_scratch(g.transpose(0, 1), m.h_before.view({n, hidden}), out.view({gates, hidden})));
    return bytes + most;
  }

  void backward() const {
    ScratchScope scratch;
    const auto [x, w_in, w_hidden, h0, c0, dy, dh, dc, saved, a, b, h_before, through] =
        backward_arrays(from_scope(scratch));
    x.fill(l.x);
    w_in.fill(l.w_in);
    w_hidden.fill(l.w_hidden);
    h0.fill(l.h0);
    c0.fill(l.c0);
    dy.fill(l.dy);
    dh.fill(l.dh_last);
    dc.fill(l.dc_last);
    for (int k = 0; k < kinds; ++k) saved[k].fill(l.saved[k]);
    for (const Array<T>* v : {&a, &b, &h_before, &through}) v->zero();
    const T* h_gates = l.gru ? b.data : a.data;
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
    Array<T> hg;
    hg.data = const_cast<T*>(h_gates);
    if (l.dx.data) {
      ScratchScope own;
      Array<T> out;
      from_scope(own)(out, n * input);
      if (l.add_dx) out.fill(l.dx);
      matmul(a.view({n, gates}), w_in.view({gates, input}), out.view({n, input}),
             {.alpha = 1, .beta = l.add_dx ? 1.0 : 0.0});
      give(l.dx, out.data);
    }
    if (l.dw_in.data) {
      ScratchScope own;
      Array<T> out;
      from_scope(own)(out, gates * input);
      matmul(a.view({n, gates}).transpose(0, 1), x.view({n, input}), out.view({gates, input}));
      give(l.dw_in, out.data);
    }
    if (l.dw_hidden.data) {
      ScratchScope own;
      Array<T> out;
      from_scope(own)(out, gates * hidden);
      matmul(hg.view({n, gates}).transpose(0, 1), h_before.view({n, hidden}), out.view({gates, hidden}));
      give(l.dw_hidden, out.data);
    }
    auto sum = [&](const TensorView& to, const T* from) {
      if (!to.data) return;
      ScratchScope own;
      double* total = own.take<double>(static_cast<size_t>(gates));
      std::fill_n(total, gates, 0.0);
      for (int64_t r = 0; r < n; ++r)
        for (int64_t k = 0; k < gates; ++k) total[k] += static_cast<double>(from[r * gates + k]);
      Array<T> out;
      from_scope(own)(out, gates);
      for (int64_t k = 0; k < gates; ++k) out.data[k] = static_cast<T>(total[k]);
      give(to, out.data);
    };
    sum(l.db_in, a.data);
    sum(l.db_hidden, h_gates);
  }
};

}  // namespace

size_t rnn_scratch(const RnnLayer& l) {
  return l.x.dtype == DType::Double ? Runner<double>(l).forward_scratch() : Runner<float>(l).forward_scratch();
}
size_t rnn_backward_scratch(const RnnLayer& l) {
  return l.x.dtype == DType::Double ? Runner<double>(l).backward_scratch() : Runner<float>(l).backward_scratch();
}

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
