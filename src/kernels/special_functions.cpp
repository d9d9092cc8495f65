#include "kernels/special_functions.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

namespace updraft::special {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr double kEps = std::numeric_limits<double>::epsilon(), kTiny = 1e-300;
constexpr double kPi = std::numbers::pi;
/// The even Bernoulli numbers from the second on: coefficients of asymptotic series.
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
                                 5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
                                 43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};

double log_gamma(double x) {
  int sign = 0;  // std::lgamma writes its sign where all threads see it
  return lgamma_r(x, &sign);
}

/// What Stirling's formula lacks of log gamma(x), for x of 10 or more.
double stirling_rest(double x) {
  const double inverse = 1 / (x * x);
  double power = 1 / x, sum = 0;
  for (int k = 1; k <= 8; ++k, power *= inverse) sum += kBernoulli[k - 1] / (2.0 * k * (2.0 * k - 1)) * power;
  return sum;
}
/// log gamma(1 + a) for a of -0.5 to 1, also where 1 + a is rounded.
double log_gamma_of_one_and(double a) {
  if (std::abs(a) > 1e-3) return log_gamma(1 + a);
  constexpr double kZeta[] = {1.6449340668482264, 1.2020569031595943, 1.0823232337111382, 1.0369277551433699};
  double sum = -std::numbers::egamma * a, power = a;
  for (int k = 2; k <= 5; ++k) {
    power *= -a;
    sum -= kZeta[k - 2] * power / k;
  }
  return sum;
}
/// log(1 + x) - x, without the loss of the difference near 0.
double log1p_rest(double x) {
  if (std::abs(x) > 0.3) return std::log1p(x) - x;
  double power = x, sum = 0;
  for (int k = 2; k < 60; ++k) {
    power *= -x;
    sum += power / k;
    if (std::abs(power) < kEps * std::abs(sum)) break;
  }
  return sum;
}

/// x^a exp(-x) / gamma(a)
double gamma_factor(double a, double x) {
  if (a < 10) return std::exp(a * std::log(x) - x - log_gamma(a));
  return std::sqrt(a / (2 * kPi)) * std::exp(a * log1p_rest((x - a) / a) - stirling_rest(a));
}

/// A number and its derivative for a.
struct Dual {
  double value, slope = 0;
};
Dual operator+(Dual x, Dual y) { return {x.value + y.value, x.slope + y.slope}; }
Dual operator*(Dual x, Dual y) { return {x.value * y.value, x.slope * y.value + x.value * y.slope}; }
Dual operator/(Dual x, Dual y) {
  const double q = x.value / y.value;
  return {q, (x.slope - q * y.slope) / y.value};
}

/// What the factor of the lower function is multiplied by: the sum of x^k / (a (a + 1) ... (a + k)).
Dual lower_sum(double a, double x) {
  Dual term = Dual{1} / Dual{a, 1}, sum = term;
  for (int k = 1; k < 500'000; ++k) {
    term = term * (Dual{x} / Dual{a + k, 1});
    sum = sum + term;
    if (std::abs(term.value) < kEps * std::abs(sum.value) && std::abs(term.slope) <= kEps * std::abs(sum.slope)) break;
  }
  return sum;
}
/// The same of the upper function, a continued fraction.
Dual upper_fraction(double a, double x) {
  Dual b{x + 1 - a, -1}, c{1 / kTiny}, d = Dual{1} / b, h = d;
  for (int i = 1; i < 500'000; ++i) {
    const Dual n{-i * (i - a), static_cast<double>(i)};
    b = b + Dual{2};
    d = n * d + b;
    if (std::abs(d.value) < kTiny) d.value = kTiny;
    d = Dual{1} / d;
    c = b + n / c;
    if (std::abs(c.value) < kTiny) c.value = kTiny;
    const Dual by = c * d;
    h = h * by;
    if (std::abs(by.value - 1) < kEps && std::abs(by.slope) <= kEps * std::abs(h.slope / h.value)) break;
  }
  return h;
}
/// Where the sum takes too many terms: Temme's expansion for large a, its first two terms. Lower or upper.
double gamma_of_many(double a, double x, bool upper) {
  const double mu = (x - a) / a, half = -log1p_rest(mu);  // half of the square of eta
  const double eta = std::copysign(std::sqrt(2 * half), mu);
  const double first = std::abs(mu) < 1e-4 ? -1.0 / 3 + eta / 12 : 1 / mu - 1 / eta;
  const double rest = std::exp(-a * half) / std::sqrt(2 * kPi * a) * first, way = eta * std::sqrt(a / 2);
  return upper ? 0.5 * std::erfc(way) + rest : 0.5 * std::erfc(-way) - rest;
}
constexpr double kMany = 1e8;

/// P or Q, of arguments above 0 that are finite.
double gamma_share(double a, double x, bool upper) {
  if (a > kMany) return gamma_of_many(a, x, upper);
  if (x > 1 && x > a) {
    const double q = gamma_factor(a, x) * upper_fraction(a, x).value;
    return upper ? q : 1 - q;
  }
  if (upper && x <= 1 && a < 1) {  // 1 - P would lose what is left
    double term = 1, sum = 0;
    for (int k = 1; k < 60; ++k) {
      term *= -x / k;
      sum += term / (a + k);
    }
    const double power = a * std::log(x) - log_gamma_of_one_and(a);
    return -std::expm1(power) - std::exp(power) * a * sum;
  }
  const double p = gamma_factor(a, x) * lower_sum(a, x).value;
  return upper ? 1 - p : p;
}

