// QR in blocks of reflectors. LAPACK's own geqrf and orgqr hand the threads each column of a block, which takes less
// time than to wake one of them: here a block is one thread's, and only what it is applied to is shared.
#include <algorithm>
#include <complex>
#include <type_traits>

#include "base/scratch.h"
#include "kernels/lapack.h"

namespace updraft::lapack {

using std::complex;

// As Fortran has them; the length of a text follows the other arguments.
#define EACH_TYPE(X) X(s, float) X(d, double) X(c, complex<float>) X(z, complex<double>)
#define DECLARE(p, T)                                                                                               \
  void updraft_##p##geqrt3(const int* m, const int* n, T* a, const int* lda, T* t, const int* ldt, int* info);      \
  void updraft_##p##larfb(const char* side, const char* trans, const char* direct, const char* store, const int* m, \
                          const int* n, const int* k, const T* v, const int* ldv, const T* t, const int* ldt, T* c, \
                          const int* ldc, T* work, const int* ldwork, size_t, size_t, size_t, size_t);              \
  }                                                                                                                 \
  namespace {                                                                                                       \
  void factorise(int m, int n, T* a, int lda, T* t, int ldt) {                                                      \
    int info = 0;                                                                                                   \
    updraft_##p##geqrt3(&m, &n, a, &lda, t, &ldt, &info);                                                           \
  }                                                                                                                 \
  void apply(const char* trans, int m, int n, int k, const T* v, int ldv, const T* t, int ldt, T* c, int ldc,       \
             T* work) {                                                                                             \
    updraft_##p##larfb("L", trans, "F", "C", &m, &n, &k, v, &ldv, t, &ldt, c, &ldc, work, &n, 1, 1, 1, 1);          \
  }                                                                                                                 \
  }                                                                                                                 \
  extern "C" {
extern "C" {
EACH_TYPE(DECLARE)
}

namespace {

int number(int64_t n) { return static_cast<int>(n); }
constexpr int kStep = static_cast<int>(kReflectors);  // between the columns of t

template <class T>
void factorise_all(int64_t m, int64_t n, T* a, int64_t ld, T* t) {
  const int64_t least = std::min(m, n);
  ScratchScope scratch;
  T* const work = scratch.take<T>(static_cast<size_t>(std::max<int64_t>(1, n * kReflectors)));
  const char* const adjoint = std::is_same_v<T, Real<T>> ? "T" : "C";
  for (int64_t j = 0; j < least; j += kReflectors) {
    const int64_t k = std::min(kReflectors, least - j), rest = n - j - k;
    T* const block = a + j + j * ld;
    {
      const LibraryWidth one(1);
      factorise(number(m - j), number(k), block, number(ld), t + j * kReflectors, kStep);
    }
    if (rest > 0)
      apply(adjoint, number(m - j), number(rest), number(k), block, number(ld), t + j * kReflectors, kStep,
            block + k * ld, number(ld), work);
  }
}

template <class T>
void make_q(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* t, T* q, int64_t ldq) {
  for (int64_t x = 0; x < n; ++x) {
    std::fill_n(q + x * ldq, m, T(0));
    if (x < m) q[x + x * ldq] = T(1);
  }
  if (k == 0 || n == 0) return;
  ScratchScope scratch;
  T* const work = scratch.take<T>(static_cast<size_t>(n * kReflectors));
  // The last block first: the columns before it are those of the identity still.
  for (int64_t j = (k - 1) / kReflectors * kReflectors; j >= 0; j -= kReflectors)
    apply("N", number(m - j), number(n - j), number(std::min(kReflectors, k - j)), a + j + j * lda, number(lda),
          t + j * kReflectors, kStep, q + j + j * ldq, number(ldq), work);
}

}  // namespace

#define DEFINE(p, T)                                                                                      \
  template <>                                                                                             \
  void qr<T>(int64_t m, int64_t n, T * a, int64_t ld, T * t) {                                            \
    factorise_all(m, n, a, ld, t);                                                                        \
  }                                                                                                       \
  template <>                                                                                             \
  void q_of<T>(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* t, T* q, int64_t ldq) { \
    make_q(m, n, k, a, lda, t, q, ldq);                                                                   \
  }
EACH_TYPE(DEFINE)

}  // namespace updraft::lapack
