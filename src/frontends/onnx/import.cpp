#include "frontends/onnx/import.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "frontends/onnx/scope.h"

namespace updraft::onnx {
namespace {

/// Functions and graphs that stand in each other.
constexpr int kDeepest = 64;
/// Nodes that are converted in all: functions that call functions may say any number in a few bytes.
constexpr size_t kMostNodes = 1 << 18;

std::string key_of(std::string_view domain, std::string_view name, std::string_view overload) {
  return fmt::format("{}:{}:{}", domain, name, overload);
}

/// The inputs of operators that want one type for all, or truth values: the graph's operators would convert them.
void check_types(const Conversion& c) {
  static constexpr std::string_view kTruth[] = {"And", "Not", "Or", "Xor"};
  static constexpr std::string_view kOne[] = {"Add",
                                              "And",
                                              "BitwiseAnd",
                                              "BitwiseOr",
                                              "BitwiseXor",
                                              "Concat",
                                              "Div",
                                              "Equal",
                                              "Gemm",
                                              "Greater",
                                              "GreaterOrEqual",
                                              "Less",
                                              "LessOrEqual",
                                              "MatMul",
                                              "Max",
                                              "Mean",
                                              "Min",
                                              "Mod",
                                              "Mul",
                                              "Not",
                                              "Or",
                                              "PRelu",
                                              "Sub",
                                              "Sum",
                                              "Xor"};
  const NodeProto& node = c.proto;
  if (!node.domain.empty() || std::ranges::find(kOne, node.type) == std::end(kOne)) return;
  const bool truth = std::ranges::find(kTruth, node.type) != std::end(kTruth);
  DType first = DType::Undefined;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value* v = node.inputs[i].empty() ? nullptr : c.scope.find(node.inputs[i]);
    if (!v || !v->tensor) continue;  // the converter says what it wants
    const DType own = c.type(v->tensor);
    if (own == DType::Undefined) continue;
    c.require(!truth || own == DType::Bool, "input {}, \"{}\", is {}, want BOOL", i, node.inputs[i],
              updraft::name_of(own));
    if (first == DType::Undefined) first = own;
    c.require(own == first, "input {}, \"{}\", is {}, and the inputs before it are {}: want one type", i,
              node.inputs[i], updraft::name_of(own), updraft::name_of(first));
  }
}

class Importer : public Graphs {
 public:
  Importer(const ModelProto& proto, const ImportOptions& options) : proto_(proto), options_(options) {
    for (const FunctionProto& f : proto_.functions) functions_[key_of(f.domain, f.name, f.overload)] = &f;
  }

  graph::Model run() {
    model_.name = proto_.graph.name.empty() ? "graph" : std::string(proto_.graph.name);
    model_.graph = std::make_shared<graph::Graph>(model_.name);
    Builder build(*model_.graph);
    Frame frame{build};
    Scope scope(frame, nullptr, proto_.opsets, nullptr, "");
    initializers(proto_.graph, scope);
    inputs(scope);
    for (const NodeProto& node : proto_.graph.nodes)
      if (written_out({&node, 1}) > kMostNodes) refuse_number(name_of_node(node, scope), node);
    nodes(proto_.graph.nodes, scope);
    outputs(scope);
    return std::move(model_);
  }

  std::vector<Value> inlined(const GraphProto& graph, std::vector<Value> inputs, Scope& scope,
                             const std::string& prefix) override {
    Scope inner(scope.frame, &scope, scope.opsets, scope.bound, prefix);
    deeper(inner, scope, prefix);
    for (size_t i = 0; i < inputs.size(); ++i) {
      once(graph.inputs.at(i).name, inner, prefix, "an input");
      inner.set(graph.inputs[i].name, std::move(inputs[i]));
    }
    return give(graph, inner, prefix);
  }

  Body body(const Conversion& of, const Asked& asked,
            const std::function<Given(Conversion&, const std::vector<Endpoint>&)>& fill) override {
    Body body{unused(asked.name), {}, {}};
    auto own = std::make_shared<graph::Graph>(body.name);
    model_.subgraphs[body.name] = own;
    made_.push_back(body.name);
    Builder build(*own);
    Frame frame{build, &of.scope.frame};
    Scope inner(frame, &of.scope, of.scope.opsets, of.scope.bound, of.scope.prefix);
    deeper(inner, of.scope, body.name);
    auto feed = [&](const TensorDesc& desc) {
      const int64_t index = frame.inputs++;
      return build.input("input" + std::to_string(index), index, desc);
    };
    std::vector<Endpoint> inputs;
    for (const TensorDesc& desc : asked.inputs) inputs.push_back(feed(desc));
    for (Endpoint from : asked.captured) {
      frame.seen[{from.node, from.index}] = feed(of.build.desc(from));
      frame.captured.push_back(from);
    }
    Conversion inside(of.proto, of.row, of.opset, build, inner, *this, of.name);
    const Given given = fill(inside, inputs);
    std::vector<Endpoint> results = given.state;
    if (asked.again)
      for (const Endpoint from : frame.captured) results.push_back(frame.seen.at({from.node, from.index}));
    results.insert(results.end(), given.collected.begin(), given.collected.end());
    for (const Endpoint e : results) body.outputs.push_back(build.desc(e));
    build.outputs(results);
    body.captured = frame.captured;
    return body;
  }

