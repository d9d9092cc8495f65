// Graphs of the Ascend IR: nodes with an operator type ("Conv2D"), joined by their tensors. Every front end makes them,
// passes rewrite them, the planner turns them into steps.
//
// A graph owns its nodes. Who is connected to whom is known on both sides: connect(), replace() and remove() keep them
// the same. Nodes of type Data are the graph's inputs, in the order of their attribute "index"; the one node of type
// NetOutput has the outputs as its inputs.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/attribute.h"

namespace updraft::graph {

class Node;

/// Output `index` of a node.
struct Endpoint {
  Node* node = nullptr;
  int index = 0;
  explicit operator bool() const { return node != nullptr; }
  bool operator==(const Endpoint&) const = default;
};

struct Input {
  std::string name;  ///< as the IR names it; places of a dynamic input are x0, x1, …
  Endpoint from;     ///< nothing: an optional input that is not there
  TensorDesc desc;
};

/// Who reads an output: input `index` of a node.
struct Use {
  Node* node;
  int index;
  bool operator==(const Use&) const = default;
};

struct Output {
  std::string name;
  TensorDesc desc;
  std::vector<Use> uses;
};

class Node {
 public:
  const std::string& name() const { return name_; }
  const std::string& type() const { return type_; }
  Graph& graph() const { return graph_; }
  /// A number that no other node of the graph has or had, in the order of creation.
  int64_t id() const { return id_; }

  const std::vector<Input>& inputs() const { return inputs_; }
  const Input& input(int i) const { return inputs_.at(static_cast<size_t>(i)); }
  /// The input of that name, -1 where there is none.
  int find_input(std::string_view name) const;
  TensorDesc& input_desc(int i) { return inputs_.at(static_cast<size_t>(i)).desc; }

  const std::vector<Output>& outputs() const { return outputs_; }
  const Output& output(int i = 0) const { return outputs_.at(static_cast<size_t>(i)); }
  TensorDesc& output_desc(int i = 0) { return outputs_.at(static_cast<size_t>(i)).desc; }
  Endpoint out(int i = 0) { return {this, i}; }

  /// Nodes that run before this one although it reads nothing of them, and nodes for which this one is such.
  const std::vector<Node*>& control_inputs() const { return control_inputs_; }
  const std::vector<Node*>& control_outputs() const { return control_outputs_; }

  Attributes attributes;
  std::vector<std::string> subgraphs;  ///< graphs of the model that its branches or its body are

  /// The constant that the node is (Const, Constant), else null.
  const Tensor* constant() const;
  /// True for an input of the graph (Data, RefData).
  bool is_data() const { return type_ == "Data" || type_ == "RefData"; }

 private:
  friend class Graph;
  Node(Graph& graph, int64_t id, std::string name, std::string type)
      : graph_(graph), id_(id), name_(std::move(name)), type_(std::move(type)) {}

  Graph& graph_;
  const int64_t id_;
  std::string name_, type_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<Node*> control_inputs_, control_outputs_;
  std::list<std::unique_ptr<Node>>::iterator place_;  ///< among the graph's nodes
};

/// The constant behind an endpoint, else null.
const Tensor* constant_at(const Endpoint& from);

class Graph {
 public:
  explicit Graph(std::string name = "graph") : name_(std::move(name)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }
  void rename(std::string name) { name_ = std::move(name); }

  /// A node without inputs and outputs. A name that is taken gets a number behind it.
  Node& add(std::string_view type, std::string name);
  Node& add_constant(std::string name, Tensor value);
  /// An input of the graph: a node of type Data.
  Node& add_data(std::string name, int64_t index, TensorDesc desc);
  /// Adds an input or an output to a node; the index of it.
  int add_input(Node& node, std::string name, Endpoint from);
  int add_output(Node& node, std::string name, TensorDesc desc = {});
  /// Another tensor for an input. Nothing: the input is absent.
  void connect(Node& node, int input, Endpoint from);
  void remove_input(Node& node, int input);
  void add_control(Node& before, Node& after);
  void remove_control(Node& before, Node& after);
  /// Everybody who reads `from` reads `to` instead, but not `except`.
  void replace(Endpoint from, Endpoint to, const Node* except = nullptr);
  /// Control edges of `from` go to `to` as well.
  void move_controls(Node& from, Node& to);
  void set_type(Node& node, std::string_view type) { node.type_ = type; }
  /// The node and what joins it to others goes; nobody may read its outputs. Throws 500000 else.
  void remove(Node& node);

  /// In the order of creation; new nodes come last. While it is walked nodes may be added, and removed but for the
  /// current one.
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  size_t size() const { return nodes_.size(); }
  Node* find(std::string_view name) const;
  /// Every node behind those that it reads or waits for; otherwise in the order of creation. Throws 161002 with a
  /// node's name when the graph has a cycle.
  std::vector<Node*> in_order() const;
  /// Those of them that an output needs: others never run.
  std::vector<Node*> needed_in_order() const;

  /// The Data nodes by their index.
  std::vector<Node*> inputs() const;
  /// The NetOutput node; null where the graph has none yet.
  Node* net_output() const;
  Node& make_net_output();

  Attributes attributes;

 private:
  void unlink(Node& node, int input);
  std::vector<Node*> find_order() const;
  std::vector<Node*> find_needed() const;
  /// Nodes or edges are others.
  void changed() { order_.known = needed_.known = false; }

  /// What was found of the graph as it is; several threads may ask a graph that nobody changes.
  struct Order {
    bool known = false;
    std::vector<Node*> nodes;
  };
  mutable std::mutex order_mutex_;
  mutable Order order_, needed_;
  std::string name_;
  std::list<std::unique_ptr<Node>> nodes_;
  std::map<std::string, Node*, std::less<>> by_name_;
  std::map<std::string, int64_t, std::less<>> suffixes_;  ///< next number for a name that is taken
  int64_t next_id_ = 0;
};

/// A graph with the graphs that its nodes call.
struct Model {
  std::string name = "model";
  std::shared_ptr<Graph> graph;
  std::map<std::string, std::shared_ptr<Graph>, std::less<>> subgraphs;
  Attributes attributes;
  std::vector<std::shared_ptr<const void>> files;  ///< that lie on disk as long as the model is there

  /// The graph and those that nodes call; null ones are left out.
  std::vector<Graph*> graphs() const;
};

/// A copy that shares the constants' bytes.
std::shared_ptr<Graph> copy(const Graph& graph);

}  // namespace updraft::graph
