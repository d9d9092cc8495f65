// What the tables of support/ say about the APIs that a source uses: unsupported, unknown, third-party packages.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "migrate/rewrite/sites.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rewrite {

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

}  // namespace updraft::migrate::rewrite
