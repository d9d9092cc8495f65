#include "ge/compose.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ge/subgraphs.h"
#include "ge/tensor_impl.h"
#include "graph/shape/probe.h"

namespace ge {

using updraft::Default;
using updraft::Error;
namespace code = updraft::code;
namespace ir = updraft::graph;

namespace {

template <class... A>
[[noreturn]] void refuse(const OperatorImpl& op, fmt::format_string<A...> text, A&&... values) {
  throw Error(code::kAclInvalidParam, "{}: {}", op.text(), fmt::format(text, std::forward<A>(values)...));
}

/// A constant of no type and without elements stands for an input that is absent: MindSpore's None.
bool is_absent(const OperatorImpl& op) {
  const auto value = op.attributes.find("value");
  const ir::Tensor* held = value == op.attributes.end() ? nullptr : value->second.get<ir::Tensor>();
  return held && held->dtype == updraft::DType::Undefined;
}

/// It has no tensors and is no node of a graph: control edges lead through it.
bool is_nothing(const OperatorImpl& op) { return op.type == "NoOp" || is_absent(op); }

/// What runs before somebody who waits for `op`, or the operator itself.
void add_nodes_of(OperatorImpl& op, std::vector<OperatorImpl*>& to, std::unordered_set<OperatorImpl*>& seen) {
  if (!seen.insert(&op).second) return;
  if (!is_nothing(op)) to.push_back(&op);
  else
    for (const auto& before : op.controls) add_nodes_of(*before, to, seen);
}
std::vector<OperatorImpl*> nodes_of(const std::vector<std::shared_ptr<OperatorImpl>>& operators) {
  std::vector<OperatorImpl*> nodes;
  std::unordered_set<OperatorImpl*> seen;
  for (const auto& op : operators) add_nodes_of(*op, nodes, seen);
  return nodes;
}

bool is_data(const OperatorImpl& op) { return op.type == "Data" || op.type == "RefData"; }

/// All that these operators need, in the order in which programs made them.
std::vector<OperatorImpl*> needed(std::vector<OperatorImpl*> open) {
  std::unordered_set<OperatorImpl*> seen(open.begin(), open.end());
  std::vector<OperatorImpl*> all;
  const auto need = [&](const std::shared_ptr<OperatorImpl>& op) {
    if (op && seen.insert(op.get()).second) open.push_back(op.get());
  };
  while (!open.empty()) {
    OperatorImpl* op = open.back();
    open.pop_back();
    all.push_back(op);
    for (const Port& p : op->inputs)
      for (const Slot& slot : p.slots) need(slot.from.op);
    for (const auto& before : op->controls) need(before);
  }
  std::ranges::sort(all, {}, &OperatorImpl::number);
  return all;
}

class Composer {
 public:
  explicit Composer(const std::string& name) {
    model_.name = name;
    model_.graph = std::make_shared<ir::Graph>(name);
  }

  void add(const std::vector<OperatorImpl*>& operators) {
    for (OperatorImpl* op : operators)
      if (!is_nothing(*op)) add_node(*op);
    for (OperatorImpl* op : operators)
      if (!is_nothing(*op)) connect(*op);
  }

  /// `inputs` that are Data, by their index.
  void number_inputs(const std::vector<std::shared_ptr<OperatorImpl>>& inputs) {
    std::vector<OperatorImpl*> data;
    for (const auto& op : inputs)
      if (is_data(*op) && std::ranges::find(data, op.get()) == data.end()) data.push_back(op.get());
    const auto index = [](const OperatorImpl* op) { return ir::find_or<int64_t>(op->attributes, "index", 0); };
    std::ranges::stable_sort(data, {}, index);
    for (size_t i = 0; i < data.size(); ++i) {
      ir::Attributes& attributes = nodes_.at(data[i])->attributes;
      attributes["index"] = static_cast<int64_t>(i);
      if (const int64_t own = index(data[i]); own != static_cast<int64_t>(i)) attributes[kParentIndex] = own;
    }
    for (const auto& [op, node] : nodes_)
      if (is_data(*op) && std::ranges::find(data, op) == data.end())
        refuse(*op, "the graph needs it, and it is not among the operators of SetInputs");
  }

