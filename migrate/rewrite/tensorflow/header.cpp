// What stands at the top of a migrated file, and around the training of a compat.v1 script.
#include <algorithm>

#include "migrate/rewrite/sites.h"
#include "migrate/rewrite/tensorflow/script.h"

namespace updraft::migrate::rewrite::tensorflow {
namespace {

class Header {
 public:
  explicit Header(Script& script) : s_(script), tree_(script.tree()) {}

  void run() {
    unsigned needs = s_.needs();
    const NodeId first = first_statement(tree_);
    if (first == kNone || (!needs && !s_.entry() && !s_.unseen())) return;
    std::string lines;
    const auto line = [&](const std::string& text) { lines += (lines.empty() ? "" : "\n") + text; };
    const bool eager = !s_.options.compat;
    const bool changed = std::any_of(s_.sites.findings.begin(), s_.sites.findings.end(),
                                     [&](const Finding& f) { return !f.edits.empty() && s_.will(f); });
    // tests, and programs that only prepare data, run on the CPU as before: who wants them on the NPU takes the finding
    const bool stays = s_.test() || s_.prepares_data();
    const bool enter = s_.entry() && !stays && (eager || changed || s_.about_tensorflow());
    if (((s_.entry() && stays) || s_.unseen()) && eager && !opened()) {
      Finding& f = s_.add("TF001", first, Confidence::Review, {});
      f.edits.push_back(insert_line(
          tree_, first,
          (bound(s_.npu()) ? "" : "import npu_device as " + s_.npu() + "\n") + s_.npu() + ".open().as_default()",
          true));
      if (!s_.unseen()) f.category = Category::Note;  // nothing is left to do
      f.message += rules::told(s_.unseen() ? "TF001.around" : s_.test() ? "TF001.test" : "TF001.prepares");
    }
    const std::string resources = eager ? std::string() : close_horovod();
    const std::string session = eager || !s_.entry() ? std::string() : keras_session();
    if (!session.empty()) needs |= NeedCompat;
    if (enter && !eager) needs |= NeedCompat;
    if (enter && eager && !opened()) needs |= NeedNpu;
    if (needs & NeedOs && !imported("os")) line("import os");
    // compat.v1 scripts write npu_device, or npu where something eager is wanted as well
    const bool whole = !eager && !(needs & NeedNpu);
    const std::string device =
        whole || s_.npu() == "npu_device" ? "import npu_device" : "import npu_device as " + s_.npu();
    const std::string name = whole ? "npu_device" : s_.npu();
    const bool has_device = whole ? imported("npu_device") || aliased() : bound(name);
    const std::string used = whole && !imported("npu_device") && aliased() ? s_.npu() : name;
    if (needs & (NeedNpu | NeedCompat) && !has_device) line(device);
    if (needs & NeedCompat) {
      if (!compat_names()) line("from npu_device.compat.v1.npu_init import *");
      if (!resources.empty()) line(resources);
      if (tree_.text().find("compat.enable_v1()") == std::string_view::npos) line(used + ".compat.enable_v1()");
    }
    if (enter && eager && !opened()) line(name + ".open().as_default()");
    std::string ranks;
    for (const auto& [need, function] : {std::pair{NeedRankId, "get_rank_id"},
                                         {NeedRankSize, "get_rank_size"},
                                         {NeedLocalRank, "get_local_rank_id"},
                                         {NeedLocalSize, "get_local_rank_size"}})
      if (needs & need && !bound(function)) ranks += (ranks.empty() ? "" : ", ") + std::string(function);
    if (!ranks.empty()) line("from hccl.manage.api import " + ranks);
    if (needs & NeedTf && !s_.has_tf()) line("import tensorflow as tf");
    if (lines.empty()) return;
    const bool opens = lines.find(".as_default()") != std::string::npos;
    const bool v1 = lines.find("enable_v1()") != std::string::npos;
    Finding& f = s_.add(opens ? "TF001" : v1 ? "TF003" : "TF002", first, Confidence::Certain, {});
    f.edits.push_back(insert_line(tree_, first, lines, true));
    f.from = f.to = tree_.position(f.edits.front().begin);
    f.end = f.begin;
  }

 private:
  /// Whether the module imports `name` under that name.
  bool imported(std::string_view name) const {
    const auto& names = s_.sites.module.scopes()[0].names;
    const auto found = names.find(name);
    return found != names.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const names::Binding& b) {
             return b.how == names::Bind::Import && b.module == name && b.name.empty();
           });
  }

  bool bound(std::string_view name) const { return s_.sites.module.scopes()[0].names.contains(name); }
  /// import npu_device as npu
  bool aliased() const { return s_.npu() != "npu_device" && bound(s_.npu()); }

  bool compat_names() const {
    const auto& wildcards = s_.sites.module.scopes().wildcards();
    return std::any_of(wildcards.begin(), wildcards.end(), [](const std::string& m) {
      return m == "npu_device.compat.v1.npu_init" || m == "npu_bridge.npu_init";
    });
  }

