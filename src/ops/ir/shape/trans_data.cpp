// A tensor in another memory format: in another order of its dimensions, or in the blocks in which the cube unit reads.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "kernels/pipeline.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

constexpr int64_t kCube = 16;
/// Elements of a block: as many as the cube unit takes at once.
int64_t block_of(DType type) { return size_of(type) == 1 ? 2 * kCube : kCube; }
int64_t blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

/// A format in which all elements lie in the order of some letters; the letters of one are those of another.
bool is_plain(std::string_view format) {
  return format == "NCHW" || format == "NHWC" || format == "HWCN" || format == "CHWN" || format == "NCDHW" ||
         format == "NDHWC" || format == "DHWCN";
}
bool same_letters(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](char c) { return b.find(c) != b.npos; });
}

/// The view with its dimensions, which are in the order of `own`, in the order of `want`.
TensorView arranged(const TensorView& v, std::string_view own, std::string_view want) {
  Dims order;
  for (char letter : want) order.push_back(static_cast<int64_t>(own.find(letter)));
  return permute(v, order);
}

/// How a format of blocks is made from one of letters: the letters' dimensions are split, and lie in a new order.
struct Blocked {
  const char* name;
  const char* letters;  ///< that it is made of; "" for ND, whose last two dimensions are split
  Dims shape(const Dims& of, int64_t c0) const;
};
constexpr Blocked kBlocked[] = {
    {"NC1HWC0", "NCHW"}, {"NDC1HWC0", "NCDHW"}, {"FRACTAL_Z", "NCHW"}, {"FRACTAL_Z_3D", "NCDHW"}, {"FRACTAL_NZ", ""}};
const Blocked* blocked_of(std::string_view format) {
  const auto* found = std::ranges::find_if(kBlocked, [&](const Blocked& b) { return format == b.name; });
  return found == std::end(kBlocked) ? nullptr : found;
}

Dims Blocked::shape(const Dims& d, int64_t c0) const {
  const std::string_view n = name;
  if (n == "NC1HWC0") return {d[0], blocks(d[1], c0), d[2], d[3], c0};
  if (n == "NDC1HWC0") return {d[0], d[2], blocks(d[1], c0), d[3], d[4], c0};
  if (n == "FRACTAL_Z") return {blocks(d[1], c0) * d[2] * d[3], blocks(d[0], kCube), kCube, c0};
  if (n == "FRACTAL_Z_3D") return {d[2] * blocks(d[1], c0) * d[3] * d[4], blocks(d[0], kCube), kCube, c0};
  Dims to(d.begin(), d.end() - 2);
  to.insert(to.end(), {blocks(d[d.size() - 1], c0), blocks(d[d.size() - 2], kCube), kCube, c0});
  return to;
}

/// A dimension of the plain tensor in the memory of the blocked one.
struct Along {
  int64_t block, outer, inner;  ///< elements of a block (0: not split); strides from block to block and within one
};

/// Where the elements of the plain tensor (its letters, or ND) lie in a dense tensor of blocks.
std::vector<Along> places(const Blocked& format, const Dims& d, int64_t c0) {
  const std::string_view n = format.name;
  const auto whole = [](int64_t stride) { return Along{0, 0, stride}; };
  if (n == "NC1HWC0") {
    const int64_t w = c0, h = w * d[3], c1 = h * d[2], batch = c1 * blocks(d[1], c0);
    return {whole(batch), {c0, c1, 1}, whole(h), whole(w)};
  }
  if (n == "NDC1HWC0") {
    const int64_t w = c0, h = w * d[4], c1 = h * d[3], depth = c1 * blocks(d[1], c0), batch = depth * d[2];
    return {whole(batch), {c0, c1, 1}, whole(depth), whole(h), whole(w)};
  }
  if (n == "FRACTAL_Z" || n == "FRACTAL_Z_3D") {
    const int64_t n0 = c0, n1 = n0 * kCube, w = n1 * blocks(d[0], kCube), h = w * d.back(), c1 = h * d[d.size() - 2];
    std::vector<Along> all = {{kCube, n1, n0}, {c0, c1, 1}};
    if (d.size() == 5) all.push_back(whole(c1 * blocks(d[1], c0)));
    all.insert(all.end(), {whole(h), whole(w)});
    return all;
  }
  const size_t rank = d.size();
  const int64_t m0 = c0, m1 = m0 * kCube, n1 = m1 * blocks(d[rank - 2], kCube);
  int64_t stride = n1 * blocks(d[rank - 1], c0);
  std::vector<Along> all(rank);
  all[rank - 1] = {c0, n1, 1};
  all[rank - 2] = {kCube, m1, m0};
  for (size_t k = rank - 2; k-- > 0; stride *= d[k]) all[k] = whole(stride);
  return all;
}

