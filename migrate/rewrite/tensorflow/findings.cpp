#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/support/tf_api.h"

namespace updraft::migrate::rewrite::tensorflow {

const rules::Rule& rule(std::string_view id) { return rules::coded(id); }

// What a person should look at: functions that are not compiled, loops on the device, types that the NPU lacks.
namespace {

class Hints {
 public:
  explicit Hints(Script& script) : s_(script), tree_(script.tree()) {}

  void run() {
    for (NodeId id = 0; id < tree_.size(); ++id) {
      switch (tree_.kind(id)) {
        case Kind::Function: gelu(id); break;
        case Kind::For: loop(id); break;
        case Kind::Call:
          call(id);
          preprocessing(id);
          break;
        case Kind::Attribute:
          if (tree_.kind(tree_.parent(id)) != Kind::Attribute) style(id);
          break;
        default: break;
      }
    }
    // the guide's chapter 3
    if (session_ != kNone && eager_ != kNone) s_.add("TF085", std::max(session_, eager_), Confidence::Review, {});
  }

 private:
  /// @tf.function, @tf.function(…), @def_function.function
  bool decorated(NodeId function) const {
    const NodeId up = tree_.parent(function);
    if (tree_.kind(up) != Kind::Decorated) return false;
    for (NodeId d : tree_.children(up)) {
      if (tree_.kind(d) != Kind::Decorator) continue;
      NodeId what = tree_.child(d, std::size_t{0});
      if (tree_.kind(what) == Kind::Call) what = tree_.child(what, Field::Function);
      const std::string api = s_.api(what);
      if (api == "function" || api.ends_with("def_function.function") || api == "contrib.eager.defun") return true;
    }
    return false;
  }

  /// tf.function(step) somewhere in the file
  bool wrapped(std::string_view name) const {
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Call || s_.api(tree_.child(id, Field::Function)) != "function") continue;
      const NodeId list = tree_.child(id, Field::Arguments);
      for (NodeId a : tree_.children(list)) {
        const std::string_view written = s_.text(a);
        if (written == name || written.ends_with("." + std::string(name))) return true;
      }
    }
    return false;
  }

  bool compiled(NodeId node) const {
    for (NodeId f = enclosing_function(tree_, node); f != kNone; f = enclosing_function(tree_, f))
      if (decorated(f) || wrapped(s_.text(tree_.child(f, Field::Name)))) return true;
    return false;
  }

  /// Sessions of 1.x, or what only eager scripts have.
  void style(NodeId id) {
    const Value v = s_.value(id);
    const std::string api = s_.api(v);
    if (api.empty()) return;
    static constexpr std::array<std::string_view, 8> sessions = {"Session",
                                                                 "InteractiveSession",
                                                                 "placeholder",
                                                                 "global_variables_initializer",
                                                                 "disable_eager_execution",
                                                                 "get_default_session",
                                                                 "train.MonitoredTrainingSession",
                                                                 "disable_v2_behavior"};
    static constexpr std::array<std::string_view, 4> eager = {"GradientTape", "config.run_functions_eagerly",
                                                              "executing_eagerly", "enable_eager_execution"};
    if (Script::of_v1(v) && std::find(sessions.begin(), sessions.end(), api) != sessions.end()) {
      if (session_ == kNone) session_ = id;
    } else if (std::find(eager.begin(), eager.end(), api) != eager.end() && eager_ == kNone) {
      eager_ = id;
    }
  }

  /// ds.map(f), where f reads a tf.Variable.
  void preprocessing(NodeId id) {
    const NodeId callee = tree_.child(id, Field::Function);
    if (tree_.kind(callee) != Kind::Attribute) return;
    static constexpr std::array<std::string_view, 4> methods = {"map", "flat_map", "interleave", "filter"};
    if (std::find(methods.begin(), methods.end(), s_.text(tree_.child(callee, Field::Attribute))) == methods.end())
      return;
    const NodeId given = tree_.child(tree_.child(id, Field::Arguments), std::size_t{0});
    NodeId function = kNone;
    const auto& scopes = s_.sites.module.scopes();
    if (tree_.kind(given) == Kind::Lambda) {
      function = given;
    } else if (tree_.kind(given) == Kind::Identifier) {
      if (const auto* bindings = scopes.lookup(s_.text(given), scopes.of(given)))
        for (const names::Binding& b : *bindings)
          if (b.how == names::Bind::Function) function = b.node;
    }
    if (function == kNone) return;
    for (NodeId n = function; n < tree_[function].last; ++n) {
      if (tree_.kind(n) != Kind::Identifier || !tree_.is_reference(n)) continue;
      const auto* bindings = scopes.lookup(s_.text(n), scopes.of(n));
      if (!bindings) continue;
      for (const names::Binding& b : *bindings)
        if (b.how == names::Bind::Assignment && tree_.kind(b.value) == Kind::Call &&
            s_.api(tree_.child(b.value, Field::Function)) == "Variable" && !on_host(b.value)) {
          s_.add("TF084", b.value, Confidence::Review, {}).suggestion = "context.device('CPU:0')";
          return;
        }
    }
  }

