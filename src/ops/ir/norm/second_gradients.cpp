// Gradients of the gradients of normalisations, as MindSpore's second derivatives ask for them. In double, so that
// results are rounded once.
#include <cmath>

#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using Numbers = std::vector<double>;

/// Elements that share a mean and a variance are a group; those that share a weight are a feature.
struct Shares {
  int64_t groups, features;
  std::vector<int64_t> group, feature;  ///< of each element
};

/// What a gradient of a normalisation was made of, and the slopes of its three results.
struct Given {
  Numbers x, dy, weight, mean, reciprocal;  ///< reciprocal: 1 / the deviation
  Numbers of_dx, of_dweight, of_dbias;
};
struct Slopes {
  Numbers x, dy, weight;
};

/// `constant`: mean and deviation do not follow x, as in inference.
///
/// With n(x) the normalised input, A(v) = v - mean(v) - n mean(v n) and r the reciprocal deviation, the gradient is
/// dx = r A(dy w), dw = sum(dy n), db = sum(dy).
Slopes slopes_of(const Shares& s, const Given& g, bool constant) {
  const size_t n = g.x.size();
  const auto group = [&](size_t i) { return static_cast<size_t>(s.group[i]); };
  const auto feature = [&](size_t i) { return static_cast<size_t>(s.feature[i]); };
  Numbers normal(n), counts(static_cast<size_t>(s.groups));
  for (size_t i = 0; i < n; ++i) {
    normal[i] = (g.x[i] - g.mean[group(i)]) * g.reciprocal[group(i)];
    ++counts[group(i)];
  }
  const auto mean = [&](auto&& value) {
    Numbers sums(counts.size());
    for (size_t i = 0; i < n; ++i) sums[group(i)] += value(i);
    for (size_t k = 0; k < sums.size(); ++k) sums[k] /= counts[k];
    return sums;
  };
  const auto projected = [&](auto&& value) {
    Numbers made(n);
    if (constant) {
      for (size_t i = 0; i < n; ++i) made[i] = value(i);
      return made;
    }
    const Numbers plain = mean(value), along = mean([&](size_t i) { return value(i) * normal[i]; });
    for (size_t i = 0; i < n; ++i) made[i] = value(i) - plain[group(i)] - normal[i] * along[group(i)];
    return made;
  };
  const auto weighted = [&](size_t i) { return g.dy[i] * g.weight[feature(i)]; };
  const Numbers u = projected([&](size_t i) { return g.of_dx[i]; });
  Slopes made{Numbers(n), Numbers(n), Numbers(static_cast<size_t>(s.features))};
  for (size_t i = 0; i < n; ++i) {
    const double r = g.reciprocal[group(i)];
    made.dy[i] = g.weight[feature(i)] * r * u[i] + g.of_dweight[feature(i)] * normal[i] + g.of_dbias[feature(i)];
    made.weight[feature(i)] += g.dy[i] * r * u[i];
  }
  if (constant) {
    for (size_t i = 0; i < n; ++i) made.x[i] = g.of_dweight[feature(i)] * g.dy[i] * g.reciprocal[group(i)];
    return made;
  }
  // By way of n(x), and by way of r.
  const Numbers a = mean([&](size_t i) { return g.of_dx[i] * normal[i]; }),
                b = mean([&](size_t i) { return weighted(i) * normal[i]; });
  const Numbers c = projected(weighted), by_r = mean([&](size_t i) { return g.of_dx[i] * c[i]; });
  const Numbers h = projected([&](size_t i) {
    return g.of_dweight[feature(i)] * g.dy[i] -
           g.reciprocal[group(i)] * (g.of_dx[i] * b[group(i)] + weighted(i) * a[group(i)]);
  });
  for (size_t i = 0; i < n; ++i) {
    const double r = g.reciprocal[group(i)];
    made.x[i] = r * h[i] - by_r[group(i)] * r * r * normal[i];
  }
  return made;
}

Numbers reciprocals(Numbers variances, double epsilon) {
  for (double& v : variances) v = 1 / std::sqrt(v + epsilon);
  return variances;
}

}  // namespace

