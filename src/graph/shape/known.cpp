#include "graph/shape/known.h"

#include <algorithm>

#include "base/error.h"
#include "graph/node_call.h"

namespace updraft::graph {
namespace {

/// Types whose results are never computed ahead: they differ from run to run, or do something.
bool changes(const Node& node) {
  static constexpr std::string_view kRandom[] = {"Random", "Stateless", "Multinomial", "DropOut", "Hcom", "GetNext"};
  return std::ranges::any_of(kRandom, [&](std::string_view part) { return node.type().starts_with(part); });
}

Tensor integers(DType type, const Dims& values, Dims dims) {
  const bool narrow = type != DType::Int64;
  Tensor t = narrow ? Tensor::of_int32({values.begin(), values.end()}) : Tensor::of(values);
  t.dims = std::move(dims);
  return t;
}

DType type_of_sizes(const Node& node) {
  if (const auto* type = find<int64_t>(node.attributes, "dtype")) return static_cast<DType>(*type);
  if (const auto* type = find<DType>(node.attributes, "dtype")) return *type;
  return DType::Int32;
}

/// True when the node asks for sizes, and is answered.
bool infer_sizes(const Node& node, std::span<const Known> inputs, std::vector<Known>& outputs) {
  const std::string& type = node.type();
  const bool shape = type == "Shape" || type == "ShapeN";
  if (!asks_for_sizes(node)) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DType as = type == "Rank" ? DType::Int32 : type_of_sizes(node);
    const Known& x = inputs[i];
    if (!x.dims) {
      outputs[i].dtype = as;
      if (!shape) outputs[i].dims = Dims();
      continue;
    }
    const auto rank = static_cast<int64_t>(x.dims->size());
    if (!x.open.empty() && type != "Rank") outputs[i] = {as, shape ? Dims{rank} : Dims{}};
    else if (shape) outputs[i] = Known(integers(as, *x.dims, {rank}));
    else outputs[i] = Known(integers(as, {type == "Rank" ? rank : count_of(*x.dims)}, {}));
  }
  return true;
}

/// Types that outputs have where nobody knows the shapes, which the operators' rules want.
void guess_types(const Node& node, std::span<const Known> inputs, std::vector<Known>& outputs) {
  static constexpr std::string_view kTruth[] = {"Equal",   "NotEqual",     "Less",      "LessEqual",
                                                "Greater", "GreaterEqual", "ReduceAll", "ReduceAny"};
  // Whose elements they are, where that is not the first input.
  static constexpr std::pair<std::string_view, size_t> kFrom[] = {
      {"SelectV2", 1}, {"Select", 1},          {"Split", 1},           {"Fill", 1},  {"ScatterNd", 1},
      {"OneHot", 2},   {"Conv2DTranspose", 1}, {"Conv3DTranspose", 1}, {"Concat", 1}};
  const std::string_view type = node.type();
  DType found = DType::Undefined;
  if (type.starts_with("Logical") || type.starts_with("Is") || std::ranges::count(kTruth, type)) found = DType::Bool;
  else if (type == "NonZero") found = DType::Int64;
  for (const char* name : {"dst_type", "dtype"}) {
    if (const auto* integer = find<int64_t>(node.attributes, name)) found = static_cast<DType>(*integer);
    if (const auto* as = find<DType>(node.attributes, name)) found = *as;
  }
  size_t from = 0;
  for (const auto& [name, i] : kFrom)
    if (type == name) from = i;
  if (found == DType::Undefined && from < inputs.size()) found = inputs[from].dtype;
  for (Known& output : outputs)
    if (output.dtype == DType::Undefined) output.dtype = found;
  if (type.starts_with("TopK") && outputs.size() == 2) outputs[1].dtype = DType::Int32;
}

/// The values of the outputs, computed here; nothing where one of them has no kernel for that.
void evaluate(NodeCall& call, std::vector<Known>& outputs) {
  std::vector<Bytes> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t bytes = static_cast<size_t>(count_of(*outputs[i].dims)) * size_of(outputs[i].dtype);
    std::byte* to = nullptr;
    results.push_back(Bytes::make(bytes, [&](std::byte* at) { to = at; }));
    call.call().place(call.outputs()[i].parameter->name, call.outputs()[i].item, to);
  }
  call.call().run_here();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape now = call.shape(i);
    Dims dims;
    for (const Dim& d : now.dims) dims.push_back(d.low);
    const size_t bytes = static_cast<size_t>(count_of(dims)) * size_of(outputs[i].dtype);
    outputs[i] = Known(Tensor{outputs[i].dtype, std::move(dims), results[i].part(0, bytes)});
  }
}

}  // namespace

