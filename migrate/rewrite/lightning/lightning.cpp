#include "migrate/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "migrate/rewrite/options/options.h"
#include "migrate/rewrite/sites.h"
#include "migrate/source/words.h"

namespace updraft::migrate::lightning {
std::string_view embedded(std::string_view name);
}  // namespace updraft::migrate::lightning

namespace updraft::migrate::rewrite {
namespace {

using Names = std::string_view;
using source::among;

constexpr std::array<Names, 4> kPackages = {"lightning", "pytorch_lightning", "lightning_fabric", "lightning_lite"};
/// What else is looked for in a source beside what runs a training.
constexpr std::array<Names, 2> kOfOldReleases = {"GPUStatsMonitor", ".on_gpu"};
constexpr std::array<Names, 4> kRunners = {"Trainer", "Fabric", "LightningCLI", "LightningLite"};
constexpr std::array<Names, 7> kOtherAccelerators = {"cpu", "tpu", "xla", "mps", "hpu", "ipu", "npu"};
/// What accelerator= was told before Lightning 1.5, when it named strategies.
constexpr std::array<Names, 5> kOldStrategies = {"ddp", "ddp_spawn", "ddp2", "dp", "ddp_sharded"};
constexpr std::array<Names, 4> kLostStrategies = {"horovod", "bagua", "colossalai", "ddp2"};
constexpr std::array<Names, 3> kCudaOnly = {"BitsandbytesPrecision", "TransformerEnginePrecision",
                                            "find_usable_cuda_devices"};
constexpr Names kImported = "ascend_function.lightning_npu";

const rules::Rule& accelerator_rule() { return rules::coded("PT330"); }

const rules::Rule& gpus_rule() { return rules::coded("PT331"); }

const rules::Rule& import_rule() { return rules::coded("PT332"); }

const rules::Rule& lost_rule() { return rules::coded("PT333"); }

/// The last part of a name, and where it is a method of Trainer that of its class.
struct Part {
  Names name;
  bool method = false;
};
Part part_of(std::string_view api) noexcept {
  const std::size_t dot = api.rfind('.');
  if (dot == std::string_view::npos) return {};
  const Names last = api.substr(dot + 1);
  if (last != "from_argparse_args") return {last};
  const Names owner = api.substr(0, dot);
  return {owner.substr(owner.rfind('.') + 1), true};
}

class Lightning {
 public:
  explicit Lightning(Sites& sites) : s_(sites), tree_(sites.tree()) {}

  void run() {
    for (const Use& use : uses_under(s_, {kPackages.begin(), kPackages.end()})) {
      const Part part = part_of(use.value.name);
      if (among(kRunners, part.name)) runner(use, part);
      else if (among(kCudaOnly, part.name)) cuda_only(use, part.name);
      else if (part.name == "GPUStatsMonitor") stats_monitor(use);
      else if (use.call != kNone && (part.name == "CUDAAccelerator" || part.name == "GPUAccelerator"))
        accelerator_object(use);
      else if (use.value.name.find(".CUDAAccelerator") != Names::npos) cuda_accelerator(use);
    }
    for (NodeId id = 0; id < tree_.size(); ++id)
      if (tree_.kind(id) == Kind::Attribute) on_gpu(id);
    write_imports();
  }

 private:
  /// An annotation makes nothing; but x: Trainer = instantiate(…) does.
  bool makes(const Use& use) const {
    for (NodeId up = tree_.parent(use.node); up != kNone; up = tree_.parent(up)) {
      const Kind kind = tree_.kind(up);
      if (kind == Kind::Type) {
        const NodeId assignment = tree_.parent(up);
        return tree_.kind(assignment) == Kind::Assignment &&
               tree_.kind(tree_.child(assignment, Field::Right)) == Kind::Call;
      }
      if (kind == Kind::ArgumentList) {
        const Names callee = tree_.text(tree_.child(tree_.parent(up), Field::Function));
        return callee != "isinstance" && callee != "issubclass";
      }
      if (kind == Kind::Attribute) return false;  // Trainer.fit, Trainer.__doc__
      if (kind == Kind::Function || kind == Kind::Block || kind == Kind::ExpressionStatement) break;
    }
    return tree_.ancestor(use.node, Kind::Comparison) == kNone;
  }

