#include "device/soc.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>

#include "base/config.h"

namespace updraft {
namespace {
constexpr size_t MiB = 1u << 20;
constexpr SocProfile kProfiles[] = {
    {"Ascend910A", "910A", 32, 32, 14, 32 * MiB, false, false, true},
    {"Ascend910B", "910B", 32, 32, 14, 32 * MiB, false, false, true},
    {"Ascend910PremiumA", "910PremiumA", 32, 32, 14, 32 * MiB, false, false, true},
    {"Ascend910ProA", "910ProA", 32, 32, 14, 32 * MiB, false, false, true},
    {"Ascend910ProB", "910ProB", 30, 30, 14, 32 * MiB, false, false, true},
    {"Ascend910B1", "910B1", 25, 50, 6, 192 * MiB, true, true, true},
    {"Ascend910B2", "910B2", 24, 48, 6, 192 * MiB, true, true, true},
    {"Ascend910B2C", "910B2C", 24, 48, 6, 192 * MiB, true, true, true},
    {"Ascend910B3", "910B3", 20, 40, 6, 192 * MiB, true, true, true},
    {"Ascend910B4", "910B4", 20, 40, 6, 96 * MiB, true, true, true},
    {"Ascend910B4-1", "910B4-1", 20, 40, 6, 96 * MiB, true, true, true},
    {"Ascend910_9391", "910_9391", 24, 48, 6, 192 * MiB, true, true, true},
    {"Ascend910_9392", "910_9392", 24, 48, 6, 192 * MiB, true, true, true},
    {"Ascend910_9381", "910_9381", 24, 48, 6, 192 * MiB, true, true, true},
    {"Ascend910_9382", "910_9382", 24, 48, 6, 192 * MiB, true, true, true},
    {"Ascend910_9372", "910_9372", 20, 40, 6, 192 * MiB, true, true, true},
    {"Ascend910_9362", "910_9362", 20, 40, 6, 192 * MiB, true, true, true},
    {"Ascend310P1", "310P1", 10, 8, 8, 16 * MiB, false, false, true},
    {"Ascend310P3", "310P3", 8, 7, 8, 16 * MiB, false, false, true},
    {"Ascend950PR_9589", "950PR_9589", 32, 64, 6, 128 * MiB, true, true, false},
};
constexpr const char* kDefault = "Ascend910B2";
}  // namespace

const SocProfile* soc_begin() { return std::begin(kProfiles); }
const SocProfile* soc_end() { return std::end(kProfiles); }

const SocProfile* find_soc(std::string_view name) {
  for (const SocProfile& p : kProfiles)
    if (name == p.name) return &p;
  return nullptr;
}

bool names_product(std::string_view name) {
  for (const std::string_view family : {"Ascend310", "Ascend610", "Ascend950", "Ascend910"})
    if (name.starts_with(family)) return true;  // their models are the same
  return std::any_of(soc_begin(), soc_end(), [&](const SocProfile& p) {
    return name.size() > 6 && std::string_view(p.name).starts_with(name);
  });
}

std::string product_names() {
  std::string names;
  for (const SocProfile& p : kProfiles) names += std::string(names.empty() ? "" : ", ") + p.name;
  return names;
}

SocFamily family_of(const SocProfile& product) {
  const std::string_view name = product.name;
  if (name.starts_with("Ascend950")) return SocFamily::A950;
  if (name.starts_with("Ascend310P")) return SocFamily::A310P;
  return product.bf16 ? SocFamily::A2 : SocFamily::A910;
}

const SocProfile& soc() {
  static const SocProfile* chosen = [] {
    const std::string& wanted = Config::get().soc;
    if (const SocProfile* p = find_soc(wanted)) return p;
    std::fprintf(stderr, "updraft: UPDRAFT_SOC=%s is not a known product (%s); %s is used\n", wanted.c_str(),
                 product_names().c_str(), kDefault);
    return find_soc(kDefault);
  }();
  return *chosen;
}

}  // namespace updraft
