#include "kernels/matmul/byte_product.h"

#include <algorithm>
#include <string_view>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/constant_operand.h"
#include "kernels/convolution/convolution.h"
#include "kernels/matmul/product_blocks.h"
#include "kernels/table.h"

namespace updraft {

#define LEVEL_TYPE bytes::Kernels
#define LEVEL_TABLE byte_product
#include "kernels/level_table.inc"

namespace bytes {

const Kernels& kernels() { return level_table(); }

namespace {

/// The product that a convolution is, of each group: rows are places of the result, what is summed is in the order of
/// the filter's places, channels last.
struct Problem {
  const uint8_t* x;
  uint8_t flip;  ///< makes INT8 UINT8 that are 128 more
  int32_t zero;  ///< of the UINT8
  int64_t in_channels, out_channels, groups;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], padding[3];
  int64_t m, n, k;     ///< rows of all batches, columns and depth of a group
  int64_t run;         ///< numbers that lie together, of those that are summed
  bool rows_together;  ///< a run is all places of the filter along the last dimension
};

Problem problem_of(const ConvolutionShape& s, const TensorView& x, int32_t zero, const TensorView& filter,
                   const TensorView& y) {
  Problem p{};
  p.x = x.as<const uint8_t>();
  p.flip = x.dtype == DType::Int8 ? 0x80 : 0;
  p.zero = zero + p.flip;
  p.in_channels = x.dims[x.rank - 1];
  p.out_channels = y.dims[y.rank - 1];
  p.groups = s.groups;
  for (int d = 0; d < 3; ++d) {  // missing dimensions are the first of three
    const int at = d - (3 - s.spatial);
    p.in[d] = at < 0 ? 1 : x.dims[1 + at];
    p.out[d] = at < 0 ? 1 : y.dims[1 + at];
    p.kernel[d] = at < 0 ? 1 : filter.dims[2 + at];
    p.stride[d] = at < 0 ? 1 : s.stride[at];
    p.dilation[d] = at < 0 ? 1 : s.dilation[at];
    p.padding[d] = at < 0 ? 0 : s.padding[at];
  }
  const int64_t channels = filter.dims[1];
  p.m = y.dims[0] * p.out[0] * p.out[1] * p.out[2];
  p.n = p.out_channels / p.groups;
  p.rows_together = p.groups == 1 && p.dilation[2] == 1;
  p.run = channels * (p.rows_together ? p.kernel[2] : 1);
  p.k = channels * p.kernel[0] * p.kernel[1] * p.kernel[2];
  return p;
}

/// The right side in panels, and of each whether its sums of two products are small; of each column the sum of its
/// weights, by which the zero of x is taken from the results, and what the panels that are not small take from it.
class Right {
 public:
  Right(const Problem& p, std::byte* data)
      : columns_(kernels().columns),
        wide_(round_up(p.n, columns_)),
        depth_(round_up(p.k, 4)),
        parts_((p.k + kDepth - 1) / kDepth) {
    const auto take = [&](int64_t bytes) {
      const int64_t from = bytes_;
      bytes_ += round_up(bytes, 64);
      return data ? data + from : nullptr;
    };
    constexpr auto kWord = static_cast<int64_t>(sizeof(int32_t));
    weights_ = reinterpret_cast<int8_t*>(take(p.groups * depth_ * wide_));
    small_ = reinterpret_cast<bool*>(take(p.groups * parts_ * (wide_ / columns_)));
    sums_ = reinterpret_cast<int32_t*>(take(p.groups * wide_ * kWord));
    taken_ = reinterpret_cast<int32_t*>(take(p.groups * wide_ * kWord));
  }

  int64_t bytes() const { return bytes_; }
  int64_t columns() const { return columns_; }
  int64_t wide() const { return wide_; }
  /// The panel of columns [j, j + columns) and the part of the depth that begins at `at` and is `depth` long.
  int8_t* panel(int64_t group, int64_t at, int64_t depth, int64_t j) const {
    return weights_ + (group * depth_ + at) * wide_ + j * round_up(depth, 4);
  }
  bool& small(int64_t group, int64_t at, int64_t j) const {
    return small_[(group * parts_ + at / kDepth) * (wide_ / columns_) + j / columns_];
  }
  int32_t* sums(int64_t group) const { return sums_ + group * wide_; }
  int32_t* taken(int64_t group) const { return taken_ + group * wide_; }