  /// with tf.device("CPU:0"):, with context.device("CPU:0"):
  bool on_host(NodeId node) const {
    for (NodeId up = tree_.ancestor(node, Kind::With); up != kNone; up = tree_.ancestor(up, Kind::With)) {
      const std::string_view head = s_.text(up).substr(0, tree_[tree_.child(up, Field::Body)].begin - tree_[up].begin);
      if (head.find("device(") != std::string_view::npos && head.find("CPU") != std::string_view::npos) return true;
    }
    return false;
  }

  /// The user's own gelu of tanh or erf.
  void gelu(NodeId function) {
    if (s_.text(tree_.child(function, Field::Name)).find("gelu") == std::string_view::npos) return;
    for (NodeId id = function; id < tree_[function].last; ++id) {
      const std::string api = tree_.kind(id) == Kind::Attribute ? s_.api(id) : std::string();
      if (api != "tanh" && api != "math.tanh" && api != "erf" && api != "math.erf" && api != "nn.tanh") continue;
      s_.add("TF080", tree_.child(function, Field::Name), Confidence::Likely, {}).suggestion =
          s_.options.compat ? "npu_unary_ops.gelu" : "npu.ops.gelu";
      return;
    }
  }

  /// for _ in tf.range(steps): train_step(next(iterator))
  void loop(NodeId id) {
    const NodeId over = tree_.child(id, Field::Right);
    if (tree_.kind(over) != Kind::Call || s_.api(tree_.child(over, Field::Function)) != "range") return;
    const NodeId body = tree_.child(id, Field::Body);
    bool data = false;
    for (NodeId n = body; body != kNone && n < tree_[body].last; ++n)
      if (tree_.kind(n) == Kind::Call) {
        const std::string_view callee = s_.text(tree_.child(n, Field::Function));
        data = data || callee == "next" || callee.ends_with(".get_next");
      }
    if (data && compiled(id)) s_.add("TF082", over, Confidence::Likely, {}).suggestion = "npu.set_npu_loop_size";
  }

  void call(NodeId id) {
    const NodeId callee = tree_.child(id, Field::Function);
    const Value v = s_.value(callee);
    const std::string api = s_.api(v);
    if (api.empty()) return;
    if (api == "GradientTape" && !s_.options.compat && !compiled(id)) {
      // Model.train_step is compiled by fit
      const NodeId function = enclosing_function(tree_, id);
      if (function == kNone || s_.text(tree_.child(function, Field::Name)) != "train_step" || !method(function))
        s_.add("TF081", id, Confidence::Likely, {}).suggestion = "tf.function";
    }
    types(id, api);
  }

  bool method(NodeId function) const {
    const names::ScopeId scope = s_.sites.module.scopes().of(function);
    return s_.sites.module.scopes()[scope].kind == names::ScopeKind::Class;
  }

  /// dtype="float64", dtype=np.float64, tf.cast(x, "complex64"), set_floatx("float64")
  void types(NodeId id, const std::string& api) {
    static constexpr std::array<std::string_view, 4> lacking = {"float64", "complex64", "complex128", "double"};
    const bool floatx = api == "keras.backend.set_floatx";
    const Call c = floatx ? s_.call(id, {"dtype"}) : api == "cast" ? s_.call(id, {"x", "dtype"}) : s_.call(id, {});
    const Argument* dtype = c.find("dtype");
    if (!dtype) return;
    std::string name;
    if (!s_.sites.module.plain_string(dtype->value, name)) {
      const Value v = s_.value(dtype->value);
      if (v.what != What::Api || !rules::under(v.name, "numpy")) return;
      name = v.name.substr(v.name.rfind('.') + 1);
    }
    if (std::find(lacking.begin(), lacking.end(), name) == lacking.end()) return;
    s_.add("TF083", dtype->value, Confidence::Likely, "tensorflow." + (name == "double" ? "float64" : name));
  }