  void add_inputs(const Body& body, const std::vector<Endpoint>& captured) override {
    graph::Graph& own = *model_.subgraphs.at(body.name);
    auto index = static_cast<int64_t>(own.inputs().size());
    for (const Endpoint from : captured)
      own.add_data("unread" + std::to_string(index), index, from.node->output(from.index).desc), ++index;
  }

  size_t made() const override { return made_.size(); }
  void drop_since(size_t made) override {
    for (; made_.size() > made; made_.pop_back()) model_.subgraphs.erase(made_.back());
  }

 private:
  [[noreturn]] static void refuse_number(const std::string& name, const NodeProto& node) {
    throw Error(code::kAclnnParamInvalid, "{} ({}): functions and loops make more than {} nodes of the model", name,
                node.type, kMostNodes);
  }

  /// Nodes that these are once functions stand in the place of their calls; what is far too many is not counted
  /// further.
  size_t written_out(std::span<const NodeProto> list) {
    size_t all = 0;
    for (const NodeProto& node : list) {
      const auto f = functions_.find(key_of(node.domain, node.type, node.overload));
      if (f == functions_.end()) {
        ++all;
      } else {
        const auto [known, added] = sizes_.try_emplace(f->second, 1);  // one that calls itself is refused elsewhere
        if (added) {
          const size_t size = written_out(f->second->nodes);
          sizes_[f->second] = size;
          all += size;
        } else {
          all += known->second;
        }
      }
      if (all > kMostNodes) return all;
    }
    return all;
  }

  void deeper(Scope& inner, const Scope& outer, const std::string& name) {
    inner.depth = outer.depth + 1;
    if (inner.depth > kDeepest)
      throw Error(code::kAclnnParamInvalid, "{}: functions and graphs lie deeper in each other than {}", name,
                  kDeepest);
  }

  /// Names that stand for two things would make a model mean what its writer did not.
  static void once(std::string_view name, Scope& scope, std::string_view graph, const char* what) {
    if (!scope.once(name))
      throw Error(code::kAclnnParamInvalid, "{}{} is {}, and the graph has another tensor of that name",
                  graph.empty() ? "" : fmt::format("{}: ", graph), name, what);
  }

  std::string unused(std::string name) const {
    const std::string first = name;
    for (int n = 1; model_.subgraphs.contains(name); ++n) name = first + "_" + std::to_string(n);
    return name;
  }

  std::vector<Value> give(const GraphProto& graph, Scope& scope, const std::string& name) {
    initializers(graph, scope);
    nodes(graph.nodes, scope);
    std::vector<Value> results;
    for (const ValueInfo& output : graph.outputs) {
      const Value* found = scope.find(output.name);
      if (!found)
        throw Error(code::kAclnnParamInvalid, "{}: output {} of its graph is given by no node", name, output.name);
      results.push_back(*found);
    }
    return results;
  }

  void initializers(const GraphProto& graph, Scope& scope) {
    for (const TensorProto& t : graph.initializers) {
      once(t.name, scope, scope.prefix, "an initializer");
      if (t.type == ElementType::String)
        throw Error(code::kAclnnParamInvalid, "initializer {} holds texts, which the virtual NPU has not", t.name);
      Value v;
      v.tensor = scope.frame.build.constant(scope.prefix + std::string(t.name), t.value);
      scope.set(t.name, std::move(v));
    }
  }

