#include "npu_device/cluster.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>

#include "base/api_call.h"
#include "device/device.h"
#include "frontends/tensorflow/conversion.h"
#include "graph/compile/aipp.h"
#include "graph/planner/program.h"
#include "npu_device/runtime.h"
#include "om/compile_cache.h"

namespace updraft::npu_device {
namespace {

using graph::Builder;
using graph::Endpoint;
using tensorflow::Conversion;
using tensorflow::dtype_of;

constexpr std::string_view kOptimizer = "ResourceApply", kSparseOptimizer = "ResourceSparseApply",
                           kScatter = "ResourceScatter";
/// Integers of at most so many elements are tried as constants where a shape is not known without them.
constexpr int64_t kFewNumbers = 64;
/// Graphs of a cluster that are kept, those used latest.
constexpr size_t kMostCompiled = 64;

/// True for operators that write the memory of variables where they may.
bool writes_memory(std::string_view type) {
  return type.starts_with(kOptimizer) || type.starts_with(kSparseOptimizer) || type.starts_with(kScatter) ||
         type == "ResourceStridedSliceAssign" || type == "AssignAddVariableOp" || type == "AssignSubVariableOp";
}

struct VariableOperator {
  std::string_view type;
  const char* ascend;  ///< the operator that updates variables, which are its first inputs
};
constexpr VariableOperator kVariableOperators[] = {
    {"AssignAddVariableOp", ""},
    {"AssignSubVariableOp", ""},
    {"AssignVariableOp", ""},
    {"ReadVariableOp", ""},
    {"ResourceApplyAdaMax", "ApplyAdaMax"},
    {"ResourceApplyAdadelta", "ApplyAdadelta"},
    {"ResourceApplyAdagrad", "ApplyAdagrad"},
    {"ResourceApplyAdagradV2", "ApplyAdagradV2"},
    {"ResourceApplyAdam", "ApplyAdam"},
    {"ResourceApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradV2"},
    {"ResourceApplyAddSign", "ApplyAddSignD"},
    {"ResourceApplyCenteredRMSProp", "ApplyCenteredRMSProp"},
    {"ResourceApplyFtrl", "ApplyFtrl"},
    {"ResourceApplyFtrlV2", "ApplyFtrlV2"},
    {"ResourceApplyGradientDescent", "ApplyGradientDescent"},
    {"ResourceApplyKerasMomentum", "ApplyKerasMomentum"},
    {"ResourceApplyMomentum", "ApplyMomentum"},
    {"ResourceApplyPowerSign", "ApplyPowerSignD"},
    {"ResourceApplyProximalAdagrad", "ApplyProximalAdagrad"},
    {"ResourceApplyProximalGradientDescent", "ApplyProximalGradientDescent"},
    {"ResourceApplyRMSProp", "ApplyRMSProp"},
    {"ResourceGather", ""},
    {"ResourceGatherNd", ""},
    {"ResourceScatterAdd", "ScatterAdd"},
    {"ResourceScatterDiv", "ScatterDiv"},
    {"ResourceScatterMax", "ScatterMax"},
    {"ResourceScatterMin", "ScatterMin"},
    {"ResourceScatterMul", "ScatterMul"},
    {"ResourceScatterNdAdd", "ScatterNdAdd"},
    {"ResourceScatterNdMax", "ScatterNdMax"},
    {"ResourceScatterNdMin", "ScatterNdMin"},
    {"ResourceScatterNdSub", "ScatterNdSub"},
    {"ResourceScatterNdUpdate", "ScatterNdUpdate"},
    {"ResourceScatterSub", "ScatterSub"},
    {"ResourceScatterUpdate", "ScatterUpdate"},
    {"ResourceSparseApplyAdadelta", "SparseApplyAdadelta"},
    {"ResourceSparseApplyAdagrad", "SparseApplyAdagrad"},
    {"ResourceSparseApplyAdagradV2", "SparseApplyAdagradV2"},
    {"ResourceSparseApplyCenteredRMSProp", "SparseApplyCenteredRMSProp"},
    {"ResourceSparseApplyFtrl", "SparseApplyFtrl"},
    {"ResourceSparseApplyFtrlV2", "SparseApplyFtrlV2"},
    {"ResourceSparseApplyKerasMomentum", "SparseApplyKerasMomentum"},
    {"ResourceSparseApplyMomentum", "SparseApplyMomentum"},
    {"ResourceSparseApplyProximalAdagrad", "SparseApplyProximalAdagrad"},
    {"ResourceSparseApplyProximalGradientDescent", "SparseApplyProximalGradientDescent"},
    {"ResourceSparseApplyRMSProp", "SparseApplyRMSProp"},
    {"ResourceStridedSliceAssign", "StridedSliceAssign"},
    {"VariableShape", ""},
};

const VariableOperator* find_variable_operator(std::string_view type) {
  const auto found = std::ranges::find(kVariableOperators, type, &VariableOperator::type);
  return found == std::end(kVariableOperators) ? nullptr : found;
}

bool is_small_integers(const Value& value) {
  return (value.type == ElementType::Int32 || value.type == ElementType::Int64) &&
         graph::count_of(value.dims) <= kFewNumbers;
}

}  // namespace

bool is_variable_operator(std::string_view type) { return find_variable_operator(type) != nullptr; }

/// Makes the graph of a cluster for certain shapes.
class Cluster::Import final : public tensorflow::Functions {
 public:
  Import(const Cluster& cluster, const std::vector<Value>& inputs, const std::vector<Value>& variables,
         bool numbers_known)
      : cluster_(cluster), body_(cluster.body_), build_(*make_graph()) {
    int64_t index = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& value = inputs[i];
      const std::string name = fmt::format("input{}", i);
      const Endpoint data = build_.input(name, index++, {dtype_of(value.type), value.dims});
      known_[cluster.externals_[i]] =
          numbers_known && is_small_integers(value) ? build_.constant(name + "_value", value.on_host()) : data;
    }
    for (size_t i = 0; i < variables.size(); ++i) {
      State& state = states_[cluster.variables_[i]];
      state.type = dtype_of(variables[i].type);
      state.name = variables[i].variable ? variables[i].variable->name : "";
      if (variables[i].kind != Value::Kind::Tensor) continue;  // it has no value yet
      state.data = state.current = build_.input(fmt::format("variable{}", i), index++, {state.type, variables[i].dims});
      memory_of_[state.data.node] = cluster.variables_[i];
    }
  }

