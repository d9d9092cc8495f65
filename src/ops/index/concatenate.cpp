// Tensors side by side, and the reverse.
#include <vector>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "ops/index/indices.h"

namespace updraft {
namespace {

struct Piece {
  TensorView to, from;
};

// Many small pieces go to the threads whole, large ones one after the other.
void move_pieces(const std::vector<Piece>& pieces) {
  int64_t largest = 0;
  for (const Piece& p : pieces) largest = std::max(largest, p.to.numel());
  if (largest <= 65536) {
    parallel_for(static_cast<int64_t>(pieces.size()), std::max<int64_t>(1, 16384 / std::max<int64_t>(largest, 1)),
                 [&](int64_t b, int64_t e) {
                   for (; b < e; ++b)
                     copy_elements(pieces[static_cast<size_t>(b)].to, pieces[static_cast<size_t>(b)].from);
                 });
  } else {
    for (const Piece& p : pieces) copy_elements(p.to, p.from);
  }
}

/// Inference: what the tensors are together along dim, or as slices of a new dimension.
void suggest_joined(const Op& op, const Tensors& tensors, int64_t dim, bool stacked, const TensorView& out) {
  if (!op.inferring()) return;
  DType type = DType::Undefined;
  const TensorView* like = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    op.require(tensors.item(i) != nullptr, "tensors[{}] is null", i);
    const TensorView& t = tensors[i];
    type = type == DType::Undefined ? t.dtype : promote(type, t.dtype);
    if (!like || (!stacked && like->rank == 1 && like->dims[0] == 0)) like = &t;
  }
  op.require(like != nullptr, "tensors is empty: want at least one");
  TensorView joined = *like;
  if (stacked) append_dim(joined, 1, 0);
  const int d = joined.wrap_dim(dim);
  if (stacked) {
    std::copy_n(like->dims + d, like->rank - d, joined.dims + d + 1);
    joined.dims[d] = static_cast<int64_t>(tensors.size());
  } else if (joined.rank > 0) {
    joined.dims[d] = 0;
    for (size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].rank == joined.rank) joined.dims[d] += tensors[i].dims[d];
  }
  op.suggest_like(out, joined, type);
}

void launch_pieces(Op& op, std::vector<Piece> pieces) {
  if (pieces.empty()) return;
  if (pieces.size() == 1) {
    op.launch([p = pieces[0]] { copy_elements(p.to, p.from); });
  } else {
    op.launch([pieces = std::move(pieces)] { move_pieces(pieces); });
  }
}

}  // namespace

SAMPLE(aclnnCat, "tensors=f32[N,M];f32[N,M] dim=0 out=f32[2N,M]")
ABOUT(aclnnCat, Vector, "out = the tensors side by side along dim", "将多个张量沿 dim 拼接")
ACLNN(aclnnCat, (Tensors, tensors), (Int, dim), (Out, out)) {
  suggest_joined(op, tensors, dim, false, *out);
  op.require(out->rank > 0, "out is {}: tensors without dimensions cannot be joined along one, stack them instead",
             describe(*out));
  const int d = out->wrap_dim(dim);
  std::vector<Piece> pieces;
  int64_t at = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    op.require(tensors.item(i) != nullptr, "tensors[{}] is null", i);
    const TensorView& t = tensors[i];
    if (t.rank == 1 && t.dims[0] == 0) continue;  // PyTorch's legacy: empty vectors match every shape
    bool fits = t.rank == out->rank && at + t.dims[d] <= out->dims[d];
    for (int k = 0; fits && k < t.rank; ++k) fits = k == d || t.dims[k] == out->dims[k];
    op.require(fits, "tensors[{}] is {} at {} of dimension {}: it does not fit into out, {}", i, describe(t), at, d,
               describe(*out));
    if (!t.empty()) pieces.push_back({narrow(*out, d, at, t.dims[d]), t});
    at += t.dims[d];
  }
  op.require(at == out->dims[d], "the tensors have {} elements along dimension {}, out is {}", at, d, describe(*out));
  op.work(out->numel());
  launch_pieces(op, std::move(pieces));
}

