#include "graph/shape/aipp_inputs.h"

namespace updraft::graph {
namespace {

constexpr size_t kImages = 0, kParameters = 1;

const Node* reader(const Node& data, size_t input) {
  for (const Use& use : data.output().uses)
    if (use.node->type() == "Aipp" && static_cast<size_t>(use.index) == input) return use.node;
  return nullptr;
}

const Node* source(const Node& aipp, size_t input) {
  return input < aipp.inputs().size() ? aipp.inputs()[input].from.node : nullptr;
}

}  // namespace

const Node* aipp_of(const Node& data) { return reader(data, kImages); }
const Node* aipp_with_parameters(const Node& data) { return reader(data, kParameters); }

bool is_dynamic_aipp(const Node& aipp) { return find_or(aipp.attributes, "aipp_mode", std::string()) == "dynamic"; }

const Node* aipp_images(const Node& aipp) { return source(aipp, kImages); }
const Node* aipp_parameters(const Node& aipp) { return source(aipp, kParameters); }

size_t input_bytes(const Node& data, const Dims& dims) {
  const Node* aipp = aipp_of(data);
  if (aipp && is_dynamic_aipp(*aipp))
    return static_cast<size_t>(find_or(aipp->attributes, "max_src_image_size", int64_t{0}));
  return static_cast<size_t>(count_of(dims)) * size_of(data.output().desc.dtype);
}

}  // namespace updraft::graph
