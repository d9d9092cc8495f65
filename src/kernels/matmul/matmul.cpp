#include "kernels/matmul/matmul.h"

#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/constant_operand.h"
#include "kernels/matmul/packed.h"
#include "kernels/onednn.h"
#include "kernels/pipeline.h"
#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using dnnl::memory;

bool row_major(const TensorView& v) {
  const int r = v.rank;
  return (v.strides[r - 1] == 1 || v.dims[r - 1] == 1) && (v.strides[r - 2] >= v.dims[r - 1] || v.dims[r - 2] == 1);
}

// The unit stride must be in one of the two matrix dimensions and the other at least as long.
bool matrix_layout_ok(const TensorView& v) {
  if (!row_major(v) && !row_major(turned(v))) return false;
  for (int d = 0; d < v.rank - 2; ++d)
    if (v.dims[d] > 1 && v.strides[d] <= 0) return false;
  return true;
}

memory::desc desc_of(const TensorView& v) {
  memory::dims dims(v.dims, v.dims + v.rank), strides(v.strides, v.strides + v.rank);
  // A dimension of one element may carry any stride: give oneDNN a consistent one.
  const size_t col = static_cast<size_t>(v.rank) - 1, row = col - 1;
  if (dims[row] == 1 && dims[col] == 1) strides[row] = strides[col] = 1;
  else if (dims[col] == 1 && strides[row] == 1) strides[col] = dims[row];  // a column: either order describes it
  else if (dims[col] == 1) strides[col] = 1;
  else if (dims[row] == 1 && strides[col] == 1) strides[row] = dims[col];
  else if (dims[row] == 1) strides[row] = 1;
  for (size_t d = 0; d < row; ++d)
    if (dims[d] == 1) strides[d] = dims[row] * dims[col];
  return {dims, onednn::type_of(v.dtype), strides};
}

/// [b0, b1, m, k] with matrices that follow each other evenly is one matrix [b0 * b1 * m, k].
bool fold_rows(const TensorView& v, int batch_dims, TensorView& out) {
  const int r = v.rank;
  int64_t rows = v.dims[r - 2];
  const int64_t step = v.strides[r - 2];
  for (int d = batch_dims - 1; d >= 0; --d) {
    if (v.dims[d] != 1 && v.strides[d] != step * rows) return false;
    rows *= v.dims[d];
  }
  out = v;
  out.rank = 2;
  out.dims[0] = rows;
  out.strides[0] = step;
  out.dims[1] = v.dims[r - 1];
  out.strides[1] = v.strides[r - 1];
  return true;
}

int64_t real_bits(complex128 v) {
  double d = v.real();
  int64_t bits;
  std::memcpy(&bits, &d, 8);
  return bits;
}

struct Product {
  onednn::Primitive primitive;  ///< of a, b, c and the bias, if there is one
  memory::desc b;
};

/// What follows the sums.
struct Ending {
  complex128 alpha, beta;
  const TensorView* bias;
  bool relu;
};

std::shared_ptr<const Product> product_of(const TensorView& a, const TensorView& b, const TensorView& c,
                                          const Ending& ending, DType operand, bool constant) {
  const auto& [alpha, beta, bias, relu] = ending;
  onednn::Key key;
  key.add_view(a).add_view(b).add_view(c);
  key.add(real_bits(alpha), real_bits(beta), bias ? static_cast<int>(bias->dtype) : -1, relu, constant, operand);
  static auto* cache = new onednn::Cache<Product>;
  return cache->get(key, [&] {
    const memory::desc left = desc_of(a), out = desc_of(c);
    // A constant operand is brought into the layout that the primitive likes best.
    const memory::desc right = constant ? memory::desc(memory::dims(b.dims, b.dims + b.rank), onednn::type_of(operand),
                                                       memory::format_tag::any)
                                        : desc_of(b);
    memory::desc terms;
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops post;
    if (alpha != 1.0) post.append_eltwise(dnnl::algorithm::eltwise_linear, static_cast<float>(alpha.real()), 0.0f);
    if (beta != 0.0) post.append_sum(static_cast<float>(beta.real()));
    if (relu) post.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attr.set_post_ops(post);
    if (bias) {
      memory::dims dims(static_cast<size_t>(c.rank), 1), strides(static_cast<size_t>(c.rank), c.dims[c.rank - 1]);
      dims.back() = c.dims[c.rank - 1];
      strides.back() = 1;
      terms = memory::desc(dims, onednn::type_of(bias->dtype), strides);
    }
    const dnnl::matmul::primitive_desc pd =
        bias ? dnnl::matmul::primitive_desc(onednn::engine(), left, right, terms, out, attr)
             : dnnl::matmul::primitive_desc(onednn::engine(), left, right, out, attr);
    std::vector<onednn::Primitive::Description> given = {
        {DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, pd.weights_desc()}, {DNNL_ARG_DST, out}};
    if (bias) given.push_back({DNNL_ARG_BIAS, terms});
    return Product{{dnnl::matmul(pd), std::move(given), pd.scratchpad_desc()}, pd.weights_desc()};
  });
}

