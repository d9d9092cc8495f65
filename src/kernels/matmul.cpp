#include "kernels/matmul.h"

#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/onednn.h"
#include "kernels/pipeline.h"

namespace updraft {
namespace {

using dnnl::memory;

enum Slot { kProduct = 0, kLeft = 1, kRight = 2, kWide = 3, kPacked = 4, kSum = 5 };

bool row_major(const TensorView& v) {
  const int r = v.rank;
  return (v.strides[r - 1] == 1 || v.dims[r - 1] == 1) && (v.strides[r - 2] >= v.dims[r - 1] || v.dims[r - 2] == 1);
}

// The unit stride must be in one of the two matrix dimensions and the other at least as long.
bool matrix_layout_ok(const TensorView& v) {
  if (!row_major(v) && !row_major(v.transpose(v.rank - 2, v.rank - 1))) return false;
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
  dnnl::matmul primitive;
  memory::desc a, b, c, bias, scratch;
};

/// c = alpha * a @ b + bias + beta * c; all share c's batch dimensions; the types are oneDNN's.
void run_onednn(const TensorView& a, const TensorView& b, const TensorView& c, complex128 alpha, complex128 beta,
                const TensorView* bias) {
  onednn::Key key;
  for (const TensorView* v : {&a, &b, &c}) {
    key.add(v->dtype, v->rank);
    for (int d = 0; d < v->rank; ++d) key.add(v->dims[d], v->strides[d]);
  }
  key.add(real_bits(alpha), real_bits(beta), bias ? static_cast<int>(bias->dtype) : -1);
  static auto* cache = new onednn::Cache<Product>;
  auto product = cache->get(key, [&] {
    Product p;
    p.a = desc_of(a);
    p.b = desc_of(b);
    p.c = desc_of(c);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops post;
    if (alpha != 1.0) post.append_eltwise(dnnl::algorithm::eltwise_linear, static_cast<float>(alpha.real()), 0.0f);
    if (beta != 0.0) post.append_sum(static_cast<float>(beta.real()));
    attr.set_post_ops(post);
    if (bias) {
      memory::dims dims(static_cast<size_t>(c.rank), 1), strides(static_cast<size_t>(c.rank), c.dims[c.rank - 1]);
      dims.back() = c.dims[c.rank - 1];
      strides.back() = 1;
      p.bias = memory::desc(dims, onednn::type_of(bias->dtype), strides);
      dnnl::matmul::primitive_desc pd(onednn::engine(), p.a, p.b, p.bias, p.c, attr);
      p.primitive = dnnl::matmul(pd);
      p.scratch = pd.scratchpad_desc();
    } else {
      dnnl::matmul::primitive_desc pd(onednn::engine(), p.a, p.b, p.c, attr);
      p.primitive = dnnl::matmul(pd);
      p.scratch = pd.scratchpad_desc();
    }
    return p;
  });
  const dnnl::engine& e = onednn::engine();
  std::unordered_map<int, memory> args{
      {DNNL_ARG_SRC, memory(product->a, e, a.data)},
      {DNNL_ARG_WEIGHTS, memory(product->b, e, b.data)},
      {DNNL_ARG_DST, memory(product->c, e, c.data)},
      {DNNL_ARG_SCRATCHPAD, memory(product->scratch, e, onednn::scratch(kProduct, product->scratch.get_size()))}};
  if (bias) args.emplace(DNNL_ARG_BIAS, memory(product->bias, e, bias->data));
  product->primitive.execute(onednn::stream(), args);
}

bool native_bf16() {
  static const bool yes = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16;
  return yes;
}

/// out = alpha * product + beta * add, in the compute type.
void combine(const TensorView& out, const TensorView& product, const MatmulOptions& o, const TensorView& add) {
  const Compute compute = compute_of(out.dtype);
  Params scale;
  if (o.alpha != 1.0) {
    scale.set(0, o.alpha);
    run_elementwise(elementwise_kernel(Ew::affine, compute), compute, {product}, {product}, scale);
  }
  if (o.beta == 0.0) {
    copy_elements(out, product);
    return;
  }
  scale.set(0, o.beta);
  run_elementwise(elementwise_kernel(Ew::add, compute), compute, {product, add}, {out}, scale);
}

/// A vector as the only row or column: memory decides the speed, so each element of the matrix is read once, in its own
/// type. `matrix` [n, k] with contiguous rows, or (f32) contiguous columns; y[n] = matrix @ x.
bool run_vector(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o,
                const TensorView& add) {
  if (c.rank != 2 || (a.dims[0] != 1 && b.dims[1] != 1)) return false;
  if (compute_of(a.dtype) != Compute::F32 || compute_of(b.dtype) != Compute::F32) return false;
  const bool row = a.dims[0] == 1;
  const TensorView m = row ? b.transpose(0, 1) : a;  // [n, k]
  TensorView x = row ? a : b.transpose(0, 1);        // [1, k]
  TensorView y = row ? c : c.transpose(0, 1);        // [1, n]
  const int64_t n = m.dims[0], k = m.dims[1];
  const bool rows = m.strides[1] == 1 || k == 1, columns = m.dtype == DType::Float && (m.strides[0] == 1 || n == 1);
  if (!rows && !columns) return false;
  const bool plain = o.alpha == 1.0 && o.beta == 0.0;
  const TensorView out = y;
  if (x.dtype != DType::Float || (x.strides[1] != 1 && k > 1) || may_overlap(x, c))
    x = gather_to(onednn::scratch(kProduct, static_cast<size_t>(k) * 4), DType::Float, x);
  if (!plain || y.dtype != DType::Float || (y.strides[1] != 1 && n > 1) || may_overlap(m, c))
    y = TensorView::contiguous(onednn::scratch(kWide, static_cast<size_t>(n) * 4), DType::Float, y.dims, 2);
  if (rows) {
    const int64_t size = static_cast<int64_t>(size_of(m.dtype));
    parallel_for(n, std::max<int64_t>(1, 32768 / k), [&](int64_t begin, int64_t end) {
      kernels().gemv_rows(end - begin, k, m.as<char>() + begin * m.strides[0] * size, m.strides[0], x.as<float>(),
                          y.as<float>() + begin, m.dtype);
    });
  } else {
    parallel_for(n, std::max<int64_t>(64, (32768 / k + 63) / 64 * 64), [&](int64_t begin, int64_t end) {
      kernels().gemv_columns_f32(k, end - begin, m.as<float>() + begin, m.strides[1], x.as<float>(),
                                 y.as<float>() + begin);
    });
  }
  if (!plain) combine(c, row ? y : y.transpose(0, 1), o, add);
  else if (y.data != out.data) copy_elements(out, y);
  return true;
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
void product_f64(const TensorView& a, const TensorView& b, const TensorView& c) {
  constexpr int64_t kM = 192, kN = 128, kK = 256;
  const int r = c.rank;
  const int64_t m = c.dims[r - 2], n = c.dims[r - 1], k = a.dims[r - 1];
  const int64_t batches = c.numel() / (m * n), m_parts = (m + kM - 1) / kM, n_parts = (n + kN - 1) / kN;
  const int64_t cost = std::min(m, kM) * std::min(n, kN) * k;
  parallel_for(batches * m_parts * n_parts, std::max<int64_t>(1, 131072 / cost), [&](int64_t begin, int64_t end) {
    double* packed = static_cast<double*>(onednn::scratch(kPacked, (kK * kN + kM * kN) * sizeof(double)));
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
    std::vector<uint64_t> row(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / m;
      const int64_t* left = a.as<int64_t>() + batch_offset(a, c, batch) + i % m * a.strides[r - 2];
      const int64_t* right = b.as<int64_t>() + batch_offset(b, c, batch);
      std::fill(row.begin(), row.end(), 0);
      for (int64_t p = 0; p < k; ++p) {
        const uint64_t x = static_cast<uint64_t>(left[p * a.strides[r - 1]]);
        const int64_t* from = right + p * rs;
        for (int64_t j = 0; j < n; ++j) row[static_cast<size_t>(j)] += x * static_cast<uint64_t>(from[j * cs]);
      }
      int64_t* to = c.as<int64_t>() + batch_offset(c, c, batch) + i % m * c.strides[r - 2];
      for (int64_t j = 0; j < n; ++j) to[j * c.strides[r - 1]] = static_cast<int64_t>(row[static_cast<size_t>(j)]);
    }
  });
}

/// Double and integers, and complex as four products of its parts; computed in the compute type of c.
void run_own(const TensorView& a_in, const TensorView& b_in, const TensorView& c, const MatmulOptions& o,
             const TensorView& add) {
  const Compute compute = compute_of(c.dtype);
  const DType native = storage_of(compute);
  std::vector<char> hold[3];
  auto widen = [&](const TensorView& v, std::vector<char>& buffer, bool force) {
    if (v.dtype == native && !force) return v;
    // Broadcast batches are copied once.
    TensorView small = v;
    for (int d = 0; d < v.rank; ++d)
      if (v.strides[d] == 0) small.dims[d] = 1;
    buffer.resize(static_cast<size_t>(small.numel()) * size_of(native));
    TensorView wide = gather_to(buffer.data(), native, small);
    for (int d = 0; d < v.rank; ++d)
      if (small.dims[d] != v.dims[d]) {
        wide.dims[d] = v.dims[d];
        wide.strides[d] = 0;
      }
    return wide;
  };
  const bool overlaps = may_overlap(c, a_in) || may_overlap(c, b_in);
  TensorView a = widen(a_in, hold[0], overlaps), b = widen(b_in, hold[1], overlaps);
  const bool direct = c.dtype == native && o.alpha == 1.0 && o.beta == 0.0 && !is_complex(native);
  hold[2].resize(direct ? 0 : static_cast<size_t>(c.numel()) * size_of(native));
  TensorView product = direct ? c : TensorView::contiguous(hold[2].data(), native, c.dims, c.rank);
  if (compute == Compute::F64) {
    product_f64(a, b, product);
  } else if (compute == Compute::I64) {
    product_i64(a, b, product);
  } else {
    const DType real = compute == Compute::C64 ? DType::Float : DType::Double;
    // re and im as strided views of the interleaved parts.
    auto part = [&](const TensorView& v, int which) {
      TensorView p = v;
      p.dtype = real;
      p.data = v.as<char>() + which * static_cast<int>(size_of(real));
      for (int d = 0; d < p.rank; ++d) p.strides[d] *= 2;
      return p;
    };
    std::vector<char> parts(static_cast<size_t>(c.numel()) * size_of(native));
    TensorView re = TensorView::contiguous(parts.data(), real, c.dims, c.rank);
    TensorView im = TensorView::contiguous(parts.data() + parts.size() / 2, real, c.dims, c.rank);
    matmul(part(a, 0), part(b, 0), re);
    matmul(part(a, 1), part(b, 1), re, {.alpha = -1.0, .beta = 1.0});
    matmul(part(a, 0), part(b, 1), im);
    matmul(part(a, 1), part(b, 0), im, {.alpha = 1.0, .beta = 1.0});
    copy_elements(part(product, 0), re);
    copy_elements(part(product, 1), im);
  }
  if (!direct) combine(c, product, o, add);
}

TensorView slice(const TensorView& v, int dim, int64_t begin, int64_t count) {
  TensorView part = v;
  part.data = v.as<char>() + begin * v.strides[dim] * static_cast<int64_t>(size_of(v.dtype));
  part.dims[dim] = count;
  return part;
}

/// A large fp16 product in panels of its longest dimension: what is converted to fp32 and back then stays in the cache,
/// instead of going through memory as whole matrices.
bool run_panels(TensorView a, TensorView b, const TensorView& c, const MatmulOptions& o) {
  constexpr int64_t kWorth = 8 << 20, kPanel = 1 << 20;  // elements converted altogether; of a panel
  if (c.rank != 2 || o.beta != 0.0 || may_overlap(a, c) || may_overlap(b, c)) return false;
  const int64_t m = c.dims[0], n = c.dims[1], k = a.dims[1];
  auto half = [](const TensorView& v) { return v.dtype == DType::Float16 ? v.numel() : 0; };
  const int64_t longest = std::max({m, n, k});
  if (half(a) + half(b) + half(c) < kWorth || longest < 4096) return false;
  const int64_t others = m + n + k - longest;
  const int64_t panel = std::clamp<int64_t>(kPanel / others / 64 * 64, 256, 8192);
  auto widen = [](const TensorView& v, int slot) {
    if (v.dtype == DType::Float) return v;
    return gather_to(onednn::scratch(slot, static_cast<size_t>(v.numel()) * 4), DType::Float, v);
  };
  MatmulOptions step = o;
  if (longest == k) {
    // Partial sums stay in fp32 and are rounded once.
    const TensorView sum = c.dtype == DType::Float
                               ? c
                               : TensorView::contiguous(onednn::scratch(kSum, static_cast<size_t>(c.numel()) * 4),
                                                        DType::Float, c.dims, 2);
    for (int64_t at = 0; at < k; at += panel) {
      const int64_t count = std::min(panel, k - at);
      matmul(slice(a, 1, at, count), slice(b, 0, at, count), sum, step);
      step.add = nullptr;
      step.beta = 1.0;
    }
    if (sum.data != c.data) copy_elements(c, sum);
    return true;
  }
  if (longest == n) {
    a = widen(a, kLeft);
    for (int64_t at = 0; at < n; at += panel) {
      const int64_t count = std::min(panel, n - at);
      matmul(a, slice(b, 1, at, count), slice(c, 1, at, count), step);
    }
  } else {
    b = widen(b, kRight);
    for (int64_t at = 0; at < m; at += panel) {
      const int64_t count = std::min(panel, m - at);
      matmul(slice(a, 0, at, count), b, slice(c, 0, at, count), step);
    }
  }
  return true;
}

}  // namespace

void matmul(const TensorView& a_in, const TensorView& b_in, const TensorView& c_in, const MatmulOptions& o) {
  if (c_in.empty()) return;
  TensorView c = c_in;
  const int r = c.rank;
  int64_t dims[kMaxDims];
  std::copy_n(c.dims, r, dims);
  dims[r - 2] = a_in.dims[a_in.rank - 2];
  dims[r - 1] = a_in.dims[a_in.rank - 1];
  TensorView a = a_in.expand(dims, r);
  dims[r - 2] = b_in.dims[b_in.rank - 2];
  dims[r - 1] = b_in.dims[b_in.rank - 1];
  TensorView b = b_in.expand(dims, r);
  const TensorView add = o.add ? o.add->expand_as(c) : c;
  if (a.dims[r - 1] == 0) {
    Params p;
    if (o.beta == 0.0) {
      fill_elements(c, p);
    } else {
      p.set(0, o.beta);
      run_elementwise(elementwise_kernel(Ew::affine, compute_of(c.dtype)), compute_of(c.dtype), {add}, {c}, p);
    }
    return;
  }
  if (compute_of(c.dtype) != Compute::F32) {
    run_own(a, b, c, o, add);
    return;
  }
  // One matrix on the right and rows that follow each other: a single product of two matrices.
  if (r > 2) {
    bool shared = true;
    for (int d = 0; d < r - 2; ++d) shared = shared && (b.strides[d] == 0 || b.dims[d] == 1);
    TensorView fa, fc, fadd;
    if (shared && fold_rows(a, r - 2, fa) && fold_rows(c, r - 2, fc) &&
        (o.beta == 0.0 || fold_rows(add, r - 2, fadd))) {
      TensorView fb = b;
      fb.rank = 2;
      for (int d = 0; d < 2; ++d) {
        fb.dims[d] = b.dims[r - 2 + d];
        fb.strides[d] = b.strides[r - 2 + d];
      }
      MatmulOptions folded = o;
      folded.add = o.beta == 0.0 ? nullptr : &fadd;
      matmul(fa, fb, fc, folded);
      return;
    }
  }
  if (run_vector(a, b, c, o, add) || run_panels(a, b, c, o)) return;
  const bool bf16 = a.dtype == DType::BFloat16 && b.dtype == DType::BFloat16 &&
                    (c.dtype == DType::BFloat16 || c.dtype == DType::Float) && native_bf16();
  // Operands in a type and layout that oneDNN takes: copies only where needed.
  const DType operand = bf16 ? DType::BFloat16 : DType::Float;
  auto prepare = [&](TensorView& v, int slot) {
    // Expanded batch dimensions are not copied: their stride 0 becomes a dimension of 1.
    for (int d = 0; d < r - 2; ++d)
      if (v.strides[d] == 0) v.dims[d] = 1;
    if (v.dtype == operand && matrix_layout_ok(v) && !may_overlap(v, c)) return;
    v = gather_to(onednn::scratch(slot, static_cast<size_t>(v.numel()) * size_of(operand)), operand, v);
  };
  prepare(a, kLeft);
  prepare(b, kRight);
  const bool direct =
      (c.dtype == DType::Float || (bf16 && c.dtype == DType::BFloat16)) && row_major(c) && matrix_layout_ok(c);
  TensorView to = direct ? c
                         : TensorView::contiguous(onednn::scratch(kWide, static_cast<size_t>(c.numel()) * 4),
                                                  DType::Float, c.dims, r);
  bool bias = o.beta == 1.0 && o.alpha == 1.0 && o.add && (add.strides[r - 1] == 1 || add.dims[r - 1] == 1) &&
              (add.dtype == DType::Float || (bf16 && add.dtype == DType::BFloat16)) && c.dims[r - 2] > 1;
  for (int d = 0; d < r - 1; ++d) bias = bias && (add.strides[d] == 0 || add.dims[d] == 1);
  if (o.beta != 0.0 && !bias && to.data != add.data) copy_elements(to, add);
  run_onednn(a, b, to, o.alpha, bias ? 0.0 : o.beta, bias ? &add : nullptr);
  if (!direct) copy_elements(c, to);
}

void matmul_reduced(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  if (c.empty()) return;
  const int64_t batches = a.dims[0];
  auto matrix = [](const TensorView& v, int64_t i) {
    TensorView m = v;
    m.rank = 2;
    m.data = v.as<char>() + i * v.strides[0] * static_cast<int64_t>(size_of(v.dtype));
    for (int d = 0; d < 2; ++d) {
      m.dims[d] = v.dims[d + 1];
      m.strides[d] = v.strides[d + 1];
    }
    return m;
  };
  if (batches == 0 || a.dims[2] == 0) {
    TensorView left = matrix(a, 0), right = matrix(b, 0);
    left.dims[1] = right.dims[0] = 0;
    matmul(left, right, c, o);
    return;
  }
  // The sum is kept in the compute type and rounded once.
  const DType native = storage_of(compute_of(c.dtype));
  std::vector<char> hold(static_cast<size_t>(c.numel()) * size_of(native));
  TensorView sum = TensorView::contiguous(hold.data(), native, c.dims, 2);
  const TensorView add = o.add ? o.add->expand_as(c) : c;
  for (int64_t i = 0; i < batches; ++i) {
    MatmulOptions step = o;
    if (i == 0) step.add = &add;
    else step.add = nullptr, step.beta = 1.0;
    matmul(matrix(a, i), matrix(b, i), sum, step);
  }
  copy_elements(c, sum);
}

}  // namespace updraft
