#include "migrate/names/module.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

#include "migrate/support/torch_api.h"

namespace updraft::migrate::names {
namespace {

using syntax::Field;
using syntax::Kind;
using syntax::kNone;
using syntax::NodeId;
using syntax::Tree;

bool names_npu(std::string_view text) noexcept {
  return text == "npu" || text.starts_with("npu:") || text == "hccl" || text == "torch_npu" || text == "privateuseone";
}

/// Whether a string decides something: compared, a key, a pattern, what a function answers.
bool decides(const Tree& tree, NodeId literal) {
  for (NodeId mine = literal, up = tree.parent(mine); up != kNone; mine = up, up = tree.parent(up)) {
    switch (tree.kind(up)) {
      case Kind::Comparison:
      case Kind::CasePattern:
      case Kind::Return: return true;
      case Kind::Pair: return tree.child(up, Field::Key) == mine;
      case Kind::ArgumentList: {
        // hasattr(torch, "npu"), find_spec("torch_npu"), device.startswith("npu")
        const NodeId callee = tree.child(tree.parent(up), Field::Function);
        const std::string_view name =
            tree.text(tree.kind(callee) == Kind::Attribute ? tree.child(callee, Field::Attribute) : callee);
        return name == "hasattr" || name == "getattr" || name == "find_spec" || name == "import_module" ||
               name == "startswith";
      }
      case Kind::Parenthesized:
      case Kind::Tuple:
      case Kind::List:
      case Kind::Set: continue;
      default: return false;
    }
  }
  return false;
}

/// def npu(self) and npu = cuda in a class only answer to the name.
bool defines(const Tree& tree, NodeId identifier) {
  const NodeId up = tree.parent(identifier);
  if (tree.kind(up) == Kind::Function) return tree[identifier].field == Field::Name;
  return tree.kind(up) == Kind::Assignment && tree[identifier].field == Field::Left &&
         tree.kind(tree.child(up, Field::Right)) == Kind::Identifier;
}

/// import torch_npu that always runs, or the tool's own ascend_function.
bool for_npu_alone(const Tree& tree) {
  for (NodeId statement : tree.children(0)) {
    const Kind kind = tree.kind(statement);
    if (kind == Kind::Import) {
      for (NodeId item : tree.children(statement)) {
        const std::string_view name =
            tree.text(tree.kind(item) == Kind::AliasedImport ? tree.child(item, Field::Name) : item);
        if (name == "torch_npu" || name.starts_with("torch_npu.") || name.starts_with("ascend_function")) return true;
      }
    } else if (kind == Kind::ImportFrom) {
      const std::string_view name = tree.text(tree.child(statement, Field::ModuleName));
      if (name == "torch_npu" || name.starts_with("torch_npu.") || name.starts_with("ascend_function")) return true;
    }
  }
  return false;
}

}  // namespace

bool says_npu(std::string_view name) noexcept {
  for (std::size_t at = name.find("NPU"); at != std::string_view::npos; at = name.find("NPU", at + 1))
    if (at == 0 || name[at - 1] < 'A' || name[at - 1] > 'Z') return true;
  if (name.find("Npu") != std::string_view::npos) return true;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('_', at), name.size());
    if (name.substr(at, end - at) == "npu") return true;
    at = end + 1;
  }
  return false;
}

bool asks_for_npu(const Tree& tree) {
  if (!tree.says_npu()) return false;
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Kind kind = tree.kind(id);
    const bool asks = (kind == Kind::Identifier && says_npu(tree.text(id)) && !defines(tree, id)) ||
                      (kind == Kind::StringContent && names_npu(tree.text(id)) && decides(tree, tree.parent(id)));
    if (asks) return !for_npu_alone(tree);
  }
  return false;
}

using syntax::Field;
using syntax::Kind;

