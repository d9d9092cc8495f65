#include "kernels/matmul.h"

#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/onednn.h"
#include "kernels/pipeline.h"

namespace updraft {
namespace {

using dnnl::memory;

// The unit stride must be in one of the two matrix dimensions and the other at least as long.
bool matrix_layout_ok(const TensorView& v) {
  int64_t rows = v.dims[v.rank - 2], cols = v.dims[v.rank - 1];
  int64_t rs = v.strides[v.rank - 2], cs = v.strides[v.rank - 1];
  bool row_major = (cs == 1 || cols == 1) && (rs >= cols || rows == 1);
  bool col_major = (rs == 1 || rows == 1) && (cs >= rows || cols == 1);
  if (!row_major && !col_major) return false;
  for (int d = 0; d < v.rank - 2; ++d)
    if (v.dims[d] > 1 && v.strides[d] <= 0) return false;
  return true;
}

memory::desc desc_of(const TensorView& v) {
  memory::dims dims(v.dims, v.dims + v.rank), strides(v.strides, v.strides + v.rank);
  // A dimension of one element may carry any stride: give oneDNN a consistent one.
  const int r = v.rank;
  if (dims[r - 1] == 1 && dims[r - 2] != 1 && strides[r - 2] == 1) strides[r - 1] = std::max<int64_t>(strides[r - 1], dims[r - 2]);
  else if (dims[r - 1] == 1) strides[r - 1] = 1;
  if (dims[r - 2] == 1) strides[r - 2] = std::max<int64_t>(strides[r - 2], dims[r - 1] * (strides[r - 1] == 1 ? 1 : strides[r - 1]));
  for (int d = 0; d < r - 2; ++d)
    if (dims[d] == 1) strides[d] = 1 * std::max<int64_t>(1, dims[r - 1] * dims[r - 2]);
  return {dims, onednn::type_of(v.dtype), strides};
}

// Other element types: a plain product in the compute type, rows in parallel.
template <class T>
void reference(const TensorView& a, const TensorView& b, const TensorView& c, double alpha, double beta) {
  const int r = c.rank;
  const int64_t m = c.dims[r - 2], n = c.dims[r - 1], k = a.dims[a.rank - 1];
  int64_t batches = c.numel() / std::max<int64_t>(1, m * n);
  parallel_for(batches * m, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, n * k)), [&](int64_t begin, int64_t end) {
    std::vector<T> row(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i / m, ao = i % m * a.strides[r - 2], bo = 0, co = i % m * c.strides[r - 2];
      for (int d = r - 3; d >= 0; --d) {
        int64_t x = rest % c.dims[d];
        rest /= c.dims[d];
        ao += x * a.strides[d];
        bo += x * b.strides[d];
        co += x * c.strides[d];
      }
      std::fill(row.begin(), row.end(), T(0));
      for (int64_t p = 0; p < k; ++p) {
        T x = a.as<T>()[ao + p * a.strides[r - 1]];
        const T* from = b.as<T>() + bo + p * b.strides[r - 2];
        for (int64_t j = 0; j < n; ++j) row[static_cast<size_t>(j)] += x * from[j * b.strides[r - 1]];
      }
      T* to = c.as<T>() + co;
      for (int64_t j = 0; j < n; ++j) {
        T& out = to[j * c.strides[r - 1]];
        T value = alpha == 1 ? row[static_cast<size_t>(j)] : static_cast<T>(alpha) * row[static_cast<size_t>(j)];
        out = beta == 0 ? value : value + static_cast<T>(beta) * out;
      }
    }
  });
}

struct Product {
  dnnl::matmul primitive;
  memory::desc scratch;
};

// All three share a rank >= 2 and c's batch dimensions; types are oneDNN's.
void run_onednn(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& o) {
  memory::desc da = desc_of(a), db = desc_of(b), dc = desc_of(c);
  onednn::Key key;
  for (const TensorView* v : {&a, &b, &c}) {
    key.add(v->dtype, v->rank);
    for (int d = 0; d < v->rank; ++d) key.add(v->dims[d], v->strides[d]);
  }
  int64_t bits[2];
  std::memcpy(&bits[0], &o.alpha, 8);
  std::memcpy(&bits[1], &o.beta, 8);
  key.add(bits[0], bits[1]);
  static auto* cache = new onednn::Cache<Product>;
  auto product = cache->get(key, [&] {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops post;
    if (o.alpha != 1) post.append_eltwise(dnnl::algorithm::eltwise_linear, static_cast<float>(o.alpha), 0.0f);
    if (o.beta != 0) post.append_sum(static_cast<float>(o.beta));
    attr.set_post_ops(post);
    dnnl::matmul::primitive_desc pd(onednn::engine(), da, db, dc, attr);
    return Product{dnnl::matmul(pd), pd.scratchpad_desc()};
  });
  memory ma(da, onednn::engine(), a.data), mb(db, onednn::engine(), b.data), mc(dc, onednn::engine(), c.data);
  memory ms(product->scratch, onednn::engine(), onednn::scratch(0, product->scratch.get_size()));
  const_cast<dnnl::matmul&>(product->primitive)
      .execute(onednn::stream(), {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mc}, {DNNL_ARG_SCRATCHPAD, ms}});
}

