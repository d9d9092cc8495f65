#include "graph/shape/probe.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "graph/node_call.h"

namespace updraft::graph {
namespace {

bool same_value(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.dims == b.dims && a.data.size() == b.data.size() &&
         (a.data.data() == b.data.data() || std::memcmp(a.data.data(), b.data.data(), a.data.size()) == 0);
}

}  // namespace

int64_t Probe::size_of(size_t world, const std::string& symbol, std::pair<int64_t, int64_t> range) {
  const std::string key = symbol.empty() ? "?" + std::to_string(unnamed_) : symbol;
  const auto [found, added] = symbols_.emplace(key, symbols_.size());
  if (range.second >= 0) {  // sizes that differ within it
    const int64_t smallest = std::min(std::max<int64_t>(range.first, 1), range.second);
    return world == 0 ? range.second : world == 2 ? smallest + (range.second - smallest) / 2 : smallest;
  }
  // Multiples of 64, since networks halve sizes several times: the same size for all, in case some must match; sizes of
  // their own; and the smallest there are.
  const auto n = static_cast<int64_t>(found->second);
  const int64_t size = world == 0 ? 128 : world == 1 ? 320 : world == 2 ? 192 + 64 * n : 1;
  return std::max(range.first, size);
}

void Probe::split() {
  for (size_t w = worlds_.size(); w < kWorlds; ++w) {
    worlds_.push_back(worlds_[0]);
    numbers_.push_back(w);
  }
}

void Probe::feed(const Node& data, const std::vector<std::string>& symbols) {
  const TensorDesc& desc = data.output().desc;
  if (!desc.rank_known()) {
    for (World& world : worlds_) {
      Known unknown;
      unknown.dtype = desc.dtype;
      world.feed(data, std::move(unknown));
    }
    return;
  }
  if (!desc.known()) split();
  for (size_t w = 0; w < worlds_.size(); ++w) {
    Dims dims = desc.dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] >= 0) continue;
      const std::string symbol = d < symbols.size() ? symbols[d] : "";
      if (symbol.empty()) unnamed_ = static_cast<size_t>(data.id()) * 64 + d;
      dims[d] =
          size_of(numbers_[w], symbol, d < desc.ranges.size() ? desc.ranges[d] : std::pair<int64_t, int64_t>{1, -1});
    }
    worlds_[w].feed(data, {desc.dtype, std::move(dims)});
  }
}

void Probe::choose_open(size_t world, const Node& node) {
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Endpoint from{const_cast<Node*>(&node), static_cast<int>(i)};
    Known known = worlds_[world].at(from);
    if (known.open.empty()) continue;
    for (size_t d = 0; d < known.open.size(); ++d) {
      int64_t& size = (*known.dims)[d];
      if (known.open[d])
        size = numbers_[world] == 0 ? size : numbers_[world] == 3 ? std::min<int64_t>(size, 1) : size / 2;
    }
    known.open.clear();
    worlds_[world].set(from, std::move(known));
  }
}

void Probe::infer(Node& node) {
  std::optional<Error> refusal;
  for (size_t w = 0; w < worlds_.size();) {
    try {
      worlds_[w].infer(node);
      ++w;
    } catch (const Error& e) {
      if (!refusal) refusal = e;
      if (worlds_.size() == 1) throw *refusal;
      worlds_.erase(worlds_.begin() + static_cast<std::ptrdiff_t>(w));
      numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(w));
    }
  }
  for (size_t i = 0; i < node.outputs().size(); ++i)
    if (worlds_.size() == 1 && numbers_[0] == 0 && !worlds_[0].at(node.out(static_cast<int>(i))).open.empty()) split();
  for (size_t w = 0; w < worlds_.size(); ++w) choose_open(w, node);
  describe_outputs(node);
}

void Probe::leave(Node& node) {
  for (const Output& output : node.outputs())
    if (output.desc.rank_known() && !output.desc.known() && worlds_.size() == 1 && numbers_[0] == 0) split();
  for (size_t w = 0; w < worlds_.size(); ++w) {
    std::vector<Known> outputs;
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const TensorDesc& desc = node.outputs()[i].desc;
      Known& known = outputs.emplace_back();
      known.dtype = desc.dtype;
      if (!desc.rank_known()) continue;
      known.dims = desc.dims;
      for (size_t d = 0; d < desc.dims.size(); ++d) {
        if (desc.dims[d] >= 0) continue;
        (*known.dims)[d] = size_of(numbers_[w], fmt::format("{}:{}:{}", node.name(), i, d), {0, -1});
      }
    }
    worlds_[w].feed(node, std::move(outputs));
  }
}

void Probe::describe_outputs(Node& node) const {
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    const Known& first = worlds_[0].at(node.out(i));
    TensorDesc& desc = node.output_desc(i);
    desc.dtype = first.dtype;
    desc.dims = first.dims ? *first.dims : Dims{kUnknownRank};
    for (const World& world : worlds_) {
      const Known& known = world.at(node.out(i));
      if (!known.dims || !first.dims || known.dims->size() != first.dims->size()) {
        desc.dims = {kUnknownRank};
        break;
      }
      for (size_t d = 0; d < desc.dims.size(); ++d)
        if ((*known.dims)[d] != (*first.dims)[d]) desc.dims[d] = kUnknownDim;
    }
    // ones may be what an unknown size was taken to be
    if (worlds_.size() == 1 && numbers_[0] == kWorlds - 1) std::ranges::replace(desc.dims, int64_t{1}, kUnknownDim);
    desc.origin_dims = desc.dims;
  }
}

const Tensor* Probe::value(Endpoint from) const {
  if (!from || !worlds_[0].has(from)) return nullptr;
  const Known& first = worlds_[0].at(from);
  if (!first.value) return nullptr;
  for (const World& world : worlds_)
    if (const Known& known = world.at(from); !known.value || !same_value(*first.value, *known.value)) return nullptr;
  return &*first.value;
}

bool Probe::same_size(Endpoint a, size_t da, Endpoint b, size_t db) const {
  return std::ranges::all_of(worlds_, [&](const World& world) {
    if (!world.has(a) || !world.has(b)) return false;
    const Known &x = world.at(a), &y = world.at(b);
    return x.exact() && y.exact() && da < x.dims->size() && db < y.dims->size() && (*x.dims)[da] == (*y.dims)[db];
  });
}

Probe probe_all(const Graph& graph) {
  Probe probe;
  for (Node* node : graph.needed_in_order()) {
    if (node->is_data()) probe.feed(*node);
    else if (is_control_flow(*node)) probe.leave(*node);
    else if (node->type() != "NetOutput") probe.infer(*node);
  }
  return probe;
}

void infer_all(const Graph& graph) { probe_all(graph); }

}  // namespace updraft::graph
