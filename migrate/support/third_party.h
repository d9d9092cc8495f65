// What is known about third-party packages and their APIs on NPU: data/third_party.tsv.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "migrate/finding.h"
#include "migrate/support/table.h"

namespace updraft::migrate {

enum class PackageStatus : uint8_t {
  unknown,  ///< nobody says
  works,
  adapted,  ///< works with another package beside it or in its place
  manual,   ///< has a replacement that needs a hand
  partial,
  no,
  plain,  ///< only PyTorch's code: runs as far as that does; nobody says more
};

struct ThirdParty {
  bool listed = false;
  PackageStatus status = PackageStatus::unknown;
  std::string_view name;         ///< of the row: "apex.optimizers.FusedAdam", "xformers"
  std::string_view alternative;  ///< what to import or call instead; may be empty
  Bilingual note;
  std::string_view source;  ///< an address, or where it was read; empty where nobody says anything
};

/// The row of the longest name that `name` is or lies below: "apex.optimizers.FusedAdam.step" finds FusedAdam's,
/// "apex.foo" apex's.
ThirdParty lookup_third_party(std::string_view name);

/// By the name of a distribution as requirements and setup files have it ("flash-attn", "Flash_Attn"). The table's
/// "nvidia-*" stands for all that begin so; a longer name wins.
ThirdParty lookup_distribution(std::string_view distribution);

Bilingual describe(PackageStatus status);

/// Is there anything to do about it?
bool worth_saying(const ThirdParty& known) noexcept;
/// "NAME: works in part; NOTE; take ALTERNATIVE"
Text sentence(const ThirdParty& known, std::string_view name);

}  // namespace updraft::migrate