  Script& s_;
  const syntax::Tree& tree_;
  NodeId session_ = kNone, eager_ = kNone;
};

}  // namespace

void hints(Script& script) { Hints(script).run(); }

// Every use of a TensorFlow or Horovod API, for the guide's reports, which take its class from support/tf_api.h. A site
// that a rule changes or refuses has one finding, not two.

namespace {

Category category_of(TfClass support) noexcept {
  switch (support) {
    case TfClass::no_avoid:
    case TfClass::deprecated: return Category::Unsupported;
    case TfClass::analysing: return Category::Unknown;
    default: return Category::Note;
  }
}

Text text_of(const TfApi& api) {
  const Bilingual what = describe(api.support);
  Text text{std::string(what.en), std::string(what.zh)};
  if (!api.note.en.empty()) text.en += ": " + std::string(api.note.en);
  if (!api.note.zh.empty()) text.zh += "：" + std::string(api.note.zh);
  return text;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> import_ranges(const syntax::Tree& tree) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.kind(id) == Kind::Import || tree.kind(id) == Kind::ImportFrom)
      ranges.emplace_back(tree[id].begin, tree[id].end);
  return ranges;
}

}  // namespace

void api_uses(Script& s) {
  const syntax::Tree& tree = s.tree();
  const auto imports = import_ranges(tree);
  // what rules have said about APIs, by position
  std::multimap<std::uint32_t, std::size_t> said;
  for (std::size_t i = 0; i < s.sites.findings.size(); ++i) {
    Finding& f = s.sites.findings[i];
    if (f.api.empty()) continue;
    f.api = Script::shown(f.api);
    // an import is no use: where a rule says something about it, the API is not counted
    if (f.category != Category::Change && (rules::under(f.api, "tf") || rules::under(f.api, "hvd")) &&
        std::any_of(imports.begin(), imports.end(),
                    [&](const auto& range) { return f.begin >= range.first && f.begin < range.second; }))
      f.api.clear();
    if (f.api.empty()) continue;
    if (f.category != Category::Change && f.category != Category::Unsupported && f.category != Category::Unknown)
      continue;
    said.emplace(f.begin, i);
  }
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Kind kind = tree.kind(id);
    if (kind != Kind::Attribute && kind != Kind::Identifier) continue;
    const NodeId up = tree.parent(id);
    if (tree.kind(up) == Kind::Attribute) continue;  // the whole chain is looked at
    if (kind == Kind::Identifier) {
      const Kind above = tree.kind(up);
      if (above == Kind::DottedName || above == Kind::AliasedImport || above == Kind::Parameters) continue;
      if ((above == Kind::KeywordArgument || above == Kind::DefaultParameter || above == Kind::TypedDefaultParameter ||
           above == Kind::Function || above == Kind::Class) &&
          tree[id].field == Field::Name)
        continue;
    }
    if (tree[id].field == Field::Left) continue;  // assigned to
    const Value v = s.value(id);
    if (v.what != What::Api) continue;
    const bool tensorflow = rules::under(v.name, "tensorflow");
    if (!tensorflow && s.horovod(v).empty()) continue;
    if (v.name == "tensorflow") continue;  // the module itself, passed on
    // an identifier that a plain assignment made a name for an API: it was counted there
    if (kind == Kind::Identifier) {
      const auto* bindings = s.sites.module.scopes().lookup(s.text(id), s.sites.module.scopes().of(id));
      bool imported = !bindings;
      if (bindings)
        for (const names::Binding& b : *bindings) imported = imported || b.how == names::Bind::Import;
      if (!imported) continue;
    }
    bool counted = false;
    const std::string shown = Script::shown(v.name);
    for (auto [at, end] = said.equal_range(tree[id].begin); at != end; ++at)
      counted = counted || s.sites.findings[at->second].api == shown;
    if (counted) continue;
    const TfApi api = lookup_tf(v.name, s.options.version);
    Finding& f = s.add("TF900", id, v.sure ? Confidence::Certain : Confidence::Likely, v.name);
    f.category = category_of(api.support);
    f.confidence = v.sure ? Confidence::Certain : Confidence::Likely;
    f.message = text_of(api);
  }
}

}  // namespace updraft::migrate::rewrite::tensorflow
