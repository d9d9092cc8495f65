#include "migrate/rewrite/strings.h"

#include <algorithm>
#include <array>
#include <string>

#include "migrate/source/words.h"
#include "migrate/support/settings.h"

namespace updraft::migrate::rewrite {
namespace {

/// First piece of a literal's text; kNone where it begins with an interpolation or is empty.
NodeId first_content(const syntax::Tree& tree, NodeId literal) {
  for (NodeId c : tree.children(literal)) {
    if (tree.kind(c) == Kind::StringStart) {
      if (tree.text(c).find_first_of("bB") != std::string_view::npos) return kNone;
      continue;
    }
    return tree.kind(c) == Kind::StringContent ? c : kNone;
  }
  return kNone;
}

bool only_content(const syntax::Tree& tree, NodeId content) {
  const NodeId next = tree[content].next;
  return next == kNone || tree.kind(next) == Kind::StringEnd;
}

/// The last name of an expression: device in self.device, type in x.device.type, key in cfg["key"].
std::string last_name(const syntax::Tree& tree, NodeId e) {
  switch (tree.kind(e)) {
    case Kind::Identifier: return std::string(tree.text(e));
    case Kind::Attribute: return std::string(tree.text(tree.child(e, Field::Attribute)));
    case Kind::Subscript: {
      const NodeId key = tree.child(e, Field::Subscript);
      if (tree.kind(key) == Kind::Integer) return last_name(tree, tree.child(e, Field::Value));  // d.split(":")[0]
      const NodeId content = tree.kind(key) == Kind::String ? first_content(tree, key) : kNone;
      return content == kNone ? std::string() : std::string(tree.text(content));
    }
    case Kind::Call: {
      std::string method = last_name(tree, tree.child(e, Field::Function));
      if (method == "lower" || method == "strip" || method == "split" || method == "str")
        return tree.kind(tree.child(e, Field::Function)) == Kind::Attribute
                   ? last_name(tree, tree.child(tree.child(e, Field::Function), Field::Object))
                   : last_name(tree, tree.child(tree.child(e, Field::Arguments), std::size_t{0}));
      return method;
    }
    case Kind::Parenthesized: return last_name(tree, tree.child(e, std::size_t{0}));
    default: return {};
  }
}

/// x.type() of a tensor: "torch.npu.FloatTensor"
bool asks_type(const syntax::Tree& tree, NodeId call) {
  const NodeId callee = tree.kind(call) == Kind::Call ? tree.child(call, Field::Function) : kNone;
  return callee != kNone && tree.kind(callee) == Kind::Attribute &&
         tree.text(tree.child(callee, Field::Attribute)) == "type" &&
         tree.child(tree.child(call, Field::Arguments), std::size_t{0}) == kNone;
}

bool says(std::string_view name, rules::Value value) noexcept {
  return value == rules::Value::Device ? names_device(name) : names_backend(name);
}

/// Another literal of the same kind beside it: "cpu" beside "cuda", "gloo" beside "nccl".
bool has_peer(const syntax::Tree& tree, NodeId group, rules::Value value) {
  static constexpr std::array<std::string_view, 6> devices = {"cpu", "mps", "xpu", "npu", "tpu", "auto"},
                                                   backends = {"gloo", "mpi", "ucc", "hccl", "xccl", "smddp"};
  const auto& peers = value == rules::Value::Device ? devices : backends;
  for (NodeId n = group; n < tree[group].last; ++n) {
    if (tree.kind(n) != Kind::String) continue;
    const NodeId content = first_content(tree, n);
    if (content != kNone && std::find(peers.begin(), peers.end(), tree.text(content)) != peers.end()) return true;
  }
  return false;
}

Context comparison(const Sites& s, NodeId comparison, NodeId mine, rules::Value value, bool peer) {
  const syntax::Tree& tree = s.tree();
  Context best{"comparison", peer ? Confidence::Likely : Confidence::Review};
  for (NodeId operand : tree.children(comparison)) {
    if (operand == mine) continue;
    const std::string name = last_name(tree, operand);
    if (value == rules::Value::Device && asks_type(tree, operand)) {
      best.confidence = std::max(best.confidence, Confidence::Likely);
    } else if (name == "type" && value == rules::Value::Device) {
      const NodeId object = tree.child(operand, Field::Object);
      const Value what = s.module.value(object);
      const bool certain =
          (what.what == What::Instance && what.name == "torch.device") || last_name(tree, object) == "device";
      best.confidence = std::max(best.confidence, certain ? Confidence::Certain : Confidence::Likely);
    } else if (says(name, value)) {
      best.confidence = std::max(best.confidence, Confidence::Likely);
    }
  }
  return best;
}

/// What takes the value of a call: device in device = typer.Option("cuda"), def f(device=Option("cuda")).
std::string target_of(const syntax::Tree& tree, NodeId call) {
  const NodeId up = tree.parent(call);
  if (tree[call].field != Field::Right && tree[call].field != Field::Value) return {};
  switch (tree.kind(up)) {
    case Kind::Assignment: return last_name(tree, tree.child(up, Field::Left));
    case Kind::DefaultParameter:
    case Kind::TypedDefaultParameter:
    case Kind::KeywordArgument: return std::string(tree.text(tree.child(up, Field::Name)));
    default: return {};
  }
}

/// The option before a value in a command line: ["train.py", "--device", "cuda"].
bool follows_option(const syntax::Tree& tree, NodeId list, NodeId item, rules::Value value) {
  NodeId before = kNone;
  for (NodeId c : tree.children(list)) {
    if (c == item) break;
    before = c;
  }
  const NodeId text = tree.kind(before) == Kind::String ? first_content(tree, before) : kNone;
  return text != kNone && tree.text(text).starts_with("-") && says(tree.text(text), value);
}

/// Literal["cuda", "cpu"] in an annotation.
bool of_literal_type(const syntax::Tree& tree, NodeId literal, rules::Value value) {
  NodeId up = tree.parent(literal);
  for (int depth = 0; depth < 4 && up != kNone; ++depth, up = tree.parent(up)) {
    const std::string_view text = tree.text(up);
    if (!text.starts_with("Literal[") && !text.starts_with("typing.Literal[")) continue;
    // of something that is named as a device
    for (; up != kNone; up = tree.parent(up)) {
      const Kind kind = tree.kind(up);
      if (kind == Kind::Assignment) return says(last_name(tree, tree.child(up, Field::Left)), value);
      if (kind == Kind::TypedParameter) return says(tree.text(tree.child(up, std::size_t{0})), value);
      if (kind == Kind::TypedDefaultParameter) return says(tree.text(tree.child(up, Field::Name)), value);
      if (kind == Kind::Block || kind == Kind::Module) return false;
    }
  }
  return false;
}

/// The parameter that a value stands for in pytest.mark.parametrize("a, device", [(1, "cuda"), pytest.param(2,
/// "cpu")]).
std::string parametrized(const syntax::Tree& tree, NodeId literal) {
  std::size_t place = 0;
  for (NodeId mine = literal, up = tree.parent(mine); up != kNone; mine = up, up = tree.parent(up)) {
    const Kind kind = tree.kind(up);
    if (kind == Kind::Tuple || (kind == Kind::ArgumentList && tree.kind(mine) != Kind::List)) {
      std::size_t n = 0;
      for (NodeId c : tree.children(up)) {
        if (c == mine) break;
        ++n;
      }
      place = n;
    }
    if (kind != Kind::ArgumentList || tree.kind(mine) != Kind::List) {
      if (kind == Kind::Tuple || kind == Kind::List || kind == Kind::ArgumentList || kind == Kind::Call) continue;
      return {};
    }
    if (last_name(tree, tree.child(tree.parent(up), Field::Function)) != "parametrize") return {};
    const NodeId names = first_content(tree, tree.child(up, std::size_t{0}));
    if (names == kNone) return {};
    std::string_view rest = tree.text(names);
    for (; place > 0 && rest.find(',') != std::string_view::npos; --place) rest.remove_prefix(rest.find(',') + 1);
    rest = rest.substr(0, rest.find(','));
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    return place == 0 ? std::string(rest) : std::string();
  }
  return {};
}

/// Whether a method of a class of the project takes this argument as a device or a backend: by its parameter's name, or
/// because it hands all of them on to the method of that name, as def to(self, *args, **kwargs) does.
bool own_method_takes(const Sites& s, NodeId callee, NodeId argument, rules::Value value) {
  const syntax::Tree& tree = s.tree();
  const names::Project* project = s.module.project();
  const std::string method(tree.text(tree.child(callee, Field::Attribute)));
  if (!project || !project->has(method)) return false;
  const Value owner = s.module.value(tree.child(callee, Field::Object));
  if (owner.what != What::Instance || !owner.own) return false;
  const names::ClassInfo* info = project->class_info(project->defines(owner.name, method));
  if (!info || !info->methods.contains(method)) return false;
  std::vector<std::string> parameters = info->methods.at(method).parameters;
  if (!parameters.empty()) parameters.erase(parameters.begin());  // self
  if (says(names::Module::parameter(tree, argument, parameters), value)) return true;
  return method == "to" && value == rules::Value::Device && !parameters.empty() && parameters.front() == "*" &&
         std::find(info->forwarding.begin(), info->forwarding.end(), method) != info->forwarding.end();
}

/// class Device(str, Enum) whose members are devices, by its name.
bool enum_of(const Sites& s, NodeId literal, rules::Value value) {
  const syntax::Tree& tree = s.tree();
  const NodeId definition = tree.ancestor(literal, Kind::Class), function = tree.ancestor(literal, Kind::Function);
  return definition != kNone && (function == kNone || function < definition) && names::is_enum(tree, definition) &&
         says(tree.text(tree.child(definition, Field::Name)), value);
}

Context argument(const Sites& s, NodeId list, NodeId mine, rules::Value value, bool peer) {
  const syntax::Tree& tree = s.tree();
  const NodeId call = tree.parent(list);
  if (tree.kind(call) != Kind::Call) return {"other", Confidence::Review};
  const NodeId callee = tree.child(call, Field::Function);
  const std::string method = last_name(tree, callee);
  const NodeId first = tree.child(list, std::size_t{0});
  // flags.DEFINE_string("device", "cuda", …)
  if (method.starts_with("DEFINE_") && mine != first && tree.kind(first) == Kind::String)
    if (const NodeId key = first_content(tree, first); key != kNone && says(tree.text(key), value))
      return {"option", Confidence::Likely};
  static constexpr std::array<std::string_view, 8> options = {"Option", "Argument", "Field",     "field",
                                                              "attrib", "ib",       "StringVar", "Param"};
  if (mine == first && std::find(options.begin(), options.end(), method) != options.end() &&
      says(target_of(tree, call), value))
    return {"option", Confidence::Likely};
  if (tree.kind(callee) == Kind::Attribute) {
    const NodeId object = tree.child(callee, Field::Object);
    if ((method == "startswith" || method == "endswith" || method == "split" || method == "replace" ||
         method == "find" || method == "__eq__" || method == "index" || method == "count") &&
        (says(last_name(tree, object), value) || (value == rules::Value::Device && asks_type(tree, object))))
      return {"comparison", Confidence::Likely};
    if (method.starts_with("assert_") && value == rules::Value::Device && last_name(tree, object) == "to")
      return {"named", Confidence::Likely};  // mock.to.assert_called_with("cuda")
    if (method.starts_with("assert")) {      // self.assertEqual(x.device.type, "cuda")
      const Context c = comparison(s, list, mine, value, peer);
      if (c.confidence >= Confidence::Likely) return c;
    }
    if ((method == "get" || method == "setdefault" || method == "pop" || method == "getattr" || method == "update") &&
        mine != first && tree.kind(first) == Kind::String) {
      const NodeId key = first_content(tree, first);
      if (key != kNone && says(tree.text(key), value)) return {"named", Confidence::Likely};
    }
    if (method == "register_kernel") return {"call", Confidence::Likely};  // of torch.library's custom_op
    const Value what = s.module.value(callee);
    if (what.what == What::Api && rules::under(what.name, "torch")) return {"call", Confidence::Likely};
  } else if (method == "getattr" || method == "hasattr" || method == "setattr" || method == "delattr") {
    const Value what = s.module.value(first);
    if (mine == tree.child(list, std::size_t{1}))
      return {"attribute", what.is_api("torch") ? Confidence::Certain : Confidence::Review};
    if (tree.kind(tree.child(list, std::size_t{1})) == Kind::String) {
      const NodeId key = first_content(tree, tree.child(list, std::size_t{1}));
      if (key != kNone && says(tree.text(key), value)) return {"named", Confidence::Likely};
    }
  }
  if (const Value what = s.module.value(callee); what.own && s.module.project()) {
    std::vector<std::string> parameters;
    if (what.what == What::Function) {
      if (const auto* info = s.module.project()->function_info(what.name)) parameters = info->parameters;
    } else if (what.what == What::Class) {
      const auto* info = s.module.project()->class_info(what.name);
      if (info && info->methods.contains("__init__")) {
        parameters = info->methods.at("__init__").parameters;
        if (!parameters.empty()) parameters.erase(parameters.begin());  // self
      } else if (info && mine == first && says(what.name.substr(what.name.rfind('#') + 1), value) &&
                 std::any_of(info->bases.begin(), info->bases.end(),
                             [](const auto& b) { return b.ends_with("Enum"); })) {
        return {"named", Confidence::Likely};  // Device("cuda")
      }
    }
    if (says(names::Module::parameter(tree, mine, parameters), value)) return {"named", Confidence::Likely};
  }
  if (tree.kind(callee) == Kind::Attribute && own_method_takes(s, callee, mine, value))
    return {"named", Confidence::Likely};
  return {peer ? "conditional" : "other", peer ? Confidence::Likely : Confidence::Review};
}

Context keyword(const Sites& s, NodeId keyword, rules::Value value, bool peer) {
  const syntax::Tree& tree = s.tree();
  const std::string_view name = tree.text(tree.child(keyword, Field::Name));
  if (says(name, value)) return {"named", Confidence::Likely};
  const NodeId list = tree.parent(keyword);
  if (name == "default" || name == "choices" || name == "const" || name == "value" || name == "fallback" ||
      name == "default_value") {
    if (says(target_of(tree, tree.parent(list)), value)) return {"option", Confidence::Likely};
    // parser.add_argument("--device", default="cuda"), click.option, st.selectbox
    for (NodeId a : tree.children(list)) {
      if (tree.kind(a) != Kind::String) continue;
      if (const NodeId text = first_content(tree, a); text != kNone && says(tree.text(text), value))
        return {"option", Confidence::Likely};
    }
    // gr.Dropdown(choices=["cuda", "cpu"], value="cuda", label="device"): as its choices, or as it is labelled
    for (NodeId a : tree.children(list)) {
      if (a == keyword || tree.kind(a) != Kind::KeywordArgument) continue;
      const NodeId other = tree.child(a, Field::Value);
      const std::string_view role = tree.text(tree.child(a, Field::Name));
      if (const NodeId text = tree.kind(other) == Kind::String ? first_content(tree, other) : kNone;
          text != kNone && (role == "label" || role == "name") && says(tree.text(text), value))
        return {"option", Confidence::Likely};
      peer = peer || ((role == "choices" || role == "options") && has_peer(tree, other, value));
    }
    return {"option", peer ? Confidence::Likely : Confidence::Review};
  }
  return {peer ? "conditional" : "other", peer ? Confidence::Likely : Confidence::Review};
}

/// A dictionary that has "cpu" beside "cuda" as key and is asked by a device's type: {"cuda": 1, "cpu":
/// 2}[x.device.type]. Where somebody asks it for "cuda" by that word, both belong together and are left alone.
bool keyed_by_device(const syntax::Tree& tree, NodeId dictionary, rules::Value value, bool of_torch_cuda) {
  const auto computed = [&](NodeId key) { return key != kNone && tree.kind(key) != Kind::String; };
  const NodeId up = tree.parent(dictionary);
  if (tree.kind(up) == Kind::Subscript) return computed(tree.child(up, Field::Subscript));
  if (tree.kind(up) == Kind::Attribute && tree.text(tree.child(up, Field::Attribute)) == "get") return true;
  if (tree.kind(up) != Kind::Assignment) return false;
  const std::string name = last_name(tree, tree.child(up, Field::Left));
  bool asked = of_torch_cuda;
  if (tree.size() > 100000) return false;  // looked through for each dictionary
  for (NodeId id = 0; id < tree.size(); ++id) {
    NodeId key = kNone;
    if (tree.kind(id) == Kind::Subscript && last_name(tree, tree.child(id, Field::Value)) == name)
      key = tree.child(id, Field::Subscript);
    else if (tree.kind(id) == Kind::Call && tree.kind(tree.child(id, Field::Function)) == Kind::Attribute &&
             last_name(tree, tree.child(tree.child(id, Field::Function), Field::Object)) == name)
      key = tree.child(tree.child(id, Field::Arguments), std::size_t{0});
    if (key == kNone) continue;
    if (!computed(key)) {
      // TABLE["cuda"] goes with the key where it is asked by a name alone (asked_table); TABLE["cuda", n] does not
      const bool alone = tree.kind(id) == Kind::Subscript && tree.child(id, std::size_t{2}) == kNone &&
                         tree.kind(tree.child(id, Field::Value)) == Kind::Identifier;
      if (!alone) return false;
      continue;
    }
    const std::string word = last_name(tree, key);
    asked = asked || says(word, value) || word == "type";
  }
  return asked;
}

/// SIZES["cuda"] of a dictionary of this source whose keys are devices.
bool asked_table(const Sites& s, NodeId subscript, rules::Value value) {
  const syntax::Tree& tree = s.tree();
  const NodeId table = tree.child(subscript, Field::Value);
  if (tree.kind(table) != Kind::Identifier || value != rules::Value::Device) return false;
  const auto* bindings = s.module.scopes().lookup(tree.text(table), s.module.scopes().of(table));
  if (!bindings || bindings->size() != 1 || tree.kind(bindings->front().value) != Kind::Dictionary) return false;
  const NodeId dictionary = bindings->front().value;
  for (NodeId pair : tree.children(dictionary)) {
    const NodeId key = tree.child(pair, Field::Key);
    if (tree.kind(key) != Kind::String || device_edits(tree, key).empty()) continue;
    const Value of = s.module.value(tree.child(pair, Field::Value));
    return has_peer(tree, dictionary, value) &&
           keyed_by_device(tree, dictionary, value, of.what == What::Api && rules::under(of.name, "torch.cuda"));
  }
  return false;
}

/// Whether a dictionary is a table of devices: {"gpu": "cuda", "host": "cpu"}. Its keys are labels; where one of them
/// says device, they are fields.
bool table_of_devices(const syntax::Tree& tree, NodeId dictionary) {
  static constexpr std::array<std::string_view, 4> others = {"cpu", "mps", "xpu", "meta"};
  bool other = false;
  for (NodeId pair : tree.children(dictionary)) {
    const NodeId key = tree.child(pair, Field::Key), value = tree.child(pair, Field::Value);
    const NodeId content = tree.kind(value) == Kind::String ? first_content(tree, value) : kNone;
    if (content == kNone || names_device(tree.text(key))) return false;
    const std::string_view text = tree.text(content);
    const bool known = std::find(others.begin(), others.end(), text) != others.end();
    if (!known && !text.starts_with("cuda")) return false;
    other = other || known;
  }
  return other;
}

/// case "cuda" | "mps":, case torch.device(type="cuda"): by what is matched, or by the other cases.
Context pattern(const Sites& s, NodeId literal, NodeId clause, rules::Value value) {
  const syntax::Tree& tree = s.tree();
  for (NodeId mine = literal, up = tree.parent(literal); up != clause; mine = up, up = tree.parent(up)) {
    const NodeId first = tree.child(up, std::size_t{0});  // type="cuda" within a class's pattern
    if (tree.kind(first) == Kind::Identifier && first != mine && tree.text(up).find('=') != std::string_view::npos &&
        tree.text(up).find('(') == std::string_view::npos)
      return {"comparison",
              tree.text(first) == "type" || says(tree.text(first), value) ? Confidence::Likely : Confidence::Review};
    if (tree.text(up).starts_with('{')) {  // case {"device": "cuda"}
      NodeId key = kNone;
      for (NodeId c : tree.children(up)) {
        if (c == mine) break;
        key = c;
      }
      while (key != kNone && tree.kind(key) != Kind::String) key = tree[key].first;
      if (const NodeId text = key == kNone ? kNone : first_content(tree, key); text != kNone)
        return {"comparison", says(tree.text(text), value) ? Confidence::Likely : Confidence::Review};
    }
  }
  NodeId match = tree.parent(clause);
  if (tree.kind(match) == Kind::Block) match = tree.parent(match);
  const NodeId subject = tree.child(match, Field::Subject);
  const std::string name = last_name(tree, subject);
  if (says(name, value)) return {"comparison", Confidence::Likely};
  if (name == "type" && tree.kind(subject) == Kind::Attribute &&
      says(last_name(tree, tree.child(subject, Field::Object)), value))
    return {"comparison", Confidence::Certain};
  for (NodeId n = match; match != kNone && n < tree[match].last; ++n)
    if (tree.kind(n) == Kind::CasePattern && has_peer(tree, n, value)) return {"comparison", Confidence::Likely};
  return {"comparison", Confidence::Review};
}

}  // namespace

bool names_device(std::string_view name) noexcept {
  const std::string plain = plain_setting(name);
  return holds(plain) == Holds::Device || plain.find("accelerator") != std::string::npos;
}

bool names_backend(std::string_view name) noexcept { return holds(plain_setting(name)) == Holds::Backend; }

bool is_docstring(const syntax::Tree& tree, NodeId literal) {
  NodeId up = tree.parent(literal);
  while (tree.kind(up) == Kind::ConcatenatedString || tree.kind(up) == Kind::Parenthesized) up = tree.parent(up);
  return tree.kind(up) == Kind::ExpressionStatement;
}

bool is_literal_statement(const syntax::Tree& tree, NodeId statement) {
  if (tree.kind(statement) != Kind::ExpressionStatement) return false;
  const Kind kind = tree.kind(tree.child(statement, std::size_t{0}));
  return kind == Kind::String || kind == Kind::ConcatenatedString;
}

namespace {

/// Another statement beside this one does the same for the NPU: self.is_cuda = device.type == "cuda" and self.is_npu =
/// device.type == "npu", or an if on each.
bool has_twin(const syntax::Tree& tree, NodeId statement) {
  const auto subject = [&](NodeId s) -> std::string_view {
    if (tree.kind(s) == Kind::ExpressionStatement) s = tree.child(s, std::size_t{0});
    if (tree.kind(s) == Kind::Assignment) return tree.text(tree.child(s, Field::Right));
    if (tree.kind(s) == Kind::If) return tree.text(tree.child(s, Field::Condition));
    return {};
  };
  const std::string_view mine = subject(statement);
  if (mine.size() < 6 || mine.size() > 300) return false;
  std::string wanted;
  for (std::size_t at = 0; at < mine.size();) {
    if (mine.substr(at).starts_with("cuda")) {
      wanted += "npu";
      at += 4;
    } else {
      wanted += mine[at++];
    }
  }
  if (wanted == mine) return false;
  // among the neighbours: a module may have millions of statements
  constexpr int kNear = 8;
  NodeId other = tree[statement].next;
  for (int n = 0; n < kNear && other != kNone; ++n, other = tree[other].next)
    if (subject(other) == wanted) return true;
  other = statement;
  for (int n = 0; n < kNear; ++n) {
    const NodeId parent = tree.parent(statement);
    if (other <= parent + 1) break;
    NodeId before = other - 1;
    while (tree.parent(before) != parent) before = tree.parent(before);
    other = before;
    if (subject(other) == wanted) return true;
  }
  return false;
}

}  // namespace

bool npu_has_its_own(const syntax::Tree& tree, NodeId node) {
  if (!tree.says_npu()) return false;  // most sources; a table of devices may have very many neighbours
  const auto speaks = [&](NodeId part) {
    for (NodeId n = part; part != kNone && n < tree[part].last; ++n) {
      if (tree.kind(n) == Kind::Identifier && names::says_npu(tree.text(n))) return true;
      if (tree.kind(n) == Kind::StringContent && (tree.text(n) == "npu" || tree.text(n).starts_with("npu:")))
        return true;
    }
    return false;
  };
  NodeId mine = node;
  for (NodeId up = tree.parent(mine); up != kNone; mine = up, up = tree.parent(up)) {
    switch (tree.kind(up)) {
      case Kind::List:
      case Kind::Tuple:
      case Kind::Set:
      case Kind::Dictionary:
        for (NodeId c : tree.children(up)) {
          const NodeId item = tree.kind(c) == Kind::Pair ? tree.child(c, Field::Key) : c;
          if (c != mine && tree.kind(item) == Kind::String && speaks(item)) return true;
        }
        break;
      case Kind::Comparison:
      case Kind::Boolean:
        for (NodeId c : tree.children(up))
          if (c != mine && tree.kind(c) != Kind::Call && speaks(c)) return true;
        break;
      case Kind::If:
        // the conditions of the other branches
        for (NodeId c : tree.children(up)) {
          if (c == mine) continue;
          if (tree[c].field == Field::Condition && tree[mine].field != Field::Consequence && speaks(c)) return true;
          if (tree.kind(c) == Kind::Elif && speaks(tree.child(c, Field::Condition))) return true;
        }
        break;
      case Kind::Module:
      case Kind::Block:
        if (has_twin(tree, mine)) return true;
        break;
      case Kind::Function:
      case Kind::Class:
      case Kind::Lambda: return false;
      default: break;
    }
  }
  return false;
}

bool hccl_has_its_own(const syntax::Tree& tree, NodeId literal) {
  const NodeId up = tree.parent(literal);
  if (tree.kind(up) != Kind::List && tree.kind(up) != Kind::Tuple && tree.kind(up) != Kind::Set) return false;
  for (NodeId c : tree.children(up))
    if (const NodeId text = tree.kind(c) == Kind::String ? first_content(tree, c) : kNone;
        text != kNone && tree.text(text) == "hccl")
      return true;
  return false;
}

std::vector<Edit> device_edits(const syntax::Tree& tree, NodeId literal) {
  const NodeId content = first_content(tree, literal);
  if (content == kNone) return {};
  const std::string_view text = tree.text(content);
  const bool whole = text == "cuda" && only_content(tree, content);
  if (!whole && !text.starts_with("cuda:")) return {};
  // "cuda: out of memory" is a sentence
  if (text.find_first_of(" \t\n") != std::string_view::npos) return {};
  return {{tree[content].begin, tree[content].begin + 4, "npu"}};
}

bool has_index(const syntax::Tree& tree, NodeId literal) {
  const NodeId content = first_content(tree, literal);
  if (content == kNone || !tree.text(content).starts_with("cuda:")) return false;
  // print("cuda:", n) is a sentence; "cuda:" + n is not
  return tree.text(content).size() > 5 || !only_content(tree, content) ||
         tree.kind(tree.parent(literal)) == Kind::Binary;
}

std::vector<Edit> backend_edits(const syntax::Tree& tree, NodeId literal) {
  const NodeId content = first_content(tree, literal);
  if (content == kNone || !only_content(tree, content)) return {};
  const std::string_view text = tree.text(content);
  if (text == "nccl") return {{tree[content].begin, tree[content].end, "hccl"}};
  // cpu:gloo,cuda:nccl
  std::vector<Edit> edits;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    const std::size_t colon = item.find(':');
    if (colon == std::string_view::npos) return {};
    const auto offset = static_cast<std::uint32_t>(tree[content].begin + at);
    if (item.substr(0, colon) == "cuda") edits.push_back({offset, offset + 4, "npu"});
    if (item.substr(colon + 1) == "nccl") {
      const auto from = static_cast<std::uint32_t>(offset + colon + 1);
      edits.push_back({from, from + 4, "hccl"});
    }
    at = comma + 1;
  }
  const bool nccl = std::any_of(edits.begin(), edits.end(), [](const Edit& e) { return e.text == "hccl"; });
  return nccl ? edits : std::vector<Edit>{};
}