  void inputs(Scope& scope) {
    std::set<std::string_view> known, constants;
    for (const TensorProto& t : proto_.graph.initializers) constants.insert(t.name);
    for (const ValueInfo& input : proto_.graph.inputs) {
      if (constants.contains(input.name)) continue;  // a default that nobody may change here
      once(input.name, scope, "", "an input");
      known.insert(input.name);
      const std::string name(input.name);
      if (!input.tensor) throw Error(code::kAclnnParamInvalid, "input {} is {}, want a tensor", name, input.kind);
      if (input.type == ElementType::String)
        throw Error(code::kAclnnParamInvalid, "input {} has texts, which the virtual NPU has not", name);
      TensorDesc desc;
      desc.dtype = dtype_of(input.type);
      if (desc.dtype == DType::Undefined)
        throw Error(code::kAclnnParamInvalid, "input {} has elements of type {}, which the virtual NPU has not", name,
                    name_of(input.type));
      desc.dims = input.shape_known ? input.dims : Dims{graph::kUnknownRank};
      std::vector<std::string> symbols = input.symbols;
      if (frontends::set_shape(options_, name, input.shape_known, desc) &&
          (!input.shape_known || desc.dims.size() != symbols.size()))
        symbols.assign(desc.dims.size(), "");
      Value v;
      v.tensor = scope.frame.build.input(name, scope.frame.inputs++, std::move(desc), symbols);
      scope.set(input.name, std::move(v));
    }
    const std::vector<std::string_view> names(known.begin(), known.end());
    frontends::require_inputs(options_, names);
  }

  void nodes(const std::vector<NodeProto>& list, Scope& scope) {
    for (const NodeProto& node : list) {
      for (size_t i = 0; i < node.outputs.size(); ++i)
        if (!node.outputs[i].empty() && !scope.once(node.outputs[i]))
          throw Error(code::kAclnnParamInvalid,
                      "{} ({}): output {}, \"{}\", is the name of an input, an initializer or an earlier node's output",
                      name_of_node(node, scope), node.type, i, node.outputs[i]);
      convert(node, scope);
    }
  }

  /// The name of the node, of its first output where it has none.
  static std::string name_of_node(const NodeProto& node, const Scope& scope) {
    std::string_view own = node.name;
    for (size_t i = 0; own.empty() && i < node.outputs.size(); ++i) own = node.outputs[i];
    return scope.prefix + std::string(own.empty() ? node.type : own);
  }

  void convert(const NodeProto& node, Scope& scope) {
    const std::string name = name_of_node(node, scope);
    auto refuse = [&]<class... A>(fmt::format_string<A...> format, A&&... a) {
      throw Error(code::kAclnnParamInvalid, "{} ({}): {}", name, node.type, fmt::format(format, std::forward<A>(a)...));
    };
    if (++converted_ > kMostNodes) refuse_number(name, node);
    if (const auto f = functions_.find(key_of(node.domain, node.type, node.overload)); f != functions_.end())
      return call(node, *f->second, scope, name);
    const auto set = scope.opsets.find(node.domain);
    // onnxruntime hands over nodes of its own domain without a version of it.
    if (set == scope.opsets.end() && node.domain.empty()) refuse("the model imports no version of ONNX's operators");
    const int64_t opset = set == scope.opsets.end() ? 1 : set->second;
    const Row* row = find_row(node.domain, node.type, opset);
    if (!row) {
      if (const int first = first_version(node.domain, node.type))
        refuse(
            "version {} of the operators, it is converted from version {} on: convert the model with "
            "onnx.version_converter",
            opset, first);
      refuse("there is no converter for this operator{} (docs/reference/onnx-operators.md lists those that there are)",
             node.domain.empty() ? "" : fmt::format(" of the domain {}", node.domain));
    }
    try {
      Conversion c(node, *row, opset, scope.frame.build, scope, *this, name);
      check_types(c);
      row->convert(c);
      c.check_attributes();
      c.check_inputs();
      for (size_t i = 0; i < node.outputs.size(); ++i)
        if (c.wants(i) && !c.gave(i)) c.refuse("output {}, \"{}\", is not implemented", i, node.outputs[i]);
    } catch (const Error& e) {
      frontends::throw_of_node(name, node.type, e);
    } catch (const std::out_of_range&) {  // of a vector's at()
      refuse("an input or an attribute has fewer values than the operator reads");
    }
  }

