#include "graph/operator.h"

#include <algorithm>
#include <atomic>
#include <cctype>

#include "ge/compose.h"
#include "ge/creators.h"
#include "ge/operator_impl.h"
#include "ge/status.h"
#include "ge/tensor_impl.h"
#include "graph/node_call.h"

namespace ge {

using updraft::Error;
namespace code = updraft::code;
namespace ir = updraft::graph;

namespace {

uint64_t next_number() {
  static std::atomic<uint64_t> next{0};
  return next++;
}

std::vector<Port> ports_of(const std::vector<IrPort>& all) {
  std::vector<Port> ports;
  for (const IrPort& p : all) ports.push_back({&p, std::vector<Slot>(p.dynamic ? 0 : 1)});
  return ports;
}

std::string names_of(const std::vector<Port>& ports) {
  std::string names;
  for (const Port& p : ports)
    names += (names.empty() ? "" : ", ") + std::string(p.ir->name) + (p.ir->dynamic ? "*" : "");
  return names.empty() ? "none" : names;
}

template <class... A>
[[noreturn]] void refuse(const OperatorImpl& op, fmt::format_string<A...> text, A&&... values) {
  throw Error(code::kAclInvalidParam, "{}: {}", op.text(), fmt::format(text, std::forward<A>(values)...));
}

std::shared_ptr<OperatorImpl> need(const std::shared_ptr<OperatorImpl>& op, const char* what) {
  if (!op)
    throw Error(code::kAclInvalidParam, "{} is an operator without a type: make it by its class (op::Relu) or its type",
                what);
  return op;
}

/// Runs `body`; its refusal is kept, too, so that whoever takes the graph fails with it.
template <class F>
void remember(const std::shared_ptr<OperatorImpl>& op, const char* name, F&& body) {
  status(name, [&] {
    try {
      need(op, "the object")->check();
      body();
    } catch (const Error& e) {
      if (op && op->refusal.empty()) op->refusal = e.text();
      throw;
    }
  });
}

}  // namespace

OperatorImpl::OperatorImpl(std::string operator_name, std::string operator_type)
    : name(operator_name.empty() ? operator_type : operator_name),
      type(std::move(operator_type)),
      named(!operator_name.empty()),
      ir(find_ir_type(type)),
      number(next_number()) {
  if (!ir) return;
  inputs = ports_of(ir->inputs);
  outputs = ports_of(ir->outputs);
}

void OperatorImpl::take_links(std::vector<std::shared_ptr<OperatorImpl>>& to) {
  for (Port& p : inputs)
    for (Slot& slot : p.slots)
      if (slot.from.op) to.push_back(std::move(slot.from.op));
  for (auto& before : controls) to.push_back(std::move(before));
  controls.clear();
}

OperatorImpl::~OperatorImpl() {
  std::vector<std::shared_ptr<OperatorImpl>> links;
  take_links(links);
  while (!links.empty()) {
    const std::shared_ptr<OperatorImpl> op = std::move(links.back());
    links.pop_back();
    if (op.use_count() == 1) op->take_links(links);
  }
}

void OperatorImpl::check() const {
  if (!ir)
    refuse(*this, "the virtual NPU has no operator of type {} (docs/reference/operators.md lists the graph operators)",
           type);
}

size_t OperatorImpl::count(const std::vector<Port>& ports) {
  size_t n = 0;
  for (const Port& p : ports) n += p.slots.size();
  return n;
}

Slot* OperatorImpl::at(std::vector<Port>& ports, size_t index) {
  for (Port& p : ports) {
    if (index < p.slots.size()) return &p.slots[index];
    index -= p.slots.size();
  }
  return nullptr;
}

Slot* OperatorImpl::find(std::vector<Port>& ports, std::string_view name) {
  for (Port& p : ports) {
    if (!p.ir->dynamic && name == p.ir->name) return &p.slots[0];
    if (!p.ir->dynamic || !name.starts_with(p.ir->name)) continue;
    for (size_t i = 0; i < p.slots.size(); ++i)
      if (name == p.ir->name + std::to_string(i)) return &p.slots[i];
  }
  return nullptr;
}

Slot& OperatorImpl::input(const char* port) {
  if (Slot* slot = find(inputs, port ? port : "")) return *slot;
  const int place = ir->input(port ? port : "");
  if (place >= 0) refuse(*this, "{} is a dynamic input: say which place, as in set_dynamic_input_{}(0, …)", port, port);
  refuse(*this, "it has no input {}; its inputs are {}", port ? port : "(null)", names_of(inputs));
}

Slot& OperatorImpl::place(std::vector<Port>& ports, const char* port, size_t item) {
  const char* what = &ports == &inputs ? "input" : "output";
  for (Port& p : ports) {
    if (!port || std::string_view(p.ir->name) != port) continue;
    if (!p.ir->dynamic) refuse(*this, "{} {} is one tensor, not a dynamic one", what, port);
    if (item < p.slots.size()) return p.slots[item];
    refuse(*this, "dynamic {} {} has {} places, there is no place {}: make them with create_dynamic_{}_{}", what, port,
           p.slots.size(), item, what, port);
  }
  refuse(*this, "it has no {} {}; its {}s are {}", what, port ? port : "(null)", what, names_of(ports));
}

OutputOf OperatorImpl::output(const std::shared_ptr<OperatorImpl>& self, const char* port) {
  const Slot* slot = find(outputs, port ? port : "");
  if (!slot) refuse(*this, "it has no output {}; its outputs are {}", port ? port : "(null)", names_of(outputs));
  for (size_t p = 0; p < outputs.size(); ++p)
    for (size_t i = 0; i < outputs[p].slots.size(); ++i)
      if (&outputs[p].slots[i] == slot) return {self, p, i};
  return {};
}

OutputOf OperatorImpl::output(const std::shared_ptr<OperatorImpl>& self, size_t index) {
  size_t left = index;
  for (size_t p = 0; p < outputs.size(); ++p) {
    if (left < outputs[p].slots.size()) return {self, p, left};
    left -= outputs[p].slots.size();
  }
  if (!outputs.empty() && count(outputs) == 0)
    refuse(*this, "output {} is dynamic and has no places yet: make them with create_dynamic_output_{}",
           outputs[0].ir->name, outputs[0].ir->name);
  refuse(*this, "it has {} outputs, there is none with the number {}", count(outputs), index);
}

std::shared_ptr<OperatorImpl> operator_impl(const Operator& op) { return op.impl_; }

Operator::Operator(const char* type) : impl_(std::make_shared<OperatorImpl>("", type ? type : "")) {}
Operator::Operator(const char* name, const char* type)
    : impl_(std::make_shared<OperatorImpl>(name ? name : "", type ? type : "")) {}
Operator::Operator(const AscendString& name, const AscendString& type) : Operator(name.GetString(), type.GetString()) {}

bool Operator::IsEmpty() const { return !impl_; }

graphStatus Operator::GetName(AscendString& name) const {
  if (!impl_) return GRAPH_FAILED;
  name = impl_->name.c_str();
  return GRAPH_SUCCESS;
}
graphStatus Operator::GetOpType(AscendString& type) const {
  if (!impl_) return GRAPH_FAILED;
  type = impl_->type.c_str();
  return GRAPH_SUCCESS;
}

namespace {

/// What `find_output` says of `src`.
template <class F>
OutputOf output_of(const Operator& src, F&& find_output) {
  const auto from = need(operator_impl(src), "the source");
  from->check();
  return find_output(*from, from);
}
auto first_output() {
  return [](OperatorImpl& op, const std::shared_ptr<OperatorImpl>& self) { return op.output(self, size_t{0}); };
}
auto output_named(const char* name) {
  return [name](OperatorImpl& op, const std::shared_ptr<OperatorImpl>& self) { return op.output(self, name); };
}
auto output_number(uint32_t i) {
  return [i](OperatorImpl& op, const std::shared_ptr<OperatorImpl>& self) { return op.output(self, size_t{i}); };
}

}  // namespace

namespace {
void link(const std::shared_ptr<OperatorImpl>& reader, Slot& slot, OutputOf from) {
  if (!from.op->ir->info) from.op->readers.push_back(reader);
  slot.from = std::move(from);
}
}  // namespace

Operator& Operator::SetInput(const char* dst, const Operator& src) {
  remember(impl_, "Operator::SetInput", [&] { link(impl_, impl_->input(dst), output_of(src, first_output())); });
  return *this;
}
Operator& Operator::SetInput(const char* dst, const Operator& src, const char* name) {
  remember(impl_, "Operator::SetInput", [&] { link(impl_, impl_->input(dst), output_of(src, output_named(name))); });
  return *this;
}
Operator& Operator::SetInput(const char* dst, const Operator& src, uint32_t index) {
  remember(impl_, "Operator::SetInput", [&] { link(impl_, impl_->input(dst), output_of(src, output_number(index))); });
  return *this;
}
Operator& Operator::SetInput(uint32_t dst, const Operator& src, uint32_t index) {
  remember(impl_, "Operator::SetInput", [&] {
    Slot* slot = OperatorImpl::at(impl_->inputs, dst);
    if (!slot)
      refuse(*impl_, "it has {} inputs, there is none with the number {}", OperatorImpl::count(impl_->inputs), dst);
    link(impl_, *slot, output_of(src, output_number(index)));
  });
  return *this;
}
Operator& Operator::SetInput(const char* dst, uint32_t place, const Operator& src) {
  remember(impl_, "Operator::SetInput",
           [&] { link(impl_, impl_->place(impl_->inputs, dst, place), output_of(src, first_output())); });
  return *this;
}
Operator& Operator::SetInput(const char* dst, uint32_t place, const Operator& src, const char* name) {
  remember(impl_, "Operator::SetInput",
           [&] { link(impl_, impl_->place(impl_->inputs, dst, place), output_of(src, output_named(name))); });
  return *this;
}

Operator& Operator::AddControlInput(const Operator& src) {
  remember(impl_, "Operator::AddControlInput", [&] {
    const auto from = need(operator_impl(src), "the source");
    if (std::ranges::find(impl_->controls, from) == impl_->controls.end()) impl_->controls.push_back(from);
  });
  return *this;
}

graphStatus Operator::GetInputConstData(const char* dst, Tensor& data) const {
  return status("Operator::GetInputConstData", [&] {
    const auto op = need(impl_, "the object");
    op->check();
    const Slot& slot = op->input(dst);
    const auto value = slot.from.op ? slot.from.op->attributes.find("value") : op->attributes.end();
    const bool constant = slot.from.op && (slot.from.op->type == "Const" || slot.from.op->type == "Constant");
    if (!constant || value == slot.from.op->attributes.end() || !value->second.get<ir::Tensor>())
      refuse(*op, "input {} is no constant", dst);
    data = tensor_of(*value->second.get<ir::Tensor>());
  });
}

// --- dynamic ports ------------------------------------------------------------------------------------------------

namespace {

void make_places(OperatorImpl& op, std::vector<Port>& ports, const char* name, unsigned int count) {
  constexpr unsigned int kMost = 1 << 16;
  if (count > kMost) refuse(op, "{} places of {}, want at most {}", count, name ? name : "(null)", kMost);
  for (Port& p : ports)
    if (name && std::string_view(p.ir->name) == name) {
      if (!p.ir->dynamic) refuse(op, "{} is one tensor, not a dynamic one", name);
      p.slots.resize(count);
      return;
    }
  refuse(op, "it has no dynamic port {}; it has {}", name ? name : "(null)", names_of(ports));
}

int places(const std::vector<Port>& ports, const char* name) {
  for (const Port& p : ports)
    if (name && p.ir->dynamic && std::string_view(p.ir->name) == name) return static_cast<int>(p.slots.size());
  return 0;
}

const IrGraph& graph_of(const OperatorImpl& op, const char* name) {
  std::vector<std::string_view> names;
  for (const IrGraph& graph : op.ir->graphs) {
    if (name && std::string_view(name) == graph.name) return graph;
    names.emplace_back(graph.name);
  }
  refuse(op, "it runs no graph {}; its graphs are {}", name ? name : "(null)",
         names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace

// Where the places are among the inputs the operator's description says, so the index tells nothing new.
void Operator::DynamicInputRegisterByIndex(const char* name, unsigned int count, unsigned long) {
  remember(impl_, "Operator::DynamicInputRegisterByIndex", [&] { make_places(*impl_, impl_->inputs, name, count); });
}
void Operator::DynamicInputRegister(const char* name, unsigned int count, bool) {
  remember(impl_, "Operator::DynamicInputRegister", [&] { make_places(*impl_, impl_->inputs, name, count); });
}
void Operator::DynamicOutputRegister(const char* name, unsigned int count, bool) {
  remember(impl_, "Operator::DynamicOutputRegister", [&] { make_places(*impl_, impl_->outputs, name, count); });
}
void Operator::SetSubgraphBuilder(const char* name, unsigned int index, const std::function<Graph()>& builder) {
  remember(impl_, "Operator::SetSubgraphBuilder", [&] {
    const IrGraph& graph = graph_of(*impl_, name);
    if (!graph.list && index != 0) refuse(*impl_, "graph {} is one, not a list: its index is {}, want 0", name, index);
    const auto count = impl_->graph_counts.find(name);
    if (graph.list && index >= (count == impl_->graph_counts.end() ? 0 : count->second))
      refuse(*impl_, "it has no graph {} {}: create_dynamic_subgraph_{} says how many there are", name, index, name);
    if (!builder) refuse(*impl_, "what should make the graph {} is empty", name);
    impl_->builders[graph.list ? name + std::to_string(index) : name] = builder;
  });
}
void Operator::SubgraphCountRegister(const char* name, unsigned int count) {
  remember(impl_, "Operator::SubgraphCountRegister", [&] {
    constexpr unsigned int kMost = 4096;
    if (!graph_of(*impl_, name).list) refuse(*impl_, "graph {} is one, not a list", name);
    if (count == 0 || count > kMost) refuse(*impl_, "{} graphs {}, want 1 to {}", count, name, kMost);
    impl_->graph_counts[name] = count;
  });
}
int Operator::GetDynamicInputNum(const char* name) const { return impl_ ? places(impl_->inputs, name) : 0; }
int Operator::GetDynamicOutputNum(const char* name) const { return impl_ ? places(impl_->outputs, name) : 0; }
size_t Operator::GetInputsSize() const { return impl_ ? OperatorImpl::count(impl_->inputs) : 0; }
size_t Operator::GetOutputsSize() const { return impl_ ? OperatorImpl::count(impl_->outputs) : 0; }

// --- descriptions -------------------------------------------------------------------------------------------------

graphStatus Operator::UpdateInputDesc(const char* name, const TensorDesc& desc) {
  return status("Operator::UpdateInputDesc", [&] {
    need(impl_, "the object")->check();
    // TorchAir asks with the name of a dynamic input whether there is one
    if (!OperatorImpl::find(impl_->inputs, name ? name : "") && impl_->ir->input(name ? name : "") >= 0) return;
    impl_->input(name).desc = described(desc);
  });
}
graphStatus Operator::UpdateOutputDesc(const char* name, const TensorDesc& desc) {
  return status("Operator::UpdateOutputDesc", [&] {
    need(impl_, "the object")->check();
    const OutputOf output = impl_->output(impl_, name);
    impl_->outputs[output.port].slots[output.item].desc = described(desc);
  });
}
graphStatus Operator::UpdateDynamicInputDesc(const char* name, uint32_t place, const TensorDesc& desc) {
  return status("Operator::UpdateDynamicInputDesc", [&] {
    need(impl_, "the object")->check();
    impl_->place(impl_->inputs, name, place).desc = described(desc);
  });
}
graphStatus Operator::UpdateDynamicOutputDesc(const char* name, uint32_t place, const TensorDesc& desc) {
  return status("Operator::UpdateDynamicOutputDesc", [&] {
    need(impl_, "the object")->check();
    impl_->place(impl_->outputs, name, place).desc = described(desc);
  });
}

namespace {

/// What is said of the tensor: by this operator, or by the one that makes it.
TensorDesc desc_of(const Slot* slot) {
  if (!slot) return {};
  if (slot->desc) return described(*slot->desc);
  if (!slot->from.op) return {};
  const Slot& made = slot->from.op->outputs[slot->from.port].slots[slot->from.item];
  return made.desc ? described(*made.desc) : TensorDesc();
}

const Slot* place_or_null(std::vector<Port>& ports, const char* name, uint32_t place) {
  for (Port& p : ports)
    if (name && p.ir->dynamic && std::string_view(p.ir->name) == name && place < p.slots.size()) return &p.slots[place];
  return nullptr;
}

}  // namespace

graphStatus Operator::TryGetInputDesc(const char* name, TensorDesc& desc) const {
  const Slot* slot = impl_ && name ? OperatorImpl::find(impl_->inputs, name) : nullptr;
  if (!slot || (!slot->desc && !slot->from.op)) return GRAPH_FAILED;
  desc = desc_of(slot);
  return GRAPH_SUCCESS;
}
TensorDesc Operator::GetInputDesc(uint32_t i) const {
  return impl_ ? desc_of(OperatorImpl::at(impl_->inputs, i)) : TensorDesc();
}
TensorDesc Operator::GetInputDescByName(const char* name) const {
  return impl_ && name ? desc_of(OperatorImpl::find(impl_->inputs, name)) : TensorDesc();
}
TensorDesc Operator::GetDynamicInputDesc(const char* name, uint32_t place) const {
  return impl_ ? desc_of(place_or_null(impl_->inputs, name, place)) : TensorDesc();
}
TensorDesc Operator::GetOutputDesc(uint32_t i) const {
  return impl_ ? desc_of(OperatorImpl::at(impl_->outputs, i)) : TensorDesc();
}
TensorDesc Operator::GetOutputDescByName(const char* name) const {
  return impl_ && name ? desc_of(OperatorImpl::find(impl_->outputs, name)) : TensorDesc();
}
TensorDesc Operator::GetDynamicOutputDesc(const char* name, uint32_t place) const {
  return impl_ ? desc_of(place_or_null(impl_->outputs, name, place)) : TensorDesc();
}

graphStatus Operator::InferShapeAndType() {
  return status("Operator::InferShapeAndType", [&] { infer_outputs(need(impl_, "the object")); });
}

// --- the factory --------------------------------------------------------------------------------------------------

graphStatus Operator::GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& names_types) const {
  if (!impl_ || !impl_->ir) return GRAPH_FAILED;
  for (const IrAttribute& a : impl_->ir->attributes) names_types[a.name] = kind_name(a.kind);
  return GRAPH_SUCCESS;
}

Operator OperatorFactory::CreateOperator(const char* name, const char* type) {
  if (!name || !type) return {};
  if (IsExistOp(type)) return {name, type};
  const Creator creator = find_creator(type);
  return creator ? creator(name) : Operator();
}

bool OperatorFactory::IsExistOp(const char* type) {
  return type && (find_ir_type(type) || std::string_view(type) == "NetOutput");
}

}  // namespace ge

/// What the IR says of a type: names of inputs, outputs and attributes, each with its kind (required, optional or
/// dynamic; VT_INT and the like). TorchAir makes converters of it. Not 0 for a type that there is not.
extern "C" UPDRAFT_API uint32_t
GetRegisteredIrDef(const char* type, std::vector<std::pair<ge::AscendString, ge::AscendString>>& inputs,
                   std::vector<std::pair<ge::AscendString, ge::AscendString>>& outputs,
                   std::vector<std::pair<ge::AscendString, ge::AscendString>>& attributes) {
  const ge::IrType* ir = type ? ge::find_ir_type(type) : nullptr;
  if (!ir || !ir->info) return ge::GRAPH_FAILED;
  const auto kind = [](const ge::IrPort& p) { return p.dynamic ? "dynamic" : p.optional ? "optional" : "required"; };
  inputs.clear();
  outputs.clear();
  attributes.clear();
  for (const ge::IrPort& p : ir->inputs) inputs.emplace_back(p.name, kind(p));
  for (const ge::IrPort& p : ir->outputs) outputs.emplace_back(p.name, kind(p));
  for (const ge::IrAttribute& a : ir->attributes) attributes.emplace_back(a.name, ge::kind_name(a.kind));
  return ge::GRAPH_SUCCESS;
}
