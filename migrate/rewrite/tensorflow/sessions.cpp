#include <algorithm>
#include <array>

#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/source/words.h"

namespace updraft::migrate::rewrite::tensorflow {

// What is about GPUs only: device scopes, memory growth, visible and logical devices.
namespace {

std::string lowered(std::string_view text) {
  std::string low(text);
  for (char& c : low)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return low;
}

class Devices {
 public:
  explicit Devices(Script& script) : s_(script), tree_(script.tree()) {}

  void run() {
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Call) continue;
      const NodeId callee = tree_.child(id, Field::Function);
      const Value v = s_.value(callee);
      const std::string api = s_.api(v);
      if (api.empty()) continue;
      if (api == "device") scope(id, v);
      else if (api == "config.experimental.set_memory_growth") nothing("TF051", id, v);
      else if (api == "config.set_visible_devices" || api == "config.experimental.set_visible_devices") visible(id, v);
      else if (api == "config.set_logical_device_configuration" ||
               api == "config.experimental.set_virtual_device_configuration")
        logical(id, v);
    }
  }

 private:
  Confidence sure(const Value& v) const { return v.sure ? Confidence::Certain : Confidence::Likely; }

  /// The call is left out: `pass` as a statement, None as a value.
  void nothing(std::string_view rule, NodeId id, const Value& v) {
    Finding& f = s_.add(rule, id, sure(v), v.name);
    f.edits.push_back(s_.is_statement(id) ? s_.remove_statement(tree_.parent(id)) : s_.replace(id, "None"));
    if (s_.will(f)) s_.convert(id);
  }

  void visible(NodeId id, const Value& v) {
    const Call c = s_.call(id, {"devices", "device_type"});
    const Argument* type = c.find("device_type");
    std::string name;
    if (!type || !s_.sites.module.plain_string(type->value, name) || name != "GPU") return;
    const Argument* devices = c.find("devices");
    // [] hides the GPUs: true on NPU as well
    if (devices && tree_.kind(devices->value) == Kind::List && tree_[devices->value].first == kNone) return;
    nothing("TF052", id, v);
  }

  void logical(NodeId id, const Value& v) {
    const Call c = s_.call(id, {"device", "logical_devices"});
    if (c.arguments.empty() || c.arguments.front().value == kNone) return;
    if (lowered(s_.text(c.arguments.front().value)).find("gpu") == std::string::npos) return;
    nothing("TF052", id, v);
  }

  enum class Place : std::uint8_t { Unknown, Gpu, Cpu, Other };

  Place place(NodeId expression) const {
    std::vector<NodeId> sources;
    s_.sites.module.sources(expression, sources);
    Place found = Place::Unknown;
    for (NodeId source : sources) {
      if (tree_.kind(source) == Kind::None) return Place::Other;
      if (tree_.kind(source) != Kind::String) continue;
      const std::string low = lowered(s_.text(source));
      if (low.find("gpu") != std::string::npos) return Place::Gpu;
      if (low.find("cpu") != std::string::npos) found = Place::Cpu;
      else if (low.find("tpu") != std::string::npos || low.find("npu") != std::string::npos ||
               low.find("job:") != std::string::npos || low.find("task:") != std::string::npos)
        found = Place::Other;
    }
    return found;
  }

  void scope(NodeId id, const Value& v) {
    const Call c = s_.call(id, {"device_name"});
    if (c.arguments.size() != 1 || c.arguments.front().value == kNone) return;
    const Place at = place(c.arguments.front().value);
    if (at == Place::Other) return;
    Confidence confidence = at == Place::Gpu ? sure(v) : Confidence::Review;
    // data pipelines stay on the CPU in TensorFlow 2; the guide removes device scopes of compat.v1 scripts
    if (at == Place::Cpu && !s_.options.compat) return;
    if (at == Place::Unknown && s_.options.compat && tree_.kind(c.arguments.front().value) != Kind::Call)
      confidence = Confidence::Likely;
    NodeId item = tree_.parent(id);
    const bool named = tree_.kind(item) == Kind::AsPattern;
    if (named) item = tree_.parent(item);
    if (tree_.kind(item) != Kind::WithItem) {
      s_.add("TF050", id, Confidence::Review, v.name);
      return;
    }
    const NodeId clause = tree_.parent(item);
    const NodeId with = tree_.ancestor(item, Kind::With);
    if (with == kNone) return;
    Finding& f = s_.add("TF050", id, named ? Confidence::Review : confidence, v.name);
    if (named) return;
    std::vector<NodeId> items;
    for (NodeId i : tree_.children(clause))
      if (tree_.kind(i) == Kind::WithItem) items.push_back(i);
    if (items.size() <= 1) {
      // the body keeps its indentation, and strings of several lines their text
      const NodeId body = tree_.child(with, Field::Body);
      const std::string_view head = tree_.text().substr(tree_[with].begin, tree_[body].begin - tree_[with].begin);
      std::size_t colon = tree_[clause].end - tree_[with].begin;
      while (colon < head.size() && head[colon] != ':') ++colon;
      f.edits.push_back({tree_[with].begin, tree_[with].begin + static_cast<std::uint32_t>(colon), "if True"});
      return;
    }
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items[i] == item)
        f.edits.push_back(i + 1 < items.size() ? Edit{tree_[item].begin, tree_[items[i + 1]].begin, ""}
                                               : Edit{tree_[items[i - 1]].end, tree_[item].end, ""});
  }

  Script& s_;
  const syntax::Tree& tree_;
};

}  // namespace

