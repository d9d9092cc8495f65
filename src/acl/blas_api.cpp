// aclblas: products of matrices and of matrices with vectors.
#include "acl/ops/acl_cblas.h"

#include "acl/api.h"
#include "acl/media/work.h"
#include "blas/product.h"
#include "device/memory.h"
#include "device/task.h"

using namespace updraft;

namespace {

/// A factor, of the type of the result: it is read with the task where it lies on the device, else at once.
struct Factor {
  const void* address = nullptr;
  double value = 0;
  DType type;

  Factor(const void* p, DType of, const char* name) : type(of) {
    need(p, name);
    if (Device::owner(p)) address = checked_memory(p, size_of(of), name);
    else value = blas::number_at(p, of);
  }
  double get() const { return address ? blas::number_at(address, type) : value; }
};

class ProductTask final : public Task {
 public:
  ProductTask(const char* name, TensorView a, TensorView b, TensorView c, Factor alpha, Factor beta)
      : name_(name), a_(a), b_(b), c_(c), alpha_(alpha), beta_(beta) {
    work = c.numel() * a.dims[1];
    cost = {2 * work, static_cast<int64_t>(a.bytes() + b.bytes() + c.bytes()), Unit::Cube};
  }
  void run() override { blas::multiply(a_, b_, c_, alpha_.get(), beta_.get()); }
  void release() override { delete this; }
  const char* name() const override { return name_; }

 private:
  const char* name_;
  TensorView a_, b_, c_;
  Factor alpha_, beta_;
};

/// `rows` x `columns` of an operand that may lie transposed; `ld` is -1, or how far its rows lie apart.
TensorView matrix(const void* p, DType type, int rows, int columns, int trans, int ld, const char* name) {
  need(p, name);
  if (trans != ACL_TRANS_N && trans != ACL_TRANS_T)
    throw Error(code::kAclApiNotSupport,
                "the transposition of {} is {}: want 0 (ACL_TRANS_N) or 1 (ACL_TRANS_T); the blocked formats "
                "(ACL_TRANS_NZ, ACL_TRANS_NZ_T) are not implemented, convert the matrix to rows",
                name, trans);
  const int64_t lines = trans == ACL_TRANS_T ? columns : rows, length = trans == ACL_TRANS_T ? rows : columns;
  if (ld != -1 && ld < length)
    throw Error(code::kAclInvalidParam, "the leading dimension of {} is {}, want -1 or at least {}", name, ld, length);
  const int64_t apart = ld == -1 ? length : ld;
  TensorView view;
  view.dtype = type;
  view.rank = 2;
  view.dims[0] = rows;
  view.dims[1] = columns;
  view.strides[trans == ACL_TRANS_T ? 1 : 0] = apart;
  view.strides[trans == ACL_TRANS_T ? 0 : 1] = 1;
  view.data = checked_memory(p, static_cast<size_t>((lines - 1) * apart + length) * size_of(type), name);
  return view;
}

struct Operand {
  const void* data;
  int ld;
  int type;
  int trans = ACL_TRANS_N;
};

int product(const char* name, int m, int n, int k, const void* alpha, Operand a, Operand b, const void* beta, Operand c,
            aclrtStream stream, const char* b_name, const char* c_name) {
  return guard(name, [&] {
    if (m <= 0 || n <= 0 || k <= 0)
      throw Error(code::kAclInvalidParam, "m, n and k are {}, {} and {}: want at least 1 of each", m, n, k);
    const auto from = static_cast<DType>(a.type), to = static_cast<DType>(c.type);
    const bool real = (from == DType::Float16 || from == DType::Float) && (to == DType::Float || to == from);
    const bool whole = from == DType::Int8 && (to == DType::Int32 || to == DType::Float);
    if (a.type != b.type || (!real && !whole))
      throw Error(
          code::kAclInvalidParam,
          "the types are {}, {} and {} (aclDataType): want FLOAT16 (1) to FLOAT16 or FLOAT (0), FLOAT to FLOAT, "
          "INT8 (2) to INT32 (3) or FLOAT",
          a.type, b.type, c.type);
    // matrices first: a factor on the host is read at once
    const TensorView left = matrix(a.data, from, m, k, a.trans, a.ld, "matrixA");
    const TensorView right = matrix(b.data, from, k, n, b.trans, b.ld, b_name);
    const TensorView result = matrix(c.data, to, m, n, c.trans, c.ld, c_name);
    Stream& on = stream_of(stream);
    on.submit(new ProductTask(name, left, right, result, Factor(alpha, to, "alpha"), Factor(beta, to, "beta")));
  });
}

int vector_product(const char* name, int trans, int m, int n, const void* alpha, Operand a, const void* x, int incx,
                   const void* beta, void* y, int incy, int type, aclrtStream stream) {
  if ((incx != -1 && incx != 1) || (incy != -1 && incy != 1))
    return guard(name,
                 [&] { throw Error(code::kAclInvalidParam, "incx is {} and incy {}: want -1 or 1", incx, incy); });
  const int rows = trans == ACL_TRANS_T ? n : m, depth = trans == ACL_TRANS_T ? m : n;
  a.trans = trans;
  return product(name, rows, 1, depth, alpha, a, {x, -1, a.type}, beta, {y, -1, type}, stream, "x", "y");
}

}  // namespace