/// The form of a constant b that the product wants; null where b can be taken as it lies.
ConstantOperand::Form form_of(ConstantOperand& constant, const TensorView& b, const memory::desc& wanted,
                              DType operand) {
  const bool plain = b.dtype == operand && matrix_layout_ok(b);
  if (plain && desc_of(b) == wanted) return nullptr;
  return constant.form(b, wanted, [&](std::byte* to) {
    ScratchScope scratch;
    const TensorView from =
        plain ? b : gather_to(scratch.take(static_cast<size_t>(b.numel()) * size_of(operand)), operand, b);
    onednn::Reorder(desc_of(from), wanted).run(from.data, to);
  });
}

/// c = alpha * a @ b + bias + beta * c, or its positive part; all share c's batch dimensions; the types are oneDNN's.
/// `right`: b is constant, of any layout, and taken as `operand`. Without `run` only the constant is prepared.
void run_onednn(const TensorView& a, const TensorView& b, const TensorView& c, const Ending& ending, DType operand,
                ConstantOperand* right, bool run) {
  const auto product = product_of(a, b, c, ending, operand, right != nullptr);
  const TensorView* const bias = ending.bias;
  const ConstantOperand::Form form = right ? form_of(*right, b, product->b, operand) : nullptr;
  if (!run) return;
  const onednn::Primitive::Argument given[] = {{DNNL_ARG_SRC, a.data},
                                               {DNNL_ARG_WEIGHTS, form ? form.get() : b.data},
                                               {DNNL_ARG_DST, c.data},
                                               {DNNL_ARG_BIAS, bias ? bias->data : nullptr}};
  product->primitive.run({given, bias ? 4u : 3u});
}

/// out = alpha * product + beta * add, in the compute type.
void combine(const TensorView& out, const TensorView& product, const MatmulOptions& o, const TensorView& add) {
  const Compute compute = compute_of(out.dtype);
  Params scale;
  if (o.alpha != 1.0) {
    scale.set(0, o.alpha);
    run_elementwise(elementwise_kernel(ew::affine, compute), compute, {product}, {product}, scale);
  }
  if (o.beta == 0.0) {
    copy_elements(out, product);
    return;
  }
  scale.set(0, o.beta);
  run_elementwise(elementwise_kernel(ew::add, compute), compute, {product, add}, {out}, scale);
}

/// The positive part of the result, where no product of a kind takes it along.
void take_positive(const TensorView& c) {
  const Compute compute = compute_of(c.dtype);
  run_elementwise(elementwise_kernel(ew::relu, compute), compute, {c}, {c}, Params{});
}

bool has_rows(const TensorView& m) { return m.strides[1] == 1 || m.dims[1] == 1; }
/// The left side is one row, or few that are worth it because the matrix has rows, which would be packed each time.
bool has_few_rows(const TensorView& a, const TensorView& b) {
  constexpr int64_t kFew = 8, kLeastDepth = 64;
  if (a.dims[0] == 1) return true;
  return a.dims[0] <= kFew && b.dims[1] >= a.dims[0] && a.dims[1] >= kLeastDepth && has_rows(b.transpose(0, 1));
}
/// [n, k], the matrix beside vectors on the left (or one on the right).
TensorView matrix_of(const TensorView& a, const TensorView& b) { return has_few_rows(a, b) ? b.transpose(0, 1) : a; }
bool is_vector_product(const TensorView& a, const TensorView& b, const TensorView& c) {
  if (c.rank != 2 || (!has_few_rows(a, b) && b.dims[1] != 1)) return false;
  if (compute_of(a.dtype) != Compute::F32 || compute_of(b.dtype) != Compute::F32) return false;
  const TensorView m = matrix_of(a, b);
  return has_rows(m) || (m.dtype == DType::Float && (m.strides[0] == 1 || m.dims[0] == 1));
}

