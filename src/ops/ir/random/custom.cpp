// MindSpore's own types that draw. Seeds that are both 0 give other numbers for each call. The inputs counts and
// states, where MindSpore keeps how far a generator is, are left as they are.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "ops/gathered.h"
#include "ops/index/indices.h"
#include "ops/ir/random/seeds.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;
using Generator = std::mt19937_64;

struct Seeds {
  uint64_t value;
  Seeds(int64_t seed, int64_t seed2) {
    if (seed == 0 && seed2 == 0) seed = ir::fresh_seed();
    value = static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15ULL + static_cast<uint64_t>(seed2);
  }
  Generator generator() const { return Generator(value); }
};
int64_t given_or_0(const Op& op, const char* name, const OptIn& v) { return v ? integer_of(op, name, v.handle) : 0; }

/// The shape to which both broadcast.
Dims broadcast(const Op& op, Dims a, const TensorView& v) {
  Dims b = ir::dims_of(v);
  if (a.size() < b.size()) a.swap(b);
  const size_t offset = a.size() - b.size();
  for (size_t d = 0; d < b.size(); ++d) {
    int64_t& n = a[offset + d];
    op.require(n == b[d] || n == 1 || b[d] == 1, "the shape has {} where {} has {}", n, describe(v), b[d]);
    if (n == 1) n = b[d];
  }
  return a;
}
template <class Draw>
void plan_draws(Op& op, const Out& out, const Seeds& seeds, Draw draw) {
  if (op.inferring()) return;
  op.work(out->numel() * 40);
  op.launch([to = *out, seeds, draw] {
    Generator generator = seeds.generator();
    std::vector<double> all(static_cast<size_t>(to.numel()));
    draw(all, generator);
    write_all(to, all);
  });
}

double poisson(double mean, Generator& g) {
  return mean > 0 ? static_cast<double>(std::poisson_distribution<int64_t>(mean)(g)) : 0;
}

/// Keeps whole channels.
void drop_channels(Op& op, const In& x, int rank, float keep_prob, const Out& y, const Out& mask) {
  op.require(x->rank == rank && is_floating(x->dtype), "x is {}, want {} dimensions of numbers with a fraction",
             describe(*x), rank);
  op.require(keep_prob >= 0 && keep_prob <= 1, "attribute keep_prob is {}, want 0 to 1", keep_prob);
  op.result_like("y", *y, *x, x->dtype);
  op.result_like("mask", *mask, *x, DType::Bool);
  if (op.inferring()) return;
  op.launch([from = *x, to = *y, kept = *mask, seeds = Seeds(0, 0), keep_prob] {
    const auto keep = static_cast<double>(keep_prob);
    // What is kept is divided in the type of x, and so is what it is divided by.
    alignas(16) char rounded[16];
    const TensorView one = TensorView::contiguous(rounded, from.dtype, nullptr, 0);
    write_all(one, std::vector<double>{keep});
    const double divisor = gathered<double>(one)[0];
    const bool wide = from.dtype == DType::Double;
    Generator g = seeds.generator();
    std::bernoulli_distribution chance(keep);
    std::vector<double> all = gathered<double>(from), marks(all.size());
    const size_t channels = static_cast<size_t>(from.dims[0] * from.dims[1]);
    const size_t each = channels ? all.size() / channels : 0;
    for (size_t c = 0; c < channels; ++c) {
      const bool stays = chance(g);
      for (size_t i = c * each; i < (c + 1) * each; ++i) {
        all[i] = !stays ? 0 : wide ? all[i] / divisor : static_cast<double>(static_cast<float>(all[i] / divisor));
        marks[i] = stays ? 1 : 0;
      }
    }
    write_all(to, all);
    write_all(kept, marks);
  });
}

/// Classes drawn by weights, a row of them for each row.
void draw_classes(Op& op, const In& weights, int64_t count, bool logarithms, const Seeds& seeds, DType type,
                  const Out& out) {
  op.require((weights->rank == 1 || weights->rank == 2) && weights->dims[weights->rank - 1] > 0 && count >= 0,
             "the distribution is {} and {} numbers are wanted, want rows of weights", describe(*weights), count);
  Dims dims = ir::dims_of(*weights);
  dims.back() = count;
  ir::result(op, "output", *out, dims, type);
  if (op.inferring() || out->empty()) return;
  op.work(weights->numel() * 20 + out->numel() * 20);
  op.launch([from = *weights, to = *out, count, logarithms, seeds] {
    Generator g = seeds.generator();
    std::vector<double> all = gathered<double>(from);
    const auto classes = static_cast<size_t>(from.dims[from.rank - 1]);
    std::vector<int64_t> drawn;
    for (size_t row = 0; row < all.size(); row += classes) {
      double* w = all.data() + row;
      if (logarithms) {
        const double most = *std::max_element(w, w + classes);
        for (size_t k = 0; k < classes; ++k) w[k] = std::exp(w[k] - most);
      }
      for (size_t k = 0; k < classes; ++k)
        if (!(w[k] >= 0)) fail_kernel(fmt::format("a weight of the distribution is {}, want 0 or more", w[k]));
      std::discrete_distribution<int64_t> distribution(w, w + classes);
      for (int64_t i = 0; i < count; ++i) drawn.push_back(distribution(g));
    }
    write_all(to, drawn);
  });
}

}  // namespace