namespace {

constexpr int kDeepest = 12;  // of names that stand for names
constexpr std::size_t kMostBindings = 500;

/// Functions of the torch namespace that give no tensor.
constexpr std::array<std::string_view, 24> kNoTensor = {"load",
                                                        "save",
                                                        "compile",
                                                        "no_grad",
                                                        "enable_grad",
                                                        "inference_mode",
                                                        "manual_seed",
                                                        "seed",
                                                        "get_rng_state",
                                                        "device",
                                                        "dtype",
                                                        "finfo",
                                                        "iinfo",
                                                        "is_tensor",
                                                        "is_grad_enabled",
                                                        "set_grad_enabled",
                                                        "set_default_device",
                                                        "set_num_threads",
                                                        "get_num_threads",
                                                        "set_default_dtype",
                                                        "typename",
                                                        "autocast",
                                                        "numel",
                                                        "use_deterministic_algorithms"};

/// Methods of tensors that give none.
constexpr std::array<std::string_view, 20> kNoTensorOf = {"item",
                                                          "tolist",
                                                          "size",
                                                          "dim",
                                                          "numel",
                                                          "data_ptr",
                                                          "stride",
                                                          "numpy",
                                                          "element_size",
                                                          "get_device",
                                                          "backward",
                                                          "is_shared",
                                                          "storage",
                                                          "untyped_storage",
                                                          "register_hook",
                                                          "is_complex",
                                                          "is_floating_point",
                                                          "is_contiguous",
                                                          "storage_offset",
                                                          "nelement"};

/// Methods that give their object, or another of its kind.
constexpr std::array<std::string_view, 22> kSame = {
    "cuda",  "npu",       "cpu",     "to",     "float",      "half", "bfloat16", "double",
    "train", "eval",      "clone",   "detach", "contiguous", "view", "reshape",  "requires_grad_",
    "type",  "unsqueeze", "squeeze", "long",   "int",        "bool"};

std::string_view last_part(std::string_view name) noexcept { return name.substr(name.rfind('.') + 1); }

}  // namespace

bool is_module_or_tensor(std::string_view api) noexcept {
  static constexpr std::array<std::string_view, 12> known = {"torch.nn.Module",
                                                             "torch.nn.modules.Module",
                                                             "torch.nn.modules.module.Module",
                                                             "torch.Tensor",
                                                             "torch.nn.Parameter",
                                                             "torch.nn.parameter.Parameter",
                                                             "torch.nn.parallel.DistributedDataParallel",
                                                             "torch.nn.DataParallel",
                                                             "pytorch_lightning.LightningModule",
                                                             "lightning.LightningModule",
                                                             "transformers.PreTrainedModel",
                                                             "torch.nn.utils.rnn.PackedSequence"};
  return std::find(known.begin(), known.end(), api) != known.end() ||
         (api.starts_with("torch.nn.") && !last_part(api).empty() &&
          std::isupper(static_cast<unsigned char>(last_part(api)[0])));
}

bool is_enum(const syntax::Tree& tree, NodeId definition) noexcept {
  for (NodeId base : tree.children(tree.child(definition, Field::Superclasses)))
    if (tree.text(base).ends_with("Enum")) return true;
  return false;
}

Module::Module(std::string path, std::string_view text, const Project* project)
    : path_(std::move(path)), own_(text), tree_(*own_), scopes_(tree_), project_(project) {}

Module::Module(std::string path, const syntax::Tree& tree, const Project* project)
    : path_(std::move(path)), tree_(tree), scopes_(tree_), project_(project) {}

std::string Module::id_of(NodeId definition) const {
  return path_ + "#" + std::string(tree_.text(tree_.child(definition, Field::Name)));
}

Value Module::imported(const Binding& b) const {
  if (project_ && !locally_) return project_->imported(path_, b.module, b.name);
  if (b.module.starts_with('.') || (project_ && b.module != "torch" && !project_->file_of(b.module, path_).empty()))
    return {};
  return {What::Api, b.name.empty() ? b.module : b.module + "." + b.name};
}

Value Module::local(NodeId expression) const {
  locally_ = true;
  known_.swap(known_locally_);
  Value result = value(expression, 0);
  known_.swap(known_locally_);
  locally_ = false;
  return result;
}

/// torch, nn = try_import_torch(), as RLlib has it: the names say which of what is given back is which.
Value Module::tried(NodeId name) const {
  const std::string_view text = tree_.text(name);
  if (text != "torch" && text != "nn") return {};
  const NodeId assignment = tree_.parent(tree_.parent(name));
  if (tree_.kind(assignment) != Kind::Assignment) return {};
  const NodeId call = tree_.child(assignment, Field::Right);
  if (tree_.kind(call) != Kind::Call || !tree_.text(tree_.child(call, Field::Function)).ends_with("import_torch"))
    return {};
  return {What::Api, text == "nn" ? "torch.nn" : "torch", false, false};
}