SAMPLE(aclnnStack, "tensors=f32[N,M];f32[N,M] dim=0 out=f32[2,N,M]")
ABOUT(aclnnStack, Vector, "out = the tensors side by side along a new dimension dim", "将多个同形张量沿新维度 dim 堆叠")
ACLNN(aclnnStack, (Tensors, tensors), (Int, dim), (Out, out)) {
  suggest_joined(op, tensors, dim, true, *out);
  const int d = out->wrap_dim(dim);
  op.require(out->rank > 0 && out->dims[d] == static_cast<int64_t>(tensors.size()),
             "out is {}, want {} elements along dimension {}", describe(*out), tensors.size(), d);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < tensors.size(); ++i) {
    op.require(tensors.item(i) != nullptr, "tensors[{}] is null", i);
    const TensorView to = drop_dim(narrow(*out, d, static_cast<int64_t>(i), 1), d);
    op.require_same_shape("a tensor", tensors[i], "its part of out", to);
    if (!to.empty()) pieces.push_back({to, tensors[i]});
  }
  op.work(out->numel());
  launch_pieces(op, std::move(pieces));
}

SAMPLE(aclnnSplitWithSize, "self=f32[N,2M] splitSize=M,M out=f32[N,M];f32[N,M]")
ABOUT(aclnnSplitWithSize, Vector, "Cuts self along dim into out[i] of splitSize[i] each",
      "将 self 沿 dim 按 splitSize 切分到 out 列表")
ACLNN(aclnnSplitWithSize, (In, self), (Ints, splitSize), (Int, dim), (OutTensors, out)) {
  const int d = self->wrap_dim(dim);
  op.require(self->rank > 0, "self is {}, want a dimension to split", describe(*self));
  op.require(out.size() == splitSize.size(), "out has {} tensors, splitSize {}", out.size(), splitSize.size());
  std::vector<Piece> pieces;
  int64_t at = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    op.require(splitSize[i] >= 0 && at + splitSize[i] <= self->dims[d],
               "split sizes {} … exceed {} elements of dimension {}", at + splitSize[i], self->dims[d], d);
    op.require(out.item(i) != nullptr, "out[{}] is null", i);
    const TensorView from = narrow(*self, d, at, splitSize[i]);
    op.result_like("out", out[i], from, self->dtype);
    if (!from.empty()) pieces.push_back({out[i], from});
    at += splitSize[i];
  }
  op.require(at == self->dims[d], "split sizes add up to {}, dimension {} has {}", at, d, self->dims[d]);
  launch_pieces(op, std::move(pieces));
}

SAMPLE(aclnnSplitTensor, "self=f32[N,M] splitSections=M dim=1 out=f32[N,M]")
ABOUT(aclnnSplitTensor, Vector, "Cuts self along dim into out[i] of splitSections each, the last one may be shorter",
      "将 self 沿 dim 按每段 splitSections 切分到 out 列表，末段可较短")
ACLNN(aclnnSplitTensor, (In, self), (UInt, splitSections), (Int, dim), (OutTensors, out)) {
  const int d = self->wrap_dim(dim);
  op.require(self->rank > 0, "self is {}, want a dimension to split", describe(*self));
  const int64_t size = self->dims[d];
  op.require(splitSections > 0 || size == 0, "splitSections is 0, dimension {} has {}", d, size);
  const auto step = static_cast<int64_t>(std::min<uint64_t>(splitSections, static_cast<uint64_t>(size)));
  const int64_t parts = size == 0 ? 1 : (size + step - 1) / step;
  op.require(static_cast<int64_t>(out.size()) == parts, "out has {} tensors, want {} of {} for the {} of dimension {}",
             out.size(), parts, step, size, d);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < out.size(); ++i) {
    op.require(out.item(i) != nullptr, "out[{}] is null", i);
    const int64_t at = static_cast<int64_t>(i) * step;
    const TensorView from = narrow(*self, d, at, std::min(step, size - at));
    op.result_like("out", out[i], from, self->dtype);
    if (!from.empty()) pieces.push_back({out[i], from});
  }
  launch_pieces(op, std::move(pieces));
}

