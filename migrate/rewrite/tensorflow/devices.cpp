// What is about GPUs only: device scopes, memory growth, visible and logical devices.
#include <array>

#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/source/among.h"

namespace updraft::migrate::rewrite::tensorflow {
namespace {

std::string lower(std::string_view text) {
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
    if (lower(s_.text(c.arguments.front().value)).find("gpu") == std::string::npos) return;
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
      const std::string low = lower(s_.text(source));
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

}  // namespace updraft::migrate::rewrite::tensorflow