/// A vector as the only row or column, or a few as rows: memory decides the speed, so each element of the matrix is
/// read once, in its own type. `matrix` [n, k] with contiguous rows, or (f32, one vector) contiguous columns;
/// y [vectors, n] = x [vectors, k] @ matrix^T.
struct Vectors {
  bool rows;  ///< they are the left side
  TensorView matrix, x, y;
  bool ends, gathers, apart;  ///< something follows the sums; x and y are copies

  Vectors(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o)
      : rows(has_few_rows(a, b)),
        matrix(matrix_of(a, b)),
        x(rows ? a : b.transpose(0, 1)),
        y(rows ? c : c.transpose(0, 1)),
        ends(o.alpha != 1.0 || o.beta != 0.0),
        gathers(x.dtype != DType::Float || (x.strides[1] != 1 && x.dims[1] > 1) || may_overlap(x, c)),
        apart(ends || y.dtype != DType::Float || (y.strides[1] != 1 && y.dims[1] > 1) || may_overlap(matrix, c)) {}
  size_t scratch_bytes() const {
    const auto floats = [](const TensorView& v) {
      return scratch_size(static_cast<size_t>(v.numel()) * sizeof(float));
    };
    return (gathers ? floats(x) : 0) + (apart ? floats(y) : 0);
  }
};

void run_vectors(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o,
                 const TensorView& add) {
  const Vectors p(a, b, c, o);
  const TensorView& m = p.matrix;
  TensorView x = p.x, y = p.y;
  const int64_t vectors = x.dims[0], n = m.dims[0], k = m.dims[1];
  ScratchScope scratch;
  const auto floats = [&](const TensorView& v) { return scratch.take<float>(static_cast<size_t>(v.numel())); };
  if (p.gathers) x = gather_to(floats(x), DType::Float, x);
  if (p.apart) y = TensorView::contiguous(floats(y), DType::Float, y.dims, 2);
  if (has_rows(m)) {
    const int64_t size = static_cast<int64_t>(size_of(m.dtype));
    const int64_t least = (std::max<int64_t>(1, 32768 / (k * vectors)) + 3) / 4 * 4;  // rows go by four
    parallel_for(n, least, [&](int64_t begin, int64_t end) {
      kernels().gemv_rows(end - begin, k, m.as<char>() + begin * m.strides[0] * size, m.strides[0], vectors,
                          x.as<float>(), x.strides[0], y.as<float>() + begin, y.strides[0], m.dtype);
    });
  } else {
    parallel_for(n, std::max<int64_t>(64, (32768 / k + 63) / 64 * 64), [&](int64_t begin, int64_t end) {
      kernels().gemv_columns_f32(k, end - begin, m.as<float>() + begin, m.strides[1], x.as<float>(),
                                 y.as<float>() + begin);
    });
  }
  if (p.ends) combine(c, p.rows ? y : y.transpose(0, 1), o, add);
  else if (p.apart) copy_elements(p.y, y);
}

/// Offset of batch `i` (row-major over c's batch dimensions) in v.
int64_t batch_offset(const TensorView& v, const TensorView& c, int64_t i) {
  int64_t at = 0;
  for (int d = c.rank - 3; d >= 0; --d) {
    at += i % c.dims[d] * v.strides[d];
    i /= c.dims[d];
  }
  return at;
}

