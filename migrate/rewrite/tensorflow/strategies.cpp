// tf.distribute: each process drives one NPU, so a strategy has one device; HCCL joins the processes.
#include <array>

#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/source/among.h"

namespace updraft::migrate::rewrite::tensorflow {
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

}  // namespace updraft::migrate::rewrite::tensorflow
