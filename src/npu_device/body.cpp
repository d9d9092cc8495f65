#include "npu_device/body.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "npu_device/recurrent.h"

namespace updraft::npu_device {
namespace {

using tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;
using tensorflow::Reference;
using tensorflow::reference_of;

constexpr int kDeepest = 64;             ///< functions that call each other
constexpr size_t kMostItems = 1u << 20;  ///< of a function with all that it calls

/// What a recurrent layer hands on to its gradient is read elsewhere: the layer has to stay the loop that it is.
struct LayerIsOpen {};

class Flattener {
 public:
  /// `recurrent`: layers of Keras become operators.
  Flattener(Library& library, Body& body, bool recurrent = true)
      : library_(library), body_(body), recurrent_(recurrent) {}

  const FunctionDef& function(std::string_view name) {
    std::shared_ptr<const FunctionDef> f = library_.function(name);
    if (!f)
      throw StatusError(StatusCode::NotFound, fmt::format("function {} is not known to the context any more", name));
    if (std::ranges::find(body_.functions, f) == body_.functions.end()) body_.functions.push_back(f);
    return *f;
  }

  /// What a call leaves: its results, and the items that have to be over before it is.
  struct Done {
    std::vector<Ref> results;
    std::vector<int> effects;
  };

  Done call(const FunctionDef& f, const std::vector<Ref>& arguments, const std::vector<int>& after,
            const std::string& prefix) {
    if (++depth_ > kDeepest)
      throw StatusError(StatusCode::Unimplemented,
                        fmt::format("{}: functions lie deeper in each other than {}", f.name, kDeepest));
    if (arguments.size() != f.inputs.size())
      throw Error(code::kAclnnParamInvalid, "function {} has {} inputs, the call gives {}", f.name, f.inputs.size(),
                  arguments.size());
    Frame frame{f, prefix, {}, {}};
    for (const NodeDef& node : f.nodes) frame.nodes.emplace(node.name, &node);
    for (size_t i = 0; i < arguments.size(); ++i) frame.known[f.inputs[i].name].outputs = {arguments[i]};
    for (const NodeDef* node : needed(frame)) add(frame, *node, after);
    Done done;
    for (const auto& output : f.outputs) {
      const auto found = f.results.find(output.name);
      if (found == f.results.end())
        throw Error(code::kAclnnParamInvalid, "function {}: no node gives its output {}", f.name, output.name);
      done.results.push_back(tensor(frame, found->second));
    }
    for (const std::string_view effect : f.effects)
      for (int item : frame.known.at(effect).over) done.effects.push_back(item);
    --depth_;
    return done;
  }

  void add_operator(const NodeDef& def, std::string name, std::vector<Ref> inputs, std::vector<int> after) {
    const tensorflow::OpDef* op = library_.operator_named(def.type);
    if (!op)
      throw StatusError(StatusCode::NotFound, fmt::format("{} ({}) is neither an operator nor a function that the "
                                                          "context knows",
                                                          name, def.type));
    Item item;
    item.def = &def;
    item.name = std::move(name);
    item.inputs = std::move(inputs);
    std::ranges::sort(after);
    const auto twice = std::ranges::unique(after);
    after.erase(twice.begin(), twice.end());
    item.after = std::move(after);
    item.outputs = output_types(*op, def.attributes);
    body_.items.push_back(std::move(item));
    if (body_.items.size() > kMostItems)
      throw StatusError(StatusCode::Unimplemented,
                        fmt::format("{}: functions make more than {} operators", body_.name, kMostItems));
  }

  /// Throws LayerIsOpen.
  void check_layers() const {
    auto kept = [&](Ref ref) {
      const auto layer = layers_.find(ref.item);
      return layer != layers_.end() && static_cast<size_t>(ref.output) >= layer->second.outputs();
    };
    for (const Item& item : body_.items)
      if (!layers_of_gradients_.contains(&item - body_.items.data()) && std::ranges::any_of(item.inputs, kept))
        throw LayerIsOpen();
    if (std::ranges::any_of(body_.results, kept)) throw LayerIsOpen();
  }

 private:
  /// A node that is done: its outputs, and the items after which it is over.
  struct Known {
    std::vector<Ref> outputs;
    std::vector<int> over;
  };
  struct Frame {
    const FunctionDef& function;
    std::string prefix;
    std::unordered_map<std::string_view, const NodeDef*> nodes;
    std::unordered_map<std::string_view, Known> known;
  };