ABOUT(CustLayerNormGradGrad, AICPU, "Gradient of the gradient of layer normalisation", "层归一化反向梯度的梯度")
IR_OP(CustLayerNormGradGrad, CustLayerNormGradGrad, (In, x), (In, dy), (In, variance), (In, mean), (In, gamma),
      (In, d_dx), (In, d_dg), (In, d_db), (In, begin_norm_axis), (In, begin_params_axis), (Out, sopd_x), (Out, sopd_dy),
      (Out, sopd_gamma)) {
  op.require(is_floating(x->dtype), "x is {}, want numbers with a fraction", describe(*x));
  const auto norm = static_cast<int>(
      ir::axis_of(op, "begin_norm_axis", integer_of(op, "begin_norm_axis", begin_norm_axis.handle), x->rank));
  const auto params = static_cast<int>(
      ir::axis_of(op, "begin_params_axis", integer_of(op, "begin_params_axis", begin_params_axis.handle), x->rank));
  int64_t groups = 1, features = 1;
  for (int d = 0; d < x->rank; ++d) {
    if (d < norm) groups *= x->dims[d];
    if (d >= params) features *= x->dims[d];
  }
  op.require_same_shape("dy", *dy, "x", *x);
  op.require_same_shape("d_dx", *d_dx, "x", *x);
  const auto count = [&](const char* name, const In& v, int64_t n) {
    op.require(v->numel() == n, "{} is {}, want {} elements: x is {}", name, describe(*v), n, describe(*x));
  };
  count("variance", variance, groups), count("mean", mean, groups);
  count("gamma", gamma, features), count("d_dg", d_dg, features), count("d_db", d_db, features);
  op.result_like("sopd_x", *sopd_x, *x, x->dtype);
  op.result_like("sopd_dy", *sopd_dy, *x, x->dtype);
  op.result_like("sopd_gamma", *sopd_gamma, *gamma, gamma->dtype);
  if (op.inferring() || x->empty()) return;
  op.work(40 * x->numel());
  op.launch([=, x = *x, dy = *dy, v = *variance, m = *mean, w = *gamma, gx = *d_dx, gw = *d_dg, gb = *d_db,
             to_x = *sopd_x, to_dy = *sopd_dy, to_w = *sopd_gamma] {
    Shares s{groups, features, {}, {}};
    const int64_t n = x.numel(), size = n / groups;
    for (int64_t i = 0; i < n; ++i) s.group.push_back(i / size), s.feature.push_back(i % features);
    // The variance that MindSpore keeps has what is added to it already.
    const Slopes made = slopes_of(
        s,
        {gathered<double>(x), gathered<double>(dy), gathered<double>(w), gathered<double>(m),
         reciprocals(gathered<double>(v), 0), gathered<double>(gx), gathered<double>(gw), gathered<double>(gb)},
        false);
    write_all(to_x, made.x), write_all(to_dy, made.dy), write_all(to_w, made.weight);
  });
}

ABOUT(CustBatchNormGradGrad, AICPU, "Gradient of the gradient of batch normalisation", "批归一化反向梯度的梯度")
IR_OP(CustBatchNormGradGrad, CustBatchNormGradGrad, (In, x), (In, dy), (In, scale), (In, reserve_space_1),
      (In, reserve_space_2), (In, ddx), (In, ddscale), (In, ddoffset), (Out, dx), (Out, ddy), (Out, dscale),
      (Bool, is_training), (Float, epsilon), (Text, data_format)) {
  const std::string_view format = data_format;
  op.require(format == "NCHW" || format == "NHWC", "attribute data_format is \"{}\", want NCHW or NHWC", format);
  op.require(x->rank >= 2 && is_floating(x->dtype), "x is {}, want a batch and channels of numbers with a fraction",
             describe(*x));
  const int channel = format == "NCHW" ? 1 : x->rank - 1;
  const int64_t channels = x->dims[channel];
  op.require_same_shape("dy", *dy, "x", *x);
  op.require_same_shape("ddx", *ddx, "x", *x);
  const auto count = [&](const char* name, const In& v) {
    op.require(v->numel() == channels, "{} is {}, want {} elements, the channels of x, {}", name, describe(*v),
               channels, describe(*x));
  };
  count("scale", scale), count("reserve_space_1", reserve_space_1), count("reserve_space_2", reserve_space_2);
  count("ddscale", ddscale), count("ddoffset", ddoffset);
  op.result_like("dx", *dx, *x, x->dtype);
  op.result_like("ddy", *ddy, *x, x->dtype);
  op.result_like("dscale", *dscale, *scale, scale->dtype);
  if (op.inferring() || x->empty()) return;
  op.work(40 * x->numel());
  op.launch([=, x = *x, dy = *dy, w = *scale, m = *reserve_space_1, v = *reserve_space_2, gx = *ddx, gw = *ddscale,
             gb = *ddoffset, to_x = *dx, to_dy = *ddy, to_w = *dscale, training = bool{is_training},
             more = static_cast<double>(epsilon)] {
    int64_t inner = 1;
    for (int d = channel + 1; d < x.rank; ++d) inner *= x.dims[d];
    Shares s{channels, channels, {}, {}};
    for (int64_t i = 0; i < x.numel(); ++i) s.group.push_back(i / inner % channels);
    s.feature = s.group;
    const Slopes made = slopes_of(
        s,
        {gathered<double>(x), gathered<double>(dy), gathered<double>(w), gathered<double>(m),
         reciprocals(gathered<double>(v), more), gathered<double>(gx), gathered<double>(gw), gathered<double>(gb)},
        !training);
    write_all(to_x, made.x), write_all(to_dy, made.dy), write_all(to_w, made.weight);
  });
}

}  // namespace updraft