std::vector<Edit> pattern_edits(const Sites& s, NodeId literal, Confidence& sure) {
  const syntax::Tree& tree = s.tree();
  const NodeId content = first_content(tree, literal), up = tree.parent(literal);
  if (content == kNone || !only_content(tree, content)) return {};
  const std::string_view text = tree.text(content);
  if (text.find("cuda") == std::string_view::npos) return {};
  bool device = false;
  if (tree.kind(up) == Kind::KeywordArgument) {
    const std::string_view name = tree.text(tree.child(up, Field::Name));
    if (name != "pattern" && name != "regex") return {};
    device = says(target_of(tree, tree.parent(tree.parent(up))), rules::Value::Device);
  } else if (tree.kind(up) == Kind::ArgumentList && tree.child(up, std::size_t{0}) == literal) {
    const Value called = s.module.local(tree.child(tree.parent(up), Field::Function));
    if (called.what != What::Api || !rules::under(called.name, "re")) return {};
    const NodeId subject = tree.child(up, std::size_t{1});
    device = subject != kNone && says(last_name(tree, subject), rules::Value::Device);
    device = device || says(target_of(tree, tree.parent(up)), rules::Value::Device);
  } else {
    return {};
  }
  // words between what regular expressions are made of: nothing but devices
  static constexpr std::array<std::string_view, 7> known = {"cuda", "cpu", "mps", "xpu", "gpu", "meta", "auto"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  std::vector<Edit> edits;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\') {
      device = device || text.substr(at).starts_with("\\d");
      at += 2;
    } else if (!letter(text[at])) {
      device = device || text.substr(at).starts_with("0-9");
      ++at;
    } else {
      std::size_t end = at;
      while (end < text.size() && letter(text[end])) ++end;
      const std::string_view word = text.substr(at, end - at);
      if (std::find(known.begin(), known.end(), word) == known.end()) return {};
      device = device || word != "cuda";
      const auto begin = static_cast<std::uint32_t>(tree[content].begin + at);
      if (word == "cuda") edits.push_back({begin, begin + 4, "npu"});
      at = end;
    }
  }
  sure = device ? Confidence::Likely : Confidence::Review;
  return edits;
}