  /// The nodes that results and effects need, each behind those that it needs.
  static std::vector<const NodeDef*> needed(const Frame& frame) {
    std::vector<const NodeDef*> order;
    std::unordered_set<std::string_view> seen;
    std::vector<std::pair<const NodeDef*, size_t>> stack;
    auto push = [&](std::string_view reference) {
      const std::string_view name = reference.starts_with('^') ? reference.substr(1) : reference_of(reference).node;
      const auto found = frame.nodes.find(name);
      if (found == frame.nodes.end()) {
        if (!frame.known.contains(name))
          throw Error(code::kAclnnParamInvalid, "function {}: {} is no node of it", frame.function.name, name);
        return;
      }
      if (seen.insert(name).second) stack.emplace_back(found->second, 0);
    };
    auto all = [&](std::string_view root) {
      push(root);
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next < node->inputs.size()) {
          push(node->inputs[next++]);
          continue;
        }
        order.push_back(node);
        stack.pop_back();
      }
    };
    for (const auto& [name, reference] : frame.function.results) all(reference);
    for (const std::string_view effect : frame.function.effects) all(effect);
    return order;
  }

  Ref tensor(const Frame& frame, std::string_view text) const {
    const Reference r = reference_of(text);
    const Known& known = frame.known.at(r.node);
    int index = r.index;
    const auto node = frame.nodes.find(r.node);
    if (node != frame.nodes.end() && !r.output.empty()) index += place_of(*node->second, r.output);
    if (index < 0 || static_cast<size_t>(index) >= known.outputs.size())
      throw Error(code::kAclnnParamInvalid, "function {}: {} reads an output that {} has not", frame.function.name,
                  text, r.node);
    return known.outputs[static_cast<size_t>(index)];
  }

  int place_of(const NodeDef& node, std::string_view output) const {
    if (const tensorflow::OpDef* op = library_.operator_named(node.type)) {
      const int first = first_output(*op, node.attributes, output);
      if (first < 0) throw Error(code::kAclnnParamInvalid, "{} ({}) has no output {}", node.name, node.type, output);
      return first;
    }
    const std::shared_ptr<const FunctionDef> f = library_.function(node.type);
    for (size_t i = 0; f && i < f->outputs.size(); ++i)
      if (f->outputs[i].name == output) return static_cast<int>(i);
    throw Error(code::kAclnnParamInvalid, "{} ({}) has no output {}", node.name, node.type, output);
  }

  void add(Frame& frame, const NodeDef& node, const std::vector<int>& outer) {
    std::vector<Ref> inputs;
    std::vector<int> after = outer;
    for (const std::string_view input : node.inputs) {
      if (!input.starts_with('^')) {
        inputs.push_back(tensor(frame, input));
        continue;
      }
      const auto& over = frame.known.at(input.substr(1)).over;
      after.insert(after.end(), over.begin(), over.end());
    }
    Known& known = frame.known[node.name];
    const std::string name = frame.prefix + std::string(node.name);
    std::string_view called;
    if (node.attributes.contains(kOnHost)) {
      // TensorFlow's executor runs the function as it is
    } else if (node.type == "PartitionedCall" || node.type == "StatefulPartitionedCall") {
      const auto f = node.attributes.find("f");
      if (f == node.attributes.end() || f->second.kind != AttrValue::Kind::Function)
        throw Error(code::kAclnnParamInvalid, "{} ({}): attribute f is missing", name, node.type);
      called = f->second.text;
    } else if (!library_.operator_named(node.type)) {
      called = node.type;
    }
    if (!called.empty() && recurrent_)
      if (const auto layer = recurrent_of(library_, function(called)))
        return add_recurrent(known, *layer, function(called), name, std::move(inputs), std::move(after));
    if (!called.empty()) {
      Done done = call(function(called), inputs, after, name + "/");
      known.outputs = std::move(done.results);
      known.over = std::move(done.effects);
      for (const Ref r : known.outputs) known.over.push_back(r.item);
      known.over.insert(known.over.end(), after.begin(), after.end());
      return;
    }
    add_operator(node, name, std::move(inputs), std::move(after));
    const int item = static_cast<int>(body_.items.size()) - 1;
    for (int i = 0; i < static_cast<int>(body_.items.back().outputs.size()); ++i) known.outputs.push_back({item, i});
    known.over = {item};
  }