Value Module::value_of(const Binding& b, int depth) const {
  switch (b.how) {
    case Bind::Import: return imported(b);
    case Bind::Class: return {What::Class, id_of(b.node), true};
    case Bind::Function: return {What::Function, id_of(b.node), true};
    case Bind::Assignment: return b.value == kNone ? Value{} : value(b.value, depth + 1);
    case Bind::Parameter: {
      // an annotation says more than a default
      const NodeId parameter = tree_.parent(b.node);
      if (tree_.kind(parameter) == Kind::TypedParameter || tree_.kind(parameter) == Kind::TypedDefaultParameter) {
        const NodeId type = tree_.child(tree_.child(parameter, Field::Type), std::size_t{0});
        if (Value v = value(type, depth + 1); v.what == What::Api || v.what == What::Class)
          return {What::Instance, v.name, v.own};
      }
      return {};
    }
    case Bind::Loop: return tried(b.node);
  }
  return {};
}

Value Module::merge(const std::vector<Binding>& bindings, int depth) const {
  Value best;
  // a generated source may set a name at each of a million lines: what it is most often, the first ones say
  const std::span looked_at = std::span(bindings).first(std::min(bindings.size(), kMostBindings));
  bool all = looked_at.size() == bindings.size();
  for (const Binding& b : looked_at) {
    if (b.how == Bind::Assignment && tree_.kind(b.value) == Kind::None) {
      all = false;  // try: import x … except ImportError: x = None
      continue;
    }
    const Value v = value_of(b, depth);
    if (!v) {
      all = false;
    } else if (!best) {
      best = v;
    } else if (!(best == v)) {
      all = false;
      if (best.what != What::Api && v.what == What::Api) best = v;
    }
  }
  // a parameter is whatever the caller passes
  for (const Binding& b : looked_at)
    if (b.how == Bind::Parameter && best.what != What::Instance) return {};
  best.sure = best.sure && all;
  return best;
}

Value Module::attribute(const Value& base, std::string_view name) const {
  switch (base.what) {
    case What::Api: return {What::Api, base.name + "." + std::string(name), false, base.sure};
    case What::Module: return project_ && !locally_ ? project_->attribute(base, std::string(name)) : Value{};
    case What::Instance: return {What::Member, base.name + "." + std::string(name), base.own, base.sure};
    default: return {};
  }
}

Value Module::called(const Value& callee) const {
  if (callee.what == What::Class) return {What::Instance, callee.name, true, callee.sure};
  if (callee.what == What::Member) {
    const std::size_t dot = callee.name.rfind('.');
    const std::string_view method = std::string_view(callee.name).substr(dot + 1);
    const bool tensor = !callee.own && callee.name.substr(0, dot) == "torch.Tensor";
    if (std::find(kSame.begin(), kSame.end(), method) != kSame.end() ||
        (tensor && std::find(kNoTensorOf.begin(), kNoTensorOf.end(), method) == kNoTensorOf.end()))
      return {What::Instance, callee.name.substr(0, dot), callee.own, callee.sure};
    return {};
  }
  if (callee.what != What::Api) return {};
  const std::string_view last = last_part(callee.name);
  if (callee.name == "torch.device") return {What::Instance, "torch.device", false, callee.sure};
  if (!last.empty() && std::isupper(static_cast<unsigned char>(last[0])))
    return {What::Instance, callee.name, false, callee.sure};
  if (callee.name.starts_with("torch.nn.functional.")) return {What::Instance, "torch.Tensor", false, callee.sure};
  if (callee.name.starts_with("torch.") && callee.name.find('.', 6) == std::string::npos &&
      std::find(kNoTensor.begin(), kNoTensor.end(), last) == kNoTensor.end())
    return {What::Instance, "torch.Tensor", false, callee.sure};
  return {};
}

