#include "ge/ir_type.h"

#include <algorithm>

#include "ops/ir_op.h"

namespace ge {

using updraft::Default;
using updraft::Kind;

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::Tensor: return "VT_TENSOR";
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

namespace {

template <class T>
int place_of(const std::vector<T>& all, std::string_view name) {
  const auto found = std::ranges::find_if(all, [&](const T& item) { return name == item.name; });
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

IrType registered(const updraft::OpInfo& info) {
  IrType type{info.name, info.about ? info.about->summary : "", info.file, {}, {}, {}, &info};
  for (const updraft::Parameter* p : updraft::ir_inputs(info))
    type.inputs.push_back({p->name, p->kind == Kind::Tensors, p->optional});
  for (const updraft::Parameter* p : updraft::ir_outputs(info))
    type.outputs.push_back({p->name, p->kind == Kind::Tensors, false});
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    const updraft::Parameter& p = info.parameters[i];
    if (!updraft::is_tensor(p.kind)) type.attributes.push_back({p.name, p.kind, info.defaults[i]});
  }
  return type;
}

Default number(double value) {
  Default d;
  d.is = Default::Is::Number;
  d.count = 1;
  d.numbers[0] = value;
  return d;
}

std::vector<IrType> make_types() {
  std::vector<IrType> types;
  for (const updraft::OpInfo* info = updraft::first_ir_op(); info; info = info->next)
    types.push_back(registered(*info));
  const IrPort x{"x", false, true}, y{"y", false, false};
  const IrAttribute index{"index", Kind::Int, number(0)}, value{"value", Kind::Tensor, {}};
  types.push_back({"Data", "An input of the graph", "", {x}, {y}, {index}, nullptr});
  types.push_back({"RefData", "An input of the graph that is updated in place", "", {x}, {y}, {index}, nullptr});
  types.push_back({"Const", "A constant", "", {}, {y}, {value}, nullptr});
  types.push_back({"Constant", "A constant", "", {}, {y}, {value}, nullptr});
  IrAttribute first = value;
  first.optional = true;
  types.push_back(
      {"Variable", "A tensor of the session, which graphs read and update", "", {x}, {y}, {first}, nullptr});
  types.push_back({"NoOp", "Runs nothing: what waits for it waits for what it waits for", "", {}, {}, {}, nullptr});
  const IrPort input{"input", true, false}, output{"output", true, false};
  types.push_back({"If",
                   "Runs one of two graphs",
                   "",
                   {{"cond", false, false}, input},
                   {output},
                   {},
                   nullptr,
                   {{"then_branch", false}, {"else_branch", false}}});
  types.push_back({"While",
                   "Runs a graph again and again as long as another gives true",
                   "",
                   {input},
                   {output},
                   {},
                   nullptr,
                   {{"cond", false}, {"body", false}}});
  types.push_back({"Case",
                   "Runs one of several graphs: that of the number branch_index, the last one if there is none",
                   "",
                   {{"branch_index", false, false}, input},
                   {output},
                   {},
                   nullptr,
                   {{"branches", true}}});
  Default empty;
  empty.is = Default::Is::Text;
  empty.text = "";
  types.push_back(
      {"PartitionedCall",
       "Runs a graph",
       "",
       {{"args", true, false}},
       {output},
       {{"config", Kind::Text, empty}, {"config_proto", Kind::Text, empty}, {"executor_type", Kind::Text, empty}},
       nullptr,
       {{"f", false}}});
  std::ranges::sort(types, [](const IrType& a, const IrType& b) { return std::string_view(a.name) < b.name; });
  return types;
}

}  // namespace

const IrAttribute* IrType::attribute(std::string_view attribute_name) const {
  const int i = place_of(attributes, attribute_name);
  return i < 0 ? nullptr : &attributes[static_cast<size_t>(i)];
}
int IrType::input(std::string_view input_name) const { return place_of(inputs, input_name); }
int IrType::output(std::string_view output_name) const { return place_of(outputs, output_name); }

const std::vector<IrType>& ir_types() {
  static const auto* types = new std::vector<IrType>(make_types());
  return *types;
}

const IrType* find_ir_type(std::string_view name) {
  const auto& types = ir_types();
  const auto found =
      std::ranges::lower_bound(types, name, {}, [](const IrType& t) { return std::string_view(t.name); });
  return found != types.end() && name == found->name ? &*found : nullptr;
}

}  // namespace ge