  void add_recurrent(Known& known, const Recurrent& layer, const FunctionDef& f, const std::string& name,
                     std::vector<Ref> inputs, std::vector<int> after) {
    if (inputs.size() != f.inputs.size())
      throw Error(code::kAclnnParamInvalid, "function {} has {} inputs, the call gives {}", f.name, f.inputs.size(),
                  inputs.size());
    const int index = static_cast<int>(body_.items.size());
    const auto outputs = static_cast<std::ptrdiff_t>(layer.outputs());
    if (layer.gradient) {
      const std::vector<Ref> handed(inputs.begin() + outputs, inputs.end());
      const int forward = handed.empty() ? -1 : handed[0].item;
      if (!layers_.contains(forward) ||
          !std::ranges::all_of(handed, [&](Ref r) { return r.item == forward && r.output >= outputs; }))
        throw LayerIsOpen();
      layers_of_gradients_.insert(index);
      std::vector<Ref> reads = body_.items[static_cast<size_t>(forward)].inputs;
      reads.insert(reads.end(), inputs.begin(), inputs.begin() + outputs - 1);
      for (size_t k = 0; k < layer.saved(); ++k) reads.push_back({forward, static_cast<int>(layer.outputs() + k)});
      inputs = std::move(reads);
    } else {
      layers_.emplace(index, layer);
    }
    Item item;
    item.def = &body_.own.emplace_back(definition_of(layer, f.name));
    item.name = name;
    item.outputs = output_types(layer, f.inputs[0].type);
    item.inputs = std::move(inputs);
    item.after = std::move(after);
    body_.items.push_back(std::move(item));
    const int last = static_cast<int>(layer.gradient ? layer.inputs() : layer.outputs());
    for (int i = 0; i < static_cast<int>(f.outputs.size()); ++i) known.outputs.push_back({index, std::min(i, last)});
    known.over = {index};
  }

  Library& library_;
  Body& body_;
  const bool recurrent_;
  std::unordered_map<int, Recurrent> layers_;
  std::unordered_set<std::ptrdiff_t> layers_of_gradients_;
  int depth_ = 0;
};

void add_arguments(Body& body, const std::vector<ElementType>& types, const std::vector<std::string>& names) {
  body.arguments = types.size();
  for (size_t i = 0; i < types.size(); ++i) {
    Item item;
    item.argument = static_cast<int>(i);
    item.name = names[i];
    item.outputs = {types[i]};
    body.items.push_back(std::move(item));
  }
}

std::vector<Ref> arguments_of(const Body& body) {
  std::vector<Ref> refs;
  for (size_t i = 0; i < body.arguments; ++i) refs.push_back({static_cast<int>(i), 0});
  return refs;
}

}  // namespace

namespace {

/// Throws LayerIsOpen.
Body read_function(Library& library, std::string_view name, bool recurrent) {
  Body body;
  body.name = name;
  Flattener flattener(library, body, recurrent);
  const FunctionDef& f = flattener.function(name);
  std::vector<ElementType> types;
  std::vector<std::string> names;
  for (const auto& input : f.inputs) {
    types.push_back(input.type);
    names.emplace_back(input.name);
  }
  add_arguments(body, types, names);
  body.results = flattener.call(f, arguments_of(body), {}, "").results;
  flattener.check_layers();
  return body;
}

}  // namespace

Body body_of_function(Library& library, std::string_view name) {
  try {
    return read_function(library, name, true);
  } catch (const LayerIsOpen&) { return read_function(library, name, false); }
}

Body body_of_operator(const Library& library, const std::string& type, graph::Bytes attributes,
                      const std::vector<ElementType>& inputs) {
  Body body;
  body.name = type;
  body.bytes = std::move(attributes);
  NodeDef& def = body.own.emplace_back();
  const tensorflow::OpDef* op = library.operator_named(type);
  if (!op) throw StatusError(StatusCode::NotFound, fmt::format("{} is no operator that TensorFlow knows", type));
  def.name = op->name;
  def.type = op->name;
  def.attributes = tensorflow::read_attributes(body.bytes);
  for (const auto& [name, value] : op->defaults) def.attributes.emplace(name, value);
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) names.push_back(fmt::format("input{}", i));
  add_arguments(body, inputs, names);
  Flattener(const_cast<Library&>(library), body).add_operator(def, type, arguments_of(body), {});
  const int item = static_cast<int>(body.items.size()) - 1;
  for (int i = 0; i < static_cast<int>(body.items.back().outputs.size()); ++i) body.results.push_back({item, i});
  return body;
}

}  // namespace updraft::npu_device
