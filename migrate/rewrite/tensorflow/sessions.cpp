// compat.v1 sessions: their configuration gets NpuOptimizer; who does not close one is told.
#include <algorithm>
#include <array>

#include "migrate/rewrite/tensorflow/script.h"

namespace updraft::migrate::rewrite::tensorflow {
namespace {

/// Whether a configuration comes from npu_config_proto.
bool of_npu(const Script& s, NodeId expression) {
  const syntax::Tree& tree = s.tree();
  std::vector<NodeId> sources;
  s.sites.module.sources(expression, sources);
  return std::any_of(sources.begin(), sources.end(), [&](NodeId source) {
    return tree.kind(source) == Kind::Call && s.text(tree.child(source, Field::Function)).ends_with("npu_config_proto");
  });
}

class Sessions {
 public:
  explicit Sessions(Script& script) : s_(script), tree_(script.tree()) {}

  void run() {
    bool asked = false;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Call) continue;
      const NodeId callee = tree_.child(id, Field::Function);
      const Value v = s_.value(callee);
      const std::string api = s_.api(v.what == What::Member && !v.own ? Value{What::Api, v.name} : v);
      if (api.empty()) continue;
      const bool estimator = api == "estimator.Estimator" || api == "estimator.RunConfig";
      Call c;
      if (api == "Session" || api == "InteractiveSession") {
        c = s_.call(id, {"target", "graph", "config"});
      } else if (api == "train.MonitoredTrainingSession") {
        c = s_.call(id, {"master", "is_chief", "checkpoint_dir", "scaffold", "hooks", "chief_only_hooks",
                         "save_checkpoint_secs", "save_summaries_steps", "save_summaries_secs", "config"});
      } else if (api == "train.ChiefSessionCreator") {
        c = s_.call(id, {"scaffold", "master", "config"});
      } else if (api == "train.WorkerSessionCreator") {
        c = s_.call(id, {"scaffold", "master", "config"});
      } else if (api == "train.Supervisor.managed_session" || api == "train.Supervisor.prepare_or_wait_for_session") {
        c = s_.call(id, {"master", "config"});
      } else if (!estimator) {
        continue;
      }
      if (!s_.options.compat) {
        if (!asked) s_.add("TF067", id, Confidence::Certain, v.name);
        asked = true;
        continue;
      }
      if (estimator) continue;
      configure(c, v);
      if (api == "train.MonitoredTrainingSession" && s_.options.strategy == Strategy::TfStrategy) hooks(c);
      if (api == "Session" || api == "InteractiveSession") closed(id, v);
    }
  }

 private:
  void configure(const Call& c, const Value& v) {
    const Argument* given = c.find("config");
    if (given && of_npu(s_, given->value)) return;
    Confidence confidence = v.sure ? Confidence::Certain : Confidence::Likely;
    // somebody has configured it for the NPU already
    if (tree_.text().find("NpuOptimizer") != std::string_view::npos) confidence = Confidence::Review;
    if (given && tree_.kind(given->value) == Kind::None) {
      s_.add("TF060", c.node, confidence, v.name, NeedCompat)
          .edits.push_back(s_.replace(given->value, "npu_config_proto()"));
    } else if (given) {
      Finding& f = s_.add("TF060", c.node, confidence, v.name, NeedCompat);
      f.edits.push_back(s_.insert(tree_[given->value].begin, "npu_config_proto(config_proto="));
      f.edits.push_back(s_.insert(tree_[given->value].end, ")"));
    } else if (c.splat) {
      s_.add("TF060", c.node, Confidence::Review, v.name, NeedCompat);
    } else {
      s_.add("TF060", c.node, confidence, v.name, NeedCompat)
          .edits.push_back(s_.add_argument(c, "config=npu_config_proto()"));
    }
  }

  void hooks(const Call& c) {
    const Argument* given = c.find("hooks");
    if (c.splat || (given && s_.text(given->value).starts_with("npu_hooks_append"))) return;
    Finding& f = s_.add("TF063", c.node, Confidence::Likely, {}, NeedCompat);
    if (!given) {
      f.edits.push_back(s_.add_argument(c, "hooks=npu_hooks_append()"));
    } else {
      f.edits.push_back(s_.insert(tree_[given->value].begin, "npu_hooks_append(hooks_list="));
      f.edits.push_back(s_.insert(tree_[given->value].end, ")"));
    }
  }

