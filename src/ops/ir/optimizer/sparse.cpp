// Steps of optimizers for rows that a gradient has: row i of the gradient is that of row indices[i]. A row that comes
// twice is changed twice, one change after the other.
#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/index/indices.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

/// Columns that are changed at a time: a piece of each variable in floats stays in the first cache.
constexpr int64_t kPiece = 512;
/// Rows of different parts are changed side by side.
constexpr int64_t kParts = 16;

template <size_t N>
struct Plan {
  std::array<TensorView, N> variables;
  TensorView grad, indices;

  Plan(Op& op, const std::array<const InOut*, N>& all, const In& gradient, const In& places)
      : grad(*gradient), indices(*places) {
    const TensorView& var = **all[0];
    op.require(var.rank > 0 && is_floating(var.dtype), "var is {}, want rows of numbers with a fraction",
               describe(var));
    for (size_t i = 0; i < N; ++i) {
      const TensorView& v = **all[i];
      op.require(v.same_shape(var) && v.dtype == var.dtype && is_dense(v),
                 "what is updated has {} and {}, want tensors alike that lie in one piece", describe(var), describe(v));
      variables[i] = v;
    }
    op.require(indices.rank == 1 && is_integral(indices.dtype, false), "indices is {}, want a vector of integers",
               describe(indices));
    op.require(grad.rank == var.rank && grad.dims[0] == indices.dims[0] && grad.dtype == var.dtype &&
                   std::equal(grad.dims + 1, grad.dims + grad.rank, var.dims + 1),
               "grad is {}, want a row of var ({}) for each of the {} indices", describe(grad), describe(var),
               indices.dims[0]);
    op.work(4 * grad.numel() * static_cast<int64_t>(N) + 1);
    op.kernel_scratch(contiguous_bytes(grad) + 2 * static_cast<size_t>(indices.numel()) * 8);
  }

  /// step(row, g): row[k] is the element of variable k.
  template <class Rates, class Step>
  void run(const Rates& rates, Step&& step) const {
    ScratchScope scratch;
    const int64_t n = indices.numel(), rows = variables[0].dims[0];
    const int64_t width = rows ? variables[0].numel() / rows : 0;
    auto* at = scratch.take<int64_t>(static_cast<size_t>(n));
    index_offsets(at, indices, rows, 1, 0, false, false);
    const void* from = contiguous_in(grad, scratch).data;
    const int64_t parts = n * width < 4096 ? 1 : kParts;
    (void)visit_type(variables[0].dtype, [&]<class T>() {
      if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        std::array<C, std::tuple_size_v<Rates>> r;
        for (size_t k = 0; k < r.size(); ++k) r[k] = static_cast<C>(linalg::gather(rates[k])[0]);
        parallel_for(parts, 1, [&](int64_t first, int64_t last) {
          std::array<std::array<C, kPiece>, N + 1> piece;
          for (int64_t i = 0; i < n; ++i) {
            if (const int64_t part = at[i] % parts; part < first || part >= last) continue;
            for (int64_t begin = 0; begin < width; begin += kPiece) {
              const int64_t count = std::min(kPiece, width - begin), offset = at[i] * width + begin;
              for (size_t v = 0; v < N; ++v) {
                const T* x = variables[v].template as<T>() + offset;
                for (int64_t c = 0; c < count; ++c) piece[v][static_cast<size_t>(c)] = static_cast<C>(x[c]);
              }
              const T* g = static_cast<const T*>(from) + i * width + begin;
              for (int64_t c = 0; c < count; ++c) piece[N][static_cast<size_t>(c)] = static_cast<C>(g[c]);
              for (size_t c = 0; c < static_cast<size_t>(count); ++c) {
                std::array<C, N> row;
                for (size_t v = 0; v < N; ++v) row[v] = piece[v][c];
                step(row, piece[N][c], r);
                for (size_t v = 0; v < N; ++v) piece[v][c] = row[v];
              }
              for (size_t v = 0; v < N; ++v) {
                T* x = variables[v].template as<T>() + offset;
                for (int64_t c = 0; c < count; ++c) x[c] = static_cast<T>(piece[v][static_cast<size_t>(c)]);
              }
            }
          }
        });
      }
    });
  }
};

template <size_t R>
void require_rates(const Op& op, const std::array<TensorView, R>& rates) {
  for (const TensorView& rate : rates) op.require(rate.numel() == 1, "a rate is {}, want one element", describe(rate));
}

