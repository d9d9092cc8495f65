// The products that a virtual NPU can be: facts that clients ask for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace updraft {

/// Products whose operators take the same data types: Ascend 910, A2 and A3, 310P, 950.
enum class SocFamily : uint8_t { A910, A2, A310P, A950 };

struct SocProfile {
  const char* name;  ///< aclrtGetSocName
  const char* chip;  ///< as npu-smi prints it
  int cube_cores;
  int vector_cores;
  int aicpu_cores;
  size_t l2_bytes;
  bool bf16;
  bool inf_nan;  ///< both overflow modes; false: saturation only
  bool aclop;    ///< single-operator execution by aclop
};

SocFamily family_of(const SocProfile& product);
/// The profile that UPDRAFT_SOC names; an unknown name says which exist and gives the default.
const SocProfile& soc();
/// All profiles, for the error text and `updraft doctor`.
const SocProfile* soc_begin();
const SocProfile* soc_end();
const SocProfile* find_soc(std::string_view name);
/// Whether a model may be made for it: a product or a family of them, those that nobody runs on here among them.
bool names_product(std::string_view name);
/// Names of all profiles, for refusals.
std::string product_names();

}  // namespace updraft
