// Functions of the graph engine that take a std::string, for clients built with the ABI before C++11, as MindSpore is.
// The headers have these forms inline, so that programs of either ABI can be compiled; clients that were compiled
// against other headers link them. Nothing of ours that holds a std::string may be included here: it would have another
// layout. C++ has no way to define such a member apart from its class, so each is a function that gets the object first
// (which is how members are called) under the member's name.
#define _GLIBCXX_USE_CXX11_ABI 0  // NOLINT(bugprone-reserved-identifier)
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ge/creators.h"
#include "ge/ge_api.h"

#define FORM [[gnu::used, gnu::visibility("default")]]

namespace ge::string_forms {

using Text = std::string;
using Texts = std::vector<std::string>;
using Options = std::map<std::string, std::string>;

// --- operators

FORM void make(Operator* self, const Text& type) __asm__("_ZN2ge8OperatorC1ERKSs");
void make(Operator* self, const Text& type) { new (self) Operator(type.c_str()); }
FORM void make(Operator* self, const Text& name, const Text& type) __asm__("_ZN2ge8OperatorC1ERKSsS2_");
void make(Operator* self, const Text& name, const Text& type) { new (self) Operator(name.c_str(), type.c_str()); }
FORM void make_base(Operator* self, const Text& name, const Text& type) __asm__("_ZN2ge8OperatorC2ERKSsS2_");
void make_base(Operator* self, const Text& name, const Text& type) { make(self, name, type); }

FORM Text name_of(const Operator* self) __asm__("_ZNK2ge8Operator7GetNameEv");
Text name_of(const Operator* self) {
  AscendString name;
  return self->GetName(name) == GRAPH_SUCCESS ? name.GetString() : "";
}
FORM Text type_of(const Operator* self) __asm__("_ZNK2ge8Operator9GetOpTypeEv");
Text type_of(const Operator* self) {
  AscendString type;
  return self->GetOpType(type) == GRAPH_SUCCESS ? type.GetString() : "";
}

FORM Operator& link(Operator* self, const Text& dst, const Operator& src) __asm__("_ZN2ge8Operator8SetInputERKSsRKS0_");
Operator& link(Operator* self, const Text& dst, const Operator& src) { return self->SetInput(dst.c_str(), src); }
FORM Operator& link(Operator* self, const Text& dst, const Operator& src,
                    const Text& name) __asm__("_ZN2ge8Operator8SetInputERKSsRKS0_S2_");
Operator& link(Operator* self, const Text& dst, const Operator& src, const Text& name) {
  return self->SetInput(dst.c_str(), src, name.c_str());
}

FORM int places(const Operator* self, const Text& name) __asm__("_ZNK2ge8Operator19GetDynamicOutputNumERKSs");
int places(const Operator* self, const Text& name) { return self->GetDynamicOutputNum(name.c_str()); }

FORM graphStatus describe_input(Operator* self, const Text& name, const TensorDesc& desc) __asm__(
    "_ZN2ge8Operator15UpdateInputDescERKSsRKNS_10TensorDescE");
graphStatus describe_input(Operator* self, const Text& name, const TensorDesc& desc) {
  return self->UpdateInputDesc(name.c_str(), desc);
}
FORM graphStatus describe_output(Operator* self, const Text& name, const TensorDesc& desc) __asm__(
    "_ZN2ge8Operator16UpdateOutputDescERKSsRKNS_10TensorDescE");
graphStatus describe_output(Operator* self, const Text& name, const TensorDesc& desc) {
  return self->UpdateOutputDesc(name.c_str(), desc);
}
FORM TensorDesc output_desc(const Operator* self, const Text& name) __asm__("_ZNK2ge8Operator13GetOutputDescERKSs");
TensorDesc output_desc(const Operator* self, const Text& name) { return self->GetOutputDescByName(name.c_str()); }

// --- attributes

#define SETTER(TYPE, SYMBOL)                                                        \
  FORM Operator& set(Operator* self, const Text& name, TYPE value) __asm__(SYMBOL); \
  Operator& set(Operator* self, const Text& name, TYPE value) { return self->SetAttr(name.c_str(), value); }
SETTER(bool, "_ZN2ge8Operator7SetAttrERKSsb")
SETTER(float, "_ZN2ge8Operator7SetAttrERKSsf")
SETTER(int32_t, "_ZN2ge8Operator7SetAttrERKSsi")
SETTER(int64_t, "_ZN2ge8Operator7SetAttrERKSsl")
SETTER(const Text&, "_ZN2ge8Operator7SetAttrERKSsS2_")
SETTER(const std::vector<bool>&, "_ZN2ge8Operator7SetAttrERKSsRKSt6vectorIbSaIbEE")
SETTER(const std::vector<float>&, "_ZN2ge8Operator7SetAttrERKSsRKSt6vectorIfSaIfEE")
SETTER(const std::vector<int32_t>&, "_ZN2ge8Operator7SetAttrERKSsRKSt6vectorIiSaIiEE")
SETTER(const std::vector<int64_t>&, "_ZN2ge8Operator7SetAttrERKSsRKSt6vectorIlSaIlEE")
SETTER(const Texts&, "_ZN2ge8Operator7SetAttrERKSsRKSt6vectorISsSaISsEE")

FORM graphStatus get(const Operator* self, const Text& name, Text& value) __asm__("_ZNK2ge8Operator7GetAttrERKSsRSs");
graphStatus get(const Operator* self, const Text& name, Text& value) { return self->GetAttr(name.c_str(), value); }
FORM graphStatus get(const Operator* self, const Text& name,
                     Texts& value) __asm__("_ZNK2ge8Operator7GetAttrERKSsRSt6vectorISsSaISsEE");
graphStatus get(const Operator* self, const Text& name, Texts& value) { return self->GetAttr(name.c_str(), value); }

// --- the factory

FORM bool exists(const Text& type) __asm__("_ZN2ge15OperatorFactory9IsExistOpERKSs");
bool exists(const Text& type) { return OperatorFactory::IsExistOp(type.c_str()); }
FORM Operator create(const Text& name, const Text& type) __asm__("_ZN2ge15OperatorFactory14CreateOperatorERKSsS2_");
Operator create(const Text& name, const Text& type) {
  return OperatorFactory::CreateOperator(name.c_str(), type.c_str());
}

using TextCreator = std::function<Operator(const std::string&)>;
// A constructor of a variable of the client, of which nobody knows the size: nothing is written into it.
FORM void register_creator(void* self, const Text& type, const TextCreator& creator) __asm__(
    "_ZN2ge23OperatorCreatorRegisterC1ERKSsRKSt8functionIFNS_8OperatorES2_EE");
void register_creator(void*, const Text& type, const TextCreator& creator) {
  if (!creator) return;
  add_creator(type.c_str(), [creator](const AscendString& name) { return creator(name.GetString()); });
}

// --- graphs and sessions

FORM void make(Graph* self, const Text& name) __asm__("_ZN2ge5GraphC1ERKSs");
void make(Graph* self, const Text& name) { new (self) Graph(name.c_str()); }
FORM Text name_of(const Graph* self) __asm__("_ZNK2ge5Graph7GetNameEv");
Text name_of(const Graph* self) {
  AscendString name;
  return self->GetName(name) == GRAPH_SUCCESS ? name.GetString() : "";
}
FORM graphStatus save(const Graph* self, const Text& file) __asm__("_ZNK2ge5Graph10SaveToFileERKSs");
graphStatus save(const Graph* self, const Text& file) { return self->SaveToFile(file.c_str()); }
FORM Graph& set_outputs(Graph* self, const std::vector<std::pair<Operator, Text>>& outputs) __asm__(
    "_ZN2ge5Graph10SetOutputsERKSt6vectorISt4pairINS_8OperatorESsESaIS4_EE");
Graph& set_outputs(Graph* self, const std::vector<std::pair<Operator, Text>>& outputs) {
  std::vector<std::pair<Operator, AscendString>> named;
  for (const auto& output : outputs) named.emplace_back(output.first, AscendString(output.second.c_str()));
  return self->SetOutputs(named);
}

static std::map<AscendString, AscendString> shared(const Options& options) {
  std::map<AscendString, AscendString> all;
  for (const auto& option : options) all[option.first.c_str()] = option.second.c_str();
  return all;
}

FORM Status
initialize(const Options& options) __asm__("_ZN2ge12GEInitializeERKSt3mapISsSsSt4lessISsESaISt4pairIKSsSsEEE");
Status initialize(const Options& options) { return GEInitialize(shared(options)); }
FORM void make(Session* self,
               const Options& options) __asm__("_ZN2ge7SessionC1ERKSt3mapISsSsSt4lessISsESaISt4pairIKSsSsEEE");
void make(Session* self, const Options& options) { new (self) Session(shared(options)); }
FORM Status add_graph(Session* self, uint32_t id, const Graph& graph, const Options& options) __asm__(
    "_ZN2ge7Session8AddGraphEjRKNS_5GraphERKSt3mapISsSsSt4lessISsESaISt4pairIKSsSsEEE");
Status add_graph(Session* self, uint32_t id, const Graph& graph, const Options& options) {
  return self->AddGraph(id, graph, shared(options));
}

using TextCallback = Status (*)(uint32_t, const std::map<Text, Tensor>&);
FORM Status register_callback(Session* self, const Text& key, const TextCallback& callback) __asm__(
    "_ZN2ge7Session20RegisterCallBackFuncERKSsRKPFjjRKSt3mapISsNS_6TensorESt4lessISsESaISt4pairIS1_S4_EEEE");
Status register_callback(Session* self, const Text& key, const TextCallback& callback) {
  if (!callback) return self->RegisterCallBackFunc(key.c_str(), {});
  return self->RegisterCallBackFunc(key.c_str(), [callback](uint32_t graph, const std::map<AscendString, Tensor>& all) {
    std::map<Text, Tensor> named;
    for (const auto& tensor : all) named[tensor.first.GetString()] = tensor.second;
    return callback(graph, named);
  });
}

// --- texts of codes

/// Clients insert into it and search it by code that they have inline; it is their own kind of std::string then.
struct StatusTexts {
  std::map<uint32_t, std::string> texts;
};

/// One for each library that asks: libraries of both ABIs of std::string may be in a process, and what one has inserted
/// another could not read.
FORM [[gnu::noinline]] StatusTexts* status_factory() __asm__("_ZN2ge13StatusFactory8InstanceEv");
StatusTexts* status_factory() {
  static std::mutex mutex;
  static auto* all = new std::map<const void*, StatusTexts>;
  Dl_info caller{};
  dladdr(__builtin_return_address(0), &caller);
  std::lock_guard lock(mutex);
  return &(*all)[caller.dli_fbase];
}

}  // namespace ge::string_forms