/// `rates` are tensors of one element, which the step gets as numbers in their order.
template <size_t N, size_t R, class Step>
void sparse(Op& op, const std::array<const InOut*, N>& variables, const In& grad, const In& indices,
            const std::array<TensorView, R>& rates, Step step) {
  const Plan<N> plan(op, variables, grad, indices);
  require_rates(op, rates);
  op.launch([plan, rates, step] { plan.run(rates, step); });
}

void adagrad(Op& op, const InOut& var, const InOut& accum, const TensorView& lr, const TensorView* epsilon,
             const In& grad, const In& indices, bool update_slots) {
  const bool has = epsilon != nullptr;
  sparse<2, 2>(op, {&var, &accum}, grad, indices, {lr, has ? *epsilon : lr}, [=](auto& x, auto g, const auto& r) {
    if (update_slots) x[1] += g * g;
    x[0] -= r[0] * g / (std::sqrt(x[1]) + (has ? r[1] : 0));
  });
}

/// sign(p) max(|p| - rate l1, 0) / (1 + rate l2)
template <class C>
C shrunk(C p, C rate, C l1, C l2) {
  return std::copysign(std::max(std::abs(p) - rate * l1, C{0}), p) / (1 + rate * l2);
}

template <class C>
C ftrl_power(C x, C exponent) {
  return exponent == C(0.5) ? std::sqrt(x) : std::pow(x, exponent);
}
/// r: lr, l1, l2, lr_power; `push` is added to the gradient.
template <class Row, class C, class Rates>
void ftrl_step(Row& x, C g, const Rates& r, C push = 0) {
  const C total = x[1] + g * g;
  const C now = ftrl_power(total, -r[3]), before = ftrl_power(x[1], -r[3]);
  x[2] += g + push - (now - before) / r[0] * x[0];
  x[0] = (std::clamp(x[2], -r[1], r[1]) - x[2]) / (now / r[0] + 2 * r[2]);
  x[1] = total;
}
/// `shrinkage` may be absent.
void ftrl(Op& op, const InOut& var, const InOut& accum, const InOut& linear, const In& grad, const In& indices,
          const TensorView& lr, const TensorView& l1, const TensorView& l2, const TensorView* shrinkage,
          const TensorView& lr_power) {
  const bool has = shrinkage != nullptr;
  sparse<3, 5>(op, {&var, &accum, &linear}, grad, indices, {lr, l1, l2, lr_power, has ? *shrinkage : lr},
               [=](auto& x, auto g, const auto& r) { ftrl_step(x, g, r, has ? 2 * r[4] * x[0] : decltype(g){0}); });
}

void rms_prop(Op& op, const InOut& var, const InOut& ms, const InOut& mom, const TensorView& lr, const TensorView& rho,
              const TensorView& momentum, const TensorView& epsilon, const In& grad, const In& indices) {
  sparse<3, 4>(op, {&var, &ms, &mom}, grad, indices, {lr, rho, momentum, epsilon}, [](auto& x, auto g, const auto& r) {
    x[1] = x[1] * r[1] + g * g * (1 - r[1]);
    x[2] = x[2] * r[2] + r[0] * g / std::sqrt(x[1] + r[3]);
    x[0] -= x[2];
  });
}

/// r: lr, l1, l2.
template <class Row, class C, class Rates>
void proximal_adagrad_step(Row& x, C g, const Rates& r) {
  x[1] += g * g;
  const C rate = r[0] / std::sqrt(x[1]);
  x[0] = shrunk(x[0] - g * rate, rate, r[1], r[2]);
}
void proximal_adagrad(Op& op, const InOut& var, const InOut& accum, const TensorView& lr, const TensorView& l1,
                      const TensorView& l2, const In& grad, const In& indices) {
  sparse<2, 3>(op, {&var, &accum}, grad, indices, {lr, l1, l2},
               [](auto& x, auto g, const auto& r) { proximal_adagrad_step(x, g, r); });
}

