// The passes over one Python source: what each does, what each claims, and their order.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/rewrite/sites.h"
#include "migrate/rules/rule.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rewrite {

/// Attribute chains and imports: resolved names of the framework.
void apis(Sites& sites);
/// x.cuda(), x.is_cuda, and definitions of methods of these names.
void members(Sites& sites);
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
struct Facts;
struct Pass;
struct Chosen;     // options/options.h
class Conversion;  // to several cards: distributed/conversion.h
/// What a run may ask for beside the rules; null: not asked for.
struct Extras {
  const Facts* facts = nullptr;
  const Conversion* conversion = nullptr;
  const TensorFlowOptions* tensorflow = nullptr;
  const Chosen* chosen = nullptr;
  const rules::Selection* selection = nullptr;
  /// Called after each pass: tests see who made what.
  std::function<void(const Pass&, const Sites&)> watch = {};
};

/// A pass over the tree, and what it claims. Two passes that claim the same are a mistake, which tests find
/// (tests/unit/migrate/passes_test.cpp): each finding has one author, and each node one that changes it.
struct Pass {
  std::string_view name;
  std::vector<std::string_view> rules;  ///< ids of its findings, or their beginnings; no other pass has any of them
  std::vector<Kind> nodes;              ///< kinds of the nodes that it claims (Sites::claims); none: it claims none
  std::string_view framework;           ///< empty: both
  void (*run)(Sites&, const Extras&, Confidence least);
  bool last = false;  ///< runs when it is known which findings are carried out

  bool makes(std::string_view rule) const noexcept;
  bool may_claim(Kind kind) const noexcept;
};

/// In their order. What an earlier one claims a later one leaves alone.
const std::vector<Pass>& passes();

/// All of them, in order; findings by position.
std::vector<Finding> python(const names::Module& module, const rules::RuleSet& rules, const std::string& framework,
                            Confidence least, const Extras& extras = {});

/// What code does to TensorFlow scripts, after the rules (rewrite/tensorflow).
void tensorflow_script(Sites& sites, const TensorFlowOptions& options, Confidence least);

// What the tables of support/ say about the APIs that a source uses: unsupported, unknown, third-party packages.

struct Facts {
  std::size_t version = 0;  ///< index in kTorchVersions
  Product product = Product::a2;
};

/// Whether a source may have anything that `facts` would report: looked at as text, without parsing. Never says no
/// wrongly but for names that come from the user's own modules.
bool facts_may_apply(std::string_view text, const Facts& facts);

/// Every use of torch's (or another framework's) names, resolved.
std::vector<ApiUse> uses_of(const names::Module& module, std::string_view framework);

/// Uses of APIs that the product does not have, or about which nobody says anything, and of third-party packages.
void facts(Sites& sites, const Facts& facts);

// PyTorch Lightning: its accelerators are named, and npu is none of its own. A module that is written beside the
// sources (ascend_function/lightning_npu.py) registers it with whichever Lightning is installed.

/// What Trainer, Fabric and LightningCLI are told, and the import of the module; before values().
void lightning(Sites& sites);
/// Whether a source has anything for it: looked at as text.
bool lightning_may_apply(std::string_view text) noexcept;

/// The module's path from the project's folder, and its text.
inline constexpr std::string_view kLightningModule = "ascend_function/lightning_npu.py";
std::string_view lightning_module();

}  // namespace updraft::migrate::rewrite
