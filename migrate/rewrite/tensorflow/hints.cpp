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
        case Kind::Call: call(id); break;
        default: break;
      }
    }
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
};

}  // namespace

void hints(Script& script) { Hints(script).run(); }

}  // namespace updraft::migrate::rewrite::tensorflow