/// Double: b is packed a block at a time, a is read where it lies.
constexpr int64_t kM = 192, kN = 128, kK = 256;
constexpr size_t kPackedBlocks = kK * kN + kM * kN;  // of b and of the sum, in doubles
void product_f64(const TensorView& a, const TensorView& b, const TensorView& c) {
  const int r = c.rank;
  const int64_t m = c.dims[r - 2], n = c.dims[r - 1], k = a.dims[r - 1];
  const int64_t batches = c.numel() / (m * n), m_parts = (m + kM - 1) / kM, n_parts = (n + kN - 1) / kN;
  const int64_t cost = std::min(m, kM) * std::min(n, kN) * k;
  parallel_for(batches * m_parts * n_parts, std::max<int64_t>(1, 131072 / cost), [&](int64_t begin, int64_t end) {
    ScratchScope scratch;
    double* packed = scratch.take<double>(kPackedBlocks);
    double* sum = packed + kK * kN;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / (m_parts * n_parts), m0 = i / n_parts % m_parts * kM, n0 = i % n_parts * kN;
      const int64_t rows = std::min(kM, m - m0), cols = std::min(kN, n - n0), wide = (cols + 7) / 8 * 8;
      const double* left = a.as<double>() + batch_offset(a, c, batch) + m0 * a.strides[r - 2];
      const double* right = b.as<double>() + batch_offset(b, c, batch) + n0 * b.strides[r - 1];
      for (int64_t k0 = 0; k0 < k; k0 += kK) {
        const int64_t depth = std::min(kK, k - k0);
        const double* from = right + k0 * b.strides[r - 2];
        const int64_t rs = b.strides[r - 2], cs = b.strides[r - 1];
        if (cs == 1) {
          for (int64_t p = 0; p < depth; ++p) std::copy_n(from + p * rs, cols, packed + p * wide);
        } else {
          for (int64_t j = 0; j < cols; ++j)
            for (int64_t p = 0; p < depth; ++p) packed[p * wide + j] = from[p * rs + j * cs];
        }
        for (int64_t p = 0; p < depth && wide > cols; ++p) std::fill_n(packed + p * wide + cols, wide - cols, 0.0);
        kernels().tile_gemm_f64(rows, wide, depth, left + k0 * a.strides[r - 1], a.strides[r - 2], a.strides[r - 1],
                                packed, wide, sum, wide, k0 != 0);
      }
      double* to = c.as<double>() + batch_offset(c, c, batch) + m0 * c.strides[r - 2] + n0 * c.strides[r - 1];
      for (int64_t x = 0; x < rows; ++x)
        for (int64_t j = 0; j < cols; ++j) to[x * c.strides[r - 2] + j * c.strides[r - 1]] = sum[x * wide + j];
    }
  });
}

/// Integers wrap: a row of c at a time.
void product_i64(const TensorView& a, const TensorView& b, const TensorView& c) {
  const int r = c.rank;
  const int64_t m = c.dims[r - 2], n = c.dims[r - 1], k = a.dims[r - 1];
  const int64_t rs = b.strides[r - 2], cs = b.strides[r - 1];
  parallel_for(c.numel() / n, std::max<int64_t>(1, 65536 / (n * k)), [&](int64_t begin, int64_t end) {
    ScratchScope scratch;
    uint64_t* row = scratch.take<uint64_t>(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / m;
      const int64_t* left = a.as<int64_t>() + batch_offset(a, c, batch) + i % m * a.strides[r - 2];
      const int64_t* right = b.as<int64_t>() + batch_offset(b, c, batch);
      std::fill_n(row, n, 0);
      for (int64_t p = 0; p < k; ++p) {
        const uint64_t x = static_cast<uint64_t>(left[p * a.strides[r - 1]]);
        const int64_t* from = right + p * rs;
        for (int64_t j = 0; j < n; ++j) row[j] += x * static_cast<uint64_t>(from[j * cs]);
      }
      int64_t* to = c.as<int64_t>() + batch_offset(c, c, batch) + i % m * c.strides[r - 2];
      for (int64_t j = 0; j < n; ++j) to[j * c.strides[r - 1]] = static_cast<int64_t>(row[j]);
    }
  });
}

/// An operand in the type of the computation; `copy(view)` gives a dense copy.
template <class Copy>
TensorView widened(const TensorView& v, DType native, bool force, Copy&& copy) {
  if (v.dtype == native && !force) return v;
  // Broadcast batches are copied once.
  TensorView small = v;
  for (int d = 0; d < v.rank; ++d)
    if (v.strides[d] == 0) small.dims[d] = 1;
  TensorView wide = copy(small);
  for (int d = 0; d < v.rank; ++d)
    if (small.dims[d] != v.dims[d]) {
      wide.dims[d] = v.dims[d];
      wide.strides[d] = 0;
    }
  return wide;
}

