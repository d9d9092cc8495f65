#include "graph/operator.h"

#include <string>
#include <utility>
#include <vector>

#include "base/boundary.h"
#include "ops/ir_op.h"

namespace ge {

class OperatorImpl {
 public:
  std::string name;
  const updraft::OpInfo* info;
};

namespace {

using updraft::Kind;

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::Bool: return "VT_BOOL";
    case Kind::Float:
    case Kind::Double: return "VT_FLOAT";
    case Kind::Text: return "VT_STRING";
    case Kind::Type: return "VT_DATA_TYPE";
    case Kind::Ints: return "VT_LIST_INT";
    case Kind::Floats: return "VT_LIST_FLOAT";
    case Kind::Bools: return "VT_LIST_BOOL";
    case Kind::Texts: return "VT_LIST_STRING";
    case Kind::IntLists: return "VT_LIST_LIST_INT";
    default: return "VT_INT";
  }
}

/// Types that graphs have and the registry has not: they hold or join tensors.
bool structural(std::string_view type) { return type == "Data" || type == "Const" || type == "NetOutput"; }

}  // namespace

graphStatus Operator::GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& names_types) const {
  if (!impl_) return GRAPH_FAILED;
  if (impl_->info)
    for (const updraft::Parameter& p : impl_->info->parameters)
      if (!updraft::is_tensor(p.kind)) names_types[p.name] = kind_name(p.kind);
  return GRAPH_SUCCESS;
}

graphStatus Operator::UpdateInputDesc(const char* name, const TensorDesc&) {
  if (!impl_ || !impl_->info || !name) return GRAPH_FAILED;
  for (const updraft::Parameter* p : updraft::ir_inputs(*impl_->info))
    if (std::string_view(p->name) == name) return GRAPH_SUCCESS;
  return GRAPH_FAILED;
}

Operator OperatorFactory::CreateOperator(const char* name, const char* type) {
  Operator made;
  if (name && IsExistOp(type))
    made.impl_ = std::make_shared<OperatorImpl>(OperatorImpl{name, updraft::find_ir_op(type)});
  return made;
}

bool OperatorFactory::IsExistOp(const char* type) {
  return type && (structural(type) || updraft::find_ir_op(type) != nullptr);
}

}  // namespace ge

/// What the IR says of a type: names of inputs, outputs and attributes, each with its kind (required, optional or
/// dynamic; VT_INT and the like). TorchAir makes converters of it. Not 0 for a type that there is not.
extern "C" UPDRAFT_API uint32_t
GetRegisteredIrDef(const char* type, std::vector<std::pair<ge::AscendString, ge::AscendString>>& inputs,
                   std::vector<std::pair<ge::AscendString, ge::AscendString>>& outputs,
                   std::vector<std::pair<ge::AscendString, ge::AscendString>>& attributes) {
  const updraft::OpInfo* info = type ? updraft::find_ir_op(type) : nullptr;
  if (!info) return ge::GRAPH_FAILED;
  const auto kind = [](const updraft::Parameter& p) {
    return p.kind == updraft::Kind::Tensors ? "dynamic" : p.optional ? "optional" : "required";
  };
  inputs.clear();
  outputs.clear();
  attributes.clear();
  for (const updraft::Parameter* p : updraft::ir_inputs(*info)) inputs.emplace_back(p->name, kind(*p));
  for (const updraft::Parameter* p : updraft::ir_outputs(*info)) outputs.emplace_back(p->name, kind(*p));
  for (const updraft::Parameter& p : info->parameters)
    if (!updraft::is_tensor(p.kind)) attributes.emplace_back(p.name, ge::kind_name(p.kind));
  return ge::GRAPH_SUCCESS;
}
