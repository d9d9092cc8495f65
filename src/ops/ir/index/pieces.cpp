// Signs as bits, ranges that are filled, parts of channels that are added, batches of sequences that are normalised,
// and random places of a mask.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {
using ir::Dims;
}

ABOUT(SignBitsPack, Vector, "A bit for each number that is not negative, eight a byte, the first lowest",
      "非负数记 1 位，每字节八位，低位在前")
IR_OP(SignBitsPack, SignBitsPack, (In, x), (Out, y), (Int, size)) {
  op.require(x->rank == 1 && is_floating(x->dtype), "x is {}, want a vector of floating point", describe(*x));
  const int64_t bytes = (x->numel() + 7) / 8;
  op.require(size > 0 && bytes % size == 0, "attribute size is {}, want a divisor of {} bytes", size, bytes);
  op.result("y", *y, {size, bytes / size}, DType::UInt8);
  op.launch([from = *x, to = *y] {
    const std::vector<double> v = linalg::gather(from);
    std::vector<double> packed(static_cast<size_t>(to.numel()));
    for (size_t i = 0; i < v.size(); ++i)
      if (v[i] >= 0) packed[i / 8] += static_cast<double>(1 << i % 8);
    linalg::scatter(to, packed);
  });
}
ABOUT(SignBitsUnpack, Vector, "1 for each bit of x that is set, -1 for each that is not", "x 的每一位：1 为 1，0 为 -1")
IR_OP(SignBitsUnpack, SignBitsUnpack, (In, x), (Out, y), (Int, size), (Int, dtype)) {
  op.require(x->rank == 1 && x->dtype == DType::UInt8, "x is {}, want a vector of UINT8", describe(*x));
  const int64_t bits = x->numel() * 8;
  op.require(size > 0 && bits % size == 0, "attribute size is {}, want a divisor of {} bits", size, bits);
  op.require(dtype == 0 || dtype == 1, "attribute dtype is {}, want 0 (FLOAT) or 1 (FLOAT16)", dtype);
  op.result("y", *y, {size, bits / size}, static_cast<DType>(dtype));
  op.work(bits);
  op.launch([from = *x, to = *y] {
    std::vector<uint8_t> v(static_cast<size_t>(from.numel()));
    if (!v.empty()) gather_to(v.data(), DType::UInt8, from);
    std::vector<double> signs(v.size() * 8);
    for (size_t i = 0; i < signs.size(); ++i) signs[i] = v[i / 8] >> i % 8 & 1 ? 1 : -1;
    linalg::scatter(to, signs);
  });
}

ABOUT(StrideAdd, Vector, "y = c1_len groups of 16 channels of x1 and of x2, added; 0 where there are none",
      "x1 与 x2 各取 c1_len 组（每组 16 通道）相加，缺处为 0")
IR_OP(StrideAdd, StrideAdd, (In, x1), (In, x2), (Out, y), (Int, x1_c1_offset), (Int, x2_c1_offset), (Int, c1_len)) {
  op.require(x1->rank >= 2 && x1->rank == x2->rank,
             "x1 is {} and x2 is {}, want the same number of dimensions, 2 or more", describe(*x1), describe(*x2));
  op.require(x1_c1_offset >= 0 && x2_c1_offset >= 0 && c1_len > 0, "x1_c1_offset is {}, x2_c1_offset {} and c1_len {}",
             x1_c1_offset, x2_c1_offset, c1_len);
  Dims dims = ir::dims_of(*x1);
  dims[1] = c1_len * 16;
  for (int d = 0; d < x1->rank; ++d)
    op.require(d == 1 || x1->dims[d] == x2->dims[d], "x1 is {} and x2 is {}: they differ in more than channels",
               describe(*x1), describe(*x2));
  ir::result(op, "y", *y, dims, x1->dtype);
  call(op, "aclnnInplaceZero", y);
  for (const auto& [x, offset] : {std::pair{&*x1, x1_c1_offset * 16}, std::pair{&*x2, x2_c1_offset * 16}}) {
    const int64_t n = std::min(dims[1], x->dims[1] - offset);
    if (n <= 0) continue;
    const TensorView to = ir::part_of(*y, 1, 0, n);
    call(op, "aclnnInplaceAdd", to, ir::part_of(*x, 1, offset, n), 1);
  }
}

ABOUT(MaskedFillRange, Vector, "y = x with value[i] from start[i] to end[i] along axis",
      "y = x，沿 axis 将 start[i] 到 end[i] 填为 value[i]")