/// Double and integers, and complex as four products of its parts; computed in the compute type of c.
void run_own(const TensorView& a_in, const TensorView& b_in, const TensorView& c, const MatmulOptions& o,
             const TensorView& add) {
  const Compute compute = compute_of(c.dtype);
  const DType native = storage_of(compute);
  ScratchScope scratch;
  auto copy = [&](const TensorView& v) {
    return gather_to(scratch.take(static_cast<size_t>(v.numel()) * size_of(native)), native, v);
  };
  const bool overlaps = may_overlap(c, a_in) || may_overlap(c, b_in);
  const TensorView a = widened(a_in, native, overlaps, copy), b = widened(b_in, native, overlaps, copy);
  const bool direct = c.dtype == native && o.alpha == 1.0 && o.beta == 0.0 && !is_complex(native);
  const size_t bytes = static_cast<size_t>(c.numel()) * size_of(native);
  const TensorView product = direct ? c : TensorView::contiguous(scratch.take(bytes), native, c.dims, c.rank);
  if (compute == Compute::F64) {
    product_f64(a, b, product);
  } else if (compute == Compute::I64) {
    product_i64(a, b, product);
  } else {
    const DType real = compute == Compute::C64 ? DType::Float : DType::Double;
    char* parts = scratch.take<char>(bytes);
    const TensorView re = TensorView::contiguous(parts, real, c.dims, c.rank);
    const TensorView im = TensorView::contiguous(parts + bytes / 2, real, c.dims, c.rank);
    matmul(complex_part(a, 0), complex_part(b, 0), re);
    matmul(complex_part(a, 1), complex_part(b, 1), re, {.alpha = -1.0, .beta = 1.0});
    matmul(complex_part(a, 0), complex_part(b, 1), im);
    matmul(complex_part(a, 1), complex_part(b, 0), im, {.alpha = 1.0, .beta = 1.0});
    copy_elements(complex_part(product, 0), re);
    copy_elements(complex_part(product, 1), im);
  }
  if (!direct) combine(c, product, o, add);
}

/// A product of fp32 with a transposed left side of many rows, as the gradient of a large vocabulary has, goes in
/// panels of so many, because oneDNN takes rows of so many columns at two thirds of its speed. 0: it does not.
int64_t panel_rows(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  constexpr int64_t kLongRows = 16384, kWorth = 1 << 18;
  if (c.rank != 2 || o.beta != 0.0 || o.right || may_overlap(a, c) || may_overlap(b, c)) return 0;
  const bool plain = a.dtype == DType::Float && b.dtype == DType::Float && c.dtype == DType::Float;
  if (!plain || a.strides[0] != 1 || a.strides[1] == 1 || c.dims[0] < kLongRows) return 0;
  return c.dims[1] * a.dims[1] >= kWorth ? kLongRows / 4 : 0;
}

/// A product of fp32 with a wide right side that lies in rows goes in panels of so many columns: oneDNN takes some
/// widths (3072, of all) at a third of its speed. 0: it does not.
int64_t panel_columns(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  constexpr int64_t kWide = 2048, kMost = 1536, kUnit = 64;
  if (c.rank != 2 || o.beta != 0.0 || o.right || may_overlap(a, c) || may_overlap(b, c)) return 0;
  const bool plain = a.dtype == DType::Float && b.dtype == DType::Float && c.dtype == DType::Float;
  // Measured with one thread and two; many want more to divide among them.
  const int64_t most = kMost * std::max(1, parallel_width() / 4);
  if (!plain || b.strides[1] != 1 || c.strides[1] != 1 || c.dims[0] < 32 || c.dims[1] <= std::max(kWide, most))
    return 0;
  const int64_t parts = (c.dims[1] + most - 1) / most;
  return ((c.dims[1] + parts - 1) / parts + kUnit - 1) / kUnit * kUnit;
}

/// The operands of a product: expanded to c's batch dimensions, or folded to two matrices.
struct Operands {
  TensorView a, b, c, add;