/// Rows that come twice added up, in the order in which they come first.
struct Merged {
  std::vector<int64_t> rows;
  std::vector<float> sums;
  int64_t width;
  Merged(const TensorView& grad, const TensorView& indices, int64_t variable_rows)
      : width(grad.dims[0] ? grad.numel() / grad.dims[0] : 0) {
    const std::vector<float> all = floats_of(grad);
    const std::vector<int64_t> named = integers_of(indices);
    std::unordered_map<int64_t, int64_t> seen;
    for (size_t i = 0; i < named.size(); ++i) {
      if (named[i] < 0 || named[i] >= variable_rows)
        fail_kernel(fmt::format("indices has {}, and var {} rows", named[i], variable_rows));
      const auto [place, fresh] = seen.try_emplace(named[i], static_cast<int64_t>(rows.size()));
      const float* from = all.data() + static_cast<int64_t>(i) * width;
      if (fresh) {
        rows.push_back(named[i]);
        sums.insert(sums.end(), from, from + width);
        continue;
      }
      float* to = sums.data() + place->second * width;
      for (int64_t c = 0; c < width; ++c) to[c] += from[c];
    }
  }
};
/// As sparse(), of gradients whose rows are added up first.
template <size_t N, size_t R, class Step>
void merged(Op& op, const std::array<const InOut*, N>& variables, const In& grad, const In& indices,
            const std::array<TensorView, R>& rates, Step step) {
  const Plan<N> plan(op, variables, grad, indices);
  op.require(plan.variables[0].dtype == DType::Float, "var is {}, want float", describe(plan.variables[0]));
  require_rates(op, rates);
  op.launch([plan, rates, step] {
    const Merged once(plan.grad, plan.indices, plan.variables[0].dims[0]);
    Plan<N> now = plan;
    int64_t dims[kMaxDims];
    std::copy_n(plan.grad.dims, plan.grad.rank, dims);
    dims[0] = static_cast<int64_t>(once.rows.size());
    now.grad = TensorView::contiguous(const_cast<float*>(once.sums.data()), DType::Float, dims, plan.grad.rank);
    now.indices = TensorView::contiguous(const_cast<int64_t*>(once.rows.data()), DType::Int64, dims, 1);
    now.run(rates, step);
  });
}

/// Adam of whole variables, where rows without a gradient have one of 0.
void fused_adam(Op& op, const InOut& var, const InOut& m, const InOut& v, const std::array<TensorView, 6>& rates,
                const In& grad, const In& indices, bool nesterov) {
  const Plan<3> plan(op, {&var, &m, &v}, grad, indices);
  op.require(var->dtype == DType::Float, "var is {}, want float", describe(*var));
  require_rates(op, rates);
  op.work(12 * var->numel());
  op.launch([plan, rates, nesterov] {
    std::array<float, 6> r;
    for (size_t k = 0; k < r.size(); ++k) r[k] = static_cast<float>(linalg::gather(rates[k])[0]);
    const float beta1 = r[3], beta2 = r[4], epsilon = r[5], rate = r[2] * std::sqrt(1 - r[1]) / (1 - r[0]);
    const Merged once(plan.grad, plan.indices, plan.variables[0].dims[0]);
    auto *x = plan.variables[0].as<float>(), *mean = plan.variables[1].as<float>(),
         *square = plan.variables[2].as<float>();
    const int64_t n = plan.variables[0].numel();
    for (int64_t i = 0; i < n; ++i) mean[i] *= beta1, square[i] *= beta2;
    for (size_t row = 0; row < once.rows.size(); ++row)
      for (int64_t c = 0; c < once.width; ++c) {
        const float g = once.sums[static_cast<size_t>(static_cast<int64_t>(row) * once.width + c)];
        const int64_t at = once.rows[row] * once.width + c;
        mean[at] += (1 - beta1) * g;
        square[at] += (1 - beta2) * g * g;
      }
    std::vector<float> ahead;  // of Nesterov: the mean after a step more with the same gradient
    if (nesterov) {
      ahead.resize(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) ahead[static_cast<size_t>(i)] = mean[i] * beta1;
      for (size_t row = 0; row < once.rows.size(); ++row)
        for (int64_t c = 0; c < once.width; ++c)
          ahead[static_cast<size_t>(once.rows[row] * once.width + c)] +=
              (1 - beta1) * once.sums[static_cast<size_t>(static_cast<int64_t>(row) * once.width + c)];
    }
    const float* step = nesterov ? ahead.data() : mean;
    for (int64_t i = 0; i < n; ++i) x[i] -= rate * step[i] / (std::sqrt(square[i]) + epsilon);
  });
}

/// An attribute as a tensor of one element.
TensorView rate(Op& op, float value) { return ir::constant(op, DType::Float, static_cast<double>(value)); }

}  // namespace

ABOUT(SparseApplyAdagrad, Vector, "One Adagrad step of the rows of var that indices name",
      "对 var 中 indices 所指各行做 Adagrad 单步更新")
