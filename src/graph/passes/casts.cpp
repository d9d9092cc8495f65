// Casts that go along with the step beside them.
#include <algorithm>
#include <unordered_set>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"
#include "graph/planner/program.h"

namespace updraft::graph {
namespace {

bool is_cast(const Node& node) { return node.type() == "Cast" && node.inputs().size() == 1 && node.input(0).from; }

/// Every value of `narrow` is one of `wide`.
bool holds_all(DType wide, DType narrow) {
  if (wide == narrow) return true;
  switch (narrow) {
    case DType::Float16:
    case DType::BFloat16: return wide == DType::Float || wide == DType::Double;
    case DType::Float: return wide == DType::Double;
    case DType::Int8:
    case DType::UInt8:
      return wide == DType::Int16 || wide == DType::Int32 || wide == DType::Int64 || wide == DType::Float16 ||
             wide == DType::BFloat16 || wide == DType::Float || wide == DType::Double;
    case DType::Int16:
      return wide == DType::Int32 || wide == DType::Int64 || wide == DType::Float || wide == DType::Double;
    case DType::Int32: return wide == DType::Int64 || wide == DType::Double;
    default: return false;
  }
}

/// The tensor that was cast to what `from` is, if every value of its type is one of the other; else nothing.
Endpoint before_widening(Endpoint from) {
  if (!from || !is_cast(*from.node) || !from.node->control_inputs().empty()) return {};
  const Endpoint narrow = from.node->input(0).from;
  return holds_all(desc_of(from).dtype, desc_of(narrow).dtype) && !is_written(narrow) ? narrow : Endpoint{};
}

/// The reader at the end of reshapes that nobody else reads; null where there is none.
Node* behind_reshapes(const Node& node) {
  Node* reader = only_reader(node);
  while (reader && passes_on(*reader) && reader->input(0).from.node != nullptr && reader->outputs().size() == 1)
    reader = only_reader(*reader);
  return reader;
}

/// Sums of halves are float inside and rounded once: a sum of halves that were cast to float, and whose result is cast
/// back, is one of halves.
int64_t sum_halves(Graph& graph) {
  int64_t changes = 0;
  for (Node* sum : graph.in_order()) {
    if ((sum->type() != "ReduceSum" && sum->type() != "ReduceSumD") || sum->outputs().size() != 1) continue;
    const Endpoint half = before_widening(sum->input(0).from);
    if (!half || !is_half(desc_of(half).dtype) || sum->output().desc.dtype != DType::Float) continue;
    Node* cast = behind_reshapes(*sum);
    if (!cast || !is_cast(*cast) || cast->output().desc.dtype != desc_of(half).dtype) continue;
    for (Node* node = sum; node != cast; node = only_reader(*node)) node->output_desc().dtype = desc_of(half).dtype;
    graph.connect(*sum, 0, half);
    ++changes;  // the cast changes nothing now, and goes as an identity
  }
  return changes;
}

}  // namespace

/// Casts to a type that holds all values and on to a third are one cast.
int64_t cancel_casts(Graph& graph) {
  int64_t changes = 0;
  for (Node* cast : graph.in_order()) {
    if (!is_cast(*cast)) continue;
    const Endpoint narrow = before_widening(cast->input(0).from);
    if (!narrow) continue;
    graph.connect(*cast, 0, narrow);
    ++changes;
  }
  return changes + sum_halves(graph);
}

/// What is cast and then transposed, for somebody who wants it so in memory, is transposed and then cast: a cast reads
/// a transposed view, so both are one step. Weights that a training graph keeps for its backward come so.
int64_t cast_behind_transposes(Graph& graph) {
  int64_t changes = 0;
  std::unordered_set<const Node*> gone;
  for (Node* cast : graph.in_order()) {
    if (gone.contains(cast) || !is_cast(*cast) || !cast->control_inputs().empty() || constant_at(cast->input(0).from))
      continue;
    Node* transpose = only_reader(*cast, "Transpose");
    if (!transpose || transpose->inputs().size() != 2 || transpose->input(0).from != cast->out()) continue;
    if (!constant_at(transpose->input(1).from)) continue;
    const auto& uses = transpose->output().uses;
    const auto as_it_lies = [](const Use& use) { return reads_transposed(*use.node, static_cast<size_t>(use.index)); };
    if (uses.empty() || std::ranges::all_of(uses, as_it_lies)) continue;
    Node& turned = graph.add(transpose->type(), transpose->name());
    turned.attributes = transpose->attributes;
    graph.add_input(turned, transpose->input(0).name, cast->input(0).from);
    graph.add_input(turned, transpose->input(1).name, transpose->input(1).from);
    TensorDesc desc = transpose->output().desc;
    desc.dtype = desc_of(cast->input(0).from).dtype;
    graph.add_output(turned, transpose->output().name, desc);
    Node& made = graph.add(cast->type(), cast->name());
    made.attributes = cast->attributes;
    graph.add_input(made, cast->input(0).name, turned.out());
    graph.add_output(made, cast->output().name, transpose->output().desc);
    Node* const both[] = {cast, transpose};
    const auto removed = take_place(graph, made, both, "TransposeCastFusionPass");
    gone.insert(removed.begin(), removed.end());
    turned.attributes["OriginOp"] = origins_of(made);
    ++changes;
  }
  return changes;
}

/// A product of bf16 that only a cast to float reads, maybe behind reshapes, gives float itself. Products of fp16 stay:
/// that they give infinity above 65504 is what scalers of a loss look for. So do those whose type a precision mode
/// asked for: it says what they write, too.
int64_t widen_products(Graph& graph) {
  int64_t changes = 0;
  std::unordered_set<const Node*> gone;
  for (Node* product : graph.in_order()) {
    if (gone.contains(product)) continue;
    const auto flags = product_flags(*product, true);
    Node* const cast = flags ? behind_reshapes(*product) : nullptr;
    if (!cast || !is_cast(*cast) || !product->control_inputs().empty() || cast->attributes.contains("_by_precision"))
      continue;
    if (desc_of(product->input(0).from).dtype != DType::BFloat16 ||
        desc_of(product->input(1).from).dtype != DType::BFloat16 || product->output().desc.dtype != DType::BFloat16 ||
        cast->output().desc.dtype != DType::Float)
      continue;
    for (Node* node = product; node != cast; node = only_reader(*node)) node->output_desc().dtype = DType::Float;
    gone.insert(cast);
    take_along(graph, *product, *flags, "16cast32", *cast, "MatMulCastFusionPass");
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
