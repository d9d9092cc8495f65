// compat.v1 sessions: their configuration gets NpuOptimizer; who does not close one is told.
#include <algorithm>
#include <array>

#include "migrate/rewrite/tensorflow/script.h"

namespace updraft::migrate::rewrite::tensorflow {
namespace {

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
  bool of_npu(NodeId expression) const {
    std::vector<NodeId> sources;
    s_.sites.module.sources(expression, sources);
    return std::any_of(sources.begin(), sources.end(), [&](NodeId source) {
      return tree_.kind(source) == Kind::Call &&
             s_.text(tree_.child(source, Field::Function)).ends_with("npu_config_proto");
    });
  }

  void configure(const Call& c, const Value& v) {
    const Argument* given = c.find("config");
    if (given && of_npu(given->value)) return;
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

}  // namespace updraft::migrate::rewrite::tensorflow