  std::pair<graph::Model, std::shared_ptr<Compiled>> run() {
    for (int item : order()) convert(item);
    auto compiled = std::make_shared<Compiled>();
    std::vector<Endpoint> outputs;
    for (const Ref ref : cluster_.wanted_) outputs.push_back(known_.at(ref));
    for (const auto& [argument, state] : states_) {
      if (state.written) compiled->written.push_back(argument);
      if (!state.current || memory_is(state.current, argument)) continue;
      outputs.push_back(state.current);
      compiled->new_memory.push_back(argument);
    }
    build_.outputs(outputs);
    for (graph::Node* node : updates_) graph_->add_control(*node, *graph_->net_output());
    return {std::move(model_), std::move(compiled)};
  }

  // Calls stand in their places already, and control flow is no part of clusters.
  std::vector<Endpoint> inlined(Conversion& of, std::string_view, const std::vector<Endpoint>&) override {
    of.refuse("functions are called from outside");
  }
  Body body(Conversion& of, std::string_view, const std::vector<graph::TensorDesc>&) override {
    of.refuse("functions are called from outside");
  }
  void drop(const Body&) override {}

 private:
  struct State {
    DType type = DType::Undefined;
    std::string name;
    Endpoint data;     ///< its memory; nothing when it has no value
    Endpoint current;  ///< its value
    bool written = false;
  };

  graph::Graph* make_graph() {
    model_.name = body_.name;
    model_.graph = std::make_shared<graph::Graph>(body_.name);
    graph_ = model_.graph.get();
    return graph_;
  }

  /// Each item behind those that it needs, and optimizers as late as can be: who reads a variable's old value has done
  /// so then.
  std::vector<int> order() {
    std::map<int, int> waits;
    std::map<int, std::vector<int>> then;
    const std::set<int> inside(cluster_.items_.begin(), cluster_.items_.end());
    for (int i : cluster_.items_) {
      const Item& item = body_.items[static_cast<size_t>(i)];
      std::set<int> before(item.after.begin(), item.after.end());
      for (const Ref input : item.inputs) {
        before.insert(input.item);
        ++uses_[input];
      }
      int& count = waits[i];
      for (int b : before)
        if (inside.contains(b)) {
          ++count;
          then[b].push_back(i);
        }
    }
    for (const Ref ref : cluster_.wanted_) ++uses_[ref];
    auto late = [&](int i) { return writes_memory(body_.items[static_cast<size_t>(i)].type()); };
    std::set<std::pair<bool, int>> ready;
    for (const auto& [i, count] : waits)
      if (count == 0) ready.insert({late(i), i});
    std::vector<int> order;
    while (!ready.empty()) {
      const int next = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(next);
      for (int i : then[next])
        if (--waits[i] == 0) ready.insert({late(i), i});
    }
    return order;
  }

