// PyTorch Lightning: its accelerators are named, and npu is none of its own. A module that is written beside the
// sources (ascend_function/lightning_npu.py) registers it with whichever Lightning is installed.
#pragma once
#include <string_view>

#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

/// What Trainer, Fabric and LightningCLI are told, and the import of the module; before values().
void lightning(Sites& sites);
/// Whether a source has anything for it: looked at as text.
bool lightning_may_apply(std::string_view text) noexcept;

/// The module's path from the project's folder, and its text.
inline constexpr std::string_view kLightningModule = "ascend_function/lightning_npu.py";
std::string_view lightning_module();

}  // namespace updraft::migrate::rewrite