ABOUT(CustDropout2D, AICPU, "Channels of images, each kept with keep_prob and else 0", "按通道 dropout（二维）")
IR_OP(CustDropout2D, CustDropout2D, (In, x), (Out, y), (Out, mask), (Float, keep_prob, 0.5f)) {
  drop_channels(op, x, 4, keep_prob, y, mask);
}
ABOUT(CustDropout3D, AICPU, "Channels of volumes, each kept with keep_prob and else 0", "按通道 dropout（三维）")
IR_OP(CustDropout3D, CustDropout3D, (In, x), (Out, y), (Out, mask), (Float, keep_prob, 0.5f)) {
  drop_channels(op, x, 5, keep_prob, y, mask);
}
ABOUT(CustGamma, AICPU, "Numbers of gamma distributions by alpha and beta", "伽马分布随机数")
IR_OP(CustGamma, CustGamma, (In, shape), (In, alpha), (In, beta), (OptIn, seed), (OptIn, seed2), (Out, output)) {
  const Dims dims = broadcast(op, broadcast(op, op.integers("shape", shape.handle), *alpha), *beta);
  ir::result(op, "output", *output, dims, DType::Float);
  if (op.inferring()) return;
  plan_draws(op, output, Seeds(given_or_0(op, "seed", seed), given_or_0(op, "seed2", seed2)),
             [a = alpha->expand_as(*output), b = beta->expand_as(*output)](std::vector<double>& all, Generator& g) {
               const std::vector<double> forms = gathered<double>(a), rates = gathered<double>(b);
               for (size_t i = 0; i < all.size(); ++i)
                 all[i] = std::gamma_distribution<double>(forms[i], 1 / rates[i])(g);
             });
}
ABOUT(CustPoisson, AICPU, "Numbers of Poisson distributions by their means", "泊松分布随机数")
IR_OP(CustPoisson, CustPoisson, (In, shape), (In, mean), (OptIn, seed), (OptIn, seed2), (Out, output)) {
  ir::result(op, "output", *output, broadcast(op, op.integers("shape", shape.handle), *mean), DType::Int32);
  if (op.inferring()) return;
  plan_draws(op, output, Seeds(given_or_0(op, "seed", seed), given_or_0(op, "seed2", seed2)),
             [m = mean->expand_as(*output)](std::vector<double>& all, Generator& g) {
               const std::vector<double> means = gathered<double>(m);
               for (size_t i = 0; i < all.size(); ++i) all[i] = poisson(means[i], g);
             });
}
ABOUT(CustRandomPoisson, AICPU, "Numbers of Poisson distributions, of the shape and then of rate",
      "泊松分布随机数，形状后接 rate 的形状")
IR_OP(CustRandomPoisson, CustRandomPoisson, (In, shape), (In, rate), (OptIn, counts), (OptIn, states), (Out, output),
      (Int, seed, 0), (Int, seed2, 0), (Type, dtype, DType::Int64)) {
  (void)counts, (void)states;
  Dims dims = op.integers("shape", shape.handle);
  dims.insert(dims.end(), rate->dims, rate->dims + rate->rank);
  ir::result(op, "output", *output, dims, dtype);
  plan_draws(op, output, Seeds(seed, seed2), [r = *rate](std::vector<double>& all, Generator& g) {
    const std::vector<double> rates = gathered<double>(r);
    for (size_t i = 0; i < all.size(); ++i) all[i] = poisson(rates[i % rates.size()], g);
  });
}
ABOUT(CustMultinomial, AICPU, "Classes drawn by their weights", "按权重采样类别")
IR_OP(CustMultinomial, CustMultinomial, (In, input), (In, num_sample), (OptIn, count), (OptIn, state), (Out, output),
      (Type, dtype, DType::Int32), (Int, seed, 0), (Int, seed2, 0)) {
  (void)count, (void)state;
  draw_classes(op, input, integer_of(op, "num_sample", num_sample.handle), false, Seeds(seed, seed2), dtype, output);
}
ABOUT(CustRandomCategorical, AICPU, "Classes drawn by the logarithms of their weights", "按对数权重采样类别")
IR_OP(CustRandomCategorical, CustRandomCategorical, (In, logits), (In, num_sample), (In, seed), (OptIn, counts),
      (OptIn, states), (Out, output), (Type, dtype, DType::Int64)) {
  (void)counts, (void)states;
  draw_classes(op, logits, integer_of(op, "num_sample", num_sample.handle), true,
               Seeds(integer_of(op, "seed", seed.handle), 0), ir::type_of(*output, dtype), output);
}
ABOUT(CustRandomShuffle, AICPU, "The parts of x along its first dimension in a random order", "沿第一维随机打乱")
IR_OP(CustRandomShuffle, CustRandomShuffle, (In, x), (OptIn, counts), (OptIn, states), (Out, y), (Int, seed, 0),
      (Int, seed2, 0)) {
  (void)counts, (void)states;
  op.result_like("y", *y, *x, x->dtype);
  if (x->rank == 0 || x->empty()) return ir::copy(op, *x, y);
  op.launch([from = *x, to = *y, seeds = Seeds(seed, seed2)] {
    Generator g = seeds.generator();
    std::vector<int64_t> order(static_cast<size_t>(from.dims[0]));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), g);
    for (size_t i = 0; i < order.size(); ++i)
      copy_elements(ir::part_of(to, 0, static_cast<int64_t>(i), 1), ir::part_of(from, 0, order[i], 1));
  });
}
ABOUT(CustRandperm, AICPU, "The first n numbers in a random order, and pad up to max_length",
      "前 n 个整数的随机排列，以 pad 补足")