  void end(const std::vector<OutputOf>& outputs, const std::vector<std::shared_ptr<OperatorImpl>>& targets) {
    ir::Graph& graph = *model_.graph;
    ir::Node& end = graph.make_net_output();
    for (const OutputOf& output : outputs)
      graph.add_input(end, "x" + std::to_string(end.inputs().size()), endpoint(output));
    for (OperatorImpl* target : nodes_of(targets)) graph.add_control(*nodes_.at(target), end);
    (void)graph.in_order();  // throws where there is a cycle
  }

  ir::Model take() { return std::move(model_); }
  ir::Graph& graph() { return *model_.graph; }

  ir::Endpoint endpoint(const OutputOf& output) const {
    size_t index = output.item;
    for (size_t p = 0; p < output.port; ++p) index += output.op->outputs[p].slots.size();
    if (output.item >= output.op->outputs[output.port].slots.size())
      refuse(*output.op, "place {} of its output {} is read, and it has only {}", output.item,
             output.op->outputs[output.port].ir->name, output.op->outputs[output.port].slots.size());
    return {nodes_.at(output.op.get()), static_cast<int>(index)};
  }

 private:
  void add_node(OperatorImpl& op) {
    if (!op.refusal.empty()) throw Error(code::kAclInvalidParam, "{}", op.refusal);
    op.check();
    if (const auto other = names_.find(op.name); op.named && other != names_.end())
      refuse(op, "{} has the same name: names tell the nodes of a graph apart", other->second->text());
    ir::Node& node = model_.graph->add(op.type, op.name);
    names_[node.name()] = &op;
    nodes_[&op] = &node;
    node.attributes = op.attributes;
    for (const IrAttribute& a : op.ir->attributes)
      if (a.other.is == Default::Is::Required && !a.optional && !op.attributes.contains(a.name))
        refuse(op, "attribute {} must be given: set_attr_{}", a.name, a.name);
    for (const Port& p : op.outputs) {
      if (p.slots.empty())
        refuse(op, "output {} is dynamic: say how many there are with create_dynamic_output_{}", p.ir->name,
               p.ir->name);
      for (size_t i = 0; i < p.slots.size(); ++i)
        model_.graph->add_output(node, p.ir->dynamic ? p.ir->name + std::to_string(i) : p.ir->name,
                                 p.slots[i].desc.value_or(ir::TensorDesc()));
    }
    if (!op.ir->graphs.empty()) add_subgraphs(op, node, model_);
    else if (!op.ir->info) hold_tensor(op, node);
  }

  /// Data and Variable say what they are in the description of y, or else of x; constants are what their value is.
  static void hold_tensor(OperatorImpl& op, ir::Node& node) {
    if (op.inputs.empty()) {
      const ir::Tensor& value = *op.attributes.at("value").get<ir::Tensor>();
      node.output_desc() = {value.dtype, value.dims, value.format};
      return;
    }
    const Slot &x = op.inputs[0].slots[0], &y = op.outputs[0].slots[0];
    if (x.from.op) refuse(op, "it reads {}: a {} is fed from outside", x.from.op->text(), op.type);
    if (!x.desc && !y.desc)
      refuse(op, "nobody says what it is: give it type and shape with update_output_desc_y(TensorDesc(…))");
    node.output_desc() = y.desc ? *y.desc : *x.desc;
  }

  void connect(OperatorImpl& op) {
    ir::Node& node = *nodes_.at(&op);
    ir::Graph& graph = *model_.graph;
    for (const Port& p : op.inputs)
      for (size_t i = 0; i < p.slots.size(); ++i) {
        const Slot& slot = p.slots[i];
        const bool here = slot.from.op && !is_nothing(*slot.from.op);
        if (!here && p.ir->dynamic)
          refuse(op, "place {} of the dynamic input {} is missing: set_dynamic_input_{}({}, …)", i, p.ir->name,
                 p.ir->name, i);
        if (!here && !p.ir->optional) refuse(op, "input {} is missing: set_input_{}", p.ir->name, p.ir->name);
        const int at = graph.add_input(node, p.ir->dynamic ? p.ir->name + std::to_string(i) : p.ir->name,
                                       here ? endpoint(slot.from) : ir::Endpoint());
        if (!op.ir->info && op.ir->graphs.empty()) node.input_desc(at) = node.output().desc;
      }
    for (OperatorImpl* before : nodes_of(op.controls)) graph.add_control(*nodes_.at(before), node);
    take_format(op, node);
  }