  Operands(const TensorView& a_in, const TensorView& b_in, const TensorView& c_in, const MatmulOptions& o) : c(c_in) {
    const int r = c.rank;
    int64_t dims[kMaxDims];
    std::copy_n(c.dims, r, dims);
    dims[r - 2] = a_in.dims[a_in.rank - 2];
    dims[r - 1] = a_in.dims[a_in.rank - 1];
    a = a_in.expand(dims, r);
    dims[r - 2] = b_in.dims[b_in.rank - 2];
    dims[r - 1] = b_in.dims[b_in.rank - 1];
    b = b_in.expand(dims, r);
    add = o.add ? o.add->expand_as(c) : c;
    if (r > 2 && a.dims[r - 1] != 0 && compute_of(c.dtype) == Compute::F32) fold(o);
  }

 private:
  // One matrix on the right and rows that follow each other: a single product of two matrices.
  void fold(const MatmulOptions& o) {
    const int batch = c.rank - 2;
    for (int d = 0; d < batch; ++d)
      if (b.strides[d] != 0 && b.dims[d] != 1) return;
    TensorView fa, fc, fadd;
    if (!fold_rows(a, batch, fa) || !fold_rows(c, batch, fc)) return;
    if (o.beta == 0.0) fadd = fc;
    else if (!fold_rows(add, batch, fadd)) return;
    a = fa;
    b = last_dims(b, 2);
    c = fc;
    add = fadd;
  }
};

/// The type in which oneDNN takes the operands.
DType operand_type(const TensorView& a, const TensorView& b, const TensorView& c) {
  const bool bf16 = a.dtype == DType::BFloat16 && b.dtype == DType::BFloat16 &&
                    (c.dtype == DType::BFloat16 || c.dtype == DType::Float) && onednn::native_bf16();
  return bf16 ? DType::BFloat16 : DType::Float;
}
bool is_direct(const TensorView& c, DType operand) {
  return (c.dtype == DType::Float || c.dtype == operand) && row_major(c) && matrix_layout_ok(c);
}

/// oneDNN would want the operands, or the result, as copies in fp32, or makes too little of a constant.
bool is_packed(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  bool plain = true;
  for (const TensorView* v : {&a, &b, &c}) {
    if (!packed::converts(v->dtype)) return false;
    plain = plain && v->dtype == DType::Float;
  }
  if (plain ? !o.right || !packed::takes_constants() : operand_type(a, b, c) != DType::Float) return false;
  return !(o.right && c.rank != 2) && !may_overlap(a, c) && !may_overlap(b, c);
}

packed::Product packed_of(const Operands& p, const MatmulOptions& o) {
  return {.a = p.a, .b = p.b, .c = p.c, .add = p.add, .alpha = o.alpha.real(), .beta = o.beta.real(), .relu = o.relu};
}

void run_packed(const Operands& p, const MatmulOptions& o, bool run) {
  packed::Product product = packed_of(p, o);
  ConstantOperand::Form form;
  if (o.right) {
    // The type tells the two forms apart: tiles take pairs of bf16.
    const bool tiles = packed::by_tiles(product);
    const memory::desc desc({packed::right_floats(product) * (tiles ? 2 : 1)},
                            tiles ? memory::data_type::bf16 : memory::data_type::f32, memory::format_tag::a);
    form = o.right->form(p.b, desc, [&](std::byte* to) { packed::pack_right(product, reinterpret_cast<float*>(to)); });
    product.right = reinterpret_cast<const float*>(form.get());
  }
  if (run) packed::multiply(product);
}

/// A product as oneDNN takes it.
struct Native {
  TensorView a, b, c;
  DType operand;    ///< the type of a and b, but for a constant b
  bool bias;        ///< what is added is one row, which the primitive takes beside the product
  complex128 beta;  ///< of what c holds before
};