  bool opened() const {
    for (NodeId id = 0; id < tree_.size(); ++id)
      if (const Value v = tree_.kind(id) == Kind::Call ? s_.value(tree_.child(id, Field::Function)) : Value{};
          v.is_api("npu_device.open") || v.is_api("npu_device.compat.enable_v1"))
        return true;
    return false;
  }

  /// Where code comes after all training: the end of main(), of the guard, or of the file. `main` where app.run calls
  /// it.
  NodeId end_of_training(bool& sure) const {
    const NodeId block = main_guard(tree_);
    sure = true;
    NodeId last = kNone;
    if (block != kNone)
      for (NodeId c : tree_.children(block)) last = c;
    else
      for (NodeId c : tree_.children(0)) last = c;
    if (last == kNone) return kNone;
    // app.run() ends the process: main is the place
    if (s_.text(last).find("app.run(") == std::string_view::npos) return last;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Function || s_.text(tree_.child(id, Field::Name)) != "main") continue;
      const NodeId body = tree_.child(id, Field::Body);
      NodeId end = kNone;
      for (NodeId c : tree_.children(body)) end = c;
      for (NodeId n = body; n < tree_[body].last; ++n)
        if (tree_.kind(n) == Kind::Return && enclosing_function(tree_, n) == id) sure = false;  // it may leave before
      return end;
    }
    sure = false;
    return last;
  }

  Finding* at_end(std::string_view rule, const std::string& lines) {
    bool sure = true;
    const NodeId last = end_of_training(sure);
    if (last == kNone) return nullptr;
    Finding& f = s_.add(rule, last, sure ? Confidence::Likely : Confidence::Review, {}, NeedCompat);
    f.edits.push_back(after(last, lines));
    return &f;
  }

  /// New lines behind a statement that may itself hold blocks.
  Edit after(NodeId statement, const std::string& lines) const { return insert_line(tree_, statement, lines, false); }

  /// (npu_sess, npu_shutdown) = init_resource() of an entry file that started Horovod; empty where there is none.
  std::string close_horovod() {
    if (!s_.entry() || s_.options.strategy != Strategy::Horovod) return {};
    const std::string_view text = tree_.text();
    if (text.find("init_resource()") != std::string_view::npos) return {};
    const bool started = std::any_of(s_.sites.findings.begin(), s_.sites.findings.end(), [&](const Finding& f) {
      return f.rule == "TF070" && f.api.ends_with(".init") && s_.will(f);
    });
    if (!started) return {};
    at_end("TF004", "shutdown_resource(npu_sess, npu_shutdown)\nclose_session(npu_sess)");
    return "(npu_sess, npu_shutdown) = init_resource()";
  }

  /// Keras under compat.v1 gets a session of the NPU's. The name of it; empty where none is needed.
  std::string keras_session() {
    bool fits = false;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Call) continue;
      const NodeId callee = tree_.child(id, Field::Function);
      const std::string api = s_.api(callee);
      if (api == "keras.backend.set_session" || api == "Session" || api == "InteractiveSession" ||
          rules::under(api, "estimator") || api == "train.MonitoredTrainingSession")
        return {};
      if (tree_.kind(callee) == Kind::Attribute) {
        const std::string_view method = s_.text(tree_.child(callee, Field::Attribute));
        const Value owner = s_.value(tree_.child(callee, Field::Object));
        fits = fits || ((method == "fit" || method == "fit_generator") && owner.what == What::Instance &&
                        rules::under(s_.api(Value{What::Api, owner.name}), "keras"));
      }
    }
    if (!fits || tree_.text().find("npu_keras_session") != std::string_view::npos) return {};
    const unsigned tf = s_.has_tf() ? 0U : unsigned{NeedTf};
    const NodeId block = main_guard(tree_);
    NodeId first = kNone;
    if (block != kNone) {
      first = tree_.child(block, std::size_t{0});
    } else {
      // behind the imports
      for (NodeId c : tree_.children(0))
        if (tree_.kind(c) != Kind::Import && tree_.kind(c) != Kind::ImportFrom && tree_.kind(c) != Kind::FutureImport &&
            c != tree_.child(0, std::size_t{0})) {
          first = c;
          break;
        }
    }
    if (first == kNone) return {};
    Finding& f = s_.add("TF005", first, Confidence::Likely, {}, NeedCompat | tf);
    f.edits.push_back(insert_line(tree_, first,
                                  "npu_keras_session = " + s_.tf("compat.v1.Session") +
                                      "(config=npu_config_proto())\n" + s_.tf("compat.v1.keras.backend.set_session") +
                                      "(npu_keras_session)",
                                  true));
    bool sure = true;
    if (const NodeId last = end_of_training(sure); last != kNone && sure)
      f.edits.push_back(after(last, "npu_keras_session.close()"));
    return "npu_keras_session";
  }

  Script& s_;
  const syntax::Tree& tree_;
};

}  // namespace

void header(Script& script) { Header(script).run(); }

}  // namespace updraft::migrate::rewrite::tensorflow
