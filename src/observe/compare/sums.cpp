#include "observe/compare/sums.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

// One version of a loop for each of these instruction sets, chosen when the program starts.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LOOP __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LOOP
#endif
// The parts that a loop is made of must be in it, to have its instruction set.
#define INSIDE inline __attribute__((always_inline))

namespace updraft::compare {
namespace {

constexpr float kEpsilon = 2.220446049250313e-16f;
constexpr float kLeast = 1.1920929e-07f;  // of a scaled element
constexpr size_t kLanes = 8;

// Eight numbers side by side.
using Floats = float __attribute__((vector_size(32)));
using Ints = int32_t __attribute__((vector_size(32)));
using Doubles = double __attribute__((vector_size(64)));

INSIDE Floats load(const float* from) {
  Floats v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
INSIDE Floats all(float x) { return x - Floats{}; }
INSIDE Floats magnitude(Floats v) {
  Ints bits;
  std::memcpy(&bits, &v, sizeof bits);
  bits &= 0x7fffffff;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
INSIDE Doubles wide(Floats v) { return __builtin_convertvector(v, Doubles); }
template <class V>
INSIDE double sum_of(const V& v) {
  double s = 0;
  for (size_t l = 0; l < kLanes; ++l) s += static_cast<double>(v[l]);
  return s;
}

INSIDE Floats scaled(Floats x, const Scale& s) {
  const Floats y = s.range != 0 ? (x - s.min) / s.range : x;
  return y > kLeast ? y : all(kLeast);
}
float scaled_one(float x, const Scale& s) {
  const float y = s.range != 0 ? (x - s.min) / s.range : x;
  return y > kLeast ? y : kLeast;
}

/// The natural logarithms of positive, normal numbers, to about 1e-7 of them.
INSIDE Floats log_of(Floats x) {
  Ints bits;
  std::memcpy(&bits, &x, sizeof bits);
  const Ints exponent = (bits - 0x3f3504f3) >> 23;  // so that the rest lies between sqrt(1/2) and sqrt(2)
  const Ints rest = bits - (exponent << 23);
  Floats m;
  std::memcpy(&m, &rest, sizeof m);
  const Floats s = (m - 1.f) / (m + 1.f), z = s * s;
  const Floats p = 2.f * s * (1.f + z * (1.f / 3 + z * (1.f / 5 + z * (1.f / 7 + z * (1.f / 9 + z * (1.f / 11))))));
  return __builtin_convertvector(exponent, Floats) * 0.693147180559945f + p;
}

void add_one(Sums& to, float a, float b) {
  const double da = a, db = b;
  const float d = std::fabs(a - b), r = std::fabs(b) > kEpsilon ? std::fabs(a / b - 1) : 0;
  to.xy += da * db, to.xx += da * da, to.yy += db * db, to.x += da, to.y += db;
  to.absolute += static_cast<double>(d);
  to.square += static_cast<double>(d) * static_cast<double>(d);
  to.relative += static_cast<double>(r);
  if (d > to.max_absolute) to.max_absolute = d;
  if (r > to.max_relative) to.max_relative = r;
  to.x_min = a < to.x_min ? a : to.x_min, to.x_max = a > to.x_max ? a : to.x_max;
  to.y_min = b < to.y_min ? b : to.y_min, to.y_max = b > to.y_max ? b : to.y_max;
  to.nan = to.nan || d != d;
  to.nan_input = to.nan_input || a != a || b != b;
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
  Doubles xy{}, xx{}, yy{}, absolute{}, square{}, relative{}, xs{}, ys{};
  Floats max_absolute{}, max_relative{};
  Floats x_min = all(to.x_min), x_max = all(to.x_max), y_min = all(to.y_min), y_max = all(to.y_max);
  Ints nan{}, nan_input{};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Floats a = load(x + i), b = load(y + i);
    const Floats d = magnitude(a - b), q = magnitude(a / b - 1.f);
    const Floats r = magnitude(b) > kEpsilon ? q : Floats{};
    const Doubles da = wide(a), db = wide(b), dd = wide(d);
    xy += da * db;
    xx += da * da;
    yy += db * db;
    absolute += dd;
    square += dd * dd;
    relative += wide(r);
    xs += da;
    ys += db;
    max_absolute = d > max_absolute ? d : max_absolute;
    max_relative = r > max_relative ? r : max_relative;
    x_min = a < x_min ? a : x_min;
    x_max = a > x_max ? a : x_max;
    y_min = b < y_min ? b : y_min;
    y_max = b > y_max ? b : y_max;
    nan |= d != d;
    nan_input |= (a != a) | (b != b);
  }
  to.xy += sum_of(xy), to.xx += sum_of(xx), to.yy += sum_of(yy), to.absolute += sum_of(absolute);
  to.square += sum_of(square), to.relative += sum_of(relative), to.x += sum_of(xs), to.y += sum_of(ys);
  for (size_t l = 0; l < kLanes; ++l) {
    to.max_absolute = std::max(to.max_absolute, max_absolute[l]);
    to.max_relative = std::max(to.max_relative, max_relative[l]);
    to.x_min = std::min(to.x_min, x_min[l]), to.x_max = std::max(to.x_max, x_max[l]);
    to.y_min = std::min(to.y_min, y_min[l]), to.y_max = std::max(to.y_max, y_max[l]);
    to.nan = to.nan || nan[l];
    to.nan_input = to.nan_input || nan_input[l];
  }
  for (; i < n; ++i) add_one(to, x[i], y[i]);
}

LOOP void add_spread(Spread& to, const Scale& sx, const Scale& sy, const float* x, const float* y, size_t n) {
  Doubles xs{}, ys{}, xd{}, yd{};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Floats a = load(x + i), b = load(y + i);
    xs += wide(scaled(a, sx));
    ys += wide(scaled(b, sy));
    const Doubles da = wide(a) - sx.mean, db = wide(b) - sy.mean;
    xd += da * da;
    yd += db * db;
  }
  to.x_sum += sum_of(xs), to.y_sum += sum_of(ys);
  to.x_square += sum_of(xd), to.y_square += sum_of(yd);
  for (; i < n; ++i) {
    to.x_sum += static_cast<double>(scaled_one(x[i], sx));
    to.y_sum += static_cast<double>(scaled_one(y[i], sy));
    const double a = static_cast<double>(x[i]) - sx.mean, b = static_cast<double>(y[i]) - sy.mean;
    to.x_square += a * a;
    to.y_square += b * b;
  }
}

LOOP double divergence_of(const Scale& sx, const Scale& sy, float x_sum, float y_sum, const float* x, const float* y,
                          size_t n) {
  Doubles sums{};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Floats p = scaled(load(x + i), sx) / x_sum, q = scaled(load(y + i), sy) / y_sum;
    sums += wide(p * log_of(p / q));
  }
  double sum = sum_of(sums);
  for (; i < n; ++i) {
    const float p = scaled_one(x[i], sx) / x_sum, q = scaled_one(y[i], sy) / y_sum;
    sum += static_cast<double>(p * std::log(p / q));
  }
  return sum;
}

}  // namespace updraft::compare