IR_OP(SparseApplyAdagrad, SparseApplyAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, grad), (In, indices),
      (Bool, use_locking, false), (Bool, update_slots, true)) {
  (void)use_locking;
  adagrad(op, var, accum, *lr, nullptr, grad, indices, update_slots);
}
IR_OP(SparseApplyAdagradV2, SparseApplyAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, epsilon), (In, grad),
      (In, indices), (Bool, use_locking, false), (Bool, update_slots, true)) {
  (void)use_locking;
  adagrad(op, var, accum, *lr, &*epsilon, grad, indices, update_slots);
}
ABOUT(SparseApplyMomentum, Vector, "One step with momentum of the rows of var that indices name",
      "对 var 中 indices 所指各行做带动量的单步更新")
IR_OP(SparseApplyMomentum, SparseApplyMomentum, (InOut, var), (InOut, accum), (In, lr), (In, grad), (In, indices),
      (In, momentum), (Bool, use_locking, false), (Bool, use_nesterov, false)) {
  (void)use_locking;
  const bool nesterov = use_nesterov;
  sparse<2, 2>(op, {&var, &accum}, grad, indices, {*lr, *momentum}, [=](auto& x, auto g, const auto& r) {
    x[1] = x[1] * r[1] + g;
    x[0] -= (nesterov ? g + x[1] * r[1] : x[1]) * r[0];
  });
}
ABOUT(SparseApplyKerasMomentum, Vector, "One step with momentum, as Keras has it, of the rows that indices name",
      "对 indices 所指各行做 Keras 形式的带动量单步更新")
IR_OP(SparseApplyKerasMomentum, SparseApplyKerasMomentum, (InOut, var), (InOut, accum), (In, lr), (In, grad),
      (In, indices), (In, momentum), (Bool, use_locking, false), (Bool, use_nesterov, false)) {
  (void)use_locking;
  const bool nesterov = use_nesterov;
  sparse<2, 2>(op, {&var, &accum}, grad, indices, {*lr, *momentum}, [=](auto& x, auto g, const auto& r) {
    x[1] = x[1] * r[1] - g * r[0];
    x[0] += nesterov ? x[1] * r[1] - g * r[0] : x[1];
  });
}
ABOUT(SparseApplyAdadelta, Vector, "One Adadelta step of the rows of var that indices name",
      "对 var 中 indices 所指各行做 Adadelta 单步更新")
IR_OP(SparseApplyAdadelta, SparseApplyAdadelta, (InOut, var), (InOut, accum), (InOut, accum_update), (In, lr),
      (In, rho), (In, epsilon), (In, grad), (In, indices), (Bool, use_locking, false)) {
  (void)use_locking;
  sparse<3, 3>(op, {&var, &accum, &accum_update}, grad, indices, {*lr, *rho, *epsilon},
               [](auto& x, auto g, const auto& r) {
                 x[1] = x[1] * r[1] + g * g * (1 - r[1]);
                 const auto step = std::sqrt(x[2] + r[2]) / std::sqrt(x[1] + r[2]) * g;
                 x[0] -= step * r[0];
                 x[2] = x[2] * r[1] + step * step * (1 - r[1]);
               });
}
ABOUT(SparseApplyRMSProp, Vector, "One RMSProp step of the rows of var that indices name",
      "对 var 中 indices 所指各行做 RMSProp 单步更新")
IR_OP(SparseApplyRMSProp, SparseApplyRMSProp, (InOut, var), (InOut, ms), (InOut, mom), (In, lr), (In, rho),
      (In, momentum), (In, epsilon), (In, grad), (In, indices), (Bool, use_locking, false)) {
  (void)use_locking;
  rms_prop(op, var, ms, mom, *lr, *rho, *momentum, *epsilon, grad, indices);
}
ABOUT(SparseApplyCenteredRMSProp, Vector, "One centred RMSProp step of the rows of var that indices name",
      "对 var 中 indices 所指各行做中心化 RMSProp 单步更新")
