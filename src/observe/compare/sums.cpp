#include "observe/compare/sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

// One version of a loop for each of these instruction sets, chosen when the program starts.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LOOP __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#else
#define LOOP
#endif
// The parts that a loop is made of must be in it, to have its instruction set.
#define INSIDE inline __attribute__((always_inline))

namespace updraft::compare {
namespace {

constexpr float kEpsilon = 2.220446049250313e-16f;
constexpr float kLeast = 1.1920929e-07f;  // of a scaled element
constexpr size_t kLanes = 16;

/// Sums of so many numbers side by side, so that loops become vectors.
struct Lanes {
  double v[kLanes] = {};
  INSIDE double sum() const {
    double s = 0;
    for (double one : v) s += one;
    return s;
  }
};

INSIDE float scaled(float x, const Scale& s) {
  const float y = s.range != 0 ? (x - s.min) / s.range : x;
  return y > kLeast ? y : kLeast;
}

/// The natural logarithm of a positive, normal number, to about 1e-7 of it.
INSIDE float log_of(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  int32_t exponent = (bits - 0x3f3504f3) >> 23;  // so that the rest lies between sqrt(1/2) and sqrt(2)
  const float m = std::bit_cast<float>(bits - exponent * (1 << 23));
  const float s = (m - 1) / (m + 1), z = s * s;
  const float p = 2 * s * (1 + z * (1.f / 3 + z * (1.f / 5 + z * (1.f / 7 + z * (1.f / 9 + z * (1.f / 11))))));
  return static_cast<float>(exponent) * 0.693147180559945f + p;
}

}  // namespace

void Sums::add(const Sums& o) {
  xy += o.xy, xx += o.xx, yy += o.yy, absolute += o.absolute, square += o.square, relative += o.relative;
  x += o.x, y += o.y;
  max_absolute = std::max(max_absolute, o.max_absolute);
  max_relative = std::max(max_relative, o.max_relative);
  x_min = std::min(x_min, o.x_min), x_max = std::max(x_max, o.x_max);
  y_min = std::min(y_min, o.y_min), y_max = std::max(y_max, o.y_max);
  nan = nan || o.nan;
  nan_input = nan_input || o.nan_input;
}

void Spread::add(const Spread& o) {
  x_sum += o.x_sum, y_sum += o.y_sum;
  x_square += o.x_square, y_square += o.y_square;
}

LOOP void add_sums(Sums& to, const float* x, const float* y, size_t n) {
  Lanes xy, xx, yy, absolute, square, relative, xs, ys;
  float max_absolute[kLanes], max_relative[kLanes], x_min[kLanes], x_max[kLanes], y_min[kLanes], y_max[kLanes];
  int32_t nan[kLanes] = {}, nan_input[kLanes] = {};
  for (size_t l = 0; l < kLanes; ++l) {
    max_absolute[l] = to.max_absolute, max_relative[l] = to.max_relative;
    x_min[l] = to.x_min, x_max[l] = to.x_max, y_min[l] = to.y_min, y_max[l] = to.y_max;
  }
  auto step = [&](size_t i, size_t l) __attribute__((always_inline)) {
    const float a = x[i], b = y[i];
    const double da = a, db = b;
    const float d = std::fabs(a - b), r = std::fabs(b) > kEpsilon ? std::fabs(a / b - 1) : 0;
    xy.v[l] += da * db;
    xx.v[l] += da * da;
    yy.v[l] += db * db;
    absolute.v[l] += static_cast<double>(d);
    square.v[l] += static_cast<double>(d) * static_cast<double>(d);
    relative.v[l] += static_cast<double>(r);
    xs.v[l] += da;
    ys.v[l] += db;
    max_absolute[l] = max_absolute[l] > d ? max_absolute[l] : (d == d ? d : max_absolute[l]);
    max_relative[l] = max_relative[l] > r ? max_relative[l] : (r == r ? r : max_relative[l]);
    x_min[l] = a < x_min[l] ? a : x_min[l];
    x_max[l] = a > x_max[l] ? a : x_max[l];
    y_min[l] = b < y_min[l] ? b : y_min[l];
    y_max[l] = b > y_max[l] ? b : y_max[l];
    nan[l] |= d != d;
    nan_input[l] |= (a != a) | (b != b);
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (size_t l = 0; l < kLanes; ++l) step(i + l, l);
  for (; i < n; ++i) step(i, i % kLanes);
  to.xy += xy.sum(), to.xx += xx.sum(), to.yy += yy.sum(), to.absolute += absolute.sum(), to.square += square.sum();
  to.relative += relative.sum(), to.x += xs.sum(), to.y += ys.sum();
  for (size_t l = 0; l < kLanes; ++l) {
    to.max_absolute = std::max(to.max_absolute, max_absolute[l]);
    to.max_relative = std::max(to.max_relative, max_relative[l]);
    to.x_min = std::min(to.x_min, x_min[l]), to.x_max = std::max(to.x_max, x_max[l]);
    to.y_min = std::min(to.y_min, y_min[l]), to.y_max = std::max(to.y_max, y_max[l]);
    to.nan = to.nan || nan[l];
    to.nan_input = to.nan_input || nan_input[l];
  }
}

LOOP void add_spread(Spread& to, const Scale& sx, const Scale& sy, const float* x, const float* y, size_t n) {
  Lanes xs, ys, xd, yd;
  auto step = [&](size_t i, size_t l) __attribute__((always_inline)) {
    xs.v[l] += static_cast<double>(scaled(x[i], sx));
    ys.v[l] += static_cast<double>(scaled(y[i], sy));
    const double a = static_cast<double>(x[i]) - sx.mean, b = static_cast<double>(y[i]) - sy.mean;
    xd.v[l] += a * a;
    yd.v[l] += b * b;
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (size_t l = 0; l < kLanes; ++l) step(i + l, l);
  for (; i < n; ++i) step(i, i % kLanes);
  to.x_sum += xs.sum(), to.y_sum += ys.sum();
  to.x_square += xd.sum(), to.y_square += yd.sum();
}

LOOP double divergence_of(const Scale& sx, const Scale& sy, float x_sum, float y_sum, const float* x, const float* y,
                          size_t n) {
  Lanes sums;
  auto step = [&](size_t i, size_t l) __attribute__((always_inline)) {
    const float p = scaled(x[i], sx) / x_sum, q = scaled(y[i], sy) / y_sum;
    sums.v[l] += static_cast<double>(p * log_of(p / q));
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (size_t l = 0; l < kLanes; ++l) step(i + l, l);
  for (; i < n; ++i) step(i, i % kLanes);
  return sums.sum();
}

}  // namespace updraft::compare
