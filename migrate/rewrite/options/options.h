// What a user asks for beyond the migration itself: -s, -sim, -a, -m of the guide's command line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

struct Chosen {
  bool specify_device = false, similar = false, mixed_precision = false, modelarts = false;
  std::string affine_model;  ///< empty: no NPU-affine replacements
  std::string amp_model;     ///< variables of the models that go to apex.amp, by commas; empty: none

  bool any() const noexcept {
    return specify_device || similar || mixed_precision || modelarts || !affine_model.empty() || !amp_model.empty();
  }
};

/// Adds their findings; before facts(), which passes over what is replaced here.
void options(Sites& sites, const Chosen& chosen, const Facts& facts);
/// Whether a source that needs no migration may still have something for them: looked at as text.
bool options_may_apply(std::string_view text, const Chosen& chosen);

/// -s: entry files see only the device of the variable DEVICE_ID.
void specify_device(Sites& sites);
/// -sim: functions that the product lacks become those of the folder ascend_function.
void similar(Sites& sites, const Facts& facts);
/// --affinity: NPU-affine APIs where the arguments allow it.
void affine(Sites& sites, const std::string& model);
/// --mixed-precision: autocast and GradScaler in a plain training loop.
void mixed_precision(Sites& sites);
/// -a: torch.cuda.amp becomes apex.amp, for the models of these variables.
void apex_amp(Sites& sites, const std::string& models);
/// -m: entry files prepare the paths of a ModelArts job.
void modelarts_job(Sites& sites);
/// The package that they import then: {"ascend_modelarts_function/__init__.py", text}, without its table of paths.
inline constexpr std::string_view kModelArtsModule = "ascend_modelarts_function/__init__.py";
std::string_view modelarts_module();
/// Paths that a source's options have by default: {"data", "./data"}, {"output", "checkpoints"}.
std::vector<std::pair<std::string, std::string>> modelarts_paths(const std::string& source);

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
