// What a person should look at: functions that are not compiled, loops on the device, types that the NPU lacks.
#include <algorithm>
#include <array>

#include "migrate/rewrite/tensorflow/script.h"

namespace updraft::migrate::rewrite::tensorflow {
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
    static constexpr std::array<std::string_view, 8> sessions = {
        "Session",  "InteractiveSession",         "placeholder", "global_variables_initializer", "disable_eager_execution",
        "get_default_session", "train.MonitoredTrainingSession", "disable_v2_behavior"};
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
    if (std::find(methods.begin(), methods.end(), s_.text(tree_.child(callee, Field::Attribute))) == methods.end()) return;
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

}  // namespace updraft::migrate::rewrite::tensorflow