  void closed(NodeId id, const Value& v) {
    const NodeId up = tree_.parent(id);
    if (tree_.kind(up) != Kind::Assignment || tree_[id].field != Field::Right) return;
    const std::string name(s_.text(tree_.child(up, Field::Left)));
    const std::string_view text = tree_.text();
    if (text.find(name + ".close(") != std::string_view::npos) return;
    if (text.find("with " + name + ":") != std::string_view::npos) return;
    s_.add("TF065", id, Confidence::Likely, v.name).suggestion = name + ".close()";
  }

  Script& s_;
  const syntax::Tree& tree_;
};

}  // namespace

void sessions(Script& script) { Sessions(script).run(); }

// compat.v1 estimators: NPUEstimator with NPURunConfig, and hooks that give all workers the same variables.

namespace {

/// What NPURunConfig takes of RunConfig's parameters; the order differs, so that positions become keywords.
constexpr std::array<std::string_view, 9> kTaken = {"model_dir",
                                                    "tf_random_seed",
                                                    "save_summary_steps",
                                                    "save_checkpoints_steps",
                                                    "save_checkpoints_secs",
                                                    "session_config",
                                                    "keep_checkpoint_max",
                                                    "keep_checkpoint_every_n_hours",
                                                    "log_step_count_steps"};

class Estimators {
 public:
  explicit Estimators(Script& script) : s_(script), tree_(script.tree()) {}

