// Normalisations of rows that exporters write out with means, powers and roots: layer normalisation (ONNX before
// version 17, TensorFlow) and the one by the root of the mean square (LLaMA and its kin). Like functions
// (functions.cpp) they are recognised by what they compute for some rows, however they are spelt.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>

#include "base/half.h"
#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

constexpr size_t kMostNodes = 16;
constexpr int64_t kLongestRow = 1 << 16;
constexpr double kSame = 2e-6;  // constants of the chain were rounded to float
constexpr double kLargestEpsilon = 0.1;

using Row = std::vector<double>;  ///< the elements of a row, or one number for all of them

enum class Norm : uint8_t { Layer, Root };

bool is_real(DType type) { return type == DType::Float || is_half(type); }

bool is_mean_of_rows(const Node& node) {
  const bool listed = node.type() == "ReduceMeanD";
  if (!listed && node.type() != "ReduceMean") return false;
  if (!node.input(0).from || !find_or<bool>(node.attributes, "keep_dims", false)) return false;
  Dims axes;
  if (listed) {
    axes = find_or(node.attributes, "axes", Dims());
  } else {
    const Tensor* constant = node.inputs().size() == 2 ? constant_at(node.input(1).from) : nullptr;
    if (!constant) return false;
    axes = constant->integers();
  }
  const TensorDesc& x = desc_of(node.input(0).from);
  return x.rank_known() && axes.size() == 1 && (axes[0] == -1 || axes[0] + 1 == static_cast<int64_t>(x.dims.size()));
}

bool is_unary(std::string_view type) {
  return type == "Square" || type == "Sqrt" || type == "Rsqrt" || type == "Neg" || type == "Reciprocal" ||
         type == "Cast" || type == "Adds" || type == "Muls";
}
double unary(const Node& node, double x) {
  const std::string& type = node.type();
  if (type == "Square") return x * x;
  if (type == "Sqrt") return std::sqrt(x);
  if (type == "Rsqrt") return 1 / std::sqrt(x);
  if (type == "Neg") return -x;
  if (type == "Reciprocal") return 1 / x;
  if (type == "Adds") return x + static_cast<double>(find_or<float>(node.attributes, "value", 0));
  if (type == "Muls") return x * static_cast<double>(find_or<float>(node.attributes, "value", 1));
  return x;  // Cast
}
bool is_binary(std::string_view type) {
  return type == "Add" || type == "AddV2" || type == "Sub" || type == "Mul" || type == "Div" || type == "RealDiv" ||
         type == "Pow" || type == "SquaredDifference";
}
double binary(std::string_view type, double x, double y) {
  if (type == "Sub") return x - y;
  if (type == "Mul") return x * y;
  if (type == "Div" || type == "RealDiv") return x / y;
  if (type == "Pow") return std::pow(x, y);
  if (type == "SquaredDifference") return (x - y) * (x - y);
  return x + y;
}

bool may_belong(const Node& node) {
  if (node.outputs().size() != 1 || !is_real(node.output().desc.dtype) || !node.control_inputs().empty()) return false;
  if (is_mean_of_rows(node)) return true;
  const size_t inputs = is_unary(node.type()) ? 1 : is_binary(node.type()) ? 2 : 0;
  return inputs > 0 && node.inputs().size() == inputs &&
         std::ranges::all_of(node.inputs(), [](const Input& i) { return i.from && is_real(desc_of(i.from).dtype); });
}

/// Nodes that end in one and that nobody else reads.
class Chain {
 public:
  explicit Chain(Node& end) : nodes_{&end} {}

  const std::vector<Node*>& nodes() const { return nodes_; }
  bool has_mean() const {
    return std::ranges::any_of(nodes_, [](const Node* n) { return is_mean_of_rows(*n); });
  }

  /// The tensors that come from outside, but for numbers.
  std::vector<Endpoint> sources() const {
    std::vector<Endpoint> all;
    for (const Node* node : nodes_)
      for (const Input& input : read_by(*node))
        if (!number_at(input.from) && !contains(input.from.node) && std::ranges::find(all, input.from) == all.end())
          all.push_back(input.from);
    return all;
  }

  bool grow() {
    for (const Endpoint& from : sources()) {
      // what scales and raises is read as it is, however it was made
      if (!may_belong(*from.node) || desc_of(from).dims.size() != nodes_[0]->output().desc.dims.size()) continue;
      const auto& uses = from.node->output().uses;
      if (!std::ranges::all_of(uses, [&](const Use& use) { return contains(use.node); })) continue;
      nodes_.push_back(from.node);
      return true;
    }
    return false;
  }