/// f(part of the plain tensor, the same elements in the tensor of blocks), for each part in which all blocks are full.
template <class F>
void each_part(const TensorView& plain, const TensorView& blocked, const std::vector<Along>& along, int d, F&& f) {
  while (d < plain.rank && along[static_cast<size_t>(d)].block == 0) ++d;
  if (d == plain.rank) {
    TensorView from = plain, to = blocked;
    to.rank = from.rank;
    for (int k = 0; k < from.rank; ++k) {
      to.dims[k] = from.dims[k];
      const Along& a = along[static_cast<size_t>(k)];
      to.strides[k] = a.block ? a.outer : a.inner;
    }
    return f(from, to);
  }
  const Along& a = along[static_cast<size_t>(d)];
  // One place of the blocks after the other: what is left is a dimension of blocks with one stride.
  for (int64_t i = 0; i < std::min(a.block, plain.dims[d]); ++i) {
    TensorView to = blocked;
    to.data = at_element(blocked, i * a.inner);
    each_part(ir::part_of(plain, d, i, (plain.dims[d] - i + a.block - 1) / a.block, a.block), to, along, d + 1, f);
  }
}

}  // namespace

ABOUT(TransData, Vector, "The tensor in another memory format, NC1HWC0, FRACTAL_Z, FRACTAL_NZ and their like included",
      "张量转换为另一内存格式，含 NC1HWC0、FRACTAL_Z、FRACTAL_NZ 等")
IR_OP(TransData, TransData, (In, src), (Out, dst), (Text, src_format), (Text, dst_format), (Int, src_subformat, 0),
      (Int, dst_subformat, 0), (Int, groups, 1)) {
  const std::string_view from = src_format, to = dst_format;
  ir::want(op, "src_subformat", src_subformat, int64_t{0});
  ir::want(op, "dst_subformat", dst_subformat, int64_t{0});
  ir::want(op, "groups", groups, int64_t{1});
  if (is_plain(from) && same_letters(from, to)) {
    op.require(src->rank == static_cast<int>(from.size()), "src is {}, want {} dimensions for {}", describe(*src),
               from.size(), from);
    return ir::copy(op, "dst", arranged(*src, from, to), dst, src->dtype);
  }
  if (from == to || (from == "ND" && is_plain(to)) || (to == "ND" && is_plain(from)))
    return ir::copy(op, "dst", *src, dst, src->dtype);
  const bool into = blocked_of(to) != nullptr;
  const Blocked* format = into ? blocked_of(to) : blocked_of(from);
  const std::string_view other = into ? from : to, letters = format ? format->letters : "";
  op.require(
      format && (letters.empty() ? other == "ND" || is_plain(other) : same_letters(other, letters)),
      "{} to {} is no conversion that is known: want orders of the same letters (NCHW, NHWC, HWCN; NCDHW, NDHWC, "
      "DHWCN), or such an order and its blocks (NC1HWC0, FRACTAL_Z; NDC1HWC0, FRACTAL_Z_3D; FRACTAL_NZ of ND)",
      from, to);
  const int64_t c0 = block_of(src->dtype);
  if (into) {
    const int least = letters.empty() ? 2 : static_cast<int>(letters.size());
    op.require(letters.empty() ? src->rank >= least : src->rank == least, "src is {}, want {}{} dimensions for {}",
               describe(*src), least, letters.empty() ? " or more" : "", from);
    const TensorView plain = letters.empty() ? *src : arranged(*src, from, letters);
    const Dims dims = ir::dims_of(plain);
    ir::result(op, "dst", *dst, format->shape(dims, c0), src->dtype);
    op.require(dst->dtype == src->dtype, "dst is {}, want {}", describe(*dst), name_of(src->dtype));
    op.work(dst->numel());
    op.launch([=, blocks = *dst] {
      fill_zero(blocks);  // places behind the last elements
      each_part(plain, blocks, places(*format, dims, c0), 0,
                [](const TensorView& a, const TensorView& b) { copy_elements(b, a); });
    });
    return;
  }
  // Only the client knows how many elements the last blocks have.
  op.require(!op.inferring() || dst->dtype != DType::Undefined,
             "the shape of dst is not given, want it: {} says the blocks alone", from);
  const TensorView plain = letters.empty() ? *dst : arranged(*dst, to, letters);
  const Dims dims = ir::dims_of(plain), wanted = format->shape(dims, c0);
  op.require_shape("src", *src, wanted.data(), static_cast<int>(wanted.size()));
  op.require(dst->dtype == src->dtype, "dst is {}, want {}", describe(*dst), name_of(src->dtype));
  op.work(dst->numel());
  op.launch([=, from = *src] {
    each_part(plain, from, places(*format, dims, c0), 0,
              [](const TensorView& a, const TensorView& b) { copy_elements(a, b); });
  });
}

}  // namespace updraft
