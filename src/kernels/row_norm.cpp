#include "kernels/row_norm.h"

#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "kernels/table.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

constexpr int64_t kGrain = 1 << 13;

// Rows of a tensor whose last dimensions hold `cols` elements: in place when they are of the computed type and
// contiguous, through a buffer otherwise. A tensor without such a layout is walked in segments.
struct RowAccess {
  TensorView v;
  Compute compute;
  int64_t cols, size;
  bool present, rows_contiguous, regular;
  int64_t row_stride = 0;
  bool native;

  RowAccess(const TensorView& view, int64_t columns, Compute c) : v(view), compute(c), cols(columns) {
    present = view.data != nullptr;
    if (!present) return;
    size = static_cast<int64_t>(size_of(v.dtype));
    native = v.dtype == storage_of(c);
    int64_t expected = 1;
    int d = v.rank - 1;
    rows_contiguous = true;
    for (; d >= 0 && expected < cols; --d) {
      if (v.dims[d] != 1 && v.strides[d] != expected) rows_contiguous = false;
      expected *= v.dims[d];
    }
    // The rows themselves a constant step apart?
    int64_t step = 0;
    regular = rows_contiguous;
    for (int64_t n = 1; d >= 0; --d) {
      if (v.dims[d] == 1) continue;
      if (n == 1) step = v.strides[d];
      else if (v.strides[d] != step * n) regular = false;
      n *= v.dims[d];
    }
    row_stride = step;
  }
  char* at(int64_t row) const { return v.as<char>() + (regular ? row * row_stride : v.offset_of(row * cols)) * size; }
  bool direct() const { return native && rows_contiguous; }
  const void* read(int64_t row, void* buffer) const {
    if (!present) return nullptr;
    if (direct()) return at(row);
    const LoadFn load = kernels().load[static_cast<int>(v.dtype)][static_cast<int>(compute)];
    if (rows_contiguous) {
      load(buffer, at(row), 1, cols);
    } else {
      const TensorView* views[] = {&v};
      const StridedLoop<1> walk(views);
      walk.rows(row * cols, (row + 1) * cols, [&](const int64_t(&offset)[1], int64_t linear, int64_t n) {
        load(static_cast<char*>(buffer) + (linear - row * cols) * static_cast<int64_t>(size_of(compute)),
             v.as<char>() + offset[0] * size, walk.strides[0][walk.rank - 1], n);
      });
    }
    return buffer;
  }
  void* target(int64_t row, void* buffer) const { return !present ? nullptr : direct() ? at(row) : buffer; }
  void write(int64_t row, const void* from) const {
    if (!present || (direct() && from == at(row))) return;
    const StoreFn store = kernels().store[static_cast<int>(compute)][static_cast<int>(v.dtype)];
    if (rows_contiguous) {
      store(at(row), 1, from, cols);
      return;
    }
    const TensorView* views[] = {&v};
    const StridedLoop<1> walk(views);
    walk.rows(row * cols, (row + 1) * cols, [&](const int64_t(&offset)[1], int64_t linear, int64_t n) {
      store(v.as<char>() + offset[0] * size, walk.strides[0][walk.rank - 1],
            static_cast<const char*>(from) + (linear - row * cols) * static_cast<int64_t>(size_of(compute)), n);
    });
  }
};

// A parameter vector in the computed type.
const void* parameters(const TensorView& v, Compute compute, double offset, std::vector<double>& buffer) {
  if (!v.data || v.empty()) return nullptr;
  if (v.dtype == storage_of(compute) && v.is_contiguous() && offset == 0) return v.data;
  buffer.resize(static_cast<size_t>(v.numel()));
  gather_to(buffer.data(), storage_of(compute), v);
  if (offset != 0) {
    for (int64_t i = 0; i < v.numel(); ++i) {
      if (compute == Compute::F64) buffer[static_cast<size_t>(i)] += offset;
      else reinterpret_cast<float*>(buffer.data())[i] += static_cast<float>(offset);
    }
  }
  return buffer.data();
}

