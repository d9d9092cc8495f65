#include "kernels/lapack.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "base/scratch.h"
#include "base/team.h"

namespace updraft::lapack {

using std::complex;

// As Fortran has them; the length of a text follows the other arguments.
#define EACH_TYPE(X) X(s, float) X(d, double) X(c, complex<float>) X(z, complex<double>)
#define DECLARE(p, T)                                                                                                 \
  void updraft_##p##getrf(const int* m, const int* n, T* a, const int* ld, int* pivots, int* info);                   \
  void updraft_##p##getri(const int* n, T* a, const int* ld, const int* pivots, T* work, const int* size, int* info); \
  void updraft_##p##potrf(const char* uplo, const int* n, T* a, const int* ld, int* info, size_t);                    \
  void updraft_##p##trsm(const char* side, const char* uplo, const char* trans, const char* diag, const int* m,       \
                         const int* n, const T* alpha, const T* a, const int* lda, T* b, const int* ldb, size_t,      \
                         size_t, size_t, size_t);
#define DECLARE_SVD(name, T)                                                                                         \
  void updraft_##name(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, \
                      T* vh, const int* ldvh, T* work, const int* size, int* integers, int* info, size_t);
#define DECLARE_COMPLEX_SVD(name, T)                                                                                   \
  void updraft_##name(const char* job, const int* m, const int* n, complex<T>* a, const int* lda, T* s, complex<T>* u, \
                      const int* ldu, complex<T>* vh, const int* ldvh, complex<T>* work, const int* size, T* reals,    \
                      int* integers, int* info, size_t);
extern "C" {
EACH_TYPE(DECLARE)
DECLARE_SVD(sgesdd, float)
DECLARE_SVD(dgesdd, double)
DECLARE_COMPLEX_SVD(cgesdd, float)
DECLARE_COMPLEX_SVD(zgesdd, double)
void updraft_zgeev(const char* left, const char* right, const int* n, complex<double>* a, const int* lda,
                   complex<double>* w, complex<double>* vl, const int* ldvl, complex<double>* vr, const int* ldvr,
                   complex<double>* work, const int* size, double* reals, int* info, size_t, size_t);
void updraft_zgees(const char* vectors, const char* sort, const void* select, const int* n, complex<double>* a,
                   const int* lda, int* selected, complex<double>* w, complex<double>* q, const int* ldq,
                   complex<double>* work, const int* size, double* reals, int* booleans, int* info, size_t, size_t);
}

namespace {

int number(int64_t n) { return static_cast<int>(n); }
/// A leading dimension is at least 1, of an empty matrix too.
int leading(int64_t n) { return number(std::max<int64_t>(1, n)); }

/// Asks a routine how much memory it wants, then gives it that.
template <class T, class F>
int with_work(F&& routine) {
  T wanted{};
  int size = -1, info = 0;
  routine(&wanted, &size, &info);
  if (info != 0) return info;
  size = std::max(1, number(static_cast<int64_t>(std::real(wanted))));
  ScratchScope scratch;
  routine(scratch.take<T>(static_cast<size_t>(size)), &size, &info);
  return info;
}

}  // namespace

#define DEFINE(p, T)                                                                                              \
  template <>                                                                                                     \
  int getrf<T>(int64_t m, int64_t n, T * a, int64_t ld, int32_t * pivots) {                                       \
    const int rows = number(m), columns = number(n), step = leading(ld);                                          \
    int info = 0;                                                                                                 \
    if (m && n) updraft_##p##getrf(&rows, &columns, a, &step, pivots, &info);                                     \
    return info;                                                                                                  \
  }                                                                                                               \
  template <>                                                                                                     \
  bool getri<T>(int64_t n, T * a, int64_t ld, const int32_t* pivots) {                                            \
    const int rows = number(n), step = leading(ld);                                                               \
    if (n == 0) return true;                                                                                      \
    return with_work<T>([&](T* work, int* size, int* info) {                                                      \
             updraft_##p##getri(&rows, a, &step, pivots, work, size, info);                                       \
           }) == 0;                                                                                               \
  }                                                                                                               \
  template <>                                                                                                     \
  bool potrf<T>(bool upper, int64_t n, T* a, int64_t ld) {                                                        \
    const int rows = number(n), step = leading(ld);                                                               \
    int info = 0;                                                                                                 \
    if (n) updraft_##p##potrf(upper ? "U" : "L", &rows, a, &step, &info, 1);                                      \
    return info == 0;                                                                                             \
  }                                                                                                               \
  template <>                                                                                                     \
  void solve_from_right<T>(bool upper, bool transposed, bool unit, int64_t m, int64_t n, const T* a, int64_t lda, \
                           T* b, int64_t ldb) {                                                                   \
    if (m == 0 || n == 0) return;                                                                                 \
    const int rows = number(m), columns = number(n), a_step = leading(lda), b_step = leading(ldb);                \
    const T one(1);                                                                                               \
    updraft_##p##trsm("R", upper ? "U" : "L", transposed ? "T" : "N", unit ? "U" : "N", &rows, &columns, &one, a, \
                      &a_step, b, &b_step, 1, 1, 1, 1);                                                           \
  }
EACH_TYPE(DEFINE)

bool gesdd_fits(int64_t m, int64_t n) {
  // The documented sizes of work: of the real types at most 4 k k + 7 k with k = min(m, n), and more for the larger.
  const double least = static_cast<double>(std::min(m, n)), most = static_cast<double>(std::max(m, n));
  return 5 * least * least + 9 * least + 130 * most < static_cast<double>(kMostRows);
}

