#include "ops/rnn/general.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using Kind = GateActivation::Kind;

struct Named {
  const char* name;
  GateActivation activation;
};
constexpr Named kNamed[] = {{"Tanh", {Kind::Tanh}},
                            {"Sigmoid", {Kind::Sigmoid}},
                            {"Relu", {Kind::Relu}},
                            {"Softsign", {Kind::Softsign}},
                            {"Softplus", {Kind::Softplus}},
                            {"LeakyRelu", {Kind::LeakyRelu, 0.01}},
                            {"ThresholdedRelu", {Kind::ThresholdedRelu, 1}},
                            {"Elu", {Kind::Elu, 1}},
                            {"HardSigmoid", {Kind::HardSigmoid, 0.2, 0.5}},
                            {"Affine", {Kind::Affine, 1, 0}},
                            {"ScaledTanh", {Kind::ScaledTanh, 1, 1}}};

/// x = f(x) for n numbers. Comparisons are written so that NaN stays NaN.
template <class T>
void activate(const GateActivation& f, T* x, int64_t n) {
  const T alpha = static_cast<T>(f.alpha), beta = static_cast<T>(f.beta);
  const auto each = [&](auto&& function) {
    for (int64_t i = 0; i < n; ++i) x[i] = function(x[i]);
  };
  switch (f.kind) {
    case Kind::Tanh: return each([](T v) { return std::tanh(v); });
    case Kind::Sigmoid: return each([](T v) { return 1 / (1 + std::exp(-v)); });
    case Kind::Relu: return each([](T v) { return v < 0 ? T(0) : v; });
    case Kind::Softsign: return each([](T v) { return v / (1 + std::abs(v)); });
    case Kind::Softplus: return each([](T v) { return std::log1p(std::exp(-std::abs(v))) + (v < 0 ? T(0) : v); });
    case Kind::LeakyRelu: return each([=](T v) { return v < 0 ? alpha * v : v; });
    case Kind::ThresholdedRelu: return each([=](T v) { return v <= alpha ? T(0) : v; });
    case Kind::Elu: return each([=](T v) { return v < 0 ? alpha * std::expm1(v) : v; });
    case Kind::HardSigmoid: return each([=](T v) { return std::min(std::max(alpha * v + beta, T(0)), T(1)); });
    case Kind::Affine: return each([=](T v) { return alpha * v + beta; });
    case Kind::ScaledTanh: return each([=](T v) { return alpha * std::tanh(beta * v); });
  }
}

/// A matrix in the memory of a scope, zeros at first.
template <class T>
struct Matrix {
  int64_t rows, columns;
  T* numbers;

  Matrix(ScratchScope& scratch, int64_t r, int64_t c)
      : rows(r), columns(c), numbers(scratch.take<T>(static_cast<size_t>(r * c))) {
    std::fill_n(numbers, r * c, T(0));
  }
  /// The elements of a view, which has as many; zeros where it is absent.
  Matrix(ScratchScope& scratch, int64_t r, int64_t c, const TensorView& v) : Matrix(scratch, r, c) {
    if (v.data && !v.empty()) gather_to(numbers, DTypeOf<T>::value, v);
  }
  T* row(int64_t r) const { return numbers + r * columns; }
  TensorView view(int64_t from, int64_t count) const {
    const int64_t dims[] = {count, columns};
    return TensorView::contiguous(row(from), DTypeOf<T>::value, dims, 2);
  }
  TensorView view() const { return view(0, rows); }
};

/// One direction of a layer.
template <class T>
class OneDirection {
 public:
  OneDirection(const GeneralRnn& layer, int64_t index)
      : l_(layer),
        index_(index),
        backwards_(index == 1 || layer.reverse),
        steps_(layer.x.dims[0]),
        batch_(layer.x.dims[1]),
        hidden_(layer.hidden),
        gates_(layer.gates()),
        f_(layer.activations.data() + static_cast<size_t>(index) * layer.activations_each()),
        r_(scratch_, gates_ * hidden_, hidden_, of(layer.r)),
        state_bias_(scratch_, 1, gates_ * hidden_),
        peepholes_(scratch_, 1, 3 * hidden_, of(layer.peepholes)),
        h_(scratch_, batch_, hidden_, of(layer.h0)),
        c_(scratch_, batch_, hidden_, of(layer.c0)),
        in_(scratch_, steps_ * batch_, gates_ * hidden_),
        product_(scratch_, batch_, gates_ * hidden_),
        next_(scratch_, batch_, hidden_),
        lengths_(layer.lengths.data ? integers_of(layer.lengths) : std::vector<int64_t>()) {}

