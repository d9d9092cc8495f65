// Keras: loss scaling that looks at the NPU's overflow flag, and optimizers and weights that the workers share.
#include <algorithm>
#include <array>

#include "migrate/rewrite/sites.h"
#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/source/words.h"

namespace updraft::migrate::rewrite::tensorflow {
namespace {

constexpr std::array<std::string_view, 8> kOptimizers = {"SGD",     "RMSprop",  "Adam",   "Ftrl",
                                                         "Adagrad", "Adadelta", "Adamax", "Nadam"};

using source::among;

/// "Adam" of keras.optimizers.Adam, keras.optimizers.legacy.Adam, …; empty for what is no optimizer's name.
std::string_view optimizer(std::string_view api) noexcept {
  if (!rules::under(api, "keras.optimizers")) return {};
  for (std::string_view folder : {"keras.optimizers.legacy.", "keras.optimizers.experimental.", "keras.optimizers."})
    if (api.starts_with(folder)) {
      const std::string_view last = api.substr(folder.size());
      return last.find('.') == std::string_view::npos ? last : std::string_view{};
    }
  return {};
}

bool is_class(std::string_view name) noexcept { return !name.empty() && name[0] >= 'A' && name[0] <= 'Z'; }

class Keras {
 public:
  explicit Keras(Script& script) : s_(script), tree_(script.tree()) {}

  void run() {
    const bool distributed = s_.options.strategy == Strategy::TfStrategy;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Call) continue;
      const NodeId callee = tree_.child(id, Field::Function);
      const Value v = s_.value(callee);
      const std::string api = s_.api(v);
      if (api == "keras.mixed_precision.LossScaleOptimizer" && !s_.options.compat) loss_scale(callee, v);
      if (!distributed) continue;
      if (!api.empty()) wrap(id, api, v);
      else if (v.what == What::Class) own_optimizer(id, v);
      if (tree_.kind(callee) != Kind::Attribute) continue;
      const std::string_view method = s_.text(tree_.child(callee, Field::Attribute));
      if (method == "compile") compile(id, callee);
      if (method == "fit" || method == "fit_generator") fit(id, callee);
    }
  }

 private:
  void loss_scale(NodeId callee, const Value& v) {
    Finding& f = s_.add("TF020", callee, v.sure ? Confidence::Certain : Confidence::Likely, v.name, NeedNpu);
    f.edits.push_back(s_.replace(callee, s_.npu() + ".train.optimizer.NpuLossScaleOptimizer"));
  }

  std::string wrapper() const {
    return s_.options.compat ? "npu_distributed_optimizer_wrapper"
                             : s_.npu() + ".distribute.npu_distributed_keras_optimizer_wrapper";
  }
  unsigned wrapper_need() const { return s_.options.compat ? NeedCompat : NeedNpu; }

  bool wrapped(NodeId call) const {
    for (std::string_view by : {"npu_distributed_keras_optimizer_wrapper", "npu_distributed_optimizer_wrapper",
                                "npu_keras_optimizer", "npu_tf_optimizer", "NPUDistributedOptimizer"})
      if (s_.inside_call_of(call, by)) return true;
    // opt = Adam(…); opt = npu….wrapper(opt)
    const NodeId up = tree_.parent(call);
    if (tree_.kind(up) != Kind::Assignment) return false;
    const std::string_view name = s_.text(tree_.child(up, Field::Left));
    for (NodeId id = call; id < tree_.size(); ++id)
      if ((tree_.kind(id) == Kind::Identifier || tree_.kind(id) == Kind::Attribute) && s_.text(id) == name)
        for (std::string_view by : {"npu_distributed_keras_optimizer_wrapper", "npu_distributed_optimizer_wrapper"})
          if (s_.inside_call_of(id, by)) return true;
    return false;
  }

  void wrap(NodeId call, const std::string& api, const Value& v) {
    const bool v1 = s_.options.compat && rules::under(api, "train") && api.ends_with("Optimizer") &&
                    !api.ends_with("LossScaleOptimizer");
    std::string_view name = optimizer(api);
    const bool get = name == "get" || name == "deserialize";
    if (!v1 && !get && !is_class(name)) return;
    if (name == "Optimizer" || wrapped(call)) return;
    const bool known = get || among(kOptimizers, name);
    Finding& f = s_.add(known ? "TF030" : "TF032", call, v.sure ? Confidence::Certain : Confidence::Likely, v.name,
                        wrapper_need());
    around(f, call);
  }

  void around(Finding& f, NodeId call) const {
    f.edits.push_back(s_.insert(tree_[call].begin, wrapper() + "("));
    f.edits.push_back(s_.insert(tree_[call].end, ")"));
  }

  /// class MyAdam(tf.keras.optimizers.Adam)
  void own_optimizer(NodeId call, const Value& v) {
    const names::Project* project = s_.sites.module.project();
    if (!project || wrapped(call)) return;
    const auto from = [&](std::string_view base) {
      const std::string api = s_.api(Value{What::Api, std::string(base)});
      return is_class(optimizer(api)) && !api.ends_with("schedules");
    };
    if (!project->derives(v.name, from)) return;
    Finding& f = s_.add("TF032", call, Confidence::Review, v.name.substr(v.name.find('#') + 1), wrapper_need());
    around(f, call);
    f.api.clear();
  }