  Endpoint in(const Item& item, size_t i) {
    const Ref ref = item.inputs.at(i);
    --uses_[ref];
    if (const auto found = known_.find(ref); found != known_.end()) return found->second;
    const Item& constant = body_.items[static_cast<size_t>(ref.item)];
    if (constant.type() != "Const")
      throw Error(code::kAclInternal, "{} reads {} before it is there", item.name, constant.name);
    Conversion c(*constant.def, *tensorflow::find_row("Const"), build_, *this, constant.name, {});
    c.row.convert(c);
    return known_[ref] = c.given().at(0);
  }

  void convert(int index) {
    const Item& item = body_.items[static_cast<size_t>(index)];
    const auto last = graph_->nodes().empty() ? graph_->nodes().end() : std::prev(graph_->nodes().end());
    try {
      std::vector<Endpoint> outputs;
      if (const VariableOperator* on_variable = find_variable_operator(item.type())) {
        outputs = convert_variable(item, *on_variable);
      } else {
        std::vector<Endpoint> inputs;
        for (size_t i = 0; i < item.inputs.size(); ++i) inputs.push_back(in(item, i));
        outputs = Conversion::convert(*item.def, item.name, std::move(inputs), build_, *this);
      }
      for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
        if (o < static_cast<int>(item.outputs.size()) && outputs[static_cast<size_t>(o)] &&
            build_.desc(outputs[static_cast<size_t>(o)]).dtype != dtype_of(item.outputs[static_cast<size_t>(o)]))
          throw Error(code::kAclnnParamInvalid, "{} ({}): output {} would be {}, want {}", item.name, item.type(), o,
                      graph::describe(build_.desc(outputs[static_cast<size_t>(o)])),
                      tensorflow::name_of(item.outputs[static_cast<size_t>(o)]));
        known_[{index, o}] = outputs[static_cast<size_t>(o)];
      }
      for (int o = 0; o < static_cast<int>(item.outputs.size()); ++o)
        if (uses_[{index, o}] > 0 && (o >= static_cast<int>(outputs.size()) || !outputs[static_cast<size_t>(o)]))
          throw Error(code::kAclnnParamInvalid, "{} ({}): output {} is read, and not given", item.name, item.type(), o);
    } catch (const Error& e) { throw Refusal{index, e.text()}; }
    // What is made in keep_dtype_scope() keeps its type, and so do updates of variables, which have one.
    if (item.def->attributes.contains("_keep_dtype") || writes_memory(item.type()))
      for (auto node = last == graph_->nodes().end() ? graph_->nodes().begin() : std::next(last);
           node != graph_->nodes().end(); ++node)
        (*node)->attributes[graph::kKeepsType] = true;
    // every rank takes part in a collective, whether it reads what that gives or not
    if (item.type().starts_with("Hcom")) updates_.push_back(graph_->nodes().back().get());
  }

  State& state_of(const Item& item, size_t i) {
    return states_.at(cluster_.variable_of_[static_cast<size_t>(item.inputs.at(i).item)]);
  }
  Endpoint value_of(const State& state) const {
    if (!state.current)
      throw StatusError(
          StatusCode::FailedPrecondition,
          fmt::format("variable {} is read before a value was assigned to it: initialise it first", state.name));
    return state.current;
  }

  std::vector<Endpoint> convert_variable(const Item& item, const VariableOperator& op) {
    State& state = state_of(item, 0);
    if (op.type == "ReadVariableOp") return {value_of(state)};
    if (op.type == "AssignVariableOp") {
      state.current = in(item, 1);
      return {};
    }
    if (op.type == "AssignAddVariableOp" || op.type == "AssignSubVariableOp") {
      const Endpoint change = in(item, 1), before = value_of(state);
      const int argument = cluster_.variable_of_[static_cast<size_t>(item.inputs.at(0).item)];
      if (memory_is(before, argument) && !read_later(argument)) {
        write(build_.node(op.type == "AssignAddVariableOp" ? "AssignAdd" : "AssignSub", item.name, {before, change}),
              {&state});
        return {};
      }
      state.current = build_(op.type == "AssignAddVariableOp" ? "Add" : "Sub", item.name, {before, change});
      return {};
    }
    if (op.type == "VariableShape") {
      const Dims& dims = build_.desc(value_of(state)).dims;
      const bool wide = item.outputs.at(0) == ElementType::Int64;
      return {build_.constant(item.name,
                              wide ? graph::Tensor::of(dims) : graph::Tensor::of_int32({dims.begin(), dims.end()}))};
    }
    if (op.type == "ResourceGather") {
      const auto found = item.def->attributes.find("batch_dims");
      const int64_t batch = found != item.def->attributes.end() ? found->second.integer : 0;
      return {build_(
          "GatherV2", item.name,
          {value_of(state), in(item, 1), build_.constant(item.name + "/axis", graph::Tensor::of(int64_t{batch}))},
          {{"batch_dims", batch}})};
    }
    if (op.type == "ResourceGatherNd") return {build_("GatherNd", item.name, {value_of(state), in(item, 1)})};
    return update(item, op.ascend);
  }

  /// An optimizer, or values put into rows. The variables are its first inputs.
  std::vector<Endpoint> update(const Item& item, const char* ascend) {
    std::vector<graph::Operand> operands;
    std::vector<State*> variables;
    for (size_t i = 0; i < item.inputs.size(); ++i) {
      if (body_.type_of(item.inputs[i]) != ElementType::Resource) {
        operands.emplace_back(in(item, i));
        continue;
      }
      State& state = state_of(item, i);
      Endpoint at = value_of(state);
      const int argument = cluster_.variable_of_[static_cast<size_t>(item.inputs[i].item)];
      if (!memory_is(at, argument) || read_later(argument)) at = build_("TensorMove", item.name + "/old", {at});
      operands.emplace_back(at);
      variables.push_back(&state);
    }
    graph::Attributes attributes;
    for (const char* name : {"use_nesterov", "update_slots"})
      if (const auto found = item.def->attributes.find(name); found != item.def->attributes.end())
        attributes[name] = found->second.flag;
    for (const char* name : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
      if (const auto found = item.def->attributes.find(name); found != item.def->attributes.end())
        attributes[name] = found->second.integer;
    if (const auto other = item.def->attributes.find("multiply_linear_by_lr");
        other != item.def->attributes.end() && other->second.flag)
      throw Error(code::kAclnnParamInvalid, "{} ({}): multiply_linear_by_lr is true, want false", item.name,
                  item.type());
    write(build_.node(ascend, item.name, operands, std::move(attributes)), variables);
    return {};
  }

  /// Of a node that writes its first inputs, which are what these variables have: it comes behind all who read the
  /// memory, and gives the variables what they are then.
  void write(graph::Node& node, const std::vector<State*>& variables) {
    std::set<graph::Node*> readers;
    std::vector<std::optional<int>> places;  // whose memory each is
    for (size_t v = 0; v < variables.size(); ++v) {
      const Endpoint before = node.input(static_cast<int>(v)).from;
      const auto own = std::ranges::find_if(states_, [&](const auto& s) { return &s.second == variables[v]; });
      const bool in_place = own != states_.end() && memory_is(before, own->first);
      places.push_back(in_place ? std::optional(own->first) : std::nullopt);
      if (!in_place) continue;
      for (graph::Node* reader : readers_of(own->first)) readers.insert(reader);
    }
    for (graph::Node* reader : readers)
      if (reader != &node) graph_->add_control(*reader, node);
    for (size_t v = 0; v < variables.size(); ++v) {
      State& state = *variables[v];
      state.current = node.out(static_cast<int>(v));
      if (!places[v]) continue;
      state.written = true;
      for (const auto& [data, argument] : memory_of_)
        if (argument == *places[v]) graph_->set_type(*data, "RefData");  // its memory may change
      updated_memory_[{&node, static_cast<int>(v)}] = *places[v];
    }
    updates_.push_back(&node);
  }

  /// True when the tensor lies in the variable's memory.
  bool memory_is(Endpoint e, int argument) const {
    if (const auto updated = updated_memory_.find({e.node, e.index}); updated != updated_memory_.end())
      return updated->second == argument;
    if (const auto data = memory_of_.find(e.node); data != memory_of_.end()) return data->second == argument;
    return graph::passes_on(*e.node) && !e.node->inputs().empty() && e.node->input(0).from &&
           memory_is(e.node->input(0).from, argument);
  }
  /// True when an item that is not converted yet reads a tensor that lies there.
  bool read_later(int argument) const {
    return std::ranges::any_of(known_, [&](const auto& k) {
      const auto uses = uses_.find(k.first);
      return uses != uses_.end() && uses->second > 0 && k.second && memory_is(k.second, argument);
    });
  }
  /// Nodes that read a tensor there.
  std::vector<graph::Node*> readers_of(int argument) const {
    std::vector<graph::Node*> readers;
    for (const auto& node : graph_->nodes())
      for (const graph::Input& input : node->inputs())
        if (input.from && memory_is(input.from, argument)) readers.push_back(node.get());
    return readers;
  }

  const Cluster& cluster_;
  const npu_device::Body& body_;
  graph::Model model_;
  graph::Graph* graph_ = nullptr;
  Builder build_;
  std::map<Ref, Endpoint> known_;
  std::map<Ref, int> uses_;  ///< by items that are not converted yet
  std::map<int, State> states_;
  std::map<graph::Node*, int> memory_of_;
  std::map<std::pair<const graph::Node*, int>, int> updated_memory_;
  std::vector<graph::Node*> updates_;
};