  /// The numbers that may be epsilon.
  std::vector<double> epsilons() const {
    std::vector<double> all;
    const auto add = [&](double v) {
      if (v > 0 && v <= kLargestEpsilon && std::ranges::find(all, v) == all.end()) all.push_back(v);
    };
    for (const Node* node : nodes_) {
      if (node->type() == "Adds") add(static_cast<double>(find_or<float>(node->attributes, "value", 0)));
      for (const Input& input : read_by(*node))
        if (const auto number = number_at(input.from)) add(*number);
    }
    return all;
  }

  /// What the end is for rows of the sources.
  Row compute(const std::vector<std::pair<Endpoint, Row>>& rows) const {
    std::map<const Node*, Row> done;
    return at(nodes_[0]->out(), rows, done);
  }

 private:
  /// The axes of a mean are no tensor that it computes with.
  static std::span<const Input> read_by(const Node& node) {
    return {node.inputs().data(), is_mean_of_rows(node) ? 1 : node.inputs().size()};
  }
  bool contains(const Node* node) const { return std::ranges::find(nodes_, node) != nodes_.end(); }

  Row at(Endpoint from, const std::vector<std::pair<Endpoint, Row>>& rows, std::map<const Node*, Row>& done) const {
    for (const auto& [source, row] : rows)
      if (source == from) return row;
    if (const auto number = number_at(from)) return {*number};
    if (const auto known = done.find(from.node); known != done.end()) return known->second;
    const Node& node = *from.node;
    Row x = at(node.input(0).from, rows, done);
    if (is_mean_of_rows(node)) {
      double sum = 0;
      for (double v : x) sum += v;
      x = {sum / static_cast<double>(x.size())};
    } else if (is_unary(node.type())) {
      for (double& v : x) v = unary(node, v);
    } else {
      const Row y = at(node.input(1).from, rows, done);
      Row z(std::max(x.size(), y.size()));
      for (size_t i = 0; i < z.size(); ++i)
        z[i] = binary(node.type(), x[x.size() == 1 ? 0 : i], y[y.size() == 1 ? 0 : i]);
      x = std::move(z);
    }
    return done[&node] = x;
  }

  std::vector<Node*> nodes_;
};

struct Found {
  Endpoint x, gamma, beta;  ///< gamma and beta may be absent
  double epsilon = 0;
};

Row normalised(Norm norm, const Row& x, double epsilon) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, square = 0;
  if (norm == Norm::Layer)
    for (double v : x) mean += v / n;
  for (double v : x) square += (v - mean) * (v - mean) / n;
  Row y;
  for (double v : x) y.push_back((v - mean) / std::sqrt(square + epsilon));
  return y;
}

/// Samples: as large as one, and so small that epsilon decides.
std::vector<Row> samples(size_t length, double epsilon) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  std::vector<Row> rows;
  for (const double size : {1.0, std::sqrt(epsilon)}) {
    Row& row = rows.emplace_back();
    for (size_t i = 0; i < length; ++i) row.push_back(size * (normal(engine) + 0.3));
  }
  return rows;
}

/// A vector of that many elements, along the last dimension.
bool is_vector(Endpoint from, int64_t length, size_t rank) {
  const TensorDesc& desc = desc_of(from);
  return desc.known() && !desc.dims.empty() && desc.dims.size() <= rank && desc.dims.back() == length &&
         desc.count() == length && (desc.dims.size() == 1 || from.node->constant());
}

/// The normalisation that a chain computes of x, with the vectors that it reads beside.
std::optional<Found> norm_of(Norm norm, const Chain& chain, Endpoint x, const std::vector<Endpoint>& vectors) {
  const auto length = static_cast<size_t>(desc_of(x).dims.back());
  std::vector<std::pair<Endpoint, Row>> rows;
  std::mt19937 engine(11);
  std::normal_distribution<double> normal;
  for (const Endpoint& v : vectors) {
    Row& row = rows.emplace_back(v, Row()).second;
    if (const Tensor* constant = constant_at(v)) row = constant->reals();
    else
      for (size_t i = 0; i < length; ++i) row.push_back(normal(engine));
  }
  std::vector<Found> candidates;
  if (vectors.empty()) candidates = {{x, {}, {}}};
  else if (vectors.size() == 1) candidates = {{x, vectors[0], {}}, {x, {}, vectors[0]}};
  else candidates = {{x, vectors[0], vectors[1]}, {x, vectors[1], vectors[0]}};
  const auto row_of = [&](Endpoint from) -> const Row& {
    return std::ranges::find(rows, from, &std::pair<Endpoint, Row>::first)->second;
  };
  for (const double epsilon : chain.epsilons()) {
    for (Found found : candidates) {
      if (norm == Norm::Root && found.beta) continue;
      bool same = true;
      for (const Row& sample : samples(length, epsilon)) {
        auto all = rows;
        all.emplace_back(x, sample);
        const Row got = chain.compute(all);
        Row want = normalised(norm, sample, epsilon);
        if (got.size() != want.size()) return {};
        for (size_t i = 0; same && i < want.size(); ++i) {
          if (found.gamma) want[i] *= row_of(found.gamma)[i];
          if (found.beta) want[i] += row_of(found.beta)[i];
          same = std::abs(got[i] - want[i]) <= kSame * (1 + std::abs(want[i]));
        }
        if (!same) break;
      }
      if (!same) continue;
      found.epsilon = epsilon;
      return found;
    }
  }
  return {};
}