template <class T>
void add(T* to, const T* a, double alpha, const T* b, const T* c, int64_t n) {
  const T s = static_cast<T>(alpha);
  if (b && c) {
    for (int64_t i = 0; i < n; ++i) to[i] = s * a[i] + b[i] + c[i];
  } else if (b) {
    for (int64_t i = 0; i < n; ++i) to[i] = s * a[i] + b[i];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = s * a[i];
  }
}

void add(Compute compute, void* to, const void* a, double alpha, const void* b, const void* c, int64_t n) {
  if (compute == Compute::F64)
    add(static_cast<double*>(to), static_cast<const double*>(a), alpha, static_cast<const double*>(b),
        static_cast<const double*>(c), n);
  else
    add(static_cast<float*>(to), static_cast<const float*>(a), alpha, static_cast<const float*>(b),
        static_cast<const float*>(c), n);
}

// One value a row, read or written by row number.
struct RowValues {
  TensorView v;
  bool contiguous;
  int64_t size;
  LoadFn load = nullptr;
  StoreFn store = nullptr;

  explicit RowValues(const TensorView& view) : v(view), contiguous(view.is_contiguous()), size(0) {
    if (!v.data) return;
    size = static_cast<int64_t>(size_of(v.dtype));
    load = kernels().load[static_cast<int>(v.dtype)][static_cast<int>(Compute::F64)];
    store = kernels().store[static_cast<int>(Compute::F64)][static_cast<int>(v.dtype)];
  }
  char* at(int64_t row) const { return v.as<char>() + (contiguous ? row : v.offset_of(row)) * size; }
  double get(int64_t row) const {
    double value;
    load(&value, at(row), 1, 1);
    return value;
  }
  void set(int64_t row, double value) const {
    if (v.data) store(at(row), 1, &value, 1);
  }
};

// From the moments of a row. Those are about its mean, which an infinity leaves without a meaning; its square has one.
double mean_square(Compute compute, const void* v, int64_t n, const double (&state)[3]) {
  const double count = static_cast<double>(n), square = state[2] / count + state[1] * state[1];
  if (std::isfinite(square)) [[likely]]
    return square;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = compute == Compute::F64 ? static_cast<const double*>(v)[i] : static_cast<const float*>(v)[i];
    sum += x * x;
  }
  return sum / count;
}

}  // namespace

void row_norm(const RowNorm& p) {
  if (p.rows == 0) return;
  const RowValues means(p.mean), rstds(p.rstd);
  if (p.cols == 0) {
    for (int64_t r = 0; r < p.rows; ++r) {
      means.set(r, 0);
      rstds.set(r, 1 / std::sqrt(p.eps));
    }
    return;
  }
  const KernelTable& table = kernels();
  const Compute compute = real_compute(p.x.dtype);
  const int c = static_cast<int>(compute);
  const int64_t n = p.cols;
  const size_t bytes = (static_cast<size_t>(n) * size_of(compute) + 63) / 64 * 64;
  const RowAccess x(p.x, n, compute), x2(p.x2, n, compute), y(p.y, n, compute), sum(p.sum, n, compute),
      wide(p.y_wide, n, compute);
  std::vector<double> gamma_buffer, beta_buffer, bias_buffer;
  const void* gamma = parameters(p.gamma, compute, p.gamma_offset, gamma_buffer);
  const void* beta = parameters(p.beta, compute, 0, beta_buffer);
  const void* bias = parameters(p.bias, compute, 0, bias_buffer);
  const bool added = x2.present || bias != nullptr || p.alpha != 1;
  parallel_for(p.rows, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    ScratchScope scratch;
    char* space = scratch.take<char>(4 * bytes);
    for (int64_t r = begin; r < end; ++r) {
      const void* v = x.read(r, space);
      if (added) {
        const void* second = x2.read(r, space + bytes);
        add(compute, space + 2 * bytes, v, p.alpha, second ? second : bias, second ? bias : nullptr, n);
        v = space + 2 * bytes;
        if (sum.present) {
          sum.write(r, v);
          // What the caller keeps is what is normalised.
          if (!sum.native) v = sum.read(r, space + 2 * bytes);
        }
      }
      double state[3] = {0, 0, 0}, mean = 0, rstd;
      table.norm_stats(c, v, n, state);
      if (p.rms) {
        rstd = 1 / std::sqrt(mean_square(compute, v, n, state) + p.eps);
      } else {
        mean = state[1];
        rstd = 1 / std::sqrt(state[2] / static_cast<double>(n) + p.eps);
      }
      void* to = y.target(r, space + 3 * bytes);
      table.norm_row(c, v, n, mean, rstd, gamma, beta, to);
      y.write(r, to);
      if (wide.present) wide.write(r, y.native ? to : y.read(r, space + 3 * bytes));
      means.set(r, mean);
      rstds.set(r, rstd);
    }
  });
}