Cluster::Cluster(Runtime& runtime, const Body& body, std::vector<int> items, const std::vector<int>& variables,
                 const std::vector<Ref>& wanted)
    : runtime_(runtime), body_(body), items_(std::move(items)), variable_of_(variables), wanted_(wanted) {
  const std::set<int> inside(items_.begin(), items_.end());
  std::set<Ref> externals;
  std::set<int> used;
  for (int i : items_) {
    collectives_ = collectives_ || body_.items[static_cast<size_t>(i)].type().starts_with("Hcom");
    for (const Ref input : body_.items[static_cast<size_t>(i)].inputs) {
      if (body_.type_of(input) == ElementType::Resource) used.insert(variable_of_[static_cast<size_t>(input.item)]);
      else if (!inside.contains(input.item) && body_.items[static_cast<size_t>(input.item)].type() != "Const")
        externals.insert(input);
    }
  }
  externals_.assign(externals.begin(), externals.end());
  variables_.assign(used.begin(), used.end());
}

std::shared_ptr<Cluster::Compiled> Cluster::compiled_for(const std::vector<Value>& inputs,
                                                         const std::vector<Value>& variables) {
  const std::lock_guard lock(mutex_);
  auto key_of = [&] {
    Key key;
    for (const Value& v : inputs) key.dims.push_back(v.dims);
    for (const Value& v : variables) key.dims.push_back(v.kind == Value::Kind::Tensor ? v.dims : Dims{-1});
    if (numbers_matter_)
      for (const Value& v : inputs)
        if (is_small_integers(v))
          for (int64_t n : v.on_host().integers()) key.numbers.push_back(n);
    return key;
  };
  if (const auto found = compiled_.find(key_of()); found != compiled_.end()) {
    found->second->used = ++uses_;
    return found->second;
  }
  auto make = [&] {
    auto [model, compiled] = Import(*this, inputs, variables, numbers_matter_).run();
    static std::atomic<uint32_t> next{1u << 26};  // apart from those of aclmdlLoad… and graph sessions
    const uint32_t id = next++;
    compiled->model = std::make_shared<graph::LoadedModel>(om::compile_cached(model, runtime_.options(), nullptr, id),
                                                           runtime_.device(), id);
    compiled->used = ++uses_;
    // sizes that data decide (how many different words a batch has) would make graphs for ever
    if (compiled_.size() >= kMostCompiled)
      compiled_.erase(std::ranges::min_element(compiled_, {}, [](const auto& c) { return c.second->used; }));
    return compiled_[key_of()] = std::move(compiled);
  };
  try {
    return make();
  } catch (const Refusal&) {
    if (numbers_matter_ || std::ranges::none_of(inputs, is_small_integers)) throw;
    numbers_matter_ = true;
    return make();
  }
}

