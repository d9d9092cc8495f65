// Padding by reflection and by replication.
#include "ops/resize/resample.h"

namespace updraft {
namespace {

enum class Edge { Reflect, Replicate };

// `padding` is left, right of the last dimension first.
void plan_pad(Op& op, int spatial, Edge edge, const TensorView& small, const TensorView& in, const TensorView& out,
              const std::vector<int64_t>& padding, bool backward) {
  op.require(padding.size() == static_cast<size_t>(2 * spatial), "padding has {} values, want {}", padding.size(),
             2 * spatial);
  op.require(small.rank == spatial + 1 || small.rank == spatial + 2, "self is {}, want {} or {} dimensions",
             describe(small), spatial + 1, spatial + 2);
  TensorView large = small;
  auto left_of = [&](int d) { return padding[static_cast<size_t>(2 * (spatial - 1 - d))]; };
  for (int d = 0; d < spatial; ++d) {
    const int64_t size = small.dims[small.rank - spatial + d];
    const int64_t left = left_of(d), right = padding[static_cast<size_t>(2 * (spatial - 1 - d) + 1)];
    int64_t padded = 0;
    op.require(!__builtin_add_overflow(size, left, &padded) && !__builtin_add_overflow(padded, right, &padded),
               "padding has {} and {}: no tensor is so large", left, right);
    op.require(padded >= 0, "padding ({}, {}) of size {} leaves less than nothing", left, right, size);
    if (edge == Edge::Reflect)
      op.require(left < size && right < size, "padding ({}, {}) is too large for size {}: want less", left, right,
                 size);
    op.require(size > 0 || padded == 0, "self is {}, want planes that are not empty", describe(small));
    large.dims[small.rank - spatial + d] = padded;
  }
  if (!backward) op.suggest_like(out, large, in.dtype);
  if (op.inferring()) return;                     // tables are as long as the sizes that a graph says
  const TensorView& given = backward ? in : out;  // before tables of any length are made
  op.require(given.same_shape(large), "{} is {}, want {}", backward ? "gradOutput" : "out", describe(given),
             describe(large));
  std::vector<TapTable> tables;
  for (int d = 0; d < spatial; ++d) {
    const int64_t size = small.dims[small.rank - spatial + d], padded = large.dims[small.rank - spatial + d];
    const int64_t left = left_of(d);
    TapTable t(size, padded);
    for (int64_t o = 0; o < padded; ++o) {
      int64_t at = o - left;
      if (edge == Edge::Replicate) at = std::clamp<int64_t>(at, 0, size - 1);
      else if (at < 0) at = -at;
      else if (at >= size) at = 2 * (size - 1) - at;
      t.index[static_cast<size_t>(o)] = at;
    }
    tables.push_back(std::move(t));
  }
  plan_resample(op, std::move(tables), in, out, backward);
}

}  // namespace

#define UPDRAFT_PAD(NAME, spatial, edge)                                                   \
  ACLNN(NAME, (In, self), (Ints, padding), (Out, out)) {                                   \
    plan_pad(op, spatial, edge, *self, *self, *out, *padding, false);                      \
  }                                                                                        \
  ACLNN(NAME##Backward, (In, gradOutput), (In, self), (Ints, padding), (Out, gradInput)) { \
    op.result_like("gradInput", *gradInput, *self, self->dtype);                           \
    plan_pad(op, spatial, edge, *gradInput, *gradOutput, *gradInput, *padding, true);      \
  }
UPDRAFT_PAD(aclnnReflectionPad1d, 1, Edge::Reflect)
UPDRAFT_PAD(aclnnReflectionPad2d, 2, Edge::Reflect)
UPDRAFT_PAD(aclnnReflectionPad3d, 3, Edge::Reflect)
UPDRAFT_PAD(aclnnReplicationPad1d, 1, Edge::Replicate)
UPDRAFT_PAD(aclnnReplicationPad2d, 2, Edge::Replicate)
UPDRAFT_PAD(aclnnReplicationPad3d, 3, Edge::Replicate)

ABOUT(aclnnReflectionPad1d, Vector, "Pads the last dimension by reflection at its edges", "对最后一维做反射填充")
ABOUT(aclnnReflectionPad1dBackward, Vector, "Gradient of aclnnReflectionPad1d", "aclnnReflectionPad1d 的反向梯度")
ABOUT(aclnnReflectionPad2d, Vector, "Pads the last two dimensions by reflection at their edges", "对最后两维做反射填充")
ABOUT(aclnnReflectionPad2dBackward, Vector, "Gradient of aclnnReflectionPad2d", "aclnnReflectionPad2d 的反向梯度")
ABOUT(aclnnReflectionPad3d, Vector, "Pads the last three dimensions by reflection at their edges",
      "对最后三维做反射填充")
ABOUT(aclnnReflectionPad3dBackward, Vector, "Gradient of aclnnReflectionPad3d", "aclnnReflectionPad3d 的反向梯度")
ABOUT(aclnnReplicationPad1d, Vector, "Pads the last dimension with its edge elements", "对最后一维做边缘复制填充")
ABOUT(aclnnReplicationPad1dBackward, Vector, "Gradient of aclnnReplicationPad1d", "aclnnReplicationPad1d 的反向梯度")
ABOUT(aclnnReplicationPad2d, Vector, "Pads the last two dimensions with their edge elements",
      "对最后两维做边缘复制填充")
ABOUT(aclnnReplicationPad2dBackward, Vector, "Gradient of aclnnReplicationPad2d", "aclnnReplicationPad2d 的反向梯度")
ABOUT(aclnnReplicationPad3d, Vector, "Pads the last three dimensions with their edge elements",
      "对最后三维做边缘复制填充")
ABOUT(aclnnReplicationPad3dBackward, Vector, "Gradient of aclnnReplicationPad3d", "aclnnReplicationPad3d 的反向梯度")

}  // namespace updraft