  void runner(const Use& use, const Part& part) {
    NodeId list = use.call == kNone ? kNone : tree_.child(use.call, Field::Arguments);
    if (use.call == kNone) {
      const NodeId up = tree_.parent(use.node), call = tree_.parent(up);
      if (tree_.kind(up) == Kind::ArgumentList && tree_.child(up, std::size_t{0}) == use.node &&
          tree_.text(tree_.child(call, Field::Function)).ends_with("partial"))
        list = up;
    }
    if (list != kNone) {
      if (arguments(list, part)) needed_.push_back(use.node);
    } else if (makes(use)) {
      needed_.push_back(use.node);
    }
  }

  /// What a call says; false where it asks for other hardware by name.
  bool arguments(NodeId list, const Part& part) {
    NodeId accelerator = kNone, gpus = kNone, devices = kNone, strategy = kNone;
    std::size_t position = 0;
    for (NodeId argument : tree_.children(list)) {
      if (tree_.kind(argument) != Kind::KeywordArgument) {
        const Kind kind = tree_.kind(argument);
        if (position++ == 0 && part.name == "Fabric" && kind != Kind::ListSplat && kind != Kind::DictionarySplat)
          accelerator = argument;
        continue;
      }
      const Names name = tree_.text(tree_.child(argument, Field::Name));
      if (name == "accelerator") accelerator = argument;
      else if (name == "gpus") gpus = argument;
      else if (name == "devices") devices = argument;
      else if (name == "strategy" || name == "distributed_backend") strategy = argument;
      else if (name == "auto_select_gpus") auto_select(argument);
      else if (name == "trainer_defaults") defaults(tree_.child(argument, Field::Value));
    }
    if (strategy != kNone) lost_strategy(tree_.child(strategy, Field::Value));
    if (gpus != kNone && part.name != "LightningCLI") return old_style(gpus, accelerator, devices, strategy);
    if (accelerator == kNone) return true;
    const NodeId value = value_of(accelerator);
    std::string text;
    if (s_.module.plain_string(value, text) && text != "npu" && among(kOtherAccelerators, text)) return false;
    change(value);
    return true;
  }

  NodeId value_of(NodeId argument) const {
    return tree_.kind(argument) == Kind::KeywordArgument ? tree_.child(argument, Field::Value) : argument;
  }

  /// "gpu" or "cuda", also as an alternative of a conditional: where it stands in the call, so that nothing else reads
  /// it. Names keep what they hold: the module takes gpu and cuda too.
  void change(NodeId value) {
    if (tree_.kind(value) == Kind::Conditional || tree_.kind(value) == Kind::Parenthesized) {
      for (NodeId c : tree_.children(value)) change(c);
      return;
    }
    std::string text;
    if (!s_.module.plain_string(value, text) || (text != "gpu" && text != "cuda") || s_.kept(value)) return;
    for (NodeId c : tree_.children(value))
      if (tree_.kind(c) == Kind::StringContent)
        s_.add(accelerator_rule(), value, Confidence::Likely, "accelerator").edits.push_back(s_.replace(c, "npu"));
    s_.claims.take(value);
  }

  /// trainer_defaults={"accelerator": "gpu"} of LightningCLI.
  void defaults(NodeId dictionary) {
    if (tree_.kind(dictionary) != Kind::Dictionary) return;
    for (NodeId pair : tree_.children(dictionary)) {
      std::string key;
      if (tree_.kind(pair) == Kind::Pair && s_.module.plain_string(tree_.child(pair, Field::Key), key) &&
          key == "accelerator")
        change(tree_.child(pair, Field::Value));
    }
  }

  bool nothing(NodeId value) const {
    const Names text = tree_.text(value);
    return text == "0" || text == "None" || text == "False" || text == "\"\"" || text == "''" || text == "[]" ||
           text == "\"0\"" || text == "'0'";
  }

