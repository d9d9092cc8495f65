#include "graph/planner/image_blocks.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "graph/shape/known.h"

namespace updraft::graph {

namespace {

/// Which inputs of a type may hold images; the others are weights, sizes and the like.
enum class Holds : uint8_t { First, FirstAndFourth, FirstAndFifth, All };

struct ByImage {
  std::string_view type;
  Holds holds;
};

// Operators that treat each image of a batch by itself. PadV3 is not among them, because it may move images along the
// batch.
constexpr ByImage kByImage[] = {{"Add", Holds::All},
                                {"AvgPoolV2", Holds::First},
                                {"ByteTable", Holds::First},
                                {"ClipByValueV2", Holds::All},
                                {"ConcatV2", Holds::All},
                                {"Conv2D", Holds::First},
                                {"DequantizeLinear", Holds::First},
                                {"Div", Holds::All},
                                {"Elu", Holds::First},
                                {"Erf", Holds::First},
                                {"FusedConv2D", Holds::FirstAndFourth},
                                {"GeluV2", Holds::First},
                                {"GlobalAveragePool", Holds::First},
                                {"HardSigmoid", Holds::First},
                                {"HardSwish", Holds::First},
                                {"LeakyRelu", Holds::First},
                                {"MaxPoolV3", Holds::First},
                                {"Maximum", Holds::All},
                                {"Minimum", Holds::All},
                                {"Mish", Holds::First},
                                {"Mul", Holds::All},
                                {"QuantizeLinear", Holds::First},
                                {"RealDiv", Holds::All},
                                {"ReduceMax", Holds::First},
                                {"ReduceMean", Holds::First},
                                {"ReduceSum", Holds::First},
                                {"Relu", Holds::First},
                                {"Relu6", Holds::First},
                                {"RequantAdd", Holds::All},
                                {"RequantConv2D", Holds::FirstAndFifth},
                                {"ResizeBilinearV2", Holds::First},
                                {"ResizeNearestNeighborV2", Holds::First},
                                {"Sigmoid", Holds::First},
                                {"Softplus", Holds::First},
                                {"Sub", Holds::All},
                                {"Swish", Holds::First},
                                {"Tanh", Holds::First}};

bool may_hold(Holds holds, size_t input) {
  switch (holds) {
    case Holds::First: return input == 0;
    case Holds::FirstAndFourth: return input == 0 || input == 3;
    case Holds::FirstAndFifth: return input == 0 || input == 4;
    default: return true;
  }
}

/// Images are the outermost of four dimensions in memory, whichever way the others lie.
bool is_batch(const StepTensor& t, int64_t batch) {
  return t.dims.size() == 4 && t.dims[0] == batch && t.strides.empty();
}

size_t bytes_of(const StepTensor& t) { return static_cast<size_t>(count_of(t.dims)) * size_of(t.dtype); }

/// Memory that steps move. Measured on 2 cores with 1 MiB of L2 each and 32 MiB of L3: steps that move more than the
/// first gain by rounds, as long as those move no more than the second.
struct Moved {
  explicit Moved(int threads) : threads_(static_cast<size_t>(std::max(threads / 8, 1))) {}
  size_t worth() const { return threads_ * (size_t{6} << 20); }
  size_t fits() const { return threads_ * (size_t{16} << 20); }

 private:
  size_t threads_;
};

/// How many images go together; `batch` where none of its divisors will do. Fewer would leave threads without work, and
/// two threads do better with an image each than with halves of one.
int64_t images_at_a_time(int64_t batch, int threads) {
  const int64_t least = std::max(threads / 4, 1), wanted = std::max<int64_t>(least, 2);
  for (int64_t images = wanted; images < batch; ++images)
    if (batch % images == 0) return images;
  return batch > least && batch % least == 0 ? least : batch;
}

/// Small steps that a block takes along between two large ones.
constexpr size_t kMostBetween = 8;

/// Memory of a step that treats each image by itself; batch 0: it does not.
struct StepBytes {
  int64_t batch = 0;
  size_t written = 0, read = 0, again = 0;  ///< again: read in each round, weights most of all
  size_t largest = 0;                       ///< of the inputs that hold images

