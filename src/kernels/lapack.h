// The routines of LAPACK and BLAS that linear algebra calls (cmake/openblas.cmake), for float, double and the two
// complex types. Matrices are column-major here: element (i, j) lies at a[i + j * ld].
#pragma once
#include <complex>
#include <cstdint>
#include <limits>

#include "base/parallel.h"

namespace updraft::lapack {

/// The largest number of rows or columns that a routine takes.
constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max();

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

/// a [m, n] = P L U, both in a; pivots [min(m, n)]: row i was exchanged with row pivots[i], counted from 1. Returns the
/// number (from 1) of the first pivot that is 0, else 0.
template <class T>
int getrf(int64_t m, int64_t n, T* a, int64_t ld, int32_t* pivots);
/// a [n, n] := its inverse from what getrf left. False when it has none.
template <class T>
bool getri(int64_t n, T* a, int64_t ld, const int32_t* pivots);
/// The triangle of a that `upper` names := the factor R of R^H R (upper) or R R^H. The other one stays. False when a is
/// not positive definite.
template <class T>
bool potrf(bool upper, int64_t n, T* a, int64_t ld);
/// b [m, n] := the solution x of x a = b for a triangular a [n, n] (or of x a^T = b).
template <class T>
void solve_from_right(bool upper, bool transposed, bool unit, int64_t m, int64_t n, const T* a, int64_t lda, T* b,
                      int64_t ldb);
/// So many reflectors are applied together.
constexpr int64_t kReflectors = 64;
/// a [m, n] := R on and above the diagonal, reflectors below; t [kReflectors, min(m, n)]: how they are applied
/// together.
template <class T>
void qr(int64_t m, int64_t n, T* a, int64_t ld, T* t);
/// q [m, n] := the first n columns of Q, from the k reflectors and the t that qr left.
template <class T>
void q_of(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* t, T* q, int64_t ldq);
enum class Vectors : char { None = 'N', Some = 'S', All = 'A' };
/// a [m, n] = u diag(s) vh, s descending; a is overwritten. Vectors::Some: min(m, n) columns of u and rows of vh.
/// False when it did not converge, or holds NaN.
template <class T>
bool gesdd(Vectors vectors, int64_t m, int64_t n, T* a, int64_t lda, Real<T>* s, T* u, int64_t ldu, T* vh,
           int64_t ldvh);
/// Whether gesdd can count its memory for such a matrix.
bool gesdd_fits(int64_t m, int64_t n);

/// w [n] := the eigenvalues of a [n, n], and the columns of v their vectors of length 1, unless v is null; a is
/// overwritten. False when it did not converge, or holds NaN or infinity.
bool geev(int64_t n, std::complex<double>* a, std::complex<double>* w, std::complex<double>* v);
/// a [n, n] := the upper triangle T of a = q T q^H. False as geev.
bool gees(int64_t n, std::complex<double>* a, std::complex<double>* q);

/// Calls body(i) for each i < count: side by side where one is little work or there are many, otherwise one after the
/// other, each with all threads. `cost`: operations of one.
void each(int64_t count, int64_t cost, FunctionRef<void(int64_t)> body);

}  // namespace updraft::lapack