/// The fraction of the incomplete beta function, which converges where x is not beyond the mean.
double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (std::abs(d) < kTiny) d = kTiny;
  d = 1 / d;
  double h = d;
  for (int m = 1; m < 200'000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double by = 1;
    for (const double n : {even, odd}) {
      d = 1 + n * d;
      if (std::abs(d) < kTiny) d = kTiny;
      c = 1 + n / c;
      if (std::abs(c) < kTiny) c = kTiny;
      d = 1 / d;
      by = c * d;
      h *= by;
    }
    if (std::abs(by - 1) < kEps) break;
  }
  return h;
}
/// x^a (1 - x)^b / beta(a, b)
double beta_factor(double a, double b, double x) {
  if (a < 10 || b < 10)
    return std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  const double n = a + b, mean = a / n;
  const double away = a * std::log1p((x - mean) / mean) + b * std::log1p((mean - x) / (b / n));
  return std::sqrt(a * b / (2 * kPi * n)) * std::exp(away + stirling_rest(n) - stirling_rest(a) - stirling_rest(b));
}

double bessel(double x, double first, double order) {
  if (std::isinf(x)) return 0;
  if (x <= 30) {
    const double quarter = x * x / 4;
    double term = first, sum = first;
    for (int k = 1; k < 200; ++k) {
      term *= quarter / (k * (k + order));
      sum += term;
      if (term < kEps * sum) break;
    }
    return std::exp(-x) * sum;
  }
  const double mu = 4 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double odd = 2 * k - 1;
    term *= -(mu - odd * odd) / (k * 8 * x);
    sum += term;
    if (std::abs(term) < kEps) break;
  }
  return sum / std::sqrt(2 * kPi * x);
}

}  // namespace

double digamma(double x) {
  if (std::isnan(x) || x == -kInf) return kNaN;
  if (x == kInf) return kInf;
  if (x <= 0) {
    if (x == std::floor(x)) return kNaN;
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::round(x)));
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double inverse = 1 / (x * x);
  double power = inverse;
  for (int k = 1; k <= 8; ++k, power *= inverse) sum -= kBernoulli[k - 1] / (2.0 * k) * power;
  return sum + std::log(x) - 0.5 / x;
}

double zeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q)) return kNaN;
  if (s == 1) return kInf;
  if (s < 1) return kNaN;
  if (q <= 0) {
    if (q == std::floor(q)) return s == std::floor(s) && std::fmod(s, 2) == 0 ? kInf : kNaN;
    if (s != std::floor(s)) return kNaN;
  }
  if (std::isinf(q)) return 0;
  if (q < -20) {  // what is below 0 is, but for signs, the same sum from the other side
    const double share = q - std::floor(q), below = zeta(s, 1 - share) - zeta(s, 1 - q);
    return zeta(s, share) + (std::fmod(s, 2) == 0 ? below : -below);
  }
  double sum = 0;
  for (int k = 0; k < 10 || q < 10; ++k, q += 1) {
    const double term = std::pow(q, -s);
    sum += term;
    if (q > 0 && term < kEps * sum && std::pow(q, 1 - s) / (s - 1) < kEps * sum) return sum;
  }
  const double power = std::pow(q, -s), inverse = 1 / (q * q);
  sum += power * q / (s - 1) + power / 2;
  double factor = power * s / (2 * q);  // s (s + 1) ... / (2 k)! / q^(s + 2 k - 1)
  for (int k = 1; k <= 12; ++k) {
    const double term = kBernoulli[k - 1] * factor;
    sum += term;
    if (std::abs(term) < kEps * std::abs(sum)) break;
    factor *= (s + 2 * k - 1) * (s + 2 * k) / ((2.0 * k + 1) * (2.0 * k + 2)) * inverse;
  }
  return sum;
}

double bessel_i0e(double x) { return std::isnan(x) ? kNaN : bessel(std::abs(x), 1, 0); }
double bessel_i1e(double x) {
  if (std::isnan(x)) return kNaN;
  const double size = std::abs(x);
  return std::copysign(bessel(size, size / 2, 1), x);
}

double gamma_p(double a, double x) {
  if (!(a > 0) || !(x >= 0) || (std::isinf(a) && std::isinf(x))) return kNaN;
  if (x == 0 || std::isinf(a)) return 0;
  return std::isinf(x) ? 1 : gamma_share(a, x, false);
}
double gamma_q(double a, double x) {
  if (!(a > 0) || !(x >= 0) || (std::isinf(a) && std::isinf(x))) return kNaN;
  if (x == 0 || std::isinf(a)) return 1;
  return std::isinf(x) ? 0 : gamma_share(a, x, true);
}
double gamma_p_slope(double a, double x) {
  if (!(a > 0) || !(x >= 0) || (std::isinf(a) && std::isinf(x))) return kNaN;
  if (x == 0 || std::isinf(a) || std::isinf(x)) return 0;
  if (a > kMany) return -gamma_factor(a, x) / a;  // shares of large a change like those of x do
  const bool upper = x > 1 && x > a;
  const Dual part = upper ? upper_fraction(a, x) : lower_sum(a, x);
  const double slope = gamma_factor(a, x) * (part.slope + part.value * (std::log(x) - digamma(a)));
  return upper ? -slope : slope;
}

double beta_i(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || std::isinf(a) || std::isinf(b) || !(x >= 0) || !(x <= 1)) return kNaN;
  if (x == 0 || x == 1) return x;
  if (x < (a + 1) / (a + b + 2)) return beta_factor(a, b, x) * beta_fraction(a, b, x) / a;
  return 1 - beta_factor(b, a, 1 - x) * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace updraft::special