  StepBytes(const Step& step, FunctionRef<bool(const StepTensor&)> fixed) {
    const std::vector<bool> holds = holds_images(step, fixed);
    if (holds.empty()) return;
    batch = step.outputs[0].dims[0];
    for (const StepTensor& t : step.outputs) written += bytes_of(t);
    for (size_t i = 0; i < holds.size(); ++i) {
      if (step.inputs[i].absent) continue;
      const size_t bytes = bytes_of(step.inputs[i]);
      (holds[i] ? read : again) += bytes;
      if (holds[i]) largest = std::max(largest, bytes);
    }
  }
  bool reads_more(size_t rounds) const { return again * rounds > read + written; }
};

/// Small steps in front that make as much as they read or more, and behind that make less: what lies between them and
/// the block needs no memory for all images then. Among the steps [first, last).
void take_neighbours(const std::vector<Step>& steps, ImageBlock& block, size_t first, size_t last,
                     FunctionRef<bool(const StepTensor&)> fixed) {
  const auto rounds = static_cast<size_t>(block.batch / block.images);
  const auto goes_along = [&](size_t s, bool grows) {
    const StepBytes bytes(steps[s], fixed);
    return bytes.batch == block.batch && !bytes.reads_more(rounds) &&
           (grows ? bytes.written >= bytes.largest : bytes.written < bytes.largest);
  };
  for (size_t n = 0; n < kMostBetween && block.begin > first && goes_along(block.begin - 1, true); ++n) --block.begin;
  for (size_t n = 0; n < kMostBetween && block.end < last && goes_along(block.end, false); ++n) ++block.end;
}

/// True where a step wants all images of what another one of the block makes: as its filters, say.
bool reads_whole_what_it_makes(const std::vector<Step>& steps, const ImageBlock& block,
                               FunctionRef<bool(const StepTensor&)> fixed) {
  std::unordered_set<size_t> made;
  for (size_t s = block.begin; s < block.end; ++s) {
    const std::vector<bool> holds = holds_images(steps[s], fixed);
    for (size_t i = 0; i < holds.size(); ++i) {
      const StepTensor& t = steps[s].inputs[i];
      if (!t.absent && !holds[i] && made.contains(t.place.index)) return true;
    }
    for (const StepTensor& t : steps[s].outputs) made.insert(t.place.index);
  }
  return false;
}

}  // namespace

std::vector<bool> holds_images(const Step& step, FunctionRef<bool(const StepTensor&)> fixed) {
  if (!step.node || step.outputs.empty() || step.outputs[0].dims.size() != 4) return {};
  const std::string_view type = step.node->type();
  const auto* known = std::ranges::find(kByImage, type, &ByImage::type);
  const int64_t batch = step.outputs[0].dims[0];
  if (known == std::end(kByImage) || batch < 2) return {};
  if (!std::ranges::all_of(step.outputs, [&](const StepTensor& t) { return !t.absent && is_batch(t, batch); }))
    return {};
  // scales and zero points of eight-bit numbers may lie along the batch
  const auto axis = find_or<int64_t>(step.node->attributes, "axis", 1);
  if ((type == "QuantizeLinear" || type == "DequantizeLinear") && (axis == 0 || axis == -4)) return {};
  std::vector<bool> holds(step.inputs.size(), false);
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const StepTensor& t = step.inputs[i];
    if (t.absent || !may_hold(known->holds, i)) continue;
    if (is_batch(t, batch) && !fixed(t)) holds[i] = true;
    else if (i == 0 && known->holds != Holds::All) return {};
    // what is broadcast along the batch is read whole in each round
    else if (t.dims.size() > 4 || (t.dims.size() == 4 && t.dims[0] != 1)) return {};
  }
  return std::ranges::find(holds, true) == holds.end() ? std::vector<bool>() : holds;
}

std::vector<ImageBlock> find_image_blocks(const std::vector<Step>& steps, FunctionRef<bool(const StepTensor&)> fixed,
                                          int threads) {
  std::vector<ImageBlock> blocks;
  const Moved limits(threads);
  ImageBlock open{};   // from its first large step to its latest one; batch 0: none
  size_t between = 0;  // steps since then
  const auto close = [&](size_t s) {
    if (open.batch) take_neighbours(steps, open, blocks.empty() ? 0 : blocks.back().end, s, fixed);
    if (open.end - open.begin > 1 && !reads_whole_what_it_makes(steps, open, fixed)) blocks.push_back(open);
    open = {};
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    const StepBytes bytes(steps[s], fixed);
    const int64_t images = bytes.batch ? images_at_a_time(bytes.batch, threads) : 0;
    if (bytes.batch != open.batch || images == bytes.batch) close(s);
    if (images == bytes.batch) continue;
    const auto rounds = static_cast<size_t>(bytes.batch / images);
    const size_t moved = bytes.read + bytes.written;
    const bool reads_more = bytes.reads_more(rounds);
    if (moved <= limits.worth() || moved / rounds > limits.fits() || reads_more) {
      if (open.batch && (++between > kMostBetween || (reads_more && bytes.again * rounds > limits.worth()))) close(s);
      continue;
    }
    if (!open.batch) open = {s, s, bytes.batch, images};
    open.end = s + 1;
    between = 0;
  }
  close(steps.size());
  return blocks;
}

}  // namespace updraft::graph
