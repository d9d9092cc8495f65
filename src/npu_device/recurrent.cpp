#include "npu_device/recurrent.h"

#include <algorithm>

namespace updraft::npu_device {
namespace {

using tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;

const AttrValue* attribute(const FunctionDef& f, std::string_view name) {
  const auto found = f.attributes.find(name);
  return found == f.attributes.end() ? nullptr : &found->second;
}
bool flag(const FunctionDef& f, std::string_view name) {
  const AttrValue* a = attribute(f, name);
  return a && a->flag;
}
bool all_are(const std::vector<tensorflow::ArgDef>& arguments, size_t count, ElementType type) {
  return arguments.size() >= count &&
         std::all_of(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](const auto& a) { return a.type == type; });
}

/// Keras keeps the last step alone in a list of one tensor, all of them in one of as many as there are steps. Nothing
/// where the function is not the loop that is expected.
std::optional<bool> keeps_all_steps(const FunctionDef& f) {
  const NodeDef* list = nullptr;
  size_t loops = 0, lists = 0;
  for (const NodeDef& node : f.nodes) {
    loops += node.type == "While" || node.type == "StatelessWhile";
    if (node.type != "TensorListReserve") continue;
    // the list for a mask or for inputs is made by its own operator; the second one holds what the steps give
    list = &node;
    ++lists;
  }
  if (loops != 1 || lists == 0) return {};
  const std::string_view size = tensorflow::reference_of(list->inputs.at(1)).node;
  const auto node = std::ranges::find(f.nodes, size, &NodeDef::name);
  if (node == f.nodes.end() || node->type != "Const") return true;  // it is computed from the shape
  const auto value = node->attributes.find("value");
  if (value == node->attributes.end() || !value->second.tensor) return {};
  const auto numbers = value->second.tensor->value.integers();
  return numbers.size() == 1 && numbers[0] != 1;
}

}  // namespace

std::optional<Recurrent> recurrent_of(Library& library, const FunctionDef& f) {
  const AttrValue* implements = attribute(f, "api_implements");
  if (!implements) return {};
  Recurrent layer;
  layer.gru = implements->text.starts_with("gru_");
  if (!layer.gru && !implements->text.starts_with("lstm_")) return {};
  layer.reversed = flag(f, "go_backwards");
  layer.time_major = flag(f, "time_major");

  const FunctionDef *forward = &f, *gradient = nullptr;
  std::shared_ptr<const FunctionDef> other;
  if (const AttrValue* name = attribute(f, "forward_function_name")) {
    layer.gradient = true;
    gradient = &f;
    other = library.function(name->text);
    forward = other.get();
  } else if (const AttrValue* back = attribute(f, "backward_function_name")) {
    other = library.function(back->text);
    gradient = other.get();
    if (!gradient) return {};
  }
  if (!forward || forward->inputs.size() != layer.inputs() || forward->outputs.size() < layer.outputs()) return {};
  const ElementType type = forward->inputs[0].type;
  if (type != ElementType::Float && type != ElementType::Half && type != ElementType::BFloat16) return {};
  if (!all_are(forward->inputs, layer.inputs(), type) || !all_are(forward->outputs, layer.outputs() - 1, type))
    return {};
  // gradients of all inputs, from those of all outputs and what the forward pass hands on
  if (gradient && (gradient->outputs.size() != layer.inputs() || gradient->inputs.size() != forward->outputs.size() ||
                   !all_are(gradient->outputs, layer.inputs(), type)))
    return {};
  const std::optional<bool> all = keeps_all_steps(*forward);
  if (!all) return {};
  layer.all_steps = *all;
  return layer;
}

NodeDef definition_of(const Recurrent& layer, std::string_view name) {
  static constexpr std::string_view kTypes[2][2] = {{"_KerasLSTM", "_KerasLSTMGrad"}, {"_KerasGRU", "_KerasGRUGrad"}};
  NodeDef def;
  def.name = name;
  def.type = kTypes[layer.gru][layer.gradient];
  auto set = [&](std::string_view attribute, bool value) {
    AttrValue& a = def.attributes[attribute];
    a.kind = AttrValue::Kind::Flag;
    a.flag = value;
  };
  set("time_major", layer.time_major);
  set("go_backwards", layer.reversed);
  set("return_sequences", layer.all_steps);
  return def;
}

std::vector<ElementType> output_types(const Recurrent& layer, ElementType type) {
  if (layer.gradient) return std::vector<ElementType>(layer.inputs(), type);
  std::vector<ElementType> types(layer.outputs() + layer.saved(), type);
  types[layer.outputs() - 1] = ElementType::Float;
  return types;
}

}  // namespace updraft::npu_device