  /// The format of an input says how the dimensions stand where the attribute does not.
  static void take_format(const OperatorImpl& op, ir::Node& node) {
    if (!op.ir->attribute("data_format") || op.attributes.contains("data_format")) return;
    static constexpr ir::Format kLayouts[] = {ir::Format::NCHW, ir::Format::NHWC, ir::Format::NCDHW, ir::Format::NDHWC};
    for (const Port& p : op.inputs)
      for (const Slot& slot : p.slots) {
        const auto& desc =
            slot.desc || !slot.from.op ? slot.desc : slot.from.op->outputs[slot.from.port].slots[slot.from.item].desc;
        if (!desc || std::ranges::find(kLayouts, desc->format) == std::end(kLayouts)) continue;
        node.attributes["data_format"] = ir::name_of(desc->format);
        return;
      }
  }

  ir::Model model_;
  std::unordered_map<const OperatorImpl*, ir::Node*> nodes_;
  std::unordered_map<std::string, const OperatorImpl*> names_;
};

/// A graph without outputs runs its inputs that compute (InitData), and who reads those that hold tensors (assignments
/// that initialise variables).
std::vector<std::shared_ptr<OperatorImpl>> started_by(const std::vector<std::shared_ptr<OperatorImpl>>& inputs) {
  std::vector<std::shared_ptr<OperatorImpl>> started;
  for (const auto& input : inputs) {
    if (input->ir && input->ir->info) started.push_back(input);
    for (const auto& reader : input->readers)
      if (auto op = reader.lock()) started.push_back(std::move(op));
  }
  return started;
}

}  // namespace

ir::Model compose(const std::string& name, const Composition& of) {
  if (!of.refusal.empty()) throw Error(code::kAclInvalidParam, "{}", of.refusal);
  std::vector<std::shared_ptr<OperatorImpl>> targets = of.targets;
  if (of.outputs.empty() && targets.empty()) targets = started_by(of.inputs);
  if (of.outputs.empty() && targets.empty())
    throw Error(code::kAclInvalidParam, "graph {} has inputs, and neither outputs nor targets: call SetOutputs", name);
  std::vector<OperatorImpl*> roots;
  const auto root = [&](const std::shared_ptr<OperatorImpl>& op) {
    if (std::ranges::find(roots, op.get()) == roots.end()) roots.push_back(op.get());
  };
  for (const OutputOf& output : of.outputs) root(output.op);
  for (const auto& target : targets) root(target);
  for (const auto& input : of.inputs)
    if (is_data(*input)) root(input);  // clients count the inputs, read or not
  Composer composer(name);
  composer.add(needed(std::move(roots)));
  composer.number_inputs(of.inputs);
  composer.end(of.outputs, targets);
  return composer.take();
}

void infer_outputs(const std::shared_ptr<OperatorImpl>& op) {
  op->check();
  Composer composer("inference");
  composer.add(needed({op.get()}));
  std::vector<OutputOf> outputs;
  for (size_t p = 0; p < op->outputs.size(); ++p)
    for (size_t i = 0; i < op->outputs[p].slots.size(); ++i) outputs.push_back({op, p, i});
  composer.end(outputs, {});
  for (const auto& node : composer.graph().nodes())  // here a variable is what its description says
    if (node->type() == "Variable") composer.graph().set_type(*node, "RefData");
  ir::infer_all(composer.graph());
  for (const OutputOf& output : outputs) {
    const ir::Endpoint from = composer.endpoint(output);
    std::optional<ir::TensorDesc>& desc = op->outputs[output.port].slots[output.item].desc;
    const ir::TensorDesc& found = from.node->output(from.index).desc;
    if (!desc) desc = found;
    desc->dtype = found.dtype;
    desc->dims = desc->origin_dims = found.dims;
  }
}

}  // namespace ge
