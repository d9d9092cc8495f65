// What a user asks for beyond the migration itself: -s, -sim, -a, -m of the guide's command line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/rewrite/facts.h"
#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

struct Chosen {
  bool specify_device = false, similar = false, mixed_precision = false;
  std::string affine_model;  ///< empty: no NPU-affine replacements

  bool any() const noexcept { return specify_device || similar || mixed_precision || !affine_model.empty(); }
};

/// Adds their findings; before facts(), which passes over what is replaced here.
void options(Sites& sites, const Chosen& chosen, const Facts& facts);
/// Whether a source that needs no migration may still have something for them: looked at as text.
bool options_may_apply(std::string_view text, const Chosen& chosen);

/// -s: entry files see only the device of the variable DEVICE_ID.
void specify_device(Sites& sites);
/// -sim: functions that the product lacks become those of the folder ascend_function.
void similar(Sites& sites, const Facts& facts);
/// -a: NPU-affine APIs where the arguments allow it.
void affine(Sites& sites, const std::string& model);
/// -m: autocast and GradScaler in a plain training loop.
void mixed_precision(Sites& sites);

/// The files of ascend_function/: {"ascend_function/__init__.py", text}.
struct NewFile {
  std::string path;
  std::string_view text;
};
std::vector<NewFile> equivalents();
/// The function of ascend_function that takes an API's place; empty where there is none.
std::string_view equivalent(std::string_view api);

/// A name and all its attributes: torch.nn.RReLU in torch.nn.RReLU().
struct Use {
  NodeId node;
  Value value;
  NodeId call;  ///< the call whose function it is, kNone elsewhere
};
/// Every use of a name that an import of something in `roots` brings, resolved; not in imports themselves.
std::vector<Use> uses_under(const Sites& sites, const std::vector<std::string_view>& roots);

}  // namespace updraft::migrate::rewrite
