#include "graph/shape/gears.h"

#include <algorithm>

#include "base/error.h"

namespace updraft::graph {
namespace {

constexpr const char *kKind = "_gear_kind", *kValues = "_gears";

/// The places of height and width.
std::pair<size_t, size_t> image_places(const TensorDesc& desc) {
  const size_t height = desc.format == Format::NHWC ? 1 : 2;
  return {height, height + 1};
}

/// How many numbers of the gear an input's unknown dimensions take.
void check_input(const Node& input, Gears::Kind kind) {
  const TensorDesc& desc = input.output().desc;
  if (!desc.rank_known())
    throw Error(code::kAclInvalidParam,
                "input {} has no known number of dimensions: give its shape with -1 in input_shape", input.name());
  for (size_t d = 0; d < desc.dims.size(); ++d) {
    if (desc.dims[d] >= 0) continue;
    if (kind == Gears::Kind::Batch && d != 0)
      throw Error(code::kAclInvalidParam, "dynamic_batch_size is for the first dimension alone; input {} is {}",
                  input.name(), describe(desc));
    const auto [height, width] = image_places(desc);
    if (kind == Gears::Kind::Image && (desc.dims.size() != 4 || (d != height && d != width)))
      throw Error(code::kAclInvalidParam, "dynamic_image_size is for height and width alone; input {} is {} in {}",
                  input.name(), describe(desc), name_of(desc.format));
  }
}

bool is_choice(const Node& input) { return input.name() == kGearInput; }

bool has_shared_rows(const Node& input, size_t d) {
  return find_or(input.attributes, kSharedPlanes, false) && d == image_places(input.output().desc).first;
}

/// The size of an unknown dimension in a gear with that number for it.
int64_t gear_size(const Node& input, size_t d, int64_t number) {
  if (!has_shared_rows(input, d)) return number;
  if (number % 2)
    throw Error(code::kAclInvalidParam, "input {} takes images of YUV420SP_U8: want an even number of rows, not {}",
                input.name(), number);
  return number / 2 * 3;
}

/// Calls f(dimension, number of the gear) for the unknown dimensions of all inputs.
template <class F>
void for_unknown(const Graph& graph, Gears::Kind kind, F&& f) {
  size_t next = 0;
  for (Node* input : graph.inputs()) {
    if (is_choice(*input)) continue;
    const TensorDesc& desc = input->output().desc;
    for (size_t d = 0; d < desc.dims.size(); ++d) {
      if (desc.dims[d] >= 0) continue;
      if (kind == Gears::Kind::Batch) f(*input, d, 0);
      else if (kind == Gears::Kind::Image) f(*input, d, d == image_places(desc).first ? 0 : 1);
      else f(*input, d, next++);
    }
  }
}

}  // namespace

std::optional<size_t> Gears::find(const Dims& value) const {
  const auto found = std::ranges::find(values, value);
  if (found == values.end()) return {};
  return static_cast<size_t>(found - values.begin());
}

std::string Gears::text() const {
  std::string all;
  for (const Dims& v : values) all += (all.empty() ? "" : ", ") + (v.size() == 1 ? std::to_string(v[0]) : describe(v));
  return all;
}

std::optional<Gears> gears_of(const Graph& graph) {
  const auto* kind = find<int64_t>(graph.attributes, kKind);
  const auto* values = find<Attribute::IntegerLists>(graph.attributes, kValues);
  if (!kind || !values || values->empty() || *kind < 1 || *kind > 3) return {};
  Gears gears{static_cast<Gears::Kind>(*kind), *values};
  size_t numbers = gears.kind == Gears::Kind::Batch ? 1 : 2;
  if (gears.kind == Gears::Kind::Dims) {
    numbers = 0;
    for_unknown(graph, gears.kind, [&](Node&, size_t, size_t) { ++numbers; });
  }
  const auto wrong = [&](const Dims& v) {
    return v.size() != numbers || std::ranges::any_of(v, [](int64_t size) { return size < 1; });
  };
  if (gears.values.size() > kMostGears || std::ranges::any_of(gears.values, wrong))
    throw Error(code::kAclnnParamInvalid, "the model's gears do not fit its inputs");
  return gears;
}

void set_gears(Graph& graph, const Gears& gears) {
  size_t unknown = 0;
  for (const Node* input : graph.inputs()) check_input(*input, gears.kind);
  for_unknown(graph, gears.kind, [&](Node&, size_t, size_t) { ++unknown; });
  if (unknown == 0)
    throw Error(code::kAclInvalidParam,
                "no input has an unknown dimension: write -1 for the sizes that the gears give, as in "
                "--input_shape=\"x:-1,3,224,224\"");
  if (gears.kind == Gears::Kind::Dims && unknown != gears.values[0].size())
    throw Error(code::kAclInvalidParam, "the inputs have {} unknown dimensions, a gear of dynamic_dims has {} numbers",
                unknown, gears.values[0].size());
  for_unknown(graph, gears.kind, [&](Node& input, size_t d, size_t number) {
    TensorDesc& desc = input.output_desc();
    if (desc.ranges.size() != desc.dims.size()) {
      desc.ranges.clear();
      for (const int64_t size : desc.dims) desc.ranges.emplace_back(size, size);
    }
    const auto [least, most] = std::ranges::minmax(gears.values, {}, [&](const Dims& v) { return v[number]; });
    desc.ranges[d] = {least[number], most[number]};
  });
  graph.attributes[kKind] = static_cast<int64_t>(gears.kind);
  graph.attributes[kValues] = Attribute::IntegerLists(gears.values);
  const auto numbers = static_cast<int64_t>(gears.values[0].size());
  graph.add_data(kGearInput, static_cast<int64_t>(graph.inputs().size()), TensorDesc(DType::Int32, {numbers}));
}

int64_t gear_number(const Node& input, size_t d, int64_t size) {
  if (!has_shared_rows(input, d)) return size;
  return size % 3 ? -1 : size / 3 * 2;
}

std::vector<Dims> gear_shapes(const Graph& graph, const Gears& gears, size_t gear) {
  std::vector<Dims> shapes;
  std::map<const Node*, size_t> places;
  for (const Node* input : graph.inputs()) {
    places[input] = shapes.size();
    shapes.push_back(input->output().desc.dims);
  }
  for_unknown(graph, gears.kind, [&](Node& input, size_t d, size_t number) {
    shapes[places[&input]][d] = gear_size(input, d, gears.values.at(gear).at(number));
  });
  return shapes;
}

}  // namespace updraft::graph
