// Suggestions: what is faster on NPU by another name (data/affinity.tsv), and advice on precision, performance, shapes
// that depend on data and dtypes (data/advice.tsv).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "migrate/support/language.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate {

struct Affinity {
  std::string_view kind;  ///< optimizer, method, api, pattern; empty where there is no row
  std::string_view npu;   ///< "torch_npu.optim.NpuFusedAdamW"
  bool certain = false;   ///< the same result whatever the arguments are
  Bilingual note;
  std::string_view source;
};

/// `name` is a resolved API, or an idiom that the engine recognised ("pattern:swiglu").
Affinity lookup_affinity(std::string_view name);

enum class AdviceKind : uint8_t { dynamic_shape, performance, precision, dtype };

struct Advice {
  AdviceKind kind = AdviceKind::performance;
  Bilingual note;
  std::string_view source;
};

/// All advice on a resolved API, dtype ("torch.float64") or idiom ("pattern:boolean_index") that holds on the product.
std::vector<Advice> lookup_advice(std::string_view name, Product product);

/// Whether some row is about a name that ends in this word: "RoIAlign". Cheap, for walks over all calls.
bool may_be_known(std::string_view last) noexcept;

/// The idioms ("pattern:…") that both tables name: what the engine may recognise.
std::vector<std::string_view> known_patterns();

}  // namespace updraft::migrate
