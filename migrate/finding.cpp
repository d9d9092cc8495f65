#include "migrate/finding.h"

#include <array>
#include <cstddef>

#include "base/error.h"

namespace updraft::migrate {
namespace {

constexpr std::array kConfidences = {"review", "likely", "certain"};
constexpr std::array kCategories = {"change",   "unsupported", "unknown",     "third-party", "cuda-source",
                                    "affinity", "precision",   "performance", "note",        "failure"};
constexpr std::array kKinds = {"python", "notebook", "config", "shell", "cuda", "other"};

template <class E, std::size_t N>
E lookup(const std::array<const char*, N>& names, std::string_view wanted, const char* what) {
  std::string list;
  for (std::size_t i = 0; i < N; ++i) {
    if (wanted == names[i]) return static_cast<E>(i);
    list += (i ? ", " : "") + std::string(names[i]);
  }
  throw Error(code::kAclInvalidParam, "{} is no {}: take one of {}", wanted, what, list);
}

}  // namespace

std::string_view name(Confidence confidence) noexcept { return kConfidences[static_cast<std::size_t>(confidence)]; }
std::string_view name(Category category) noexcept { return kCategories[static_cast<std::size_t>(category)]; }
std::string_view name(FileKind kind) noexcept { return kKinds[static_cast<std::size_t>(kind)]; }
Confidence confidence_of(std::string_view name) { return lookup<Confidence>(kConfidences, name, "confidence"); }
Category category_of(std::string_view name) { return lookup<Category>(kCategories, name, "category"); }

}  // namespace updraft::migrate
