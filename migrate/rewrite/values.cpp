// Strings that are devices or backends: first those that flow into a parameter known to be one, then those whose
// surroundings say so.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/strings.h"
#include "migrate/source/words.h"
#include "migrate/text/values.h"

namespace updraft::migrate::rewrite {
namespace {

class Values {
 public:
  explicit Values(Sites& sites) : s_(sites), tree_(sites.tree()) {}

  void run() {
    if (source::says(tree_.text(), "jax")) others();
    for (NodeId id = 0; id < tree_.size(); ++id)
      if (tree_.kind(id) == Kind::Call) call(id);
    for (int round = 0; round < 3 && !fresh_parameters_.empty(); ++round) callers();
    options();
    enums();
    for (NodeId id = 0; id < tree_.size(); ++id)
      if (tree_.kind(id) == Kind::String && !s_.claims.taken(id)) literal(id);
  }

 private:
  struct Sink {
    const rules::Rule* rule;
    Confidence confidence;
  };

  /// JAX's devices and platforms are no matter of torch's: what it is asked for stays.
  void others() {
    const auto of_jax = [&](NodeId call) {
      if (tree_.kind(call) != Kind::Call) return false;
      const Value callee = s_.module.local(tree_.child(call, Field::Function));
      return callee.what == What::Api && (rules::under(callee.name, "jax") || rules::under(callee.name, "jaxlib"));
    };
    static const rules::Rule& rule = rules::coded("PT223");
    const auto leave = [&](NodeId expression) {
      std::vector<NodeId> found;
      s_.module.sources(expression, found);
      for (const NodeId id : found) {
        std::string text;
        if (tree_.kind(id) != Kind::String || s_.claims.taken(id)) continue;
        s_.claims.take(id);
        if (s_.module.plain_string(id, text) && (text == "cuda" || text == "gpu" || text.starts_with("cuda,")))
          s_.add(rule, id, Confidence::Certain);
      }
    };
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) == Kind::Comparison) {  // jax.default_backend() == "cuda"
        bool asked = false;
        for (const NodeId operand : tree_.children(id)) {
          NodeId call = operand;  // jax.devices()[0].platform
          while (tree_.kind(call) == Kind::Attribute || tree_.kind(call) == Kind::Subscript)
            call = tree_.child(call, std::size_t{0});
          asked = asked || of_jax(call);
        }
        for (const NodeId operand : tree_.children(id))
          if (asked) leave(operand);
      } else if (of_jax(id)) {
        const NodeId list = tree_.child(id, Field::Arguments);
        if (tree_.kind(list) != Kind::ArgumentList) continue;
        for (const NodeId argument : tree_.children(list))
          leave(tree_.kind(argument) == Kind::KeywordArgument ? tree_.child(argument, Field::Value) : argument);
      }
    }
  }

  /// The name under which rules on arguments are found: of an attribute its own, of an imported name the original's.
  std::string callee_name(NodeId callee) const {
    if (tree_.kind(callee) == Kind::Attribute) return std::string(tree_.text(tree_.child(callee, Field::Attribute)));
    if (tree_.kind(callee) != Kind::Identifier) return {};
    const std::string_view name = tree_.text(callee);
    if (const auto* bindings = s_.module.scopes().lookup(name, s_.module.scopes().of(callee)))
      for (const names::Binding& b : *bindings) {
        if (b.how == names::Bind::Import && !b.name.empty()) return b.name;
        // autocast = functools.partial(…), D = torch.device
        if (b.how == names::Bind::Assignment && tree_.kind(b.value) == Kind::Attribute)
          return std::string(tree_.text(tree_.child(b.value, Field::Attribute)));
      }
    return std::string(name);
  }

  void call(NodeId call) {
    const NodeId callee = tree_.child(call, Field::Function), list = tree_.child(call, Field::Arguments);
    if (tree_.kind(list) != Kind::ArgumentList) return;
    if (partial(callee, list)) return;
    const std::string name = callee_name(callee);
    const auto& candidates = name.empty() ? none_ : s_.rules.arguments(name);
    Value value;
    if (!candidates.empty()) value = s_.module.local(callee);
    for (const rules::Rule* rule : candidates)
      if (s_.applies(*rule))
        if (const auto confidence = matches(*rule, callee, value)) {
          arguments(*rule, list, *confidence);
          if (!rule->absent.empty()) supply(*rule, call, list, *confidence);
        }
    for (NodeId argument : tree_.children(list))
      if (tree_.kind(argument) == Kind::KeywordArgument) {
        keywords(list, s_.module.local(callee));
        return;
      }
  }

  void keywords(NodeId list, const Value& what) {
    for (NodeId argument : tree_.children(list)) {
      if (tree_.kind(argument) != Kind::KeywordArgument) continue;
      for (const rules::Rule* rule : s_.rules.keywords(tree_.text(tree_.child(argument, Field::Name)))) {
        if (!s_.applies(*rule)) continue;
        const bool of_torch = what.what == What::Api && rules::under(what.name, "torch");
        const bool doubtful = rule->value == rules::Value::Backend && keeps_backends(list, argument, what);
        mark(tree_.child(argument, Field::Value), *rule,
             doubtful   ? Confidence::Review
             : of_torch ? Confidence::Certain
                        : Confidence::Likely);
      }
    }
  }

  /// A call that has backends of its own: Ray's collectives run on NCCL or Gloo alone; and
  /// Engine(backend="nccl", options={"nccl": {}}) names it again, where nobody knows what that is.
  bool keeps_backends(NodeId list, NodeId argument, const Value& what) const {
    if (what.what == What::Api && rules::under(what.name, "ray.util.collective")) return true;
    std::string backend, key;
    if (!s_.module.plain_string(tree_.child(argument, Field::Value), backend)) return false;
    for (NodeId id = list; id < tree_[list].last; ++id)
      if (tree_.kind(id) == Kind::Pair && s_.module.plain_string(tree_.child(id, Field::Key), key) && key == backend)
        return true;
    return false;
  }

  /// functools.partial(torch.autocast, "cuda"): the arguments of its first one.
  bool partial(NodeId callee, NodeId list) {
    if (callee_name(callee) != "partial" || !s_.module.local(callee).is_api("functools.partial")) return false;
    const NodeId function = tree_.child(list, std::size_t{0});
    const std::string name = callee_name(function);
    if (name.empty()) return true;
    const Value value = s_.module.local(function);
    for (const rules::Rule* rule : s_.rules.arguments(name))
      if (s_.applies(*rule))
        if (const auto confidence = matches(*rule, function, value)) arguments(*rule, list, *confidence, -1);
    keywords(list, value);
    return true;
  }

  std::optional<Confidence> matches(const rules::Rule& rule, NodeId callee, const Value& value) const {
    for (const std::string& name : rule.names) {
      if (name.starts_with('.')) {  // a method of whatever object
        if (tree_.kind(callee) != Kind::Attribute ||
            tree_.text(tree_.child(callee, Field::Attribute)) != std::string_view(name).substr(1))
          continue;
        const auto* project = s_.module.project();
        const NodeId object = tree_.child(callee, Field::Object);
        const Value owner = project && project->has(name.substr(1)) ? s_.module.value(object) : s_.module.local(object);
        if (owner.what == What::Api && !names::is_module_or_tensor(owner.name)) continue;
        if (owner.what == What::Instance && owner.own) {
          if (project && !project->defines(owner.name, name.substr(1)).empty() &&
              !project->derives(owner.name, names::is_module_or_tensor))
            continue;
        }
        return owner.what == What::Instance && owner.sure ? Confidence::Certain : Confidence::Likely;
      }
      if (value.what == What::Api && value.name == name) return value.sure ? Confidence::Certain : Confidence::Likely;
      if (value.what == What::Member && value.name == name) return Confidence::Certain;
    }
    return std::nullopt;
  }

  /// `position`: of the first argument; -1 where that one is the function of a partial().
  void arguments(const rules::Rule& rule, NodeId list, Confidence confidence, int position = 0) {
    for (NodeId argument : tree_.children(list)) {
      const Kind kind = tree_.kind(argument);
      if (kind == Kind::ListSplat || kind == Kind::DictionarySplat) {
        if (kind == Kind::ListSplat && position == rule.position)
          starred(tree_.child(argument, std::size_t{0}), rule, confidence);
        position = -1000;  // nobody knows how many
      } else if (kind == Kind::KeywordArgument) {
        if (tree_.text(tree_.child(argument, Field::Name)) == rule.parameter)
          mark(tree_.child(argument, Field::Value), rule, confidence);
      } else if (position++ == rule.position && rule.position >= 0) {
        mark(argument, rule, confidence);
      }
    }
  }

  /// A parameter whose default is a GPU is left out: it is written.
  void supply(const rules::Rule& rule, NodeId call, NodeId list, Confidence confidence) {
    int position = 0;
    NodeId first = kNone;
    for (NodeId argument : tree_.children(list)) {
      const Kind kind = tree_.kind(argument);
      if (first == kNone) first = argument;
      if (kind == Kind::ListSplat || kind == Kind::DictionarySplat) return;  // it may be in there
      if (kind == Kind::KeywordArgument) {
        if (tree_.text(tree_.child(argument, Field::Name)) == rule.parameter) return;
      } else if (position++ == rule.position) {
        return;
      }
    }
    if (s_.kept(call) || npu_has_its_own(tree_, call)) return;
    if (rule.category != Category::Change) {  // it only says so
      s_.add(rule, call, confidence);
      return;
    }
    const bool in_place = rule.position == 0;
    const std::uint32_t at = in_place ? tree_[list].begin + 1 : tree_[list].end - 1;
    const std::string value = in_place ? rule.absent : rule.parameter + "=" + rule.absent;
    const std::string text = value + (in_place && first != kNone ? ", " : "");
    Finding& f = s_.add(rule, call, confidence);
    if (!in_place && first != kNone) {
      NodeId last = first;
      for (NodeId argument : tree_.children(list)) last = argument;
      f.edits.push_back({tree_[last].end, tree_[last].end, ", " + value});
    } else {
      f.edits.push_back({at, at, text});
    }
  }

  /// Everything that the value of a device parameter may come from.
  void mark(NodeId expression, const rules::Rule& rule, Confidence confidence) {
    if (rule.category != Category::Change) {  // it only reports; num_gpus=0 asks for nothing
      const std::string_view value = tree_.text(expression);
      if (std::string text; rule.literal != "*" && (!s_.module.plain_string(expression, text) || text != rule.literal))
        return;
      if (value != "0" && value != "None" && value != "False" && !s_.kept(expression))
        s_.add(rule, expression, confidence);
      return;
    }
    if (rule.value == rules::Value::Literal) {
      std::string text;
      const bool any = rule.literal == "*";
      if (!any && !(s_.module.plain_string(expression, text) && text == rule.literal) &&
          tree_.text(expression) != rule.literal)
        return;
      Finding& f = s_.add(rule, expression, confidence);
      f.edits.push_back(s_.replace(expression, rule.to));
      s_.claims.take(expression);
      return;
    }
    std::vector<NodeId> found;
    s_.module.sources(expression, found);
    for (NodeId id : found) {
      const Kind kind = tree_.kind(id);
      // x = [x]: what stands in a container is looked at once
      if ((kind == Kind::Dictionary || kind == Kind::List || kind == Kind::Tuple) && !containers_.insert(id).second)
        continue;
      switch (kind) {
        case Kind::String:
          if (auto [at, fresh] = sinks_.try_emplace(id, Sink{&rule, confidence}); !fresh)
            at->second.confidence = std::max(at->second.confidence, confidence);
          break;
        case Kind::Dictionary:  // map_location={"cuda:0": "cuda:1"}
          for (NodeId pair : tree_.children(id))
            if (tree_.kind(pair) == Kind::Pair) {
              mark(tree_.child(pair, Field::Key), rule, confidence);
              mark(tree_.child(pair, Field::Value), rule, confidence);
            }
          break;
        case Kind::List:
        case Kind::Tuple:
          for (NodeId item : tree_.children(id)) mark(item, rule, confidence);
          break;
        case Kind::Subscript: entries(id, rule, confidence); break;
        case Kind::Identifier: parameter(id, rule, confidence); break;
        case Kind::Attribute:
          options_.try_emplace(std::string(tree_.text(tree_.child(id, Field::Attribute))), Sink{&rule, confidence});
          break;
        default: break;
      }
    }
  }

  /// DEVICES = {"gpu": "cuda"}; x.to(DEVICES["gpu"]): the entry that is asked for, all where that is computed.
  void entries(NodeId subscript, const rules::Rule& rule, Confidence confidence) {
    const NodeId key = tree_.child(subscript, Field::Subscript);
    std::string wanted;
    const bool known = s_.module.plain_string(key, wanted);
    std::vector<NodeId> found;
    s_.module.sources(tree_.child(subscript, Field::Value), found);
    for (NodeId id : found) {
      const Kind kind = tree_.kind(id);
      if ((kind == Kind::List || kind == Kind::Tuple) && containers_.insert(id).second)
        for (NodeId item : tree_.children(id)) mark(item, rule, lower(confidence, Confidence::Likely));
      if (kind != Kind::Dictionary) continue;
      for (NodeId pair : tree_.children(id)) {
        std::string name;
        if (tree_.kind(pair) != Kind::Pair) continue;
        if (!known || (s_.module.plain_string(tree_.child(pair, Field::Key), name) && name == wanted))
          mark(tree_.child(pair, Field::Value), rule, lower(confidence, Confidence::Likely));
      }
    }
  }

  /// where = ("cuda",); x.to(*where)
  void starred(NodeId list, const rules::Rule& rule, Confidence confidence) {
    std::vector<NodeId> found;
    s_.module.sources(list, found);
    for (NodeId id : found)
      if (tree_.kind(id) == Kind::Tuple || tree_.kind(id) == Kind::List)
        if (const NodeId first = tree_.child(id, std::size_t{0}); first != kNone) mark(first, rule, confidence);
  }

  /// A parameter of a function here: what its callers pass flows as well.
  void parameter(NodeId identifier, const rules::Rule& rule, Confidence confidence) {
    const auto* bindings = s_.module.scopes().lookup(tree_.text(identifier), s_.module.scopes().of(identifier));
    if (!bindings) return;
    for (const names::Binding& b : *bindings) {
      if (b.how != names::Bind::Parameter) continue;
      const NodeId function = tree_.ancestor(b.node, Kind::Function);
      if (function == kNone) continue;
      const auto key = std::make_pair(function, std::string(tree_.text(identifier)));
      if (parameters_.emplace(key, Sink{&rule, confidence}).second) fresh_parameters_.push_back(key);
    }
  }

  /// Calls of x.NAME(…), in order.
  const std::vector<NodeId>& calls_by_attribute(std::string_view name) {
    if (!by_attribute_) {
      by_attribute_.emplace();
      for (NodeId call = 0; call < tree_.size(); ++call)
        if (const NodeId callee = tree_.child(call, Field::Function);
            tree_.kind(call) == Kind::Call && tree_.kind(callee) == Kind::Attribute)
          (*by_attribute_)[tree_.text(tree_.child(callee, Field::Attribute))].push_back(call);
    }
    return (*by_attribute_)[name];
  }

  /// Calls of NAME(…) that mean this function or class of the project, in order.
  const std::vector<NodeId>& calls_by_name(const std::string& id) {
    if (!by_name_) {
      by_name_.emplace();
      for (NodeId call = 0; call < tree_.size(); ++call) {
        const NodeId callee = tree_.kind(call) == Kind::Call ? tree_.child(call, Field::Function) : kNone;
        if (tree_.kind(callee) != Kind::Identifier) continue;
        if (const Value value = s_.module.value(callee); value.own) (*by_name_)[value.name].push_back(call);
      }
    }
    return (*by_name_)[id];
  }

  void callers() {
    const auto wanted = std::exchange(fresh_parameters_, {});
    const std::string here = s_.module.path() + "#";
    for (const auto& [function, name] : wanted) {
      const Sink sink = parameters_.at({function, name});
      const std::vector<std::string> all = s_.module.parameters(function);
      const names::Scope& scope = s_.module.scopes()[s_.module.scopes().of(function)];
      const bool method = scope.kind == names::ScopeKind::Class;
      const std::string_view own_name = tree_.text(tree_.child(function, Field::Name));
      const std::string id =
          here +
          std::string(method && own_name == "__init__" ? tree_.text(tree_.child(scope.node, Field::Name)) : own_name);
      const bool by_attribute = method && own_name != "__init__";
      std::vector<std::string> parameters = all;
      if (method && !parameters.empty()) parameters.erase(parameters.begin());  // self
      for (const NodeId call : by_attribute ? calls_by_attribute(own_name) : calls_by_name(id)) {
        if (by_attribute) {
          const Value owner = s_.module.value(tree_.child(tree_.child(call, Field::Function), Field::Object));
          // box.move(a).move(b): of an object that nobody knows, whoever hands a device over
          if (owner.what != What::Unknown &&
              (owner.what != What::Instance ||
               owner.name != here + std::string(tree_.text(tree_.child(scope.node, Field::Name)))))
            continue;
        }
        for (NodeId argument : tree_.children(tree_.child(call, Field::Arguments)))
          if (names::Module::parameter(tree_, argument, parameters) == name)
            mark(tree_.kind(argument) == Kind::KeywordArgument ? tree_.child(argument, Field::Value) : argument,
                 *sink.rule, sink.confidence);
      }
    }
  }

  /// parser.add_argument("--device", default="cuda", choices=[…]) whose value reaches a device parameter as
  /// args.device.
  void options() {
    if (options_.empty()) return;
    for (NodeId call = 0; call < tree_.size(); ++call) {
      if (tree_.kind(call) != Kind::Call) continue;
      const NodeId callee = tree_.child(call, Field::Function);
      if (tree_.kind(callee) != Kind::Attribute || tree_.text(tree_.child(callee, Field::Attribute)) != "add_argument")
        continue;
      std::string dest;
      for (NodeId a : tree_.children(tree_.child(call, Field::Arguments))) {
        std::string text;
        if (tree_.kind(a) == Kind::KeywordArgument && tree_.text(tree_.child(a, Field::Name)) == "dest")
          s_.module.plain_string(tree_.child(a, Field::Value), dest);
        else if (s_.module.plain_string(a, text) && (dest.empty() || text.starts_with("--")) && text.size() > 2)
          dest = text.substr(text.find_first_not_of('-') == std::string::npos ? 0 : text.find_first_not_of('-'));
      }
      std::replace(dest.begin(), dest.end(), '-', '_');
      const auto found = options_.find(dest);
      if (found == options_.end()) continue;
      const Sink sink = found->second;
      for (NodeId a : tree_.children(tree_.child(call, Field::Arguments)))
        if (tree_.kind(a) == Kind::KeywordArgument)
          if (const std::string_view n = tree_.text(tree_.child(a, Field::Name));
              n == "default" || n == "choices" || n == "const")
            mark(tree_.child(a, Field::Value), *sink.rule, sink.confidence);
    }
  }

  /// Dev("cuda") of an Enum of this source whose values are devices: CUDA = "cuda" and Dev.CUDA.value in a .to().
  void enums() {
    std::unordered_map<std::string, Sink> changed;
    for (const auto& [literal, sink] : sinks_) {
      const NodeId assignment = tree_.parent(literal);
      if (tree_.kind(literal) != Kind::String || tree_.kind(assignment) != Kind::Assignment) continue;
      const names::Scope& scope = s_.module.scopes()[s_.module.scopes().of(assignment)];
      if (scope.kind == names::ScopeKind::Class && names::is_enum(tree_, scope.node))
        changed.emplace(s_.module.path() + "#" + std::string(tree_.text(tree_.child(scope.node, Field::Name))), sink);
    }
    for (const auto& [id, sink] : changed)
      for (const NodeId call : calls_by_name(id))
        if (const NodeId first = tree_.child(tree_.child(call, Field::Arguments), std::size_t{0}); first != kNone)
          mark(first, *sink.rule, sink.confidence);
  }

  void literal(NodeId id) {
    if (is_docstring(tree_, id) || word_of_command(id) || out_of_memory(id) || pattern(id) || provider(id)) return;
    // "cuda:nccl,cpu:gloo" begins as a device does
    for (rules::Value value : {rules::Value::Backend, rules::Value::Device}) {
      std::vector<Edit> edits = value == rules::Value::Device ? device_edits(tree_, id) : backend_edits(tree_, id);
      if (edits.empty()) continue;
      const rules::Rule* rule = nullptr;
      Confidence confidence = Confidence::Review;
      if (const auto sink = sinks_.find(id); sink != sinks_.end() && sink->second.rule->value == value) {
        rule = sink->second.rule;
        confidence = sink->second.confidence;
      } else {
        Context c = context(s_, id, value);
        if (value == rules::Value::Device && c.confidence > Confidence::Review && part_of_names(id))
          c = {"other", Confidence::Review};
        if (value == rules::Value::Device && has_index(tree_, id) && c.confidence < Confidence::Likely)
          c = {"format", Confidence::Likely};
        if (value == rules::Value::Backend && edits.size() > 1)
          c.confidence = std::max(c.confidence, Confidence::Likely);
        if (c.name == "comparison" && c.confidence < Confidence::Likely && value == rules::Value::Device &&
            compared_with_sink(id))
          c.confidence = Confidence::Likely;
        rule = s_.rules.string(value, c.name);
        confidence = c.confidence;
        if (!s_.about_torch) confidence = Confidence::Review;
      }
      s_.claims.take(id);
      if (!rule || !s_.applies(*rule) || s_.kept(id)) return;
      if (npu_has_its_own(tree_, id) || (value == rules::Value::Backend && hccl_has_its_own(tree_, id)))
        confidence = Confidence::Review;
      // the project's own thing is asked for by that name, if it is not torch's
      const names::Project* project = s_.module.project();
      const bool registered = value == rules::Value::Backend && confidence == Confidence::Likely && project &&
                              project->registers_backends();
      Finding& f = s_.add(*rule, id, registered ? Confidence::Review : confidence);
      f.edits = std::move(edits);
      if (registered) text::says_registered(f.message);
      return;
    }
    path(id);
  }

  /// ["train.py", "--backend=nccl", "--device=cuda:0"]
  bool word_of_command(NodeId id) {
    const Kind up = tree_.kind(tree_.parent(id));
    NodeId content = kNone;
    for (NodeId c : tree_.children(id))
      if (tree_.kind(c) != Kind::StringStart) {
        content = c;
        break;
      }
    if (tree_.kind(content) != Kind::StringContent || tree_[content].first != kNone) return false;
    const std::string_view text = tree_.text(content);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || text.find(' ') != std::string_view::npos) return false;
    if (up != Kind::List && up != Kind::Tuple && up != Kind::ArgumentList) return false;
    const bool option = text.starts_with("--");
    if (!option && (up == Kind::ArgumentList || equals == 0)) return false;
    const bool overrides = option || of_overrides(tree_.parent(id));
    const auto judgement = text::judge(text.substr(0, equals), text.substr(equals + 1));
    if (!judgement || judgement->words.empty() || judgement->meaning == text::Meaning::Accelerator) return false;
    const rules::Value value =
        judgement->meaning == text::Meaning::Backend ? rules::Value::Backend : rules::Value::Device;
    const rules::Rule* rule = s_.rules.string(value, "option");
    if (!rule || !s_.applies(*rule)) return false;
    s_.claims.take(id);
    if (s_.kept(id)) return true;
    const bool registered =
        value == rules::Value::Backend && s_.module.project() && s_.module.project()->registers_backends();
    Finding& f = s_.add(
        *rule, id, registered || !overrides ? Confidence::Review : lower(judgement->confidence, Confidence::Likely));
    if (registered) text::says_registered(f.message);
    const auto begin = static_cast<std::uint32_t>(tree_[content].begin + equals + 1);
    for (const text::Word& w : judgement->words)
      f.edits.push_back({begin + static_cast<std::uint32_t>(w.begin), begin + static_cast<std::uint32_t>(w.end),
                         std::string(w.replacement)});
    return true;
  }

  /// Whether a list holds settings by name, as Hydra and its like take them: overrides=["device=cuda"],
  /// OmegaConf.from_dotlist(["device=cuda"]), ["train.py", "device=cuda"].
  bool of_overrides(NodeId list) const {
    NodeId up = tree_.parent(list);
    if (tree_.kind(up) == Kind::KeywordArgument) {
      const std::string_view name = tree_.text(tree_.child(up, Field::Name));
      if (name == "overrides" || name == "dotlist") return true;
    }
    if (tree_.kind(up) == Kind::ArgumentList) {
      const std::string_view called = tree_.text(tree_.child(tree_.parent(up), Field::Function));
      if (called.ends_with("from_dotlist") || called.ends_with("from_cli")) return true;
    }
    for (const NodeId item : tree_.children(list)) {
      const std::string_view text = tree_.text(item);
      if (tree_.kind(item) == Kind::String && text.size() > 3 &&
          (text.substr(1).starts_with("--") || text.substr(0, text.size() - 1).ends_with(".py")))
        return true;
    }
    return false;
  }

  /// re.match(r"cuda(:\d+)?$", device)
  bool pattern(NodeId id) {
    Confidence sure = Confidence::Review;
    std::vector<Edit> edits = pattern_edits(s_, id, sure);
    const rules::Rule* rule = edits.empty() ? nullptr : s_.rules.string(rules::Value::Device, "comparison");
    if (!rule || !s_.applies(*rule)) return false;
    s_.claims.take(id);
    if (s_.kept(id)) return true;
    if (!s_.about_torch || npu_has_its_own(tree_, id)) sure = Confidence::Review;
    s_.add(*rule, id, sure).edits = std::move(edits);
    return true;
  }

  /// providers=["CUDAExecutionProvider", "CPUExecutionProvider"] of ONNX Runtime
  bool provider(NodeId id) {
    std::string text;
    if (!s_.module.plain_string(id, text) || text != "CUDAExecutionProvider") return false;
    s_.claims.take(id);
    if (s_.kept(id)) return true;
    static const rules::Rule& rule = rules::coded("PT329");
    Confidence sure = Confidence::Likely;
    // options of CUDA's: ("CUDAExecutionProvider", {"cudnn_conv_algo_search": "HEURISTIC"}); both have device_id
    if (const NodeId up = tree_.parent(id); tree_.kind(up) == Kind::Tuple)
      for (NodeId n = up; n < tree_[up].last; ++n)
        if (std::string key; tree_.kind(n) == Kind::Pair && s_.module.plain_string(tree_.child(n, Field::Key), key) &&
                             key != "device_id")
          sure = Confidence::Review;
    Text why;
    if (const NodeId pair = tree_.parent(id); tree_.kind(pair) == Kind::Pair) {
      const NodeId options = tree_.child(pair, Field::Value);
      if (options != id) {
        // {"CUDAExecutionProvider": options}
        const std::string_view text = tree_.text(options);
        if (tree_.kind(options) != Kind::Dictionary || text.find(',') != std::string_view::npos ||
            (text != "{}" && text.find("device_id") == std::string_view::npos))
          sure = Confidence::Review;
      } else {
        // {"cuda": "CUDAExecutionProvider", "rocm": "ROCMExecutionProvider"}: the key says CUDA as well
        const std::string_view all = tree_.text(tree_.parent(pair));
        for (std::string_view other : {"ROCMExec", "MIGraphXExec", "DmlExec", "OpenVINOExec", "TensorrtExec"})
          if (all.find(other) != std::string_view::npos) why = rules::told("keep.vendors");
      }
    }
    if (tree_.text().find("CANNExecutionProvider") != std::string_view::npos) sure = Confidence::Review;
    for (NodeId c : tree_.children(id))
      if (tree_.kind(c) == Kind::StringContent) {
        Finding& f = s_.add(rule, id, why.empty() ? sure : Confidence::Review);
        f.edits.push_back(s_.replace(c, "CANNExecutionProvider"));
        if (!why.empty()) f.message += rules::told("keep", {why});
      }
    return true;
  }

  /// if "CUDA out of memory" in str(error)
  bool out_of_memory(NodeId id) {
    const std::string_view text = tree_.text(id);
    const std::size_t at = text.find("CUDA out of memory");
    if (at == std::string_view::npos) return false;
    NodeId mine = id, up = tree_.parent(id);
    while (tree_.kind(up) == Kind::List || tree_.kind(up) == Kind::Tuple || tree_.kind(up) == Kind::Parenthesized ||
           tree_.kind(up) == Kind::Set)
      mine = up, up = tree_.parent(up);
    bool asked = tree_.kind(up) == Kind::Comparison ||
                 (tree_.kind(up) == Kind::KeywordArgument && tree_.text(tree_.child(up, Field::Name)) == "match");
    if (tree_.kind(up) == Kind::ArgumentList) {
      const NodeId callee = tree_.child(tree_.parent(up), Field::Function);
      const std::string_view name =
          tree_.text(tree_.kind(callee) == Kind::Attribute ? tree_.child(callee, Field::Attribute) : callee);
      for (std::string_view asks : {"search", "match", "startswith", "find", "compile", "fullmatch", "count"})
        asked = asked || name == asks;
    }
    if (tree_.kind(up) == Kind::Assignment) asked = mine != id;  // a table of messages to look for
    const rules::Rule* rule = s_.rules.string(rules::Value::Device, "message");
    if (!asked || !rule || !s_.applies(*rule)) return false;
    s_.claims.take(id);
    if (s_.kept(id)) return true;
    const Confidence sure = !s_.about_torch || npu_has_its_own(tree_, id) ? Confidence::Review : Confidence::Likely;
    const auto begin = static_cast<std::uint32_t>(tree_[id].begin + at);
    s_.add(*rule, id, sure).edits = {{begin, begin + 4, "NPU"}};
    return true;
  }

  /// request.param == "cuda", where torch.device(request.param) is asked for elsewhere.
  bool compared_with_sink(NodeId id) const {
    for (NodeId operand : tree_.children(tree_.parent(id)))
      if (tree_.kind(operand) == Kind::Attribute) {
        const auto found = options_.find(std::string(tree_.text(tree_.child(operand, Field::Attribute))));
        // what is given on as a backend is no device: self.backend == "cuda" beside "triton"
        if (found != options_.end() && found->second.rule->value == rules::Value::Device) return true;
      }
    return false;
  }

  /// Whether a literal is given to a variable that is a part of longer names: f"self_{device}_memory_usage".
  bool part_of_names(NodeId literal) {
    if (!parts_of_names_) {
      parts_of_names_.emplace();
      for (NodeId id = 0; id < tree_.size(); ++id) {
        if (tree_.kind(id) != Kind::String) continue;
        NodeId before = kNone;
        for (NodeId c : tree_.children(id)) {
          const bool behind = tree_.kind(before) == Kind::Interpolation && tree_.kind(c) == Kind::StringContent;
          const bool ahead = tree_.kind(c) == Kind::Interpolation && tree_.kind(before) == Kind::StringContent;
          if ((behind && source::is_name_byte(tree_.text(c).front())) ||
              (ahead && source::is_name_byte(tree_.text(before).back())))
            parts_of_names_->insert(tree_.text(tree_.child(behind ? before : c, std::size_t{0})));
          before = c;
        }
      }
    }
    NodeId mine = literal, up = tree_.parent(literal);
    while (tree_.kind(up) == Kind::Conditional || tree_.kind(up) == Kind::Parenthesized)
      mine = up, up = tree_.parent(up);
    return tree_.kind(up) == Kind::Assignment && tree_.child(up, Field::Right) == mine &&
           parts_of_names_->contains(tree_.text(tree_.child(up, Field::Left)));
  }

  /// Whether the source works with one of the project's that chooses between vendors: what is patched there stays.
  bool chosen_elsewhere() const {
    const names::Project* project = s_.module.project();
    if (!project) return false;
    for (names::ScopeId scope = 0; scope < s_.module.scopes().size(); ++scope)
      for (const auto& [name, bindings] : s_.module.scopes()[scope].names)
        for (const names::Binding& b : bindings)
          if (b.how == names::Bind::Import && project->asks_for_npu(s_.module.path(), b.module, b.name)) return true;
    return false;
  }

  /// "torch.cuda.FloatTensor", patch("torch.cuda.is_available"), patch("package.model.torch.cuda.is_available")
  void path(NodeId id) {
    std::string text;
    if (!s_.module.plain_string(id, text) || text.find_first_of(" \t\n(/\\") != std::string::npos) return;
    const std::size_t start = text.starts_with("torch.") ? 0 : text.find(".torch.cuda.") + 1;  // npos + 1 is 0
    if (start == 0 && !text.starts_with("torch.")) return;
    if (start > 0 && !patches(id)) return;
    text.erase(0, start);
    const rules::Rule* api = s_.rules.api(text);
    const rules::Rule* rule = s_.rules.string(rules::Value::Device, "path");
    if (!api || !rule || !s_.applies(*api) || api->category != Category::Change || s_.kept(id)) return;
    const rules::Renaming r = rules::renaming(*api, text);
    if (r.to.empty()) return;
    NodeId content = kNone;
    for (NodeId c : tree_.children(id))
      if (tree_.kind(c) == Kind::StringContent) content = c;
    // only the part that differs
    std::size_t same = 0;
    while (same < r.from.size() && same < r.to.size() && r.from[same] == r.to[same]) ++same;
    const std::uint32_t begin = tree_[content].begin + static_cast<std::uint32_t>(start);
    s_.add(*rule, id, chosen_elsewhere() ? Confidence::Review : Confidence::Likely, text).edits = {
        {begin + static_cast<std::uint32_t>(same), begin + static_cast<std::uint32_t>(r.from.size()),
         r.to.substr(same)}};
    s_.claims.take(id);
  }

  /// The argument of mock.patch(…), monkeypatch.setattr(…): a path to what is replaced.
  bool patches(NodeId id) const {
    const NodeId list = tree_.parent(id);
    if (tree_.kind(list) != Kind::ArgumentList || tree_.child(list, std::size_t{0}) != id) return false;
    const NodeId callee = tree_.child(tree_.parent(list), Field::Function);
    const std::string_view name =
        tree_.text(tree_.kind(callee) == Kind::Attribute ? tree_.child(callee, Field::Attribute) : callee);
    return name == "patch" || name == "setattr" || name == "delattr";
  }

  Sites& s_;
  const syntax::Tree& tree_;
  const std::vector<const rules::Rule*> none_;
  std::map<NodeId, Sink> sinks_;
  std::set<NodeId> containers_;
  std::map<std::string, Sink> options_;
  std::optional<std::set<std::string_view>> parts_of_names_;
  std::map<std::pair<NodeId, std::string>, Sink> parameters_;
  std::vector<std::pair<NodeId, std::string>> fresh_parameters_;
  std::optional<std::unordered_map<std::string_view, std::vector<NodeId>>> by_attribute_;
  std::optional<std::unordered_map<std::string, std::vector<NodeId>>> by_name_;
};

}  // namespace

void values(Sites& s) { Values(s).run(); }

}  // namespace updraft::migrate::rewrite