IR_OP(SparseApplyCenteredRMSProp, SparseApplyCenteredRMSProp, (InOut, var), (InOut, mg), (InOut, ms), (InOut, mom),
      (In, lr), (In, rho), (In, momentum), (In, epsilon), (In, grad), (In, indices), (Bool, use_locking, false)) {
  (void)use_locking;
  sparse<4, 4>(op, {&var, &mg, &ms, &mom}, grad, indices, {*lr, *rho, *momentum, *epsilon},
               [](auto& x, auto g, const auto& r) {
                 x[2] = x[2] * r[1] + g * g * (1 - r[1]);
                 x[1] = x[1] * r[1] + g * (1 - r[1]);
                 x[3] = x[3] * r[2] + r[0] * g / std::sqrt(x[2] - x[1] * x[1] + r[3]);
                 x[0] -= x[3];
               });
}
ABOUT(SparseApplyFtrl, Vector, "One step of Follow The Regularized Leader of the rows that indices name",
      "对 indices 所指各行做 FTRL 单步更新")
IR_OP(SparseApplyFtrl, SparseApplyFtrl, (InOut, var), (InOut, accum), (InOut, linear), (In, grad), (In, indices),
      (In, lr), (In, l1), (In, l2), (In, lr_power), (Bool, use_locking, false)) {
  (void)use_locking;
  ftrl(op, var, accum, linear, grad, indices, *lr, *l1, *l2, nullptr, *lr_power);
}
IR_OP(SparseApplyFtrlV2, SparseApplyFtrl, (InOut, var), (InOut, accum), (InOut, linear), (In, grad), (In, indices),
      (In, lr), (In, l1), (In, l2), (In, l2_shrinkage), (In, lr_power), (Bool, use_locking, false)) {
  (void)use_locking;
  ftrl(op, var, accum, linear, grad, indices, *lr, *l1, *l2, &*l2_shrinkage, *lr_power);
}
ABOUT(SparseApplyProximalAdagrad, Vector, "An Adagrad step of the rows that indices name, then shrunk by l1 and l2",
      "对 indices 所指各行做 Adagrad 单步更新，并按 l1、l2 收缩")
IR_OP(SparseApplyProximalAdagrad, SparseApplyProximalAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, l1),
      (In, l2), (In, grad), (In, indices), (Bool, use_locking, false)) {
  (void)use_locking;
  proximal_adagrad(op, var, accum, *lr, *l1, *l2, grad, indices);
}
ABOUT(SparseApplyProximalGradientDescent, Vector, "A step of the rows that indices name, then shrunk by l1 and l2",
      "对 indices 所指各行做梯度下降单步更新，并按 l1、l2 收缩")
IR_OP(SparseApplyProximalGradientDescent, SparseApplyProximalGradientDescent, (InOut, var), (In, alpha), (In, l1),
      (In, l2), (In, grad), (In, indices), (Bool, use_locking, false)) {
  (void)use_locking;
  sparse<1, 3>(op, {&var}, grad, indices, {*alpha, *l1, *l2},
               [](auto& x, auto g, const auto& r) { x[0] = shrunk(x[0] - g * r[0], r[0], r[1], r[2]); });
}

// The same with rates that are attributes.
IR_OP(SparseApplyAdagradD, SparseApplyAdagrad, (InOut, var), (InOut, accum), (In, grad), (In, indices), (Float, lr),
      (Bool, use_locking, false), (Bool, update_slots, true)) {
  (void)use_locking;
  adagrad(op, var, accum, rate(op, lr), nullptr, grad, indices, update_slots);
}
IR_OP(SparseApplyAdagradV2D, SparseApplyAdagrad, (InOut, var), (InOut, accum), (In, grad), (In, indices), (Float, lr),
      (Float, epsilon), (Bool, use_locking, false), (Bool, update_slots, true)) {
  (void)use_locking;
  const TensorView small = rate(op, epsilon);
  adagrad(op, var, accum, rate(op, lr), &small, grad, indices, update_slots);
}
IR_OP(SparseApplyRMSPropD, SparseApplyRMSProp, (InOut, var), (InOut, ms), (InOut, mom), (In, lr), (In, grad),
      (In, indices), (Float, rho), (Float, momentum), (Float, epsilon), (Bool, use_locking, false)) {
  (void)use_locking;
  rms_prop(op, var, ms, mom, *lr, rate(op, rho), rate(op, momentum), rate(op, epsilon), grad, indices);
}
IR_OP(SparseApplyFtrlD, SparseApplyFtrl, (InOut, var), (InOut, accum), (InOut, linear), (In, grad), (In, indices),
      (Float, lr), (Float, l1), (Float, l2), (Float, lr_power), (Bool, use_locking, false)) {
  (void)use_locking;
  ftrl(op, var, accum, linear, grad, indices, rate(op, lr), rate(op, l1), rate(op, l2), nullptr, rate(op, lr_power));
}
IR_OP(SparseApplyFtrlV2D, SparseApplyFtrl, (InOut, var), (InOut, accum), (InOut, linear), (In, grad), (In, indices),
      (Float, lr), (Float, l1), (Float, l2), (Float, l2_shrinkage), (Float, lr_power), (Bool, use_locking, false)) {
  (void)use_locking;
  const TensorView shrinkage = rate(op, l2_shrinkage);
  ftrl(op, var, accum, linear, grad, indices, rate(op, lr), rate(op, l1), rate(op, l2), &shrinkage, rate(op, lr_power));
}
IR_OP(SparseApplyProximalAdagradD, SparseApplyProximalAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, l1),
      (In, l2), (In, grad), (In, indices), (Bool, use_locking, false)) {
  (void)use_locking;
  proximal_adagrad(op, var, accum, *lr, *l1, *l2, grad, indices);
}