  /// Whether an object is a model of tf.keras: Yes, or not known (Unknown values).
  Confidence model(NodeId object, bool& no) const {
    const Value v = s_.value(object);
    no = false;
    if (v.what == What::Instance) {
      if (v.own) {
        const names::Project* project = s_.sites.module.project();
        no = !project || !project->derives(v.name, [&](std::string_view base) {
          const std::string api = s_.api(Value{What::Api, std::string(base)});
          return api == "keras.Model" || api == "keras.Sequential" || api == "keras.models.Model" ||
                 api == "keras.models.Sequential";
        });
        return Confidence::Certain;
      }
      const std::string api = s_.api(Value{What::Api, v.name});
      no = !(api == "keras.Model" || api == "keras.Sequential" || api == "keras.models.Model" ||
             api == "keras.models.Sequential" || rules::under(api, "keras.applications"));
      return v.sure ? Confidence::Certain : Confidence::Likely;
    }
    if (v) no = v.what != What::Member || v.own;
    const std::string_view name = s_.text(object);
    return name.find("model") != std::string_view::npos || name.find("Model") != std::string_view::npos ||
                   name.find("net") != std::string_view::npos
               ? Confidence::Likely
               : Confidence::Review;
  }

  /// model.compile("adam")
  void compile(NodeId id, NodeId callee) {
    const Call c = s_.call(id, {"optimizer", "loss", "metrics"});
    const Argument* given = c.find("optimizer");
    std::string name;
    if (!given || !s_.sites.module.plain_string(given->value, name)) return;
    bool no = false;
    const Confidence sure = model(tree_.child(callee, Field::Object), no);
    std::string low = name;
    for (char& ch : low)
      if (ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
    const bool known = std::any_of(kOptimizers.begin(), kOptimizers.end(), [&](std::string_view o) {
      return std::equal(o.begin(), o.end(), low.begin(), low.end(),
                        [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
    });
    if (no) return;
    Finding& f = s_.add(known ? "TF030" : "TF032", given->value, s_.has_tf() ? sure : Confidence::Review, {},
                        wrapper_need() | (s_.has_tf() ? 0U : unsigned{NeedTf}));
    f.edits.push_back(s_.insert(tree_[given->value].begin, wrapper() + "(" + s_.tf("keras.optimizers.get") + "("));
    f.edits.push_back(s_.insert(tree_[given->value].end, "))"));
  }

  /// Whether a model has its weights before it sees data: Model(inputs, outputs), keras.applications.
  bool built(NodeId object) const {
    std::vector<NodeId> sources;
    s_.sites.module.sources(object, sources);
    for (NodeId source : sources) {
      if (tree_.kind(source) != Kind::Call) continue;
      const std::string api = s_.api(tree_.child(source, Field::Function));
      if (api == "keras.Model" || api == "keras.models.Model") return true;
      if (rules::under(api, "keras.applications")) return true;
      if (api == "keras.Sequential" || api == "keras.models.Sequential") {
        // the first layer knows its input
        for (NodeId n = source; n < tree_[source].last; ++n) {
          if (tree_.kind(n) == Kind::KeywordArgument && s_.text(tree_.child(n, Field::Name)) == "input_shape")
            return true;
          if (tree_.kind(n) != Kind::Call || n == source) continue;
          const std::string layer = s_.api(tree_.child(n, Field::Function));
          if (layer == "keras.Input" || layer == "keras.layers.Input" || layer == "keras.layers.InputLayer" ||
              layer == "keras.layers.InputSpec")
            return true;
        }
      }
    }
    return false;
  }

  void fit(NodeId id, NodeId callee) {
    const NodeId object = tree_.child(callee, Field::Object);
    bool no = false;
    Confidence sure = model(object, no);
    if (no) return;
    const std::string name(s_.text(object));
    if (name.find('\n') != std::string::npos || name.find('(') != std::string::npos) return;
    if (s_.options.compat) {
      callbacks(id, sure);
      return;
    }
    const NodeId statement = tree_.statement(id);
    const NodeId inner = tree_.child(statement, std::size_t{0});
    const bool plain =
        tree_.kind(statement) == Kind::ExpressionStatement &&
        (inner == id || (tree_.kind(inner) == Kind::Assignment && tree_.child(inner, Field::Right) == id));
    if (!plain && tree_.kind(statement) != Kind::Return) return;
    const std::string line = s_.npu() + ".distribute.broadcast(" + name + ".trainable_variables, root_rank=0)";
    // already there, or the loop before it has it
    const std::size_t from = tree_[statement].begin > 2000 ? tree_[statement].begin - 2000 : 0;
    const std::string_view near = tree_.text().substr(from, tree_[statement].begin - from);
    if (near.find("distribute.broadcast(" + name + ".") != std::string_view::npos) return;
    if (!built(object)) sure = Confidence::Review;
    Finding& f = s_.add("TF031", id, lower(sure, Confidence::Likely), {}, NeedNpu);
    f.edits.push_back(insert_line(tree_, statement, line, true));
    if (f.confidence == Confidence::Review) f.message = rules::told("TF031.built", {f.message});
  }

  void callbacks(NodeId id, Confidence sure) {
    const Call c = s_.call(id, {"x", "y", "batch_size", "epochs", "verbose", "callbacks"});
    if (c.splat) return;
    const Argument* given = c.find("callbacks");
    if (given && s_.text(given->value).starts_with("npu_callbacks_append")) return;
    Finding& f = s_.add("TF066", id, sure, {}, NeedCompat);
    if (!given) {
      f.edits.push_back(s_.add_argument(c, "callbacks=npu_callbacks_append()"));
    } else {
      f.edits.push_back(s_.insert(tree_[given->value].begin, "npu_callbacks_append(callbacks_list="));
      f.edits.push_back(s_.insert(tree_[given->value].end, ")"));
    }
  }

  Script& s_;
  const syntax::Tree& tree_;
};

}  // namespace

void keras(Script& script) { Keras(script).run(); }

}  // namespace updraft::migrate::rewrite::tensorflow
