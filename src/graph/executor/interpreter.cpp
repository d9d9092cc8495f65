#include "graph/executor/interpreter.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "device/memory.h"
#include "device/observer.h"

namespace updraft::graph {
namespace {

LiveTensor make(DType dtype, Dims dims) {
  LiveTensor t{dtype, std::move(dims), nullptr, nullptr};
  const size_t bytes = t.bytes();
  auto memory = std::shared_ptr<std::byte[]>(new (std::align_val_t(64)) std::byte[bytes + 1],
                                             [](std::byte* p) { ::operator delete[](p, std::align_val_t(64)); });
  t.data = memory.get();
  t.owner = std::move(memory);
  return t;
}

LiveTensor copy_of(const LiveTensor& from) {
  LiveTensor made = make(from.dtype, from.dims);
  if (const size_t bytes = from.bytes()) std::memcpy(made.data, host_address(from.data), bytes);
  return made;
}

LiveTensor holding(const Tensor& value) {
  return {value.dtype, value.dims, const_cast<std::byte*>(value.data.data()), std::make_shared<Bytes>(value.data)};
}

/// The nodes of each graph in the order in which they run: bodies run many times.
using Orders = std::unordered_map<const Graph*, std::vector<Node*>>;

class Interpreter {
 public:
  Interpreter(const Model& model, const Graph& graph, const Weights& weights, Orders& orders, const NodePlace& place)
      : model_(model), graph_(graph), weights_(weights), orders_(orders), place_(place) {}

  std::vector<LiveTensor> run(std::vector<LiveTensor> inputs) {
    const auto data = graph_.inputs();
    for (size_t i = 0; i < data.size(); ++i) tensors_[data[i]->id()] = {std::move(inputs.at(i))};
    const auto known = orders_.find(&graph_);
    const std::vector<Node*>& order =
        known != orders_.end() ? known->second : orders_[&graph_] = graph_.needed_in_order();
    for (const Node* node : order)
      for (const Input& input : node->inputs())
        if (input.from) ++readers_[input.from.node->id()];
    std::vector<LiveTensor> outputs;
    for (Node* node : order) {
      if (node->type() == "NetOutput") {
        for (const Input& input : node->inputs()) outputs.push_back(at(input.from));
        continue;
      }
      if (!tensors_.contains(node->id())) tensors_[node->id()] = run(*node);
      for (const Input& input : node->inputs())
        if (input.from && --readers_[input.from.node->id()] == 0) tensors_.erase(input.from.node->id());
    }
    return outputs;
  }

 private:
  LiveTensor& at(Endpoint from) { return tensors_.at(from.node->id()).at(static_cast<size_t>(from.index)); }

  std::vector<LiveTensor> run(Node& node) {
    if (const Tensor* constant = node.constant())
      return {{constant->dtype, constant->dims, weights_.of(node).data, nullptr}};
    try {
      if (node.type() == "If" || node.type() == "StatelessIf") return branch(node);
      if (node.type() == "Case" || node.type() == "StatelessCase") return one_of(node);
      if (node.type() == "PartitionedCall") return run_subgraph(subgraph(node, 0), inputs_of(node, 0));
      if (node.type() == "While" || node.type() == "StatelessWhile") return loop(node);
      if (passes_on(node) && node.type() == "Identity") return {at(node.input(0).from)};
      return call(node);
    } catch (const Error& e) { throw_of(node, e); }
  }

  NodePlace place_of(const Node& node) const {
    return {place_.model, static_cast<int32_t>(node.id()), place_.graph, node.name().c_str(), place_.execution};
  }

  /// True when the node must not write there although it updates that input: constants, inputs that nobody said may
  /// change (the results of the graph are copied, also into the memory of an input), and what others read later.
  bool must_stay(const Node& node, const Input& input) const {
    const Node& from = *input.from.node;
    if (from.constant()) return true;
    if (from.type() == "Data") return gives_a_new_tensor(node);
    const auto own = std::ranges::count_if(node.inputs(), [&](const Input& i) { return i.from.node == &from; });
    return from.type() != "RefData" && readers_.at(from.id()) > own;
  }