void Cluster::run(std::vector<std::vector<Value>>& values, const std::vector<Value>& arguments) {
  std::vector<Value> inputs, variables;
  for (const Ref ref : externals_) {
    const Value& value = values.at(static_cast<size_t>(ref.item)).at(static_cast<size_t>(ref.output));
    if (value.kind != Value::Kind::Tensor)
      throw Error(code::kAclInternal, "{}: {} has no tensor", body_.name,
                  body_.items[static_cast<size_t>(ref.item)].name);
    inputs.push_back(value);
  }
  for (int argument : variables_) {
    const std::shared_ptr<Variable>& variable = arguments.at(static_cast<size_t>(argument)).variable;
    const std::lock_guard lock(variable->mutex);
    Value value = Value::tensor(variable->type, variable->dims, variable->memory);
    if (!variable->memory) value.kind = Value::Kind::None;
    value.variable = variable;
    variables.push_back(std::move(value));
  }
  const std::shared_ptr<Compiled> compiled = compiled_for(inputs, variables);

  auto execution = std::make_shared<graph::Execution>();
  auto feed = [&](Value& value) {
    if (collectives_ && value.memory->of_tensorflow())  // they move memory of the device alone
      value = runtime_.handles().make(value.type, value.dims, value.memory->host());
    graph::Buffer& buffer = execution->inputs.emplace_back();
    buffer.data = value.memory->data();
    buffer.bytes = value.bytes();
    buffer.dims = value.dims;
    buffer.dtype = dtype_of(value.type);
  };
  for (Value& value : inputs) feed(value);
  for (size_t v = 0; v < variables.size(); ++v) {
    Value& value = variables[v];
    if (value.kind != Value::Kind::Tensor) continue;
    if (std::ranges::find(compiled->written, variables_[v]) != compiled->written.end()) {
      // somebody keeps what was read, or it is a tensor of TensorFlow's: it is not written, a copy is
      constexpr long kOurs = 2;  // the variable's and this one
      if (value.memory.use_count() > kOurs || !value.memory->writable()) {
        auto copy = std::make_shared<Memory>(runtime_.device(), value.bytes());
        if (value.bytes()) std::memcpy(copy->host(), value.memory->host(), value.bytes());
        value.memory = std::move(copy);
        value.variable->assign(value);
      }
    }
    feed(value);
  }
  std::vector<std::shared_ptr<Memory>> memory(wanted_.size() + compiled->new_memory.size());
  execution->outputs.resize(memory.size());
  const std::vector<graph::Known>* sizes = compiled->model->prepare(*execution);
  auto bytes_of = [](const Dims& dims, DType type) {
    return static_cast<size_t>(graph::count_of(dims)) * size_of(type);
  };
  for (size_t i = 0; sizes && i < memory.size(); ++i) {
    const size_t bytes = bytes_of(*(*sizes)[i].dims, (*sizes)[i].dtype);
    memory[i] = std::make_shared<Memory>(runtime_.device(), bytes);
    execution->outputs[i].data = memory[i]->data();
    execution->outputs[i].bytes = std::max<size_t>(bytes, 1);
  }
  Stream& stream = runtime_.stream();
  {
    const ApiScope call("RunGraph");  // what is put on the stream together: a model with collectives is several tasks
    compiled->model->execute(execution, stream);
  }
  stream.synchronize(runtime_.time_limit());
  for (size_t i = 0; i < memory.size(); ++i) {
    const graph::Buffer& made = execution->outputs[i];
    if (!memory[i]) {
      memory[i] = std::make_shared<Memory>(runtime_.device(), bytes_of(made.dims, made.dtype));
      if (memory[i]->bytes()) std::memcpy(memory[i]->host(), host_address(made.data), memory[i]->bytes());
    }
    if (i < wanted_.size()) {
      const Ref ref = wanted_[i];
      auto& of = values.at(static_cast<size_t>(ref.item));
      of.resize(body_.items[static_cast<size_t>(ref.item)].outputs.size());
      of[static_cast<size_t>(ref.output)] = Value::tensor(body_.type_of(ref), made.dims, memory[i]);
    } else {
      const int argument = compiled->new_memory[i - wanted_.size()];
      const auto& variable = arguments.at(static_cast<size_t>(argument)).variable;
      variable->assign(Value::tensor(variable->type, made.dims, memory[i]));
    }
  }
}

}  // namespace updraft::npu_device