Value Module::value(NodeId id, int depth) const {
  if (id == kNone || depth > kDeepest) return {};
  if (const auto found = known_.find(id); found != known_.end()) return found->second;
  Value result;
  const ScopeId scope = scopes_.of(id);
  switch (tree_.kind(id)) {
    case Kind::Identifier: {
      const std::string_view name = tree_.text(id);
      if (const ScopeId owner = scopes_.class_of_self(name, scope); owner != kNoScope) {
        result = {What::Instance, id_of(scopes_[owner].node), true};
        break;
      }
      known_.emplace(id, Value{});  // x = f(x) asks for itself
      if (const auto* bindings = scopes_.lookup(name, scope)) {
        result = merge(*bindings, depth);
      } else if (project_ && !locally_) {
        for (const std::string& module : scopes_.wildcards())
          if (const std::string file = project_->file_of(module, path_); !file.empty())
            if ((result = project_->member(file, std::string(name)))) break;
      }
      if (!result && !scopes_.lookup(name, scope))
        for (const std::string& module : scopes_.wildcards())
          if (std::string whole = module + "." + std::string(name); comes_with_star(whole))
            result = {What::Api, std::move(whole), false, false};
      break;
    }
    case Kind::Attribute: {
      const NodeId object = tree_.child(id, Field::Object);
      const std::string_view name = tree_.text(tree_.child(id, Field::Attribute));
      if (tree_.kind(object) == Kind::Identifier) {
        if (const ScopeId owner = scopes_.class_of_self(tree_.text(object), scope); owner != kNoScope) {
          // self.x, as the class's methods set it
          if (const auto set = scopes_[owner].attributes.find(name); set != scopes_[owner].attributes.end()) {
            known_.emplace(id, Value{});
            for (NodeId v : set->second) {
              Value one = value(v, depth + 1);
              if (!one) result.sure = false;
              if (one && !result) result = one;
            }
            if (result) break;
          }
        }
      }
      result = attribute(value(object, depth + 1), name);
      break;
    }
    case Kind::Call: {
      const NodeId callee = tree_.child(id, Field::Function);
      if (tree_.kind(callee) == Kind::Identifier && tree_.text(callee) == "super" && !scopes_.lookup("super", scope)) {
        // what the class's own methods do decides for those that they override as well
        if (const NodeId owner = tree_.ancestor(id, Kind::Class); owner != kNone)
          result = {What::Instance, id_of(owner), true};
        break;
      }
      result = called(value(callee, depth + 1));
      break;
    }
    case Kind::Parenthesized:
    case Kind::Type: result = value(tree_.child(id, std::size_t{0}), depth + 1); break;
    case Kind::Await: break;
    case Kind::Subscript:
    case Kind::Binary: {
      // x[0], a + b
      static const Value tensor{What::Instance, "torch.Tensor"};
      const bool binary = tree_.kind(id) == Kind::Binary;
      result = value(tree_.child(id, binary ? Field::Left : Field::Value), depth + 1);
      if (binary && !(result == tensor)) result = value(tree_.child(id, Field::Right), depth + 1);
      if (!(result == tensor)) result = {};
      break;
    }
    case Kind::NamedExpression: result = value(tree_.child(id, Field::Value), depth + 1); break;
    case Kind::Conditional: {
      const Value a = value(tree_.child(id, std::size_t{0}), depth + 1),
                  b = value(tree_.child(id, std::size_t{2}), depth + 1);
      result = a == b ? a : a && tree_.kind(tree_.child(id, std::size_t{2})) == Kind::None ? a : Value{};
      break;
    }
    case Kind::String: {
      std::string text;
      if (plain_string(id, text)) result = {What::String, std::move(text)};
      break;
    }
    default: break;
  }
  known_[id] = result;
  return result;
}

bool Module::plain_string(NodeId id, std::string& text) const {
  if (tree_.kind(id) != Kind::String) return false;
  text.clear();
  for (NodeId c : tree_.children(id)) {
    switch (tree_.kind(c)) {
      case Kind::StringStart:
      case Kind::StringEnd: break;
      case Kind::StringContent:
        if (tree_[c].first != kNone) return false;
        text += tree_.text(c);
        break;
      default: return false;
    }
  }
  return true;
}

namespace {

/// What a question gives where there is no answer: config.get("device", "cuda"), os.getenv("DEVICE", "cuda"),
/// getattr(args, "device", "cuda").
NodeId default_of(const syntax::Tree& tree, NodeId call) {
  const NodeId callee = tree.child(call, Field::Function), list = tree.child(call, Field::Arguments);
  const bool method = tree.kind(callee) == Kind::Attribute;
  const std::string_view name = tree.text(method ? tree.child(callee, Field::Attribute) : callee);
  std::size_t place = 1;
  if (name == "getattr" && !method) place = 2;
  else if (name != "getenv" && !(method && (name == "get" || name == "pop" || name == "setdefault"))) return kNone;
  std::size_t at = 0;
  for (NodeId argument : tree.children(list)) {
    const Kind kind = tree.kind(argument);
    if (kind == Kind::KeywordArgument) {
      if (tree.text(tree.child(argument, Field::Name)) == "default") return tree.child(argument, Field::Value);
    } else if (kind == Kind::ListSplat || kind == Kind::DictionarySplat) {
      return kNone;
    } else if (at++ == place) {
      return argument;
    }
  }
  return kNone;
}

}  // namespace

