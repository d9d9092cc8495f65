// Sums, means and maxima of rows of a weight matrix, a bag of row numbers for each result.
#include <vector>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/index/indices.h"

namespace updraft {
namespace {

enum Mode : int64_t { kSum, kMean, kMax };

struct Bags {
  TensorView weight, samples, out;
  const int64_t* index;
  std::vector<int64_t> begin, size, maximum;  // begin has one more than there are bags
  Mode mode;
  int64_t padding;
};

// Halves are summed in float and rounded once.
template <class T>
void reduce(Bags& bags, int64_t from, int64_t to) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const TensorView& w = bags.weight;
  const int64_t width = w.dims[1], step = w.strides[1];
  std::vector<A> sum(static_cast<size_t>(width));
  for (int64_t b = from; b < to; ++b) {
    std::fill(sum.begin(), sum.end(), A(0));
    int64_t& size = bags.size[static_cast<size_t>(b)];
    int64_t* best = bags.mode == kMax ? bags.maximum.data() + b * width : nullptr;
    for (int64_t i = bags.begin[static_cast<size_t>(b)]; i < bags.begin[static_cast<size_t>(b) + 1]; ++i) {
      const int64_t id = checked_index(bags.index[i], w.dims[0], 0, false);
      if (id == bags.padding) continue;
      const T* row = w.as<const T>() + id * w.strides[0];
      const bool first = size++ == 0;
      if (best) {
        for (int64_t k = 0; k < width; ++k) {
          const A x = static_cast<A>(row[k * step]);
          if (!first && !(x > sum[static_cast<size_t>(k)])) continue;
          sum[static_cast<size_t>(k)] = x;
          best[k] = id;
        }
      } else if (bags.samples.data) {
        const A scale = static_cast<A>(bags.samples.as<const T>()[i * bags.samples.strides[0]]);
        for (int64_t k = 0; k < width; ++k) sum[static_cast<size_t>(k)] += scale * static_cast<A>(row[k * step]);
      } else {
        for (int64_t k = 0; k < width; ++k) sum[static_cast<size_t>(k)] += static_cast<A>(row[k * step]);
      }
    }
    const A divisor = bags.mode == kMean && size ? static_cast<A>(size) : A(1);
    T* out = bags.out.as<T>() + b * bags.out.strides[0];
    for (int64_t k = 0; k < width; ++k) out[k * bags.out.strides[1]] = T(sum[static_cast<size_t>(k)] / divisor);
  }
}

void write(const TensorView& to, const std::vector<int64_t>& values) {
  if (!to.empty())
    copy_elements(to, TensorView::contiguous(const_cast<int64_t*>(values.data()), DType::Int64, to.dims, to.rank));
}

}  // namespace

// offset2bag, bagSize and maxIndices are what the backward reads: the bag of each index, the indices of each bag that
// are not padding, and for maxima the row that each element came from. The client leaves offset2bag empty where the
// backward can do without.
ABOUT(aclnnEmbeddingBag, Vector, "Sum, mean or maximum of rows of weight for each bag of indices",
      "对每个索引包聚合 weight 的行：求和、平均或最大值")