void devices(Script& script) { Devices(script).run(); }

// tf.distribute: each process drives one NPU, so a strategy has one device; HCCL joins the processes.

namespace {

constexpr std::array<std::string_view, 5> kMirrored = {
    "distribute.MirroredStrategy", "distribute.MultiWorkerMirroredStrategy",
    "distribute.experimental.MultiWorkerMirroredStrategy", "distribute.experimental.CentralStorageStrategy",
    "contrib.distribute.MirroredStrategy"};
constexpr std::array<std::string_view, 5> kNone_ = {
    "distribute.ParameterServerStrategy", "distribute.experimental.ParameterServerStrategy", "distribute.TPUStrategy",
    "distribute.experimental.TPUStrategy", "contrib.distribute.ParameterServerStrategy"};

using source::among;

constexpr std::string_view kCpu = "\"/cpu:0\"";

void construct(Script& s, NodeId id, const Value& v) {
  const syntax::Tree& tree = s.tree();
  const NodeId callee = tree.child(id, Field::Function), list = tree.child(id, Field::Arguments);
  const bool chain = tree.kind(callee) == Kind::Attribute;
  unsigned needs = NeedNone;
  Finding* f = nullptr;
  if (chain && !rules::under(v.name, "tensorflow.contrib") && v.name.find(".experimental.") == std::string::npos) {
    f = &s.add("TF040", id, v.sure ? Confidence::Certain : Confidence::Likely, v.name);
    f->edits.push_back(s.replace(tree.child(callee, Field::Attribute), "OneDeviceStrategy"));
  } else {
    if (!s.has_tf()) needs = NeedTf;
    f = &s.add("TF040", id, v.sure ? Confidence::Certain : Confidence::Likely, v.name, needs);
    f->edits.push_back(s.replace(callee, s.tf("distribute.OneDeviceStrategy")));
  }
  f->edits.push_back({tree[list].begin, tree[list].end, "(" + std::string(kCpu) + ")"});
}

void one_device(Script& s, NodeId id, const Value& v) {
  const Call c = s.call(id, {"device"});
  const Argument* device = c.find("device");
  if (!device) return;
  std::vector<NodeId> sources;
  s.sites.module.sources(device->value, sources);
  bool gpu = false;
  for (NodeId source : sources)
    if (s.tree().kind(source) == Kind::String) {
      const std::string_view text = s.text(source);
      gpu = gpu || text.find("gpu") != std::string_view::npos || text.find("GPU") != std::string_view::npos;
    }
  if (!gpu) return;
  Finding& f = s.add("TF040", id, v.sure ? Confidence::Certain : Confidence::Likely, v.name);
  f.edits.push_back(s.replace(device->value, std::string(kCpu)));
}

}  // namespace

void strategies(Script& s) {
  const syntax::Tree& tree = s.tree();
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Call) continue;
    const Value v = s.value(tree.child(id, Field::Function));
    const std::string api = s.api(v);
    const bool one = api == "distribute.OneDeviceStrategy";
    if (among(kNone_, api)) {
      s.add("TF042", id, Confidence::Certain, v.name);
    } else if (one || among(kMirrored, api)) {
      if (s.options.strategy != Strategy::TfStrategy) {
        if (!one) s.add("TF041", id, Confidence::Certain, v.name);
      } else if (one) {
        one_device(s, id, v);
      } else {
        construct(s, id, v);
      }
    }
  }
}

// compat.v1 sessions: their configuration gets NpuOptimizer; who does not close one is told.
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
    f.message += rules::told("TF061.arguments", {names});
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