  /// gpus=N, and before 1.5 accelerator="ddp" with it.
  bool old_style(NodeId gpus, NodeId accelerator, NodeId devices, NodeId strategy) {
    const NodeId value = tree_.child(gpus, Field::Value);
    if (nothing(value)) return false;
    if (s_.kept(gpus)) return true;
    const NodeId said = accelerator == kNone ? kNone : value_of(accelerator);
    std::string text;
    const bool plain = said != kNone && s_.module.plain_string(said, text);
    if (plain && among(kOtherAccelerators, text) && text != "npu") return false;
    const bool named = plain && among(kOldStrategies, text) && strategy == kNone;
    const bool device = plain && (text == "gpu" || text == "cuda" || text == "auto" || text == "npu");
    Finding& f = s_.add(gpus_rule(), gpus, Confidence::Likely, "gpus");
    f.suggestion = "accelerator=\"npu\", devices=";
    if (devices != kNone || (said != kNone && !named && !device && tree_.text(said) != "None")) {
      f.confidence = Confidence::Review;  // two sayings; whoever knows the values chooses
      return true;
    }
    // 1 if torch.cuda.is_available() else 0: what is there
    NodeId otherwise = kNone;
    if (tree_.kind(value) == Kind::Conditional) otherwise = tree_.child(value, std::size_t{2});
    const bool any = otherwise != kNone && nothing(otherwise);
    if (any) f.edits.push_back(s_.replace(otherwise, "\"auto\""));
    const NodeId name = tree_.child(gpus, Field::Name);
    const std::string chosen = any ? "\"auto\"" : "\"npu\"";
    if (said != kNone && !named) {
      f.edits.push_back(s_.replace(said, chosen));
      f.edits.push_back(s_.replace(name, "devices"));
      s_.claims.take(said);
    } else {
      if (named) f.edits.push_back(s_.replace(tree_.child(accelerator, Field::Name), "strategy"));
      f.edits.push_back(s_.replace(name, "accelerator=" + chosen + ", devices"));
    }
    std::sort(f.edits.begin(), f.edits.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    if (named) lost_strategy(said);
    return true;
  }

  void lost_strategy(NodeId value) {
    std::string text;
    if (!s_.module.plain_string(value, text) || s_.kept(value)) return;
    if (text == "dp") {
      Finding& f = s_.add(lost_rule(), value, Confidence::Review, "strategy=\"dp\"");
      f.category = Category::Change;
      f.message = rules::told("PT333.dp");
      for (NodeId c : tree_.children(value))
        if (tree_.kind(c) == Kind::StringContent) f.edits.push_back(s_.replace(c, "ddp"));
    } else if (among(kLostStrategies, text)) {
      Finding& f = s_.add(lost_rule(), value, Confidence::Certain, "strategy=\"" + text + "\"");
      f.message = rules::told("PT333.strategy", {text});
    }
  }

  void auto_select(NodeId argument) {
    if (s_.kept(argument)) return;
    Finding& f = s_.add(lost_rule(), argument, Confidence::Certain, "auto_select_gpus");
    f.message = rules::told("PT333.auto_select");
  }

  void cuda_only(const Use& use, Names name) {
    if (s_.kept(use.node)) return;
    const bool find = name == "find_usable_cuda_devices";
    const std::string n(name);
    Finding& f = s_.add(lost_rule(), use.node, Confidence::Certain, use.value.name);
    if (find) f.message = rules::told("PT333.find_usable");
    else f.message = rules::told("PT333.precision", {n});
  }

  /// CUDAAccelerator.is_available(), isinstance(x, CUDAAccelerator)
  void cuda_accelerator(const Use& use) {
    if (s_.kept(use.node) || tree_.ancestor(use.node, Kind::ImportFrom) != kNone) return;
    Finding& f = s_.add(lost_rule(), use.node, Confidence::Certain, use.value.name);
    f.message = rules::told("PT333.accelerator");
  }

  void stats_monitor(const Use& use) {
    if (use.call == kNone || s_.kept(use.node)) return;
    Finding& f = s_.add(lost_rule(), use.node, Confidence::Certain, use.value.name);
    f.suggestion = "DeviceStatsMonitor";
    f.message = rules::told("PT333.stats");
  }

  /// self.on_gpu of a LightningModule
  void on_gpu(NodeId id) {
    if (tree_.text(tree_.child(id, Field::Attribute)) != "on_gpu" || s_.kept(id) || tree_[id].field == Field::Left)
      return;
    const NodeId definition = tree_.ancestor(id, Kind::Class);
    if (definition == kNone || tree_.text(tree_.child(id, Field::Object)) != "self" ||
        tree_.text(tree_.child(definition, Field::Superclasses)).find("Lightning") == Names::npos)
      return;
    Finding& f = s_.add(lost_rule(), id, Confidence::Certain, "on_gpu");
    f.suggestion = "self.device.type == \"npu\"";
    f.message = rules::told("PT333.on_gpu");
  }

  /// Trainer(accelerator=CUDAAccelerator())
  void accelerator_object(const Use& use) {
    const NodeId argument = tree_.parent(use.call);
    if (s_.kept(use.call) || tree_.kind(argument) != Kind::KeywordArgument ||
        tree_.text(tree_.child(argument, Field::Name)) != "accelerator")
      return;
    Finding& f = s_.add(accelerator_rule(), use.call, Confidence::Likely, use.value.name);
    f.edits.push_back(s_.replace(use.call, "\"npu\""));
    s_.claims.take(use.node);
  }

  // --- the import

  bool lightning_import(NodeId id) const {
    return std::any_of(kPackages.begin(), kPackages.end(), [&](Names p) { return imports(tree_, id, p); });
  }

  bool typing_only(NodeId id) const {
    for (NodeId up = tree_.parent(id); up != kNone; up = tree_.parent(up))
      if (tree_.kind(up) == Kind::If &&
          tree_.text(tree_.child(up, Field::Condition)).find("TYPE_CHECKING") != Names::npos)
        return true;
    return false;
  }

  /// try: import lightning … except: import pytorch_lightning: the whole of it.
  NodeId whole(NodeId statement) const {
    for (NodeId up = tree_.parent(statement); up != kNone; up = tree_.parent(up)) {
      if (tree_.kind(up) != Kind::Try) continue;
      for (NodeId clause : tree_.children(up)) {
        if (tree_.kind(clause) != Kind::Except || tree_.inside(statement, clause)) continue;
        for (NodeId id = clause; id < tree_[clause].last; ++id)
          if (lightning_import(id)) return up;
      }
    }
    return statement;
  }

  void write_imports() {
    if (needed_.empty()) return;
    NodeId at_top = kNone;
    std::vector<NodeId> inside;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Import && tree_.kind(id) != Kind::ImportFrom) continue;
      if (imports(tree_, id, kImported)) return;
      if (tree_.kind(id) == Kind::ImportFrom && tree_.text(tree_.child(id, Field::ModuleName)) == "ascend_function" &&
          tree_.text(id).find("lightning_npu") != Names::npos)
        return;
      if (!lightning_import(id) || typing_only(id)) continue;
      if (s_.module.scopes()[s_.module.scopes().of(id)].kind != names::ScopeKind::Module) inside.push_back(id);
      else if (at_top == kNone) at_top = id;
    }
    std::set<NodeId> chosen;
    if (at_top != kNone) chosen.insert(whole(at_top));
    else
      for (NodeId use : needed_)
        for (NodeId id : inside) {
          const NodeId function = tree_.ancestor(id, Kind::Function);
          if (function == kNone || !tree_.inside(use, function)) continue;
          chosen.insert(whole(id));
          break;
        }
    if (chosen.empty())  // def load(): global pl; import … as pl
      for (NodeId id : inside) chosen.insert(whole(id));
    std::string path = on_path(s_.module.path());
    if (s_.module.path().ends_with(".ipynb")) path = in_notebook(std::move(path));
    const std::string line = path + "import " + std::string(kImported);
    for (NodeId statement : chosen) {
      if (s_.kept(statement)) continue;
      s_.add(import_rule(), statement, Confidence::Likely, std::string(kImported))
          .edits.push_back(insert_line(tree_, statement, line, false));
    }
  }

  /// A notebook has no __file__, and runs in its folder.
  static std::string in_notebook(std::string lines) {
    constexpr Names file = "os.path.dirname(os.path.abspath(__file__))";
    const std::size_t at = lines.find(file);
    return at == std::string::npos ? lines : lines.replace(at, file.size(), "os.getcwd()");
  }

  Sites& s_;
  const syntax::Tree& tree_;
  std::vector<NodeId> needed_;
};

}  // namespace

void lightning(Sites& s) {
  if (lightning_may_apply(s.tree().text())) Lightning(s).run();
}

bool lightning_may_apply(std::string_view text) noexcept {
  const auto said = [&](Names n) { return source::says(text, n); };
  return said("lightning") && (std::any_of(kRunners.begin(), kRunners.end(), said) ||
                               std::any_of(kOfOldReleases.begin(), kOfOldReleases.end(), said));
}

std::string_view lightning_module() { return updraft::migrate::lightning::embedded("lightning_npu.py"); }

}  // namespace updraft::migrate::rewrite