extern "C" {

/// The compute type chooses between kernels of the card: here sums are always kept in float or int64.
UPDRAFT_API aclError aclblasGemmEx(aclTransType trans_a, aclTransType trans_b, aclTransType trans_c, int m, int n,
                                   int k, const void* alpha, const void* a, int lda, aclDataType type_a, const void* b,
                                   int ldb, aclDataType type_b, const void* beta, void* c, int ldc, aclDataType type_c,
                                   aclComputeType, aclrtStream stream) {
  return product("aclblasGemmEx", m, n, k, alpha, {a, lda, type_a, trans_a}, {b, ldb, type_b, trans_b}, beta,
                 {c, ldc, type_c, trans_c}, stream, "matrixB", "matrixC");
}
UPDRAFT_API aclError aclblasHgemm(aclTransType trans_a, aclTransType trans_b, aclTransType trans_c, int m, int n, int k,
                                  const aclFloat16* alpha, const aclFloat16* a, int lda, const aclFloat16* b, int ldb,
                                  const aclFloat16* beta, aclFloat16* c, int ldc, aclComputeType, aclrtStream stream) {
  return product("aclblasHgemm", m, n, k, alpha, {a, lda, ACL_FLOAT16, trans_a}, {b, ldb, ACL_FLOAT16, trans_b}, beta,
                 {c, ldc, ACL_FLOAT16, trans_c}, stream, "matrixB", "matrixC");
}
UPDRAFT_API aclError aclblasS8gemm(aclTransType trans_a, aclTransType trans_b, aclTransType trans_c, int m, int n,
                                   int k, const int32_t* alpha, const int8_t* a, int lda, const int8_t* b, int ldb,
                                   const int32_t* beta, int32_t* c, int ldc, aclComputeType, aclrtStream stream) {
  return product("aclblasS8gemm", m, n, k, alpha, {a, lda, ACL_INT8, trans_a}, {b, ldb, ACL_INT8, trans_b}, beta,
                 {c, ldc, ACL_INT32, trans_c}, stream, "matrixB", "matrixC");
}
UPDRAFT_API aclError aclblasGemvEx(aclTransType trans, int m, int n, const void* alpha, const void* a, int lda,
                                   aclDataType type_a, const void* x, int incx, aclDataType type_x, const void* beta,
                                   void* y, int incy, aclDataType type_y, aclComputeType, aclrtStream stream) {
  if (type_a != type_x)
    return guard("aclblasGemvEx", [&] {
      throw Error(code::kAclInvalidParam, "a is of type {} and x of type {}: want one type", static_cast<int>(type_a),
                  static_cast<int>(type_x));
    });
  return vector_product("aclblasGemvEx", trans, m, n, alpha, {a, lda, type_a}, x, incx, beta, y, incy, type_y, stream);
}
UPDRAFT_API aclError aclblasHgemv(aclTransType trans, int m, int n, const aclFloat16* alpha, const aclFloat16* a,
                                  int lda, const aclFloat16* x, int incx, const aclFloat16* beta, aclFloat16* y,
                                  int incy, aclComputeType, aclrtStream stream) {
  return vector_product("aclblasHgemv", trans, m, n, alpha, {a, lda, ACL_FLOAT16}, x, incx, beta, y, incy, ACL_FLOAT16,
                        stream);
}
UPDRAFT_API aclError aclblasS8gemv(aclTransType trans, int m, int n, const int32_t* alpha, const int8_t* a, int lda,
                                   const int8_t* x, int incx, const int32_t* beta, int32_t* y, int incy, aclComputeType,
                                   aclrtStream stream) {
  return vector_product("aclblasS8gemv", trans, m, n, alpha, {a, lda, ACL_INT8}, x, incx, beta, y, incy, ACL_INT32,
                        stream);
}

}  // extern "C"