/// `copy(view, type, result)` gives a dense view for an operand, or for a result, whose type or layout oneDNN does not
/// take.
template <class Copy>
Native native_of(const Operands& p, const MatmulOptions& o, Copy&& copy) {
  const TensorView &c = p.c, &add = p.add;
  const int r = c.rank;
  Native n{.a = p.a, .b = p.b, .c = c, .operand = operand_type(p.a, p.b, c), .bias = false, .beta = o.beta};
  auto take = [&](TensorView& v, bool constant) {
    // Expanded batch dimensions are not copied: their stride 0 becomes a dimension of 1. One of the two operands must
    // have as many as the result, though.
    for (int d = 0; d < r - 2; ++d)
      if (v.strides[d] == 0 && (&v == &n.a || n.a.dims[d] == c.dims[d])) v.dims[d] = 1;
    if (constant || (v.dtype == n.operand && matrix_layout_ok(v) && !may_overlap(v, c))) return;
    v = copy(v, n.operand, false);
  };
  take(n.a, false);
  take(n.b, o.right != nullptr);
  if (!is_direct(c, n.operand)) n.c = copy(c, DType::Float, true);
  n.bias = o.beta == 1.0 && o.alpha == 1.0 && o.add && (add.strides[r - 1] == 1 || add.dims[r - 1] == 1) &&
           (add.dtype == DType::Float || add.dtype == n.operand) && c.dims[r - 2] > 1;
  for (int d = 0; d < r - 1; ++d) n.bias = n.bias && (add.strides[d] == 0 || add.dims[d] == 1);
  if (n.bias) n.beta = 0.0;
  return n;
}

// matmul(); without `run` only the constant right side is prepared.
void multiply(const TensorView& a_in, const TensorView& b_in, const TensorView& c_in, const MatmulOptions& o,
              bool run) {
  if (c_in.empty() || (!run && !o.right)) return;
  Operands p(a_in, b_in, c_in, o);
  TensorView &a = p.a, &b = p.b;
  const TensorView &c = p.c, &add = p.add;
  const int r = c.rank;
  const Compute compute = compute_of(c.dtype);
  if (!run && (a.dims[r - 1] == 0 || compute != Compute::F32)) return;
  if (a.dims[r - 1] == 0) {
    Params scale;
    if (o.beta == 0.0) {
      fill_elements(c, scale);
    } else {
      scale.set(0, o.beta);
      run_elementwise(elementwise_kernel(ew::affine, compute), compute, {add}, {c}, scale);
    }
    if (o.relu) take_positive(c);
    return;
  }
  if (compute != Compute::F32) {
    run_own(a, b, c, o, add);
    if (o.relu) take_positive(c);
    return;
  }
  if (is_vector_product(a, b, c)) {
    // It reads the matrix as it lies: there is nothing to prepare.
    if (run) run_vectors(a, b, c, o, add);
    if (run && o.relu) take_positive(c);
    return;
  }
  if (is_packed(a, b, c, o)) return run_packed(p, o, run);
  if (const int64_t panel = panel_rows(a, b, c, o)) {
    for (int64_t at = 0; at < c.dims[0]; at += panel) {
      const int64_t rows = std::min(panel, c.dims[0] - at);
      matmul(narrow(a, 0, at, rows), b, narrow(c, 0, at, rows), o);
    }
    return;
  }
  if (const int64_t panel = panel_columns(a, b, c, o)) {
    for (int64_t at = 0; at < c.dims[1]; at += panel) {
      const int64_t columns = std::min(panel, c.dims[1] - at);
      matmul(a, narrow(b, 1, at, columns), narrow(c, 1, at, columns), o);
    }
    return;
  }
  ScratchScope scratch;
  const Native n = native_of(p, o, [&](const TensorView& v, DType type, bool result) {
    void* to = scratch.take(static_cast<size_t>(v.numel()) * size_of(type));
    // What is only prepared needs the layout that a run would give, not the values.
    return run && !result ? gather_to(to, type, v) : TensorView::contiguous(to, type, v.dims, v.rank);
  });
  if (run && n.beta != 0.0 && n.c.data != add.data) copy_elements(n.c, add);
  run_onednn(n.a, n.b, n.c, {o.alpha, n.beta, n.bias ? &add : nullptr, o.relu}, n.operand, o.right, run);
  if (run && n.c.data != c.data) copy_elements(c, n.c);
}

}  // namespace

void matmul(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  multiply(a, b, c, o, true);
}

void prepare_matmul(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  multiply(a, b, c, o, false);
}

/// What a sum of products takes: the first with the options, the rest added to it.
static size_t added_scratch(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  MatmulOptions rest = o;
  rest.add = nullptr;
  rest.beta = 1.0;
  return std::max(matmul_scratch(a, b, c, o), matmul_scratch(a, b, c, rest));
}