namespace {
template <class T>
struct Svd {
  const char job;
  const int m, n, lda, ldu, ldvh;
  T *a, *u, *vh;
  Real<T>* s;
  int* integers;
  Real<T>* reals;
};
void call(const Svd<float>& c, float* work, int* size, int* info) {
  updraft_sgesdd(&c.job, &c.m, &c.n, c.a, &c.lda, c.s, c.u, &c.ldu, c.vh, &c.ldvh, work, size, c.integers, info, 1);
}
void call(const Svd<double>& c, double* work, int* size, int* info) {
  updraft_dgesdd(&c.job, &c.m, &c.n, c.a, &c.lda, c.s, c.u, &c.ldu, c.vh, &c.ldvh, work, size, c.integers, info, 1);
}
void call(const Svd<complex<float>>& c, complex<float>* work, int* size, int* info) {
  updraft_cgesdd(&c.job, &c.m, &c.n, c.a, &c.lda, c.s, c.u, &c.ldu, c.vh, &c.ldvh, work, size, c.reals, c.integers,
                 info, 1);
}
void call(const Svd<complex<double>>& c, complex<double>* work, int* size, int* info) {
  updraft_zgesdd(&c.job, &c.m, &c.n, c.a, &c.lda, c.s, c.u, &c.ldu, c.vh, &c.ldvh, work, size, c.reals, c.integers,
                 info, 1);
}

template <class T>
bool svd(Vectors vectors, int64_t m, int64_t n, T* a, int64_t lda, Real<T>* s, T* u, int64_t ldu, T* vh, int64_t ldvh) {
  const int64_t least = std::min(m, n), most = std::max(m, n);
  if (least == 0) {  // nothing is written then: all vectors are those of the identity
    if (vectors != Vectors::All) return true;
    for (int64_t k = 0; k < m * m; ++k) u[k % m + k / m * ldu] = T(k % m == k / m ? 1 : 0);
    for (int64_t k = 0; k < n * n; ++k) vh[k % n + k / n * ldvh] = T(k % n == k / n ? 1 : 0);
    return true;
  }
  ScratchScope scratch;
  int* integers = scratch.take<int>(static_cast<size_t>(8 * least));
  Real<T>* reals = nullptr;
  if constexpr (!std::is_same_v<T, Real<T>>)
    reals = scratch.take<Real<T>>(static_cast<size_t>(
        vectors == Vectors::None ? 7 * least : least * std::max(5 * least + 7, 2 * most + 2 * least + 1)));
  const Svd<T> c{static_cast<char>(vectors),
                 number(m),
                 number(n),
                 leading(lda),
                 leading(ldu),
                 leading(ldvh),
                 a,
                 u,
                 vh,
                 s,
                 integers,
                 reals};
  return with_work<T>([&](T* work, int* size, int* info) { call(c, work, size, info); }) == 0;
}
}  // namespace

#define DEFINE_SVD(p, T)                                                                                            \
  template <>                                                                                                       \
  bool gesdd<T>(Vectors vectors, int64_t m, int64_t n, T * a, int64_t lda, Real<T> * s, T * u, int64_t ldu, T * vh, \
                int64_t ldvh) {                                                                                     \
    return svd(vectors, m, n, a, lda, s, u, ldu, vh, ldvh);                                                         \
  }
EACH_TYPE(DEFINE_SVD)

namespace {
bool all_finite(int64_t n, const complex<double>* a) {
  return std::all_of(a, a + n,
                     [](const complex<double>& v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); });
}
}  // namespace

bool geev(int64_t n, complex<double>* a, complex<double>* w, complex<double>* v) {
  if (n == 0) return true;
  if (!all_finite(n * n, a)) return false;
  const int rows = number(n), one = 1;
  ScratchScope scratch;
  auto* reals = scratch.take<double>(static_cast<size_t>(2 * n));
  return with_work<complex<double>>([&](complex<double>* work, int* size, int* info) {
           updraft_zgeev("N", v ? "V" : "N", &rows, a, &rows, w, nullptr, &one, v, v ? &rows : &one, work, size, reals,
                         info, 1, 1);
         }) == 0;
}
bool gees(int64_t n, complex<double>* a, complex<double>* q) {
  if (n == 0) return true;
  if (!all_finite(n * n, a)) return false;
  const int rows = number(n);
  ScratchScope scratch;
  auto* reals = scratch.take<double>(static_cast<size_t>(n));
  auto* w = scratch.take<complex<double>>(static_cast<size_t>(n));
  return with_work<complex<double>>([&](complex<double>* work, int* size, int* info) {
           int selected = 0;
           updraft_zgees("V", "N", nullptr, &rows, a, &rows, &selected, w, q, &rows, work, size, reals, nullptr, info,
                         1, 1);
         }) == 0;
}

void each(int64_t count, int64_t cost, FunctionRef<void(int64_t)> body) {
  constexpr int64_t kLittle = int64_t{1} << 22;
  constexpr int64_t kPatience = 1'000'000;  // nanoseconds: some routines share the work on each column
  if (count == 0) return;
  if (count >= parallel_width() || cost < kLittle) {
    parallel_for(count, std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, cost)),
                 [&](int64_t begin, int64_t end) {
                   const LibraryWidth one(1);
                   for (int64_t i = begin; i < end; ++i) body(i);
                 });
    return;
  }
  // OpenBLAS keeps one number of threads and one set of buffers for them: the calls of several devices take turns.
  static std::mutex turn;
  std::lock_guard lock(turn);
  const TeamPatience patience(kPatience);
  for (int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace updraft::lapack