bool native_bf16() {
  static const bool yes = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16;
  return yes;
}

}  // namespace

void matmul(const TensorView& a_in, const TensorView& b_in, const TensorView& c_in, const MatmulOptions& o) {
  if (c_in.empty()) return;
  TensorView c = c_in;
  const int r = c.rank;
  // Broadcast the batch dimensions of a and b to c's.
  int64_t dims[kMaxDims];
  std::copy_n(c.dims, r, dims);
  dims[r - 2] = a_in.dims[a_in.rank - 2];
  dims[r - 1] = a_in.dims[a_in.rank - 1];
  TensorView a = a_in.expand(dims, r);
  dims[r - 2] = b_in.dims[b_in.rank - 2];
  dims[r - 1] = b_in.dims[b_in.rank - 1];
  TensorView b = b_in.expand(dims, r);
  const int64_t k = a.dims[r - 1];
  if (k == 0) {
    Params p;
    if (o.beta == 0) {
      fill_elements(c, p);
    } else {
      p.set(0, o.beta);
      run_elementwise(elementwise_kernel(Ew::affine, compute_of(c.dtype)), compute_of(c.dtype), {c}, {c}, p);
    }
    return;
  }
  const Compute compute = compute_of(c.dtype);
  const bool bf16 = a.dtype == DType::BFloat16 && b.dtype == DType::BFloat16 &&
                    (c.dtype == DType::BFloat16 || c.dtype == DType::Float) && native_bf16();
  if (compute == Compute::F32) {
    // Operands in a type and layout that oneDNN takes: copies only where needed.
    const DType operand = bf16 ? DType::BFloat16 : DType::Float;
    auto prepare = [&](TensorView& v, int slot) {
      // Expanded batch dimensions are not copied: their stride 0 becomes a dimension of 1.
      for (int d = 0; d < r - 2; ++d)
        if (v.strides[d] == 0) v.dims[d] = 1;
      if (v.dtype == operand && matrix_layout_ok(v)) return;
      v = gather_to(onednn::scratch(slot, static_cast<size_t>(v.numel()) * size_of(operand)), operand, v);
    };
    prepare(a, 1);
    prepare(b, 2);
    const bool direct = (c.dtype == DType::Float || (bf16 && c.dtype == DType::BFloat16)) && c.strides[r - 1] == 1 && matrix_layout_ok(c);
    if (direct) {
      run_onednn(a, b, c, o);
      return;
    }
    TensorView wide = TensorView::contiguous(onednn::scratch(3, static_cast<size_t>(c.numel()) * 4), DType::Float, c.dims, r);
    if (o.beta != 0) copy_elements(wide, c);
    run_onednn(a, b, wide, o);
    copy_elements(c, wide);
    return;
  }
  // Double, integers and complex: the plain product in the compute type.
  std::vector<char> hold[3];
  const DType native = storage_of(compute);
  auto widen = [&](const TensorView& v, std::vector<char>& buffer) {
    if (v.dtype == native) return v;
    buffer.resize(static_cast<size_t>(v.numel()) * size_of(native));
    return gather_to(buffer.data(), native, v);
  };
  TensorView wa = widen(a, hold[0]), wb = widen(b, hold[1]), wc = widen(c, hold[2]);
  switch (compute) {
    case Compute::F64: reference<double>(wa, wb, wc, o.alpha, o.beta); break;
    case Compute::I64: reference<int64_t>(wa, wb, wc, o.alpha, o.beta); break;
    case Compute::C64: reference<complex64>(wa, wb, wc, o.alpha, o.beta); break;
    default: reference<complex128>(wa, wb, wc, o.alpha, o.beta); break;
  }
  if (wc.data != c.data) copy_elements(c, wc);
}

}  // namespace updraft