/// What run_own() takes.
static size_t own_scratch(const TensorView& a_in, const TensorView& b_in, const TensorView& c, const MatmulOptions& o) {
  const Compute compute = compute_of(c.dtype);
  const DType native = storage_of(compute);
  size_t bytes = 0;
  auto copy = [&](const TensorView& v) {
    const TensorView dense = TensorView::contiguous(nullptr, native, v.dims, v.rank);
    bytes += scratch_size(dense.bytes());
    return dense;
  };
  const bool overlaps = may_overlap(c, a_in) || may_overlap(c, b_in);
  const TensorView a = widened(a_in, native, overlaps, copy), b = widened(b_in, native, overlaps, copy);
  if (c.dtype != native || o.alpha != 1.0 || o.beta != 0.0 || is_complex(native)) copy(c);
  if (compute == Compute::F64) return bytes + scratch_size(kPackedBlocks * sizeof(double));
  if (compute == Compute::I64) return bytes + scratch_size(static_cast<size_t>(c.dims[c.rank - 1]) * sizeof(int64_t));
  copy(c);
  const DType real = compute == Compute::C64 ? DType::Float : DType::Double;
  return bytes + added_scratch(complex_part(a, 0), complex_part(b, 0),
                               TensorView::contiguous(nullptr, real, c.dims, c.rank), {});
}

size_t matmul_scratch(const TensorView& a_in, const TensorView& b_in, const TensorView& c_in, const MatmulOptions& o) {
  if (c_in.empty() || a_in.empty()) return 0;
  const Operands p(a_in, b_in, c_in, o);
  const TensorView &a = p.a, &b = p.b, &c = p.c;
  const Compute compute = compute_of(c.dtype);
  if (a.dims[a.rank - 1] == 0) return 0;
  if (compute != Compute::F32) return own_scratch(a, b, c, o);
  if (is_vector_product(a, b, c)) return Vectors(a, b, c, o).scratch_bytes();
  if (is_packed(a, b, c, o)) return packed::scratch_bytes(packed_of(p, o), o.right != nullptr);
  if (const int64_t panel = panel_rows(a, b, c, o))
    return matmul_scratch(narrow(a, 0, 0, panel), b, narrow(c, 0, 0, panel), o);
  if (const int64_t panel = panel_columns(a, b, c, o))
    return matmul_scratch(a, narrow(b, 1, 0, panel), narrow(c, 1, 0, panel), o);
  size_t bytes = 0;
  const Native n = native_of(p, o, [&](const TensorView& v, DType type, bool) {
    const TensorView dense = TensorView::contiguous(nullptr, type, v.dims, v.rank);
    bytes += scratch_size(dense.bytes());
    return dense;
  });
  const auto product =
      product_of(n.a, n.b, n.c, {o.alpha, n.beta, n.bias ? &p.add : nullptr, o.relu}, n.operand, o.right != nullptr);
  return bytes + product->primitive.scratch_bytes();
}

void matmul_reduced(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  if (c.empty()) return;
  const int64_t batches = a.dims[0];
  if (batches == 0 || a.dims[2] == 0) {
    TensorView left = select(a, 0, 0), right = select(b, 0, 0);
    left.dims[1] = right.dims[0] = 0;
    matmul(left, right, c, o);
    return;
  }
  // The sum is kept in the compute type and rounded once.
  const DType native = storage_of(compute_of(c.dtype));
  ScratchScope scratch;
  const TensorView sum =
      TensorView::contiguous(scratch.take(static_cast<size_t>(c.numel()) * size_of(native)), native, c.dims, 2);
  const TensorView add = o.add ? o.add->expand_as(c) : c;
  for (int64_t i = 0; i < batches; ++i) {
    MatmulOptions step = o;
    if (i == 0) step.add = &add;
    else step.add = nullptr, step.beta = 1.0;
    matmul(select(a, 0, i), select(b, 0, i), sum, step);
  }
  copy_elements(c, sum);
}

size_t matmul_reduced_scratch(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  if (c.empty()) return 0;
  const TensorView sum = TensorView::contiguous(nullptr, storage_of(compute_of(c.dtype)), c.dims, 2);
  if (a.dims[0] == 0 || a.dims[2] == 0) return scratch_size(sum.bytes());
  return scratch_size(sum.bytes()) + added_scratch(select(a, 0, 0), select(b, 0, 0), sum, o);
}

}  // namespace updraft
