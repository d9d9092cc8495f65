#include "graph/builder.h"

#include "base/error.h"
#include "ops/ir_op.h"

namespace updraft::graph {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string_view type, std::string text) {
  throw Error(code::kAclnnParamInvalid, "{} ({}): {}", name, type, text);
}

}  // namespace

Endpoint Builder::input(const std::string& name, int64_t index, TensorDesc desc,
                        const std::vector<std::string>& symbols) {
  Node& data = graph_.add_data(name, index, std::move(desc));
  probe_.feed(data, symbols);
  return data.out();
}

Endpoint Builder::constant(const std::string& name, Tensor value) {
  Node& node = graph_.add_constant(name, std::move(value));
  probe_.infer(node);
  return node.out();
}

Node& Builder::node(std::string_view type, const std::string& name, const std::vector<Operand>& operands,
                    Attributes attributes, size_t outputs) {
  const OpInfo* info = find_ir_op(type);
  if (!info)
    refuse(name, type, "the virtual NPU has no such operator (docs/reference/operators.md lists the graph operators)");
  const auto inputs = ir_inputs(*info);
  if (operands.size() > inputs.size())
    refuse(name, type, fmt::format("{} inputs, the operator has {}", operands.size(), inputs.size()));
  Node& node = graph_.add(type, name);
  try {
    node.attributes = std::move(attributes);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Parameter& p = *inputs[i];
      const Operand absent(nullptr);
      const Operand& given = i < operands.size() ? operands[i] : absent;
      if (p.kind == Kind::Tensors) {
        size_t n = 0;
        for (Endpoint from : given.tensors_)
          if (given.list_ || from) graph_.add_input(node, p.name + std::to_string(n++), from);
        continue;
      }
      if (given.list_ && given.tensors_.size() != 1)
        refuse(name, type, fmt::format("{} tensors for {}, which is one tensor", given.tensors_.size(), p.name));
      if (!given.tensors_[0] && !p.optional) refuse(name, type, fmt::format("input {} is missing", p.name));
      graph_.add_input(node, p.name, given.tensors_[0]);
    }
    for (const Parameter* p : ir_outputs(*info)) {
      if (p->kind == Kind::Tensor) graph_.add_output(node, p->name);
      else
        for (size_t n = 0; n < outputs; ++n) graph_.add_output(node, p->name + std::to_string(n));
    }
    probe_.infer(node);
  } catch (...) {
    graph_.remove(node);
    throw;
  }
  return node;
}

Node& Builder::control(std::string_view type, const std::string& name, const std::vector<Endpoint>& inputs,
                       const std::vector<TensorDesc>& outputs, std::vector<std::string> subgraphs) {
  Node& node = graph_.add(type, name);
  const char* chooses = type == "If" ? "cond" : type == "Case" ? "branch_index" : nullptr;
  for (size_t i = 0; i < inputs.size(); ++i)
    graph_.add_input(node, chooses && i == 0 ? chooses : "input" + std::to_string(i - (chooses ? 1 : 0)), inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) graph_.add_output(node, "output" + std::to_string(i), outputs[i]);
  node.subgraphs = std::move(subgraphs);
  probe_.leave(node);
  return node;
}

void Builder::outputs(const std::vector<Endpoint>& tensors) {
  Node& end = graph_.make_net_output();
  for (Endpoint from : tensors) graph_.add_input(end, "x" + std::to_string(end.inputs().size()), from);
}

int64_t Builder::rank(Endpoint from) const {
  const TensorDesc& known = desc(from);
  if (!known.rank_known())
    throw Error(code::kAclnnParamInvalid,
                "{} has a number of dimensions that its values decide: what reads it must know it", from.node->name());
  return static_cast<int64_t>(known.dims.size());
}

}  // namespace updraft::graph
