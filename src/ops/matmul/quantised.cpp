#include "ops/matmul/quantised.h"

#include <algorithm>
#include <bit>

#include "base/half.h"
#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"

namespace updraft::quantised {
namespace {

/// Whether the INT4 of an INT32 follow each other along the rows' direction: a transposed view of packed words.
bool packed_down(const TensorView& v) { return v.strides[v.rank - 1] != 1 && v.strides[v.rank - 2] == 1; }

float four_bits(int32_t word, int64_t i) {
  return static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(word) << (28 - i % 8 * 4)) >> 28);
}

}  // namespace

void matrix_dims(const TensorView& v, int64_t* rows, int64_t* columns) {
  *rows = v.dims[v.rank - 2];
  *columns = v.dims[v.rank - 1];
  if (v.dtype == DType::Int32) *(packed_down(v) ? rows : columns) *= 8;
}

Matrix matrix_of(const TensorView& v) {
  Matrix m;
  matrix_dims(v, &m.rows, &m.columns);
  if (v.dtype != DType::Int32) {
    m.numbers = floats_of(v);
    return m;
  }
  const std::vector<int32_t> words = gathered<int32_t>(v);
  m.numbers.resize(words.size() * 8);
  const bool down = packed_down(v);
  const int64_t width = v.dims[v.rank - 1];
  parallel_for(m.rows, 64, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t c = 0; c < m.columns; ++c) {
        const int64_t word = down ? r / 8 * width + c : r * width + c / 8;
        m.numbers[static_cast<size_t>(r * m.columns + c)] = four_bits(words[static_cast<size_t>(word)], down ? r : c);
      }
  });
  return m;
}

bool is_scale(DType t) {
  return t == DType::Float || t == DType::BFloat16 || t == DType::Float16 || t == DType::Int64 || t == DType::UInt64;
}

std::vector<float> scales_of(const TensorView& v) {
  if (compute_of(v.dtype) == Compute::F32) return floats_of(v);
  const std::vector<int64_t> words = integers_of(v);
  std::vector<float> scales(words.size());
  for (size_t i = 0; i < words.size(); ++i) scales[i] = std::bit_cast<float>(static_cast<uint32_t>(words[i]));
  return scales;
}

std::vector<float> offsets_of(const TensorView& v) {
  if (compute_of(v.dtype) == Compute::F32) return {};
  const std::vector<int64_t> words = integers_of(v);
  std::vector<float> offsets(words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    const auto nine = static_cast<int32_t>(static_cast<uint64_t>(words[i]) >> 37 & 0x1FFu);
    offsets[i] = static_cast<float>(nine >= 256 ? nine - 512 : nine);
  }
  return offsets;
}

float rounded_to(float x, DType t) {
  return t == DType::Float16 ? static_cast<float>(Half(x)) : t == DType::BFloat16 ? static_cast<float>(BFloat16(x)) : x;
}

Matrix real_weights(const TensorView& w, const TensorView& scale, const TensorView& offset, int64_t group) {
  Matrix m = matrix_of(w);
  const std::vector<float> s = floats_of(scale), o = given(offset) ? floats_of(offset) : std::vector<float>{0.0f};
  parallel_for(m.rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, m.columns)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* row = m.numbers.data() + r * m.columns;
      const int64_t first = group ? r / group * m.columns : 0;
      auto of = [&](const std::vector<float>& values, int64_t c) {
        return values[values.size() == 1 ? 0 : static_cast<size_t>(first + c)];
      };
      for (int64_t c = 0; c < m.columns; ++c)
        row[c] = rounded_to(rounded_to(row[c] + of(o, c), scale.dtype) * of(s, c), scale.dtype);
    }
  });
  return m;
}

std::vector<double> product(const Matrix& a, const Matrix& b) {
  const int64_t m = a.rows, k = a.columns, n = b.columns;
  constexpr int64_t kPiece = 1024;  // 1024 * 128 * 128 = 2^24
  std::vector<double> sum(static_cast<size_t>(m * n), 0.0);
  std::vector<float> piece(sum.size());
  for (int64_t begin = 0; begin < k; begin += kPiece) {
    const int64_t count = std::min(kPiece, k - begin);
    TensorView x = TensorView::contiguous(const_cast<float*>(a.numbers.data()) + begin, DType::Float,
                                          std::initializer_list<int64_t>{m, count}.begin(), 2);
    x.strides[0] = k;
    const TensorView y = TensorView::contiguous(const_cast<float*>(b.numbers.data()) + begin * n, DType::Float,
                                                std::initializer_list<int64_t>{count, n}.begin(), 2);
    const TensorView z =
        TensorView::contiguous(piece.data(), DType::Float, std::initializer_list<int64_t>{m, n}.begin(), 2);
    matmul(x, y, z);
    parallel_for(m * n, 16384, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i)
        sum[static_cast<size_t>(i)] += static_cast<double>(piece[static_cast<size_t>(i)]);
    });
  }
  return sum;
}

std::vector<double> scaled_product(const Matrix& a, const Matrix& b, const std::vector<float>& scale, int64_t groups) {
  const int64_t m = a.rows, k = a.columns, n = b.columns, size = k / groups;
  auto add = [&](std::vector<double>& sum, const std::vector<double>& piece, int64_t g) {
    for (size_t i = 0; i < piece.size(); ++i)
      sum[i] += piece[i] * static_cast<double>(scale[static_cast<size_t>(g * n) + i % static_cast<size_t>(n)]);
  };
  std::vector<double> sum(static_cast<size_t>(m * n), 0.0);
  if (groups == 1) {
    add(sum, product(a, b), 0);
    return sum;
  }
  for (int64_t g = 0; g < groups; ++g) {
    Matrix part{m, size, {}}, other{size, n, {}};
    part.numbers.reserve(static_cast<size_t>(m * size));
    for (int64_t r = 0; r < m; ++r)
      part.numbers.insert(part.numbers.end(), a.numbers.begin() + r * k + g * size,
                          a.numbers.begin() + r * k + (g + 1) * size);
    other.numbers.assign(b.numbers.begin() + g * size * n, b.numbers.begin() + (g + 1) * size * n);
    add(sum, product(part, other), g);
  }
  return sum;
}

}  // namespace updraft::quantised