  void run() {
    products_of_x();
    const Matrix<T> y(scratch_, batch_, hidden_);
    for (int64_t s = 0; s < steps_; ++s) {
      const int64_t t = backwards_ ? steps_ - 1 - s : s;
      step(t, y);
      if (l_.y.data) copy_elements(select(select(l_.y, 0, t), 0, index_), y.view());
    }
    if (l_.h_last.data) copy_elements(of(l_.h_last), h_.view());
    if (l_.c_last.data) copy_elements(of(l_.c_last), c_.view());
  }

 private:
  TensorView of(const TensorView& v) const { return v.data ? select(v, 0, index_) : v; }
  bool inside(int64_t t, int64_t row) const { return lengths_.empty() || t < lengths_[static_cast<size_t>(row)]; }

  template <class F>
  void each_row(int64_t rows, F&& f) {
    parallel_for(rows, std::max<int64_t>(1, 512 / std::max<int64_t>(1, hidden_)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) f(r);
    });
  }

  /// x times its weights for all steps at once, with the biases that may be added to it.
  void products_of_x() {
    const int64_t n = gates_ * hidden_;
    ScratchScope scratch;
    const Matrix<T> x(scratch, steps_ * batch_, l_.x.dims[2], l_.x), w(scratch, n, l_.x.dims[2], of(l_.w));
    matmul(x.view(), w.view().transpose(0, 1), in_.view());
    if (!l_.b.data) return;
    const Matrix<T> b(scratch, 2, n, of(l_.b));
    // where the reset gate is applied to the product, the bias of that product is under it, too
    const int64_t apart = reset_after() ? 2 * hidden_ : n;
    each_row(in_.rows, [&](int64_t r) {
      for (int64_t i = 0; i < n; ++i) in_.row(r)[i] += b.row(0)[i] + (i < apart ? b.row(1)[i] : T(0));
    });
    for (int64_t i = apart; i < n; ++i) state_bias_.numbers[i] = b.row(1)[i];
  }

  void gate(size_t which, T* x, int64_t n) {
    if (l_.clip > 0) {
      const T most = static_cast<T>(l_.clip);
      for (int64_t i = 0; i < n; ++i) x[i] = std::min(std::max(x[i], -most), most);
    }
    activate(f_[which], x, n);
  }

  void step(int64_t t, const Matrix<T>& y) {
    const bool is_gru = l_.cell == GeneralRnn::Cell::Gru;
    matmul(h_.view(), r_.view(0, is_gru && !reset_after() ? 2 * hidden_ : r_.rows).transpose(0, 1), product_to());
    if (is_gru) {
      gru(t);
    } else {
      each_row(batch_, [&](int64_t row) {
        T* sum = in_.row(t * batch_ + row);
        const T* add = product_.row(row);
        for (int64_t i = 0; i < in_.columns; ++i) sum[i] += add[i];
        if (l_.cell == GeneralRnn::Cell::Lstm) return lstm(row, sum, inside(t, row));
        gate(0, sum, hidden_);
        std::copy_n(sum, hidden_, next_.row(row));
      });
    }
    each_row(batch_, [&](int64_t row) {
      const bool here = inside(t, row);
      if (here) std::copy_n(next_.row(row), hidden_, h_.row(row));
      if (here) std::copy_n(next_.row(row), hidden_, y.row(row));
      else std::fill_n(y.row(row), hidden_, T(0));
    });
  }

  bool reset_after() const { return l_.reset_after; }
  /// Where the product of the state goes: a GRU with the reset gate before it has two gates of it at first.
  TensorView product_to() const {
    const int64_t n = l_.cell == GeneralRnn::Cell::Gru && !reset_after() ? 2 * hidden_ : product_.columns;
    return narrow(product_.view(), 1, 0, n);
  }

  /// The output of one sequence from its gates i o f c at `sum`; its cell moves on where the sequence has not ended.
  void lstm(int64_t row, T* sum, bool moves) {
    const int64_t n = hidden_;
    T *i = sum, *o = sum + n, *f = sum + 2 * n, *fresh = sum + 3 * n, *cell = c_.row(row);
    const T* p = peepholes_.numbers;
    T* now = next_.row(row);  // the cell after this step, and what the output gate lets out
    std::copy_n(cell, n, now);
    if (l_.peepholes.data)
      for (int64_t k = 0; k < n; ++k) i[k] += p[k] * now[k], f[k] += p[2 * n + k] * now[k];
    gate(0, i, n);
    if (l_.coupled)
      for (int64_t k = 0; k < n; ++k) f[k] = 1 - i[k];
    else gate(0, f, n);
    gate(1, fresh, n);
    for (int64_t k = 0; k < n; ++k) {
      T& c = now[k];
      c = f[k] * c + i[k] * fresh[k];
      if (l_.peepholes.data) o[k] += p[n + k] * c;
    }
    gate(0, o, n);
    if (moves) std::copy_n(now, n, cell);
    activate(f_[2], now, n);
    for (int64_t k = 0; k < n; ++k) now[k] *= o[k];
  }

  void gru(int64_t t) {
    const int64_t n = hidden_;
    each_row(batch_, [&](int64_t row) {
      T* sum = in_.row(t * batch_ + row);
      const T* add = product_.row(row);
      for (int64_t k = 0; k < 2 * n; ++k) sum[k] += add[k];
      gate(0, sum, 2 * n);
      if (reset_after())
        for (int64_t k = 0; k < n; ++k)
          sum[2 * n + k] += sum[n + k] * (add[2 * n + k] + state_bias_.numbers[2 * n + k]);
      else
        for (int64_t k = 0; k < n; ++k) next_.row(row)[k] = sum[n + k] * h_.row(row)[k];
    });
    if (!reset_after()) matmul(next_.view(), r_.view(2 * n, n).transpose(0, 1), narrow(product_.view(), 1, 2 * n, n));
    each_row(batch_, [&](int64_t row) {
      T *sum = in_.row(t * batch_ + row), *fresh = sum + 2 * n;
      if (!reset_after())
        for (int64_t k = 0; k < n; ++k) fresh[k] += product_.row(row)[2 * n + k];
      gate(1, fresh, n);
      for (int64_t k = 0; k < n; ++k) next_.row(row)[k] = fresh[k] + sum[k] * (h_.row(row)[k] - fresh[k]);
    });
  }

  const GeneralRnn& l_;
  const int64_t index_;
  const bool backwards_;
  const int64_t steps_, batch_, hidden_, gates_;
  const GateActivation* f_;
  ScratchScope scratch_;
  const Matrix<T> r_, state_bias_, peepholes_, h_, c_, in_, product_;
  const Matrix<T> next_;  ///< outputs of a step
  const std::vector<int64_t> lengths_;
};

}  // namespace

bool activation_of(const std::string& name, GateActivation* activation) {
  const auto* found = std::ranges::find_if(kNamed, [&](const Named& n) { return name == n.name; });
  if (found == std::end(kNamed)) return false;
  *activation = found->activation;
  return true;
}

size_t GeneralRnn::scratch() const {
  const int64_t steps = x.dims[0], batch = x.dims[1], rows = gates() * hidden, inputs = x.dims[2];
  const int64_t numbers = rows * (hidden + 4) + 3 * hidden + 4 * batch * hidden + batch * rows + steps * batch * rows +
                          steps * batch * inputs + rows * inputs;
  return scratch_size(static_cast<size_t>(numbers) * size_of(compute_of(x.dtype)));
}

void GeneralRnn::run() const {
  for (int64_t d = 0; d < directions; ++d) {
    if (compute_of(x.dtype) == Compute::F64) OneDirection<double>(*this, d).run();
    else OneDirection<float>(*this, d).run();
  }
}

}  // namespace updraft