 private:
  int64_t columns_, wide_, depth_, parts_, bytes_ = 0;
  int8_t* weights_;
  bool* small_;
  int32_t *sums_, *taken_;
};

/// Products of two weights by UINT8 are added in sixteen bits.
bool is_small(int a, int b) {
  constexpr int kMost = 128;
  return std::max(a, 0) + std::max(b, 0) <= kMost && std::min(a, 0) + std::min(b, 0) >= -kMost;
}

/// Columns [j, j + columns) and depth [at, at + depth) of a group's right side, and what is kept of the columns.
void pack_panel(const Right& right, const Problem& p, const TensorView& filter, int64_t group, int64_t at,
                int64_t depth, int64_t j) {
  const int64_t columns = right.columns(), n = std::min(columns, p.n - j), channels = filter.dims[1];
  int8_t* const to = right.panel(group, at, depth, j);
  const auto* from = filter.as<const int8_t>() + (group * p.n + j) * filter.strides[0];
  for (int64_t i = 0; i < round_up(depth, 4); ++i) {
    int8_t* row = to + i / 4 * 4 * columns + i % 4;
    if (i >= depth) {
      for (int64_t c = 0; c < columns; ++c) row[4 * c] = 0;
      continue;
    }
    int64_t place = (at + i) / channels;
    const int8_t* column = from + (at + i) % channels * filter.strides[1];
    for (int d = 2, first = 5 - filter.rank; d >= first; --d) {
      column += place % p.kernel[d] * filter.strides[d - first + 2];
      place /= p.kernel[d];
    }
    for (int64_t c = 0; c < columns; ++c) row[4 * c] = c < n ? column[c * filter.strides[0]] : int8_t{0};
  }
  const int64_t size = round_up(depth, 4) * columns;
  bool small = true;
  for (int64_t i = 0; i < size; i += 2) small = small && is_small(to[i], to[i + 1]);
  right.small(group, at, j) = small;
  int32_t *const sums = right.sums(group) + j, *const taken = right.taken(group) + j;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t c = i / 4 % columns;
    sums[c] += to[i];
    if (!small) taken[c] += 128 * to[i] - std::min<int>(to[i], 0);
  }
}

void pack_right(const Right& right, const Problem& p, const TensorView& filter) {
  const int64_t columns = right.columns(), panels = right.wide() / columns;
  parallel_for(p.groups * panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      const int64_t group = x / panels, j = x % panels * columns;
      std::fill_n(right.sums(group) + j, columns, 0);
      std::fill_n(right.taken(group) + j, columns, 0);
      for (int64_t at = 0; at < p.k; at += kDepth)
        pack_panel(right, p, filter, group, at, std::min(kDepth, p.k - at), j);
    }
  });
}

/// A row of the left side: what place `row` of the result sums up, from `at` on.
void pack_row(uint8_t* to, const Problem& p, int64_t group, int64_t row, int64_t at, int64_t depth) {
  const int64_t channels = p.in_channels / p.groups;
  int64_t first[3], rest = row;
  for (int d = 2; d >= 0; --d) {
    first[d] = rest % p.out[d] * p.stride[d] - p.padding[d];
    rest /= p.out[d];
  }
  const uint8_t* batch = p.x + rest * p.in[0] * p.in[1] * p.in[2] * p.in_channels + group * channels;
  const auto outside = static_cast<uint8_t>(p.zero);
  for (int64_t done = 0; done < depth;) {
    const int64_t piece = (at + done) / p.run, begin = (at + done) % p.run, n = std::min(p.run - begin, depth - done);
    uint8_t* out = to + done;
    done += n;
    int64_t place = piece, w = 0;
    if (!p.rows_together) {
      w = place % p.kernel[2];
      place /= p.kernel[2];
    }
    const int64_t z = first[0] + place / p.kernel[1] * p.dilation[0],
                  y = first[1] + place % p.kernel[1] * p.dilation[1], x = first[2] + w * p.dilation[2];
    const bool inside = z >= 0 && z < p.in[0] && y >= 0 && y < p.in[1];
    // Numbers of the run that lie before and behind the input.
    const int64_t places = p.rows_together ? p.kernel[2] : 1;
    const int64_t low = inside ? std::clamp<int64_t>(-x, 0, places) * channels : p.run,
                  high = inside ? std::clamp<int64_t>(p.in[2] - x, 0, places) * channels : 0;
    const int64_t from = std::clamp(low, begin, begin + n), behind = std::clamp(high, from, begin + n);
    out = std::fill_n(out, from - begin, outside);
    if (behind > from) {
      const uint8_t* source = batch + ((z * p.in[1] + y) * p.in[2] + x) * p.in_channels + from;
      out = std::transform(source, source + (behind - from), out,
                           [flip = p.flip](uint8_t v) { return static_cast<uint8_t>(v ^ flip); });
    }
    std::fill_n(out, begin + n - behind, outside);
  }
  std::fill_n(to + depth, round_up(depth, 4) - depth, uint8_t{0});
}

/// Blocks of the result.
struct Blocks {
  int64_t rows, cols, row_blocks, col_blocks;

