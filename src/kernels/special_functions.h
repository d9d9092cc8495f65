// Functions of mathematics that the standard library has not, in double: right to the last bits of a float, and to
// about twelve digits of a double.
#pragma once

namespace updraft::special {

/// The derivative of log gamma(x); NaN at 0 and below where x is whole.
double digamma(double x);
/// The sum of 1 / (q + k)^s over all k from 0 on.
double zeta(double s, double q);
/// exp(-|x|) times the modified Bessel function of the first kind, of order 0 and 1.
double bessel_i0e(double x);
double bessel_i1e(double x);
/// The lower and the upper incomplete gamma function, of 0 to 1.
double gamma_p(double a, double x);
double gamma_q(double a, double x);
/// The derivative of gamma_p for a.
double gamma_p_slope(double a, double x);
/// The incomplete beta function, of 0 to 1.
double beta_i(double a, double b, double x);

}  // namespace updraft::special
