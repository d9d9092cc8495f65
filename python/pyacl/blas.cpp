// acl.blas: products of matrices. Numbers and matrices are addresses.
#include "acl/ops/acl_cblas.h"

#include "binding.h"

namespace pyacl {
namespace {

aclError hgemm(aclTransType a_trans, aclTransType b_trans, aclTransType c_trans, int m, int n, int k, const void* alpha,
               const void* a, int lda, const void* b, int ldb, const void* beta, void* c, int ldc, aclComputeType type,
               aclrtStream stream) {
  return aclblasHgemm(a_trans, b_trans, c_trans, m, n, k, static_cast<const aclFloat16*>(alpha),
                      static_cast<const aclFloat16*>(a), lda, static_cast<const aclFloat16*>(b), ldb,
                      static_cast<const aclFloat16*>(beta), static_cast<aclFloat16*>(c), ldc, type, stream);
}
aclError s8gemm(aclTransType a_trans, aclTransType b_trans, aclTransType c_trans, int m, int n, int k,
                const void* alpha, const void* a, int lda, const void* b, int ldb, const void* beta, void* c, int ldc,
                aclComputeType type, aclrtStream stream) {
  return aclblasS8gemm(a_trans, b_trans, c_trans, m, n, k, static_cast<const int32_t*>(alpha),
                       static_cast<const int8_t*>(a), lda, static_cast<const int8_t*>(b), ldb,
                       static_cast<const int32_t*>(beta), static_cast<int32_t*>(c), ldc, type, stream);
}
aclError hgemv(aclTransType trans, int m, int n, const void* alpha, const void* a, int lda, const void* x, int incx,
               const void* beta, void* y, int incy, aclComputeType type, aclrtStream stream) {
  return aclblasHgemv(trans, m, n, static_cast<const aclFloat16*>(alpha), static_cast<const aclFloat16*>(a), lda,
                      static_cast<const aclFloat16*>(x), incx, static_cast<const aclFloat16*>(beta),
                      static_cast<aclFloat16*>(y), incy, type, stream);
}
aclError s8gemv(aclTransType trans, int m, int n, const void* alpha, const void* a, int lda, const void* x, int incx,
                const void* beta, void* y, int incy, aclComputeType type, aclrtStream stream) {
  return aclblasS8gemv(trans, m, n, static_cast<const int32_t*>(alpha), static_cast<const int8_t*>(a), lda,
                       static_cast<const int8_t*>(x), incx, static_cast<const int32_t*>(beta), static_cast<int32_t*>(y),
                       incy, type, stream);
}

constexpr Row kRows[] = {
    WAIT("gemm_ex", aclblasGemmEx,
         "trans_a, trans_b, trans_c, m, n, k, alpha, a, lda, type_a, b, ldb, type_b, beta, c, ldc, type_c, "
         "compute_type, stream"),
    WAIT_AS("hgemm", "aclblasHgemm", hgemm,
            "trans_a, trans_b, trans_c, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, compute_type, stream"),
    WAIT_AS("s8gemm", "aclblasS8gemm", s8gemm,
            "trans_a, trans_b, trans_c, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, compute_type, stream"),
    WAIT("gemv_ex", aclblasGemvEx,
         "trans, m, n, alpha, a, lda, type_a, x, incx, type_x, beta, y, incy, type_y, compute_type, stream"),
    WAIT_AS("hgemv", "aclblasHgemv", hgemv, "trans, m, n, alpha, a, lda, x, incx, beta, y, incy, compute_type, stream"),
    WAIT_AS("s8gemv", "aclblasS8gemv", s8gemv,
            "trans, m, n, alpha, a, lda, x, incx, beta, y, incy, compute_type, stream"),
};

}  // namespace
const Table kBlas{"blas", kRows};
}  // namespace pyacl