ACLNN(aclnnEmbeddingBag, (In, weight), (In, indices), (In, offsets), (Bool, scaleGradByFreq), (Int, mode),
      (Bool, sparse), (OptIn, perSampleWeights), (Bool, includeLastOffset), (Int, paddingIdx), (Out, output),
      (Out, offset2bag), (Out, bagSize), (Out, maxIndices)) {
  (void)scaleGradByFreq;  // both are the backward's business
  (void)sparse;
  require_index(op, "indices", *indices);
  require_index(op, "offsets", *offsets);
  op.require(weight->rank == 2 && is_floating(weight->dtype), "weight is {}, want a matrix of a floating type",
             describe(*weight));
  op.require(indices->rank == 1, "indices is {}, want one dimension", describe(*indices));
  op.require(offsets->rank == 1, "offsets is {}, want one dimension", describe(*offsets));
  op.require(mode >= kSum && mode <= kMax, "mode is {}, want 0 (sum), 1 (mean) or 2 (max)", mode);
  op.require(!includeLastOffset || offsets->dims[0] > 0, "offsets is {}, want the last offset in it",
             describe(*offsets));
  const int64_t count = offsets->dims[0] - includeLastOffset, n = indices->dims[0], width = weight->dims[1];
  const int64_t dims[] = {count, width};
  op.result("output", *output, dims, 2, weight->dtype);
  op.suggest(*offset2bag, {n}, indices->dtype);
  op.suggest(*bagSize, {count}, offsets->dtype);
  op.suggest(*maxIndices, dims, mode == kMax ? 2 : 1, offsets->dtype);
  op.require(output->dtype == weight->dtype, "output is {}, want the type of weight, {}", describe(*output),
             describe(*weight));
  op.require(offset2bag->empty() || offset2bag->numel() == n, "offset2bag is {}, want {} elements",
             describe(*offset2bag), n);
  op.require(bagSize->empty() || bagSize->numel() == count || bagSize->numel() == offsets->dims[0],
             "bagSize is {}, want {} elements", describe(*bagSize), count);
  op.require(mode != kMax || maxIndices->numel() == count * width, "maxIndices is {}, want {} elements",
             describe(*maxIndices), count * width);
  if (perSampleWeights) {
    op.require(mode == kSum, "perSampleWeights is {}, but mode is {}, want 0 (sum)", describe(*perSampleWeights), mode);
    op.require(
        perSampleWeights->rank == 1 && perSampleWeights->dims[0] == n && perSampleWeights->dtype == weight->dtype,
        "perSampleWeights is {}, want the type of weight and an element for each of the indices {}",
        describe(*perSampleWeights), describe(*indices));
  }
  op.work(n * (width + 1) + output->numel());
  op.kernel_scratch(index_bytes(*indices) + index_bytes(*offsets));
  op.launch([=, weight = *weight, indices = *indices, offsets = *offsets, output = *output, offset2bag = *offset2bag,
             bag_size = *bagSize, max_indices = *maxIndices,
             samples = perSampleWeights ? *perSampleWeights : TensorView()] {
    Bags bags;
    bags.weight = weight;
    bags.samples = samples;
    bags.out = output;
    bags.mode = static_cast<Mode>(mode);
    bags.padding = paddingIdx;
    ScratchScope scratch;
    bags.index = read_indices(indices, scratch);
    const int64_t* offset = read_indices(offsets, scratch);
    bags.begin.assign(offset, offset + count);
    bags.begin.push_back(includeLastOffset ? offset[count] : n);
    for (int64_t b = 0; b <= count; ++b) {
      const int64_t at = bags.begin[static_cast<size_t>(b)], before = b ? bags.begin[static_cast<size_t>(b) - 1] : 0;
      if (at < before || at > n || (b == 0 && at != 0 && count))
        fail_kernel(
            fmt::format("offset {} is {}: offsets begin at 0, do not fall and end within the {} indices", b, at, n));
    }
    // Room for the longer vector that some clients pass with includeLastOffset.
    bags.size.assign(static_cast<size_t>(count) + 1, 0);
    if (mode == kMax) bags.maximum.assign(static_cast<size_t>(count * width), 0);
    (void)visit_type(weight.dtype, [&]<class T>() {  // floating, as the plan has checked
      if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        const int64_t mean = std::max<int64_t>(1, n / std::max<int64_t>(count, 1)) * (width + 1);
        parallel_for(count, std::max<int64_t>(1, 16384 / mean),
                     [&](int64_t from, int64_t to) { reduce<T>(bags, from, to); });
      }
    });
    write(bag_size, bags.size);
    if (mode == kMax) write(max_indices, bags.maximum);
    else if (!max_indices.empty()) fill_elements(max_indices, Params{});
    if (offset2bag.empty()) return;
    std::vector<int64_t> of(static_cast<size_t>(n), 0);
    for (int64_t b = 0; b < count; ++b)
      std::fill(of.begin() + bags.begin[static_cast<size_t>(b)], of.begin() + bags.begin[static_cast<size_t>(b) + 1],
                b);
    write(offset2bag, of);
  });
}

}  // namespace updraft