void row_norm_backward(const RowNormBackward& p) {
  const KernelTable& table = kernels();
  const Compute compute = real_compute(p.x.dtype);
  const int c = static_cast<int>(compute);
  const int64_t n = p.cols, width = static_cast<int64_t>(size_of(compute));
  const size_t bytes = (static_cast<size_t>(n) * size_of(compute) + 63) / 64 * 64;
  const RowAccess dy(p.dy, n, compute), x(p.x, n, compute), x2(p.x2, n, compute), dx(p.dx, n, compute),
      extra(p.extra, n, compute), scaled(p.dx_scaled, n, compute);
  const RowValues means(p.mean), rstds(p.rstd);
  std::vector<double> gamma_buffer;
  const void* gamma = parameters(p.gamma, compute, 0, gamma_buffer);
  const bool sums = p.dgamma.data || p.dbeta.data;
  // Parameter gradients: chunks of rows, added up in order.
  const int64_t chunk = std::max<int64_t>(16, (p.rows + 31) / 32), chunks = (p.rows + chunk - 1) / chunk;
  const size_t line = bytes / sizeof(double);
  std::vector<double> partial(sums ? static_cast<size_t>(chunks) * 2 * line : 0);
  parallel_for(chunks, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n * chunk)), [&](int64_t begin, int64_t end) {
    ScratchScope scratch;
    char* space = scratch.take<char>(5 * bytes);
    for (int64_t k = begin; k < end; ++k) {
      double* dgamma = p.dgamma.data ? partial.data() + static_cast<size_t>(2 * k) * line : nullptr;
      double* dbeta = p.dbeta.data ? partial.data() + static_cast<size_t>(2 * k + 1) * line : nullptr;
      for (int64_t r = k * chunk; r < std::min(p.rows, (k + 1) * chunk); ++r) {
        const void* v = x.read(r, space);
        const void* g = dy.read(r, space + bytes);
        if (x2.present || p.alpha != 1) {
          add(compute, space + 2 * bytes, v, p.alpha, x2.read(r, space + 3 * bytes), nullptr, n);
          v = space + 2 * bytes;
        }
        void* to = dx.present ? (extra.present ? space + 3 * bytes : dx.target(r, space + 3 * bytes)) : nullptr;
        const double mean = p.rms ? 0 : means.get(r), rstd = rstds.get(r);
        table.norm_row_backward(c, p.rms, g, v, n, mean, rstd, gamma, to, dgamma, dbeta);
        if (!to) continue;
        if (extra.present) add(compute, to, to, 1, extra.read(r, space + 4 * bytes), nullptr, n);
        dx.write(r, to);
        if (scaled.present) {
          add(compute, space + 4 * bytes, to, p.alpha, nullptr, nullptr, n);
          scaled.write(r, space + 4 * bytes);
        }
      }
    }
  });
  for (int which = 0; which < 2; ++which) {
    const TensorView& to = which ? p.dbeta : p.dgamma;
    if (!to.data || to.empty()) continue;
    std::vector<double> total(static_cast<size_t>(n), 0.0);
    parallel_for(n, 512, [&](int64_t begin, int64_t end) {
      for (int64_t k = 0; k < chunks; ++k)
        table.reduce_cols(
            0, c,
            reinterpret_cast<const char*>(partial.data() + static_cast<size_t>(2 * k + which) * line) + begin * width,
            0, 1, end - begin, total.data() + begin);
    });
    TensorView flat = TensorView::contiguous(total.data(), DType::Double, to.dims, to.rank);
    copy_elements(to, flat);
  }
}

}  // namespace updraft
