// What the rules work on in one Python source: its names, the rules, and the findings so far.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/names/module.h"
#include "migrate/rules/rule.h"
#include "migrate/rules/selection.h"

namespace updraft::migrate {
struct TensorFlowOptions;
}

namespace updraft::migrate::rewrite {

using names::Value;
using names::What;
using syntax::Field;
using syntax::Kind;
using syntax::kNone;
using syntax::NodeId;

struct Sites {
  const names::Module& module;
  const rules::RuleSet& rules;
  std::string framework;
  std::vector<Finding> findings;
  std::vector<bool> done;    ///< nodes about which something has been said
  bool about_torch = false;  ///< the source imports torch, or what is made for it

  Sites(const names::Module& m, const rules::RuleSet& r, std::string f);

  const syntax::Tree& tree() const noexcept { return module.tree(); }
  bool applies(const rules::Rule& rule) const noexcept { return rule.framework.empty() || rule.framework == framework; }
  /// A finding at a node. The caller adds edits.
  Finding& add(const rules::Rule& rule, NodeId node, Confidence confidence, std::string api = {});
  /// Replaces a node's text.
  Edit replace(NodeId node, std::string text) const;
  /// The user forbade changes here: a comment `updraft: keep` stands on one of the node's lines. Where it names rules,
  /// keep[PT101], only their findings are left out, at the end (rules/selection.h).
  bool kept(NodeId node) const;

 private:
  /// The lines with that comment, from their first byte to behind their last. Found once: a line may be very long.
  struct Line {
    std::size_t begin, end;
  };
  std::vector<Line> kept_lines_;
};

/// Packages whose objects are torch's: a source that imports one of them is about torch.
bool of_torch(std::string_view module) noexcept;

inline Confidence lower(Confidence a, Confidence b) noexcept { return a < b ? a : b; }

/// Attribute chains and imports: resolved names of the framework.
void apis(Sites& sites);
/// x.cuda(), x.is_cuda, and definitions of methods of these names.
void members(Sites& sites);
/// Whether x.METHOD stands in a source where it cannot be told what x is.
bool calls_unknown(const names::Module& module, std::string_view method);
/// Whether a name holds options: args.cuda is a flag, not the method.
bool names_options(std::string_view name) noexcept;
/// Strings that are devices or backends; arguments of calls.
void values(Sites& sites);
/// torch.set_default_tensor_type of a CUDA type; before apis(), which would rename the type.
void default_tensor_type(Sites& sites);
/// Strings that are evaluated as code.
void code_strings(Sites& sites);
/// Programs that are started: nvidia-smi.
void commands(Sites& sites);
/// Requirements in setup().
void requirements(Sites& sites);
/// Command lines in strings: os.system(f"python train.py --device cuda").
void command_lines(Sites& sites);
/// Settings that mean a GPU: attn_implementation="flash_attention_2".
void settings(Sites& sites);
/// Names of environment variables.
void environment(Sites& sites);
/// Leaves for review what must not be half changed: code that chooses between vendors, or decides by CUDA alone.
void hold_back(Sites& sites);
/// Inserts `import torch_npu` where what is applied needs it.
void import_torch_npu(Sites& sites, Confidence least);

/// --auto: `import torch_npu` and transfer_to_npu, nothing else.
std::vector<Finding> automatic(const names::Module& module, const rules::RuleSet& rules, Confidence least);
/// Whether a source is started as a program: it asks for __main__.
bool is_entry(const syntax::Tree& tree);
/// The same, or it does its work at module level.
bool starts(const syntax::Tree& tree);

struct Facts;
struct Chosen;     // options/options.h
class Conversion;  // to several cards: distributed/conversion.h
/// What a run may ask for beside the rules; null: not asked for.
struct Extras {
  const Facts* facts = nullptr;
  const Conversion* conversion = nullptr;
  const TensorFlowOptions* tensorflow = nullptr;
  const Chosen* chosen = nullptr;
  const rules::Selection* selection = nullptr;
};

/// All of them, in order; findings by position.
std::vector<Finding> python(const names::Module& module, const rules::RuleSet& rules, const std::string& framework,
                            Confidence least, const Extras& extras = {});

/// What code does to TensorFlow scripts, after the rules (rewrite/tensorflow).
void tensorflow_script(Sites& sites, const TensorFlowOptions& options, Confidence least);

}  // namespace updraft::migrate::rewrite