bool asks_for_sizes(const Node& node) {
  return node.type() == "Shape" || node.type() == "ShapeN" || node.type() == "Size" || node.type() == "Rank";
}

std::vector<Known> infer_node(const Node& node, std::span<const Known> inputs, int64_t most_elements) {
  std::vector<Known> outputs(node.outputs().size());
  if (infer_sizes(node, inputs, outputs)) return outputs;
  try {
    NodeCall call(node);
    bool values = !changes(node), shapes = true;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!node.inputs()[i].from) {
        if (call.inputs()[i].parameter->kind == Kind::Tensors) call.call().add_absent(call.inputs()[i].parameter->name);
        continue;
      }
      const Known& x = inputs[i];
      shapes = shapes && x.dims;
      if (!x.dims) continue;
      CallTensor tensor{x.dtype, *x.dims};
      if (x.value) {
        tensor.data = const_cast<std::byte*>(x.value->data.data());
        tensor.on_host = true;
      } else {
        values = false;
      }
      call.set_input(i, std::move(tensor));
    }
    if (!shapes) {
      guess_types(node, inputs, outputs);
      return outputs;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      call.ask_output(i);
      values = values && !call.updates(i);
    }
    try {
      call.call().infer();
    } catch (const Error& e) {
      if (e.code() != code::kAclnnNoKernel) throw;
      guess_types(node, inputs, outputs);  // values decide the shapes
      return outputs;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const CallTensor& found = call.output(i);
      outputs[i] = {found.dtype, found.dims};
      values = values && count_of(found.dims) <= most_elements && size_of(found.dtype) > 0;
      if (!found.bounds.empty())
        for (const Dim& d : found.bounds) outputs[i].open.push_back(!d.known());
    }
    if (values && !outputs.empty()) evaluate(call, outputs);
    return outputs;
  } catch (const Error& e) { throw_of(node, e); }
}

void World::feed(const Node& data, Known known) { known_[data.id()] = {std::move(known)}; }

void World::infer(const Node& node) {
  if (known_.contains(node.id())) return;
  known_.emplace(node.id(), found(node));
}

std::vector<Known> World::found(const Node& node) const {
  if (const Tensor* constant = node.constant()) return {Known(*constant)};
  if (node.outputs().empty()) return {};
  if (node.is_data()) {
    const TensorDesc& desc = node.output().desc;
    if (!desc.known())
      throw Error(code::kAclnnParamInvalid, "input {} has no size in the dimensions that are -1 in {}", node.name(),
                  describe(desc));
    return {{desc.dtype, desc.dims}};
  }
  std::vector<Known> inputs;
  for (const Input& input : node.inputs()) inputs.push_back(input.from ? at(input.from) : Known());
  return infer_node(node, inputs);
}

void World::set(Endpoint from, Known known) {
  known_.at(from.node->id()).at(static_cast<size_t>(from.index)) = std::move(known);
}

const Known& World::at(Endpoint from) const { return known_.at(from.node->id()).at(static_cast<size_t>(from.index)); }
bool World::has(Endpoint from) const { return known_.contains(from.node->id()); }

}  // namespace updraft::graph