// MindSpore's own, which add up the rows of a gradient that come twice before the step.
ABOUT(CustFusedSparseAdam, AICPU, "One Adam step of var, whose gradient has the rows that indices name",
      "对 var 做 Adam 单步更新（梯度只含 indices 所指各行）")
IR_OP(CustFusedSparseAdam, CustFusedSparseAdam, (InOut, var), (InOut, m), (InOut, v), (In, beta1_power),
      (In, beta2_power), (In, lr), (In, beta1), (In, beta2), (In, epsilon), (In, grad), (In, indices),
      (Bool, use_locking, false), (Bool, use_nesterov, false)) {
  (void)use_locking;
  fused_adam(op, var, m, v, {*beta1_power, *beta2_power, *lr, *beta1, *beta2, *epsilon}, grad, indices, use_nesterov);
}
ABOUT(CustFusedSparseLazyAdam, AICPU, "One Adam step of the rows that indices name",
      "对 indices 所指各行做 Adam 单步更新")
IR_OP(CustFusedSparseLazyAdam, CustFusedSparseLazyAdam, (InOut, var), (InOut, m), (InOut, v), (In, beta1_power),
      (In, beta2_power), (In, lr), (In, beta1), (In, beta2), (In, epsilon), (In, grad), (In, indices),
      (Bool, use_locking, false), (Bool, use_nesterov, false)) {
  (void)use_locking;
  const bool nesterov = use_nesterov;
  merged<3, 6>(op, {&var, &m, &v}, grad, indices, {*beta1_power, *beta2_power, *lr, *beta1, *beta2, *epsilon},
               [nesterov](auto& x, auto g, const auto& r) {
                 const auto rate = r[2] * std::sqrt(1 - r[1]) / (1 - r[0]);
                 x[1] = r[3] * x[1] + (1 - r[3]) * g;
                 x[2] = r[4] * x[2] + (1 - r[4]) * g * g;
                 const auto step = nesterov ? r[3] * x[1] + (1 - r[3]) * g : x[1];
                 x[0] -= rate * step / (std::sqrt(x[2]) + r[5]);
               });
}
ABOUT(CustFusedSparseFtrl, AICPU, "One FTRL step of the rows that indices name", "对 indices 所指各行做 FTRL 单步更新")
IR_OP(CustFusedSparseFtrl, CustFusedSparseFtrl, (InOut, var), (InOut, accum), (InOut, linear), (In, grad),
      (In, indices), (Float, lr), (Float, l1), (Float, l2), (Float, lr_power), (Bool, use_locking, false)) {
  (void)use_locking;
  merged<3, 4>(op, {&var, &accum, &linear}, grad, indices,
               {rate(op, lr), rate(op, l1), rate(op, l2), rate(op, lr_power)},
               [](auto& x, auto g, const auto& r) { ftrl_step(x, g, r); });
}
ABOUT(CustFusedSparseProximalAdagrad, AICPU, "An Adagrad step of the rows that indices name, then shrunk by l1 and l2",
      "对 indices 所指各行做 Adagrad 单步更新，并按 l1、l2 收缩")
IR_OP(CustFusedSparseProximalAdagrad, CustFusedSparseProximalAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, l1),
      (In, l2), (In, grad), (In, indices), (Bool, use_locking, false)) {
  (void)use_locking;
  merged<2, 3>(op, {&var, &accum}, grad, indices, {*lr, *l1, *l2},
               [](auto& x, auto g, const auto& r) { proximal_adagrad_step(x, g, r); });
}

}  // namespace updraft