IR_OP(CustRandperm, CustRandperm, (In, n), (Out, output), (Int, max_length, 1), (Int, pad, -1),
      (Type, dtype, DType::Int32)) {
  op.require(n->numel() == 1 && max_length >= 1, "n is {} and attribute max_length {}, want a number and room for it",
             describe(*n), max_length);
  op.result("output", *output, {max_length}, dtype);
  if (op.inferring()) return;
  op.launch([count = *n, to = *output, pad, seeds = Seeds(0, 0)] {
    const int64_t some = integers_of(count)[0];
    if (some < 0 || some > to.dims[0]) fail_kernel(fmt::format("randperm: n is {}, want 0 to {}", some, to.dims[0]));
    Generator g = seeds.generator();
    std::vector<int64_t> all(static_cast<size_t>(to.dims[0]), pad);
    std::iota(all.begin(), all.begin() + some, 0);
    std::shuffle(all.begin(), all.begin() + some, g);
    write_all(to, all);
  });
}
ABOUT(CustRandomChoiceWithMask, AICPU, "Places of some of the elements of x that are true, drawn, and which there are",
      "随机选取 x 中若干真值元素的坐标及有效标记")
IR_OP(CustRandomChoiceWithMask, CustRandomChoiceWithMask, (In, x), (OptIn, counts), (OptIn, states), (Out, y),
      (Out, mask), (Int, count, 256), (Int, seed, 0), (Int, seed2, 0)) {
  (void)counts, (void)states;
  op.require(x->dtype == DType::Bool && x->rank >= 1, "x is {}, want truth values", describe(*x));
  op.require(count > 0, "attribute count is {}, want 1 or more", count);
  op.result("y", *y, {count, x->rank}, DType::Int32);
  op.result("mask", *mask, {count}, DType::Bool);
  if (op.inferring()) return;
  op.launch([from = *x, to = *y, kept = *mask, seeds = Seeds(seed, seed2)] {
    Generator g = seeds.generator();
    const std::vector<int64_t> marks = integers_of(from);
    std::vector<int64_t> places;
    for (size_t i = 0; i < marks.size(); ++i)
      if (marks[i]) places.push_back(static_cast<int64_t>(i));
    std::shuffle(places.begin(), places.end(), g);
    const auto rank = static_cast<size_t>(from.rank), room = static_cast<size_t>(kept.dims[0]);
    std::vector<int64_t> rows(room * rank, 0), found(room, 0);
    for (size_t i = 0; i < std::min(room, places.size()); ++i) {
      found[i] = 1;
      for (size_t d = rank; d-- > 0;) {
        rows[i * rank + d] = places[i] % from.dims[d];
        places[i] /= from.dims[d];
      }
    }
    write_all(to, rows);
    write_all(kept, found);
  });
}
ABOUT(CustStandardLaplace, AICPU, "Numbers of the Laplace distribution of mean 0 and scale 1", "标准拉普拉斯分布随机数")
IR_OP(CustStandardLaplace, CustStandardLaplace, (In, shape), (OptIn, counts), (OptIn, states), (Out, output),
      (Int, seed, 0), (Int, seed2, 0)) {
  (void)counts, (void)states;
  ir::result(op, "output", *output, ir::shape_from(op, "shape", shape, *output), DType::Float);
  plan_draws(op, output, Seeds(seed, seed2), [](std::vector<double>& all, Generator& g) {
    std::exponential_distribution<double> size;
    std::bernoulli_distribution side;
    for (double& v : all) v = side(g) ? size(g) : -size(g);
  });
}
ABOUT(CustCauchy, AICPU, "Numbers of the Cauchy distribution around median, of scale sigma", "柯西分布随机数")
IR_OP(CustCauchy, CustCauchy, (Out, y), (Ints, size), (Float, sigma, 1), (Float, median, 0)) {
  ir::result(op, "y", *y, *size, DType::Float);
  plan_draws(
      op, y, Seeds(0, 0),
      [at = static_cast<double>(median), wide = static_cast<double>(sigma)](std::vector<double>& all, Generator& g) {
        std::cauchy_distribution<double> draw(at, wide);
        for (double& v : all) v = draw(g);
      });
}

}  // namespace updraft