// Each tensor is padded to num_chunks equal chunks of dimension `dim`; chunk c of all of them are joined, flat.
ABOUT(aclnnChunkCat, Vector, "Cuts each tensor into numChunks padded chunks along dim and joins equal chunks",
      "将各张量沿 dim 补零切成 numChunks 块，再按块序号拼接")
ACLNN(aclnnChunkCat, (Tensors, tensors), (Int, dim), (Int, numChunks), (Out, out)) {
  op.require(numChunks >= 1, "numChunks is {}, want at least 1", numChunks);
  if (op.inferring() && tensors.size() > 0) {
    const TensorView& first = tensors[0];
    op.require(dim >= 0 && dim < first.rank && first.rank < kMaxDims, "dim is {}, tensors[0] is {}", dim,
               describe(first));
    int64_t dims[kMaxDims], columns = 0;
    std::copy_n(first.dims, dim, dims);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorView& t = tensors[i];
      int64_t tail = 1;
      for (int k = static_cast<int>(dim) + 1; k < t.rank; ++k) tail *= t.dims[k];
      if (dim < t.rank) columns += (t.dims[dim] + numChunks - 1) / numChunks * tail;
    }
    dims[dim] = numChunks;
    dims[dim + 1] = columns;
    op.suggest(*out, dims, static_cast<int>(dim) + 2, first.dtype);
  }
  op.require(dim >= 0 && out->rank == dim + 2 && out->dims[dim] == numChunks,
             "out is {}, want {} dimensions with {} chunks in dimension {}", describe(*out), dim + 2, numChunks, dim);
  const int d = static_cast<int>(dim);
  std::vector<Piece> pieces;
  std::vector<TensorView> gaps;
  int64_t column = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& t = tensors[i];
    op.require(t.rank > d, "tensors[{}] is {}, want more than {} dimensions", i, describe(t), d);
    int64_t tail = 1;
    for (int k = d + 1; k < t.rank; ++k) tail *= t.dims[k];
    const int64_t chunk = (t.dims[d] + numChunks - 1) / numChunks;
    for (int64_t c = 0; c < numChunks; ++c) {
      const int64_t begin = std::min(t.dims[d], c * chunk), count = std::min(t.dims[d] - begin, chunk);
      TensorView slot = narrow(drop_dim(narrow(*out, d, c, 1), d), d, column, chunk * tail);
      if (count < chunk) gaps.push_back(narrow(slot, d, count * tail, (chunk - count) * tail));
      if (count == 0 || tail == 0) continue;
      TensorView to = narrow(slot, d, 0, count * tail), shaped;
      shaped.data = to.data;
      shaped.dtype = to.dtype;
      for (int k = 0; k < d; ++k) append_dim(shaped, to.dims[k], to.strides[k]);
      int64_t stride = to.strides[d] * count * tail;
      for (int k = d; k < t.rank; ++k) {
        const int64_t size = k == d ? count : t.dims[k];
        stride /= size;
        append_dim(shaped, size, stride);
      }
      const TensorView from = narrow(t, d, begin, count);
      op.require_same_shape("a chunk", from, "its part of out", shaped);
      pieces.push_back({shaped, from});
    }
    column += chunk * tail;
  }
  op.require(column == out->dims[d + 1], "the tensors have {} columns, out is {}", column, describe(*out));
  op.work(out->numel());
  op.launch([pieces = std::move(pieces), gaps = std::move(gaps)] {
    for (const TensorView& gap : gaps) {
      if (gap.empty()) continue;
      const uint64_t zero[2] = {};
      copy_elements(gap, TensorView::contiguous(const_cast<uint64_t*>(zero), gap.dtype, nullptr, 0).expand_as(gap));
    }
    move_pieces(pieces);
  });
}

}  // namespace updraft