  void run() {
    if (!s_.options.compat) return;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Call) continue;
      const NodeId callee = tree_.child(id, Field::Function);
      const Value v = s_.value(callee);
      const std::string api = s_.api(v);
      if (api == "estimator.RunConfig") run_config(id, v);
      else if (api == "estimator.Estimator") estimator(id, v);
      else if (s_.options.strategy != Strategy::TfStrategy) continue;
      else if (api == "estimator.TrainSpec")
        hooks(s_.call(id, {"input_fn", "max_steps", "hooks"}), Confidence::Certain);
      else if (tree_.kind(callee) == Kind::Attribute && s_.text(tree_.child(callee, Field::Attribute)) == "train")
        train(id, callee);
    }
  }

 private:
  static Confidence sure(const Value& v) noexcept { return v.sure ? Confidence::Certain : Confidence::Likely; }

  void run_config(NodeId id, const Value& v) {
    const Call c = s_.call(
        id, {"model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
             "session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps",
             "train_distribute", "device_fn", "protocol", "eval_distribute", "experimental_distribute",
             "experimental_max_worker_delay_secs", "session_creation_timeout_secs", "checkpoint_save_graph_def"});
    Finding& f = s_.add("TF061", id, sure(v), v.name, NeedCompat);
    f.edits.push_back(s_.replace(c.callee, "NPURunConfig"));
    std::vector<NodeId> gone;
    std::string names;
    for (const Argument& a : c.arguments) {
      if (a.name.empty()) {
        if (a.value != kNone) f.confidence = Confidence::Review;  // after *args: nobody knows which
        continue;
      }
      if (std::find(kTaken.begin(), kTaken.end(), a.name) == kTaken.end()) {
        gone.push_back(a.node);
        names += (names.empty() ? "" : ", ") + a.name;
        // without a strategy on NPU these change nothing; others may matter
        const bool harmless = tree_.kind(a.value) == Kind::None || a.name == "train_distribute" ||
                              a.name == "eval_distribute" || a.name == "device_fn";
        if (!harmless) f.confidence = lower(f.confidence, Confidence::Likely);
      } else {
        if (a.node == a.value) f.edits.push_back(s_.insert(tree_[a.value].begin, a.name + "="));
        if (a.name == "session_config" && tree_.kind(a.value) != Kind::None && !of_npu(s_, a.value)) {
          f.edits.push_back(s_.insert(tree_[a.value].begin, "npu_config_proto(config_proto="));
          f.edits.push_back(s_.insert(tree_[a.value].end, ")"));
        }
      }
    }
    if (gone.empty()) return;
    for (Edit& e : s_.remove_arguments(c, gone)) f.edits.push_back(std::move(e));
    f.message.en += "; it does not take " + names;
    f.message.zh += "；NPURunConfig 无参数 " + names;
  }

  void estimator(NodeId id, const Value& v) {
    const Call c = s_.call(id, {"model_fn", "model_dir", "config", "params", "warm_start_from"});
    Finding& f = s_.add("TF062", id, sure(v), v.name, NeedCompat);
    f.edits.push_back(s_.replace(c.callee, "NPUEstimator"));
    std::size_t position = 0;
    for (const Argument& a : c.arguments) {
      if (a.node != a.value) continue;
      if (a.name.empty()) f.confidence = Confidence::Review;
      else if (position >= 3) f.edits.push_back(s_.insert(tree_[a.value].begin, a.name + "="));
      ++position;
    }
    const Argument* config = c.find("config");
    if (config && tree_.kind(config->value) == Kind::None)
      f.edits.push_back(s_.replace(config->value, "NPURunConfig()"));
    else if (!config && !c.splat) f.edits.push_back(s_.add_argument(c, "config=NPURunConfig()"));
  }

  void train(NodeId id, NodeId callee) {
    const Value owner = s_.value(tree_.child(callee, Field::Object));
    const bool known = owner.what == What::Instance &&
                       (owner.name.ends_with("estimator.Estimator") || owner.name.ends_with("NPUEstimator"));
    const std::string_view name = s_.text(tree_.child(callee, Field::Object));
    if (!known && (owner.what != What::Unknown || name.find("estimator") == std::string_view::npos)) return;
    hooks(s_.call(id, {"input_fn", "hooks", "steps", "max_steps"}), known ? Confidence::Certain : Confidence::Likely);
  }

  void hooks(const Call& c, Confidence confidence) {
    const Argument* given = c.find("hooks");
    if (c.splat || c.arguments.empty()) return;
    if (given && s_.text(given->value).starts_with("npu_hooks_append")) return;
    Finding& f = s_.add("TF063", c.node, confidence, {}, NeedCompat);
    if (!given || tree_.kind(given->value) == Kind::None) {
      f.edits.push_back(given ? s_.replace(given->value, "npu_hooks_append()")
                              : s_.add_argument(c, "hooks=npu_hooks_append()"));
    } else {
      f.edits.push_back(s_.insert(tree_[given->value].begin, "npu_hooks_append(hooks_list="));
      f.edits.push_back(s_.insert(tree_[given->value].end, ")"));
    }
  }

  Script& s_;
  const syntax::Tree& tree_;
};

}  // namespace

void estimators(Script& script) { Estimators(script).run(); }

void dropout(Script& s) {
  if (!s.options.compat) return;
  const syntax::Tree& tree = s.tree();
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Call) continue;
    const NodeId callee = tree.child(id, Field::Function);
    const Value v = s.value(callee);
    if (s.api(v) != "nn.dropout") continue;
    const Call c = Script::of_v1(v) ? s.call(id, {"x", "keep_prob", "noise_shape", "seed", "name", "rate"})
                                    : s.call(id, {"x", "rate", "noise_shape", "seed", "name"});
    const Argument* rate = c.find("rate");
    const Argument* keep = c.find("keep_prob");
    Finding& f = s.add("TF064", id, v.sure ? Confidence::Likely : Confidence::Review, v.name, NeedCompat);
    if (c.splat || (!rate && !keep) || (rate && keep) || (rate && tree.kind(rate->value) == Kind::None)) {
      f.confidence = Confidence::Review;
      continue;
    }
    f.edits.push_back(s.replace(callee, "npu_ops.dropout"));
    if (rate) {
      const std::string kept = "1 - " + operand(s, rate->value);
      f.edits.push_back(s.replace(rate->node, rate->node == rate->value ? kept : "keep_prob=" + kept));
    }
  }
}

}  // namespace updraft::migrate::rewrite::tensorflow