  std::vector<LiveTensor> call(Node& node) {
    if (asks_for_sizes(node)) {
      std::vector<Known> inputs;
      for (const Input& input : node.inputs()) inputs.emplace_back(at(input.from).dtype, at(input.from).dims);
      std::vector<LiveTensor> outputs;
      for (const Known& known : infer_node(node, inputs)) outputs.push_back(holding(*known.value));
      return outputs;
    }
    NodeCall call(node);
    std::map<int, LiveTensor> updated;  // of inputs that must stay as they are, which are copied
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Input& input = node.inputs()[i];
      if (!input.from) {
        if (call.inputs()[i].parameter->kind == Kind::Tensors) call.call().add_absent(call.inputs()[i].parameter->name);
        continue;
      }
      const bool copied = updates_input(node, i) && must_stay(node, input);
      const LiveTensor& x = copied ? updated[static_cast<int>(i)] = copy_of(at(input.from)) : at(input.from);
      CallTensor tensor{x.dtype, x.dims};
      tensor.data = x.data;
      tensor.on_host = true;  // the values are there: the engine has come to them
      if (input.from.node->constant() && !copied) tensor.constant = weights_.of(*input.from.node).constant;
      call.set_input(i, std::move(tensor));
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) call.ask_output(i);
    call.call().infer();
    std::vector<LiveTensor> outputs;
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (call.updates(i)) {
        const int input = node.find_input(node.outputs()[i].name);
        const auto copy = updated.find(input);
        outputs.push_back(copy == updated.end() ? at(node.input(input).from) : copy->second);
        continue;
      }
      const CallTensor& found = call.output(i);
      outputs.push_back(make(found.dtype, found.dims));
      call.call().place(call.outputs()[i].parameter->name, call.outputs()[i].item, outputs.back().data);
    }
    const NodePlace place = place_of(node);
    const NodeScope scope(&place);
    call.call().run_here();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (call.updates(i)) continue;
      outputs[i].dims.clear();
      for (const Dim& d : call.shape(i).dims) outputs[i].dims.push_back(d.low);
    }
    return outputs;
  }

  const Graph& subgraph(const Node& node, size_t i) const {
    const auto found = i < node.subgraphs.size() ? model_.subgraphs.find(node.subgraphs[i]) : model_.subgraphs.end();
    if (found == model_.subgraphs.end())
      throw Error(code::kAclnnParamInvalid, "the model has no graph for branch {}", i);
    return *found->second;
  }

  std::vector<LiveTensor> inputs_of(const Node& node, size_t first) {
    std::vector<LiveTensor> inputs;
    for (size_t i = first; i < node.inputs().size(); ++i) inputs.push_back(at(node.inputs()[i].from));
    return inputs;
  }

  /// Of one element, read where it lies.
  static Tensor value_of(const LiveTensor& t) {
    return {t.dtype, {}, Bytes(nullptr, static_cast<const std::byte*>(host_address(t.data)), t.bytes())};
  }

  static bool truth(const LiveTensor& condition) {
    if (count_of(condition.dims) != 1)
      throw Error(code::kAclnnParamInvalid, "the condition is {}{}, want one element",
                  updraft::name_of(condition.dtype), describe(condition.dims));
    return value_of(condition).reals()[0] != 0;
  }

  std::vector<LiveTensor> run_subgraph(const Graph& graph, std::vector<LiveTensor> inputs) {
    return Interpreter(model_, graph, weights_, orders_, place_).run(std::move(inputs));
  }

  /// inputs: condition, then those of the branches; subgraphs: then, else.
  std::vector<LiveTensor> branch(const Node& node) {
    const bool taken = truth(at(node.input(0).from));
    return run_subgraph(subgraph(node, taken ? 0 : 1), inputs_of(node, 1));
  }

  /// inputs: the number of the branch, then those of the branches. A number that is none means the last one.
  std::vector<LiveTensor> one_of(const Node& node) {
    const LiveTensor& index = at(node.input(0).from);
    if (count_of(index.dims) != 1 || !is_integral(index.dtype))
      throw Error(code::kAclnnParamInvalid, "the number of the branch is {}{}, want one integer",
                  updraft::name_of(index.dtype), describe(index.dims));
    const int64_t wanted = value_of(index).integers()[0];
    const auto count = static_cast<int64_t>(node.subgraphs.size());
    return run_subgraph(subgraph(node, static_cast<size_t>(wanted >= 0 && wanted < count ? wanted : count - 1)),
                        inputs_of(node, 1));
  }

  /// inputs: the state; subgraphs: the condition of the state, the state after a turn. What the body gives behind the
  /// state is collected: the node's outputs behind the state have it of all turns, along a new first dimension.
  std::vector<LiveTensor> loop(const Node& node) {
    std::vector<LiveTensor> state = inputs_of(node, 0);
    const size_t carried = state.size();
    if (node.outputs().size() < carried)
      throw Error(code::kAclnnParamInvalid, "{} outputs, want those of {} inputs", node.outputs().size(), carried);
    std::vector<std::vector<LiveTensor>> collected(node.outputs().size() - carried);
    while (truth(run_subgraph(subgraph(node, 0), state).at(0))) {
      state = run_subgraph(subgraph(node, 1), state);
      if (state.size() != node.outputs().size())
        throw Error(code::kAclnnParamInvalid, "the body gives {} tensors, want {}", state.size(),
                    node.outputs().size());
      for (size_t i = 0; i < collected.size(); ++i) collected[i].push_back(std::move(state[carried + i]));
      state.resize(carried);
    }
    for (size_t i = 0; i < collected.size(); ++i)
      state.push_back(stacked(collected[i], node.output(static_cast<int>(carried + i)).desc));
    return state;
  }

  static LiveTensor stacked(const std::vector<LiveTensor>& turns, const TensorDesc& declared) {
    Dims dims = {static_cast<int64_t>(turns.size())};
    if (turns.empty()) {
      if (!declared.rank_known() || declared.dims.empty())
        throw Error(code::kAclnnParamInvalid, "no turn is run, and nothing says how many dimensions its outputs have");
      for (size_t d = 1; d < declared.dims.size(); ++d) dims.push_back(std::max<int64_t>(declared.dims[d], 0));
      return make(declared.dtype, std::move(dims));
    }
    const LiveTensor& first = turns[0];
    dims.insert(dims.end(), first.dims.begin(), first.dims.end());
    LiveTensor all = make(first.dtype, std::move(dims));
    auto* to = static_cast<std::byte*>(all.data);
    for (size_t t = 0; t < turns.size(); ++t) {
      if (turns[t].dtype != first.dtype || turns[t].dims != first.dims)
        throw Error(code::kAclnnParamInvalid, "turn {} gives {}{} and turn 0 {}{}: what is collected must not change",
                    t, updraft::name_of(turns[t].dtype), describe(turns[t].dims), updraft::name_of(first.dtype),
                    describe(first.dims));
      if (const size_t bytes = first.bytes()) std::memcpy(to, host_address(turns[t].data), bytes);
      to += first.bytes();
    }
    return all;
  }

  const Model& model_;
  const Graph& graph_;
  const Weights& weights_;
  Orders& orders_;
  const NodePlace& place_;
  std::unordered_map<int64_t, std::vector<LiveTensor>> tensors_;
  std::unordered_map<int64_t, int> readers_;
};

}  // namespace

std::vector<LiveTensor> interpret(const Model& model, const Graph& graph, const Weights& weights,
                                  std::vector<LiveTensor> inputs, const NodePlace& place) {
  Orders orders;
  return Interpreter(model, graph, weights, orders, place).run(std::move(inputs));
}

}  // namespace updraft::graph