std::optional<Found> recognised(Norm norm, const Chain& chain) {
  const TensorDesc& y = chain.nodes()[0]->output().desc;
  if (!chain.has_mean() || !y.rank_known() || y.dims.empty() || y.dims.back() < 2 || y.dims.back() > kLongestRow)
    return {};
  // What is rounded to fewer bits inside stays so.
  if (!is_half(y.dtype) &&
      std::ranges::any_of(chain.nodes(), [](const Node* n) { return is_half(n->output().desc.dtype); }))
    return {};
  const std::vector<Endpoint> sources = chain.sources();
  for (const Endpoint& x : sources) {
    const TensorDesc& desc = desc_of(x);
    if (x.node->constant() || desc.dtype != y.dtype || desc.dims != y.dims) continue;
    std::vector<Endpoint> vectors;
    for (const Endpoint& v : sources)
      if (v != x) vectors.push_back(v);
    if (vectors.size() > 2 || !std::ranges::all_of(vectors, [&](const Endpoint& v) {
          return is_vector(v, y.dims.back(), y.dims.size()) && desc_of(v).dtype == y.dtype;
        }))
      continue;
    if (auto found = norm_of(norm, chain, x, vectors)) return found;
  }
  return {};
}

/// Gamma or beta as a vector; one of the same number where there is none.
Endpoint vector_of(Graph& graph, Endpoint from, const std::string& name, DType type, int64_t length, float number) {
  if (!from) {
    Tensor tensor = Tensor::of(std::vector<float>(static_cast<size_t>(length), number));
    if (type != DType::Float) {
      const uint16_t bits = type == DType::Float16 ? float_to_half(number) : float_to_bfloat16(number);
      const std::vector<uint16_t> halves(static_cast<size_t>(length), bits);
      tensor = {type, {length}, Bytes::copy_of(halves.data(), halves.size() * sizeof(uint16_t))};
    }
    return graph.add_constant(name, std::move(tensor)).out();
  }
  const Tensor* constant = constant_at(from);
  if (!constant || constant->dims.size() == 1) return from;
  Tensor flat = *constant;
  flat.dims = {length};
  return graph.add_constant(name, std::move(flat)).out();
}

Node& made_of(Graph& graph, Norm norm, const Found& found, const Node& end) {
  const TensorDesc& desc = end.output().desc;
  const int64_t length = desc.dims.back(), axis = static_cast<int64_t>(desc.dims.size()) - 1;
  Node& node = graph.add(norm == Norm::Layer ? "LayerNormV3" : "RmsNorm", end.name());
  node.attributes["epsilon"] = static_cast<float>(found.epsilon);
  graph.add_input(node, "x", found.x);
  graph.add_input(node, "gamma", vector_of(graph, found.gamma, end.name() + "_gamma", desc.dtype, length, 1));
  graph.add_output(node, "y", desc);
  if (norm == Norm::Layer) {
    graph.add_input(node, "beta", vector_of(graph, found.beta, end.name() + "_beta", desc.dtype, length, 0));
    node.attributes["begin_norm_axis"] = axis;
    node.attributes["begin_params_axis"] = axis;
    graph.add_output(node, "mean");
  }
  graph.add_output(node, "rstd");
  return node;
}

int64_t recognise(Graph& graph, Norm norm, const char* pass) {
  int64_t changes = 0;
  std::vector<Node*> nodes = graph.in_order();
  std::vector<const Node*> gone;
  // From the end, so that the longest chain is found first.
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    Node& end = **it;
    if (std::ranges::find(gone, &end) != gone.end() || !may_belong(end) || is_mean_of_rows(end)) continue;
    Chain chain(end), whole(end);
    std::optional<Found> found;
    do {
      if (auto now = recognised(norm, chain)) {
        found = now;
        whole = chain;
      }
    } while (chain.nodes().size() < kMostNodes && chain.grow());
    if (!found) continue;
    Node& made = made_of(graph, norm, *found, end);
    const std::vector<Node*> origins(whole.nodes().rbegin(), whole.nodes().rend());
    const auto removed = take_place(graph, made, origins, pass);
    gone.insert(gone.end(), removed.begin(), removed.end());
    ++changes;
  }
  return changes;
}

}  // namespace

int64_t recognise_layer_norms(Graph& graph) { return recognise(graph, Norm::Layer, "LayerNormONNXFusionPass"); }
int64_t recognise_root_norms(Graph& graph) { return recognise(graph, Norm::Root, "RmsNormFusionPass"); }

}  // namespace updraft::graph