  Blocks(const Problem& p, int threads)
      : row_blocks((p.m + kRows - 1) / kRows), col_blocks((p.n + kCols - 1) / kCols), m_(p.m), n_(p.n) {
    constexpr int64_t kLeast = 1 << 21;  // multiplications in a block that are worth a thread's while
    const int64_t wanted = threads == 1 ? 1 : 4 * threads, columns = kernels().columns;
    size();
    while (p.groups * row_blocks * col_blocks < wanted && rows * cols * p.k > 2 * kLeast) {
      if (cols > 4 * columns) col_blocks *= 2;
      else if (rows > 4 * kUnit) row_blocks *= 2;
      else if (cols > columns) col_blocks *= 2;
      else break;
      size();
    }
  }

 private:
  static constexpr int64_t kUnit = 12;  // of rows; as many as are in a tile, or in some
  int64_t m_, n_;

  void size() {
    rows = round_up((m_ + row_blocks - 1) / row_blocks, kUnit);
    cols = round_up((n_ + col_blocks - 1) / col_blocks, kernels().columns);
    row_blocks = (m_ + rows - 1) / rows;
    col_blocks = (n_ + cols - 1) / cols;
  }
};

/// Sums of a block: `m` rows that are packed, columns [j, j + n) of a group.
void add_up(const Problem& p, const Right& right, const uint8_t* left, int64_t m, int64_t group, int64_t at,
            int64_t depth, int64_t j, int64_t n, int32_t* sums) {
  const int64_t columns = right.columns(), whole = round_up(depth, 4), behind = at + kDepth;
  for (int64_t c = 0; c < n; c += columns) {
    const int8_t* panel = right.panel(group, at, depth, j + c);
    const int8_t* next = c + columns < n ? panel + whole * columns
                         : behind < p.k  ? right.panel(group, behind, std::min(kDepth, p.k - behind), j)
                                         : panel;
    kernels().product(m, whole, left, panel, right.small(group, at, j + c), next, sums + c, at != 0);
  }
}

void multiply(const Problem& p, const Right& right, const Tail& tail, const TensorView& to) {
  const Kernels& t = kernels();
  const Blocks by(p, parallel_width());
  const int64_t pieces = by.row_blocks * by.col_blocks, wide = right.wide();
  const auto size = static_cast<int64_t>(size_of(to.dtype));
  ScratchScope shared;
  auto* less = shared.take<int32_t>(static_cast<size_t>(p.groups * wide));
  for (int64_t i = 0; i < p.groups * wide; ++i) less[i] = p.zero * right.sums(0)[i] - right.taken(0)[i];
  parallel_for(p.groups * pieces, 1, [&](int64_t begin, int64_t end) {
    ScratchScope scratch;
    auto* left = scratch.take<uint8_t>(static_cast<size_t>(by.rows * kRowLine));
    auto* sums = scratch.take<int32_t>(static_cast<size_t>(by.rows * kSumLine));
    for (int64_t x = begin; x < end; ++x) {
      const int64_t group = x / pieces, i = x % pieces / by.col_blocks * by.rows, j = x % by.col_blocks * by.cols;
      const int64_t rows = std::min(by.rows, p.m - i), cols = std::min(by.cols, p.n - j);
      for (int64_t at = 0; at < p.k; at += kDepth) {
        const int64_t depth = std::min(kDepth, p.k - at);
        for (int64_t r = 0; r < rows; ++r) pack_row(left + r * kRowLine, p, group, i + r, at, depth);
        add_up(p, right, left, rows, group, at, depth, j, cols, sums);
      }
      Tail own = tail;
      const int64_t channel = group * p.n + j;
      if (tail.each) own.scale += channel;
      if (tail.bias) own.bias += channel;
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t offset = (i + r) * p.out_channels + channel;
        if (tail.addend) own.addend = static_cast<const char*>(tail.addend) + offset;
        t.finish(sums + r * kSumLine, less + group * wide + j, cols, own, to.as<char>() + offset * size);
      }
    }
  });
}

}  // namespace

bool suits(const ConvolutionShape& s, const TensorView& filter) {
  constexpr int64_t kFew = 8;
  return !s.transposed && (s.groups == 1 || filter.dims[0] / s.groups >= kFew);
}

void convolution(const ConvolutionShape& s, const TensorView& x, int32_t x_zero, const TensorView& filter,
                 ConstantOperand* constant, const Tail& tail, const TensorView& y) {
  const Problem p = problem_of(s, x, x_zero, filter, y);
  const int64_t size = Right(p, nullptr).bytes();
  const auto prepare = [&](std::byte* to) { pack_right(Right(p, to), p, filter); };
  if (constant) {
    // A form that no primitive of oneDNN has.
    const dnnl::memory::desc desc({size}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::a);
    const ConstantOperand::Form form = constant->form(filter, desc, prepare);
    return multiply(p, Right(p, const_cast<std::byte*>(form.get())), tail, y);
  }
  ScratchScope scratch;
  auto* right = static_cast<std::byte*>(scratch.take(static_cast<size_t>(size)));
  prepare(right);
  multiply(p, Right(p, right), tail, y);
}

}  // namespace bytes
}  // namespace updraft