void Module::sources(NodeId id, std::vector<NodeId>& found, int depth) const {
  if (id == kNone || depth > 6 || std::find(found.begin(), found.end(), id) != found.end()) return;
  switch (tree_.kind(id)) {
    case Kind::Conditional:
      sources(tree_.child(id, std::size_t{0}), found, depth + 1);
      sources(tree_.child(id, std::size_t{2}), found, depth + 1);
      return;
    case Kind::Boolean:
      for (NodeId c : tree_.children(id)) sources(c, found, depth + 1);
      return;
    case Kind::Parenthesized: sources(tree_.child(id, std::size_t{0}), found, depth + 1); return;
    case Kind::NamedExpression: sources(tree_.child(id, Field::Value), found, depth + 1); return;
    case Kind::Identifier:
      found.push_back(id);
      if (const auto* bindings = scopes_.lookup(tree_.text(id), scopes_.of(id)))
        for (const Binding& b : *bindings)
          if (b.value != kNone) sources(b.value, found, depth + 1);
      return;
    case Kind::Attribute: {
      found.push_back(id);
      const NodeId object = tree_.child(id, Field::Object);
      // Dev.CUDA.value
      if (tree_.kind(object) == Kind::Attribute && tree_.text(tree_.child(id, Field::Attribute)) == "value") {
        const NodeId owner = tree_.child(object, Field::Object);
        const auto* bindings =
            tree_.kind(owner) == Kind::Identifier ? scopes_.lookup(tree_.text(owner), scopes_.of(id)) : nullptr;
        if (!bindings || bindings->front().how != Bind::Class || !is_enum(tree_, bindings->front().node)) return;
        const auto& members = scopes_[scopes_.opened_by(bindings->front().node)].names;
        if (const auto set = members.find(tree_.text(tree_.child(object, Field::Attribute))); set != members.end())
          for (const Binding& b : set->second) sources(b.value, found, depth + 1);
        return;
      }
      if (tree_.kind(object) != Kind::Identifier) return;
      const ScopeId owner = scopes_.class_of_self(tree_.text(object), scopes_.of(id));
      if (owner == kNoScope) return;
      const std::string_view name = tree_.text(tree_.child(id, Field::Attribute));
      if (const auto set = scopes_[owner].attributes.find(name); set != scopes_[owner].attributes.end())
        for (NodeId v : set->second) sources(v, found, depth + 1);
      if (const auto set = scopes_[owner].names.find(name); set != scopes_[owner].names.end())
        for (const Binding& b : set->second) sources(b.value, found, depth + 1);
      return;
    }
    case Kind::Call: {
      // "cuda:{}".format(…), torch.device("cuda")
      const NodeId callee = tree_.child(id, Field::Function);
      if (tree_.kind(callee) == Kind::Attribute && tree_.text(tree_.child(callee, Field::Attribute)) == "format") {
        const NodeId pattern = tree_.child(callee, Field::Object);
        sources(pattern, found, depth + 1);
        // "{}:{}".format("cuda", n)
        if (const std::string_view text = tree_.text(pattern);
            text.size() > 1 && (text.substr(1).starts_with("{}") || text.substr(1).starts_with("{0}")))
          sources(tree_.child(tree_.child(id, Field::Arguments), std::size_t{0}), found, depth + 1);
      } else if (tree_.kind(callee) == Kind::Attribute && tree_.text(tree_.child(callee, Field::Attribute)) == "join" &&
                 tree_.kind(tree_.child(callee, Field::Object)) == Kind::String) {
        // ":".join(["cuda", r])
        const NodeId parts = tree_.child(tree_.child(id, Field::Arguments), std::size_t{0});
        if (tree_.kind(parts) == Kind::List || tree_.kind(parts) == Kind::Tuple)
          sources(tree_.child(parts, std::size_t{0}), found, depth + 1);
      } else {
        found.push_back(id);
        if (const NodeId otherwise = default_of(tree_, id); otherwise != kNone) sources(otherwise, found, depth + 1);
      }
      return;
    }
    case Kind::Binary: {  // "cuda:%d" % n, "cuda:" + n, "%s:%d" % ("cuda", n)
      const NodeId left = tree_.child(id, Field::Left);
      sources(left, found, depth + 1);
      if (const std::string_view text = tree_.text(left);
          tree_.kind(left) == Kind::String && text.size() > 2 && text.substr(1).starts_with("%s")) {
        const NodeId right = tree_.child(id, Field::Right);
        sources(tree_.kind(right) == Kind::Tuple ? tree_.child(right, std::size_t{0}) : right, found, depth + 1);
      }
      return;
    }
    case Kind::String: {  // f"{kind}:{rank}"
      found.push_back(id);
      for (NodeId c : tree_.children(id)) {
        if (tree_.kind(c) == Kind::StringStart) continue;
        if (tree_.kind(c) == Kind::Interpolation) sources(tree_.child(c, std::size_t{0}), found, depth + 1);
        return;
      }
      return;
    }
    case Kind::ConcatenatedString:
      if (const NodeId first = tree_.child(id, std::size_t{0}); first != kNone) sources(first, found, depth + 1);
      return;
    default: found.push_back(id); return;
  }
}