  void call(const NodeProto& node, const FunctionProto& f, Scope& scope, const std::string& name) {
    Bound bound;
    for (const AttributeProto& a : f.defaults) bound[a.name] = &a;
    for (const AttributeProto& a : node.attributes) {
      if (a.reference.empty()) {
        bound[a.name] = &a;
      } else if (scope.bound) {
        if (const auto there = scope.bound->find(a.reference); there != scope.bound->end())
          bound[a.name] = there->second;
      }
    }
    Scope inner(scope.frame, nullptr, f.opsets.empty() ? scope.opsets : f.opsets, &bound, name + "/");
    deeper(inner, scope, name);
    auto refuse = [&]<class... A>(fmt::format_string<A...> format, A&&... a) {
      throw Error(code::kAclnnParamInvalid, "{} ({}): {}", name, node.type, fmt::format(format, std::forward<A>(a)...));
    };
    if (node.inputs.size() > f.inputs.size())
      refuse("{} inputs, the function has {}", node.inputs.size(), f.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].empty()) continue;
      const Value* v = scope.find(node.inputs[i]);
      if (!v) refuse("input {}, \"{}\", is no tensor that a node before it gives", i, node.inputs[i]);
      inner.set(f.inputs[i], *v);
    }
    nodes(f.nodes, inner);
    for (size_t i = 0; i < node.outputs.size() && i < f.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      const Value* v = inner.find(f.outputs[i]);
      if (!v) refuse("output {} of the function is given by no node", f.outputs[i]);
      scope.set(node.outputs[i], *v);
    }
  }

  void outputs(Scope& scope) {
    std::vector<Endpoint> results;
    graph::Attribute::Texts names;
    auto add = [&](const std::string& name, Endpoint e) {
      results.push_back(e);
      names.push_back(name);
    };
    if (options_.output_nodes.empty())
      for (const ValueInfo& output : proto_.graph.outputs) {
        const Value* v = scope.find(output.name);
        if (!v) throw Error(code::kAclnnParamInvalid, "output {} is given by no node", output.name);
        if (!v->tensor)
          throw Error(code::kAclnnParamInvalid, "output {} is a sequence or an optional, want a tensor", output.name);
        add(std::string(output.name), v->tensor);
      }
    for (const std::string& wanted : options_.output_nodes) add(wanted, named(wanted, scope));
    scope.frame.build.outputs(results);
    model_.graph->attributes["output_names"] = names;
  }

  /// A tensor by its name, or as "node:index".
  Endpoint named(const std::string& wanted, Scope& scope) {
    if (const Value* v = scope.find(wanted); v && v->tensor) return v->tensor;
    const size_t colon = wanted.rfind(':');
    const std::string_view node = std::string_view(wanted).substr(0, colon);
    size_t index = 0;
    const char* end = wanted.data() + wanted.size();
    const bool whole = colon == std::string::npos || std::from_chars(wanted.data() + colon + 1, end, index).ptr == end;
    for (const NodeProto& n : proto_.graph.nodes)
      if (whole && name_of_node(n, scope) == node && index < n.outputs.size())
        if (const Value* v = scope.find(n.outputs[index]); v && v->tensor) return v->tensor;
    throw Error(code::kAclnnParamInvalid, "output {} is asked for; no node and no tensor of the model has that name",
                wanted);
  }

  const ModelProto& proto_;
  const ImportOptions& options_;
  std::map<std::string, const FunctionProto*> functions_;
  graph::Model model_;
  size_t converted_ = 0;
  std::map<const FunctionProto*, size_t> sizes_;  ///< nodes of functions, with those that they call
  std::vector<std::string> made_;                 ///< names of the graphs of bodies, in the order of their making
};

}  // namespace

Source::Source(graph::Bytes model, const std::string& directory)
    : proto_(std::make_shared<const ModelProto>(read_model(std::move(model), directory))) {}

graph::Model Source::import(const ImportOptions& options) const { return Importer(*proto_, options).run(); }

graph::Model import(graph::Bytes model, const ImportOptions& options) {
  return Source(std::move(model), options.directory).import(options);
}

bool Source::has_unknown_sizes(const ImportOptions& options) const {
  return std::ranges::any_of(proto_->graph.inputs, [&](const ValueInfo& input) {
    const auto given = options.input_shapes.find(std::string(input.name));
    const graph::Dims& dims = given == options.input_shapes.end() ? input.dims : given->second;
    const bool known = given != options.input_shapes.end() || input.shape_known;
    return input.tensor && (!known || std::ranges::any_of(dims, [](int64_t d) { return d < 0; }));
  });
}

bool looks_like_onnx(std::span<const std::byte> bytes) {
  // ModelProto begins with ir_version (field 1, a small number); then come texts and messages.
  if (bytes.size() < 4 || bytes[0] != std::byte{0x08}) return false;
  const auto version = static_cast<uint8_t>(bytes[1]);
  const auto next = static_cast<uint8_t>(bytes[2]);
  return version >= 1 && version < 0x40 &&
         (next == 0x12 || next == 0x1a || next == 0x22 || next == 0x28 || next == 0x32 || next == 0x3a || next == 0x42);
}

}  // namespace updraft::onnx
