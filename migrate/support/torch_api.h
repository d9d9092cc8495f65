// What is documented about PyTorch's APIs on NPU, per torch version and product.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/support/language.h"

namespace updraft::migrate {

enum class Product : uint8_t { a2, a3, ascend950, training_series };
enum class Support : uint8_t { unknown, no, yes };

/// "A2" for product a2, as the reports call it.
std::string_view name_of(Product product, Language language = Language::en);
/// Accepts what name_of gives, the marketing names ("Atlas A2 训练系列产品", "Ascend 950DT") and SoC names
/// (Ascend910B2). Throws std::invalid_argument.
Product parse_product(std::string_view text);

/// The versions of torch that facts exist for, oldest first.
inline constexpr std::string_view kTorchVersions[] = {"2.7.1", "2.11.0", "2.12.0", "2.13.0"};

/// Index in kTorchVersions of the version nearest to any that a user may have ("2.1", "1.11.0", "2.13.0+cpu",
/// "v2.6.0rc1"): by minor version, the older of two equally near. Throws std::invalid_argument for what is no version.
size_t nearest_torch(std::string_view version);

struct TorchApi {
  Support support = Support::unknown;
  std::string_view api;  ///< the documented name, which may differ from the one asked for (an alias); "" if not listed
  std::string_view npu;  ///< what to call instead, where the list names it
  std::string_view limits;  ///< as in data/torch_api.tsv; "" if none
  std::string_view page;    ///< of the support list
};

/// `name` is resolved ("torch.nn.functional.grid_sample", "torch.Tensor.cuda"); `version` is an index in
/// kTorchVersions.
TorchApi lookup_torch(std::string_view name, size_t version, Product product);

/// Whether the list's dtypes of the first parameter include one ("torch.float64", "fp64", "float"): unknown where it
/// has none.
Support accepts_dtype(std::string_view limits, std::string_view dtype);

/// What a row's limits say, for people: "input: fp16, fp32 only; may run on the CPU". "" for no limits.
std::string describe_limits(std::string_view limits, Language language);
/// Where the support list of a torch version has it.
std::string source_url(const TorchApi& api, size_t version);

/// All names that the product does not support, sorted: for a search of many patterns before anything is resolved.
std::vector<std::string_view> unsupported_torch(size_t version, Product product);

}  // namespace updraft::migrate