std::string Module::parameter(const syntax::Tree& tree, NodeId argument, const std::vector<std::string>& parameters) {
  if (tree.kind(argument) == Kind::KeywordArgument) return std::string(tree.text(tree.child(argument, Field::Name)));
  std::size_t position = 0;
  for (NodeId c : tree.children(tree.parent(argument))) {
    if (c == argument)
      return position < parameters.size() && parameters[position] != "*" ? parameters[position] : std::string();
    if (tree.kind(c) == Kind::ListSplat || tree.kind(c) == Kind::DictionarySplat) return {};
    if (tree.kind(c) != Kind::KeywordArgument) ++position;
  }
  return {};
}

std::vector<std::string> Module::parameters(NodeId function) const {
  std::vector<std::string> names;
  for (NodeId p : tree_.children(tree_.child(function, Field::Parameters))) {
    NodeId name = p;
    if (tree_.kind(p) == Kind::DefaultParameter || tree_.kind(p) == Kind::TypedDefaultParameter)
      name = tree_.child(p, Field::Name);
    if (tree_.kind(p) == Kind::TypedParameter) name = tree_.child(p, std::size_t{0});
    names.emplace_back(tree_.kind(name) == Kind::Identifier ? std::string(tree_.text(name)) : "*");
    if (names.back() == "*") break;
  }
  return names;
}

Summary Module::summarise() const {
  Summary s;
  known_.clear();
  locally_ = true;
  for (const auto& [name, bindings] : scopes_[0].names) {
    for (const Binding& b : bindings) {
      if (b.how == Bind::Import) s.imports.emplace(std::string(name), Import{b.module, b.name});
      if (b.how == Bind::Function) s.functions[std::string(name)].parameters = parameters(b.node);
      if (b.how != Bind::Class) continue;
      ClassInfo& info = s.classes[std::string(name)];
      for (NodeId base : tree_.children(tree_.child(b.node, Field::Superclasses)))
        if (tree_.kind(base) == Kind::Identifier || tree_.kind(base) == Kind::Attribute)
          info.bases.emplace_back(tree_.text(base));
      const ScopeId body = scopes_.opened_by(b.node);
      for (const auto& [method, defined] : scopes_[body].names)
        for (const Binding& m : defined)
          if (m.how == Bind::Function) {
            info.methods[std::string(method)].parameters = parameters(m.node);
            const NodeId code = tree_.child(m.node, Field::Body);
            for (NodeId n = code; code != kNone && n < tree_[code].last; ++n) {
              std::string text;
              const bool again =
                  (tree_.kind(n) == Kind::Attribute && tree_.text(tree_.child(n, Field::Attribute)) == method) ||
                  (plain_string(n, text) && (text == method || text.starts_with(std::string(method) + ":")));
              if (!again) continue;
              info.forwarding.emplace_back(method);
              break;
            }
          }
    }
    const bool only_imports =
        std::all_of(bindings.begin(), bindings.end(), [](const Binding& b) { return b.how == Bind::Import; });
    if (only_imports) continue;
    if (Value v = merge(bindings, 0)) s.names.emplace(std::string(name), std::move(v));
  }
  s.wildcards = scopes_.wildcards();
  s.asks_for_npu = asks_for_npu(tree_);
  known_.clear();
  locally_ = false;
  return s;
}

}  // namespace updraft::migrate::names