IR_OP(MaskedFillRange, MaskedFillRange, (In, x), (In, start), (In, end), (In, value), (Out, y), (Int, axis)) {
  op.require(x->rank >= 1 && x->rank <= 3, "x is {}, want 1 to 3 dimensions", describe(*x));
  const int64_t along = ir::axis_of(op, "axis", axis, x->rank);
  op.require(start->rank == 2, "start is {}, want [ranges, N]", describe(*start));
  op.require_same_shape("end", *end, "start", *start);
  op.require_shape("value", *value, start->dims, 1);
  // Columns of start are rows of x where the last of several dimensions is filled, else all rows are filled alike.
  const bool by_row = x->rank > 1 && along == x->rank - 1;
  op.require(!by_row || start->dims[1] == x->dims[0], "start is {}, want a column for each of {} rows of x",
             describe(*start), x->dims[0]);
  op.result_like("y", *y, *x, x->dtype);
  op.work(x->numel() * 2);
  op.launch([=, from = *x, begins = *start, ends = *end, fill = *value, to = *y] {
    copy_elements(to, from);
    const std::vector<double> b = linalg::gather(begins), e = linalg::gather(ends);
    const int64_t columns = begins.dims[1], length = to.dims[along];
    for (int64_t i = 0; i < begins.dims[0]; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<size_t>(i * columns + j);
        const int64_t first = std::clamp<int64_t>(static_cast<int64_t>(b[at]), 0, length);
        const int64_t n = std::clamp<int64_t>(static_cast<int64_t>(e[at]), first, length) - first;
        if (n == 0) continue;
        TensorView part = ir::part_of(to, static_cast<int>(along), first, n);
        if (by_row) part = ir::part_of(part, 0, j, 1);
        TensorView one = ir::part_of(fill, 0, i, 1);
        one.rank = 0;
        copy_elements(part, one.expand_as(part));
      }
  });
}

ABOUT(NormalizeBatch, Vector, "Sequences less their mean by their deviation, over seq_len steps of each",
      "按各序列有效长度 seq_len 归一化")
IR_OP(NormalizeBatch, NormalizeBatch, (In, input_x), (In, seq_len), (Out, output_y), (Text, normalize_type),
      (Float, epsilon, 0.00001f)) {
  op.require(input_x->rank == 3, "input_x is {}, want [batch, features, steps]", describe(*input_x));
  op.require_shape("seq_len", *seq_len, input_x->dims, 1);
  const bool each = !std::strcmp(normalize_type, "per_feature");
  op.require(each || !std::strcmp(normalize_type, "all_features"),
             "attribute normalize_type is \"{}\", want \"per_feature\" or \"all_features\"", normalize_type);
  op.result_like("output_y", *output_y, *input_x, input_x->dtype);
  op.work(input_x->numel() * 8);
  op.launch([=, from = *input_x, lengths = *seq_len, to = *output_y, more = static_cast<double>(epsilon)] {
    std::vector<double> x = linalg::gather(from);
    const std::vector<double> length = linalg::gather(lengths);
    const int64_t features = from.dims[1], steps = from.dims[2];
    for (int64_t b = 0; b < from.dims[0]; ++b) {
      const int64_t n = std::clamp<int64_t>(static_cast<int64_t>(length[static_cast<size_t>(b)]), 0, steps);
      const int64_t rows = each ? 1 : features;
      for (int64_t f = 0; f < features; f += rows) {
        double* at = x.data() + (b * features + f) * steps;
        double sum = 0, squares = 0;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t t = 0; t < n; ++t) sum += at[r * steps + t];
        const auto count = static_cast<double>(rows * n);
        const double mean = sum / count;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t t = 0; t < n; ++t) squares += (at[r * steps + t] - mean) * (at[r * steps + t] - mean);
        const double deviation = std::sqrt(squares / (count - 1)) + more;
        for (int64_t i = 0; i < rows * steps; ++i) at[i] = (at[i] - mean) / deviation;
      }
    }
    linalg::scatter(to, x);
  });
}

ABOUT(RandomChoiceWithMask, AICPU, "Coordinates of count true elements of x, drawn without replacement, in order",
      "从 x 的真元素中不放回地抽取 count 个坐标，按序输出")
IR_OP(RandomChoiceWithMask, RandomChoiceWithMask, (In, x), (Out, y), (Out, mask), (Int, count, 0), (Int, seed, 0),
      (Int, seed2, 0)) {
  op.require(x->rank >= 1 && x->rank <= 5 && x->dtype == DType::Bool, "x is {}, want BOOL of 1 to 5 dimensions",
             describe(*x));
  op.require(count > 0, "attribute count is {}, want above 0", count);
  op.result("y", *y, {count, x->rank}, DType::Int32);
  op.result("mask", *mask, {count}, DType::Bool);
  op.work(x->numel() * 4);
  op.launch([=, from = *x, to = *y, found = *mask] {
    std::vector<uint8_t> v(static_cast<size_t>(from.numel()));
    if (!v.empty()) gather_to(v.data(), DType::Bool, from);
    std::vector<int64_t> all, some;
    for (size_t i = 0; i < v.size(); ++i)
      if (v[i]) all.push_back(static_cast<int64_t>(i));
    std::seed_seq seeds{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed2),
                        static_cast<uint32_t>(seed2 >> 32)};
    std::mt19937_64 random(seed || seed2 ? std::mt19937_64(seeds) : std::mt19937_64(std::random_device()()));
    std::ranges::sample(all, std::back_inserter(some), count, random);
    std::vector<double> places(static_cast<size_t>(to.numel())), taken(static_cast<size_t>(count));
    for (size_t i = 0; i < some.size(); ++i) {
      int64_t rest = some[i];
      for (int d = from.rank; d-- > 0; rest /= from.dims[d])
        places[i * static_cast<size_t>(from.rank) + static_cast<size_t>(d)] = static_cast<double>(rest % from.dims[d]);
      taken[i] = 1;
    }
    linalg::scatter(to, places);
    linalg::scatter(found, taken);
  });
}

}  // namespace updraft
