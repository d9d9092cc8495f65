// What passes ask of nodes when they look for a pattern, and how one node takes the place of several.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::graph {

/// What the optional input of that name reads; nothing where it is absent.
Endpoint input_of(const Node& node, std::string_view name);
/// The number that a constant of one element is.
std::optional<double> number_at(Endpoint from);
/// The only node that reads the only output of `node`, and waits for nothing else; else null.
Node* only_reader(const Node& node);
/// The same when it has that type.
Node* only_reader(const Node& node, std::string_view type);
/// The order of dimensions that a Transpose gives, counted from 0; nothing where it is computed, or for other types.
std::optional<Dims> order_of(const Node& node);
/// The names of a product's attributes that say which operands are transposed.
struct ProductFlags {
  const char *first, *second;
};
/// Nothing for nodes that are no product of two tensors, and for those with more operands but maybe a bias.
std::optional<ProductFlags> product_flags(const Node& node, bool with_bias = false);
/// The product becomes FusedMatMul of that kind (fused_op_type), keeps its name and takes the place of `last`, which
/// alone reads it, maybe behind reshapes. `last` is no node any more.
void take_along(Graph& graph, Node& product, const ProductFlags& flags, const char* kind, Node& last, const char* pass);
/// The nodes that a node stands for: those of its attribute OriginOp, or itself.
std::vector<std::string> origins_of(const Node& node);
/// True where somebody writes the tensor's memory: it is not later what it is now.
bool is_written(Endpoint from);
/// What is known of the tensor at an endpoint.
const TensorDesc& desc_of(Endpoint from);

/// `made`, whose first output is what the first output of the last of `nodes` was, takes their place: its attributes
/// name them and the pass, and those that nobody reads any more go. Returns these (they are no nodes any more).
std::vector<const Node*> take_place(Graph& graph, Node& made, std::span<Node* const> nodes, const char* pass);

}  // namespace updraft::graph