Context context(const Sites& s, NodeId literal, rules::Value value) {
  const syntax::Tree& tree = s.tree();
  if (says(parametrized(tree, literal), value)) return {"named", Confidence::Likely};
  if (of_literal_type(tree, literal, value)) return {"conditional", Confidence::Likely};
  if (tree.kind(tree.parent(literal)) == Kind::List && follows_option(tree, tree.parent(literal), literal, value))
    return {"option", Confidence::Likely};
  if (const NodeId within = tree.ancestor(literal, Kind::CasePattern); within != kNone)
    if (const NodeId clause = tree.ancestor(within, Kind::Case); clause != kNone)
      return pattern(s, literal, clause, value);
  NodeId mine = literal;
  bool peer = false;
  for (NodeId up = tree.parent(mine); up != kNone; mine = up, up = tree.parent(up)) {
    switch (tree.kind(up)) {
      case Kind::Parenthesized: continue;
      case Kind::ConcatenatedString:
        if (tree.child(up, std::size_t{0}) != mine) return {"other", Confidence::Review};
        continue;
      case Kind::Conditional:
        if (tree.child(up, std::size_t{1}) == mine) return {"other", Confidence::Review};  // the condition
        peer = peer || has_peer(tree, up, value);
        continue;
      case Kind::Boolean:
      case Kind::List:
      case Kind::Tuple:
      case Kind::Set:
      case Kind::ExpressionList: peer = peer || has_peer(tree, up, value); continue;
      case Kind::Binary:
        if (tree.kind(mine) == Kind::List || tree.kind(mine) == Kind::Parenthesized) {
          peer = peer || has_peer(tree, up, value);  // ["cpu"] + (["cuda"] if … else [])
          continue;
        }
        if (tree[mine].field != Field::Left) return {"other", Confidence::Review};
        continue;
      case Kind::Attribute: {  // "cuda:{}".format(…)
        const NodeId call = tree.parent(up);
        const std::string_view method = tree.text(tree.child(up, Field::Attribute));
        if (method != "format" || tree.kind(call) != Kind::Call) return {"other", Confidence::Review};
        up = call;
        continue;
      }
      case Kind::Comparison: return comparison(s, up, mine, value, peer);
      case Kind::ArgumentList: {
        // ["cpu", pytest.param("cuda", marks=…)]
        const NodeId call = tree.parent(up);
        const NodeId second = tree.child(up, std::size_t{1});
        if (mine == tree.child(up, std::size_t{0}) && tree.kind(tree.parent(call)) == Kind::List &&
            (second == kNone || tree.kind(second) == Kind::KeywordArgument) &&
            last_name(tree, tree.child(call, Field::Function)) == "param") {
          up = call;
          continue;
        }
        return argument(s, up, mine, value, peer);
      }
      case Kind::KeywordArgument: return keyword(s, up, value, peer);
      case Kind::Assignment:
      case Kind::NamedExpression: {
        const NodeId left = tree.child(up, tree.kind(up) == Kind::Assignment ? Field::Left : Field::Name);
        if (value == rules::Value::Device && tree.kind(left) == Kind::Attribute && last_name(tree, left) == "type" &&
            says(last_name(tree, tree.child(left, Field::Object)), value))  // mock.device.type = "cuda"
          return {"named", Confidence::Likely};
        if (says(last_name(tree, left), value) || enum_of(s, literal, value)) return {"named", Confidence::Likely};
        return {peer ? "conditional" : "other", peer ? Confidence::Likely : Confidence::Review};
      }
      case Kind::DefaultParameter:
      case Kind::TypedDefaultParameter:
        return {"named",
                says(tree.text(tree.child(up, Field::Name)), value) || peer ? Confidence::Likely : Confidence::Review};
      case Kind::Pair: {
        const NodeId key = tree.child(up, Field::Key);
        const NodeId dictionary = tree.parent(up);
        if (mine == key) {
          // {"cuda": torch.cuda.synchronize}: the key goes with its value
          const Value of = s.module.value(tree.child(up, Field::Value));
          const bool of_torch_cuda = of.what == What::Api && rules::under(of.name, "torch.cuda");
          if (value == rules::Value::Device && has_peer(tree, dictionary, value) &&
              keyed_by_device(tree, dictionary, value, of_torch_cuda))
            return {"comparison", Confidence::Likely};
          return {"other", Confidence::Review};
        }
        if (value == rules::Value::Backend && has_peer(tree, dictionary, value))
          return {"conditional", Confidence::Likely};
        const NodeId text = tree.kind(key) == Kind::String ? first_content(tree, key) : kNone;
        return {"named", (text != kNone && says(tree.text(text), value)) ||
                                 (value == rules::Value::Device && table_of_devices(tree, dictionary))
                             ? Confidence::Likely
                             : Confidence::Review};
      }
      case Kind::Subscript:
        if (mine == tree.child(up, Field::Subscript) && asked_table(s, up, value))
          return {"comparison", Confidence::Likely};
        return {peer ? "conditional" : "other", peer ? Confidence::Likely : Confidence::Review};
      case Kind::Return: {
        const NodeId function = tree.ancestor(up, Kind::Function);
        const bool named = function != kNone && says(tree.text(tree.child(function, Field::Name)), value);
        return {named  ? "named"
                : peer ? "conditional"
                       : "other",
                named || peer ? Confidence::Likely : Confidence::Review};
      }
      case Kind::Interpolation: {
        // f"{'cuda' if gpu else 'cpu'}_time_total" is a longer name, no device
        const NodeId next = tree[up].next;
        const bool longer = tree.kind(next) == Kind::StringContent && source::is_name_byte(tree.text(next).front());
        return {peer && !longer ? "conditional" : "other", peer && !longer ? Confidence::Likely : Confidence::Review};
      }
      default: return {peer ? "conditional" : "other", peer ? Confidence::Likely : Confidence::Review};
    }
  }
  return {"other", Confidence::Review};
}

}  // namespace updraft::migrate::rewrite
