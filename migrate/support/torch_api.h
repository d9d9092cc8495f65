// What is known about PyTorch's APIs on NPU: who supports them, their names there, where they run, what is faster.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/support/table.h"

namespace updraft::migrate {

// What is documented about PyTorch's APIs on NPU, per torch version and product.

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

// What stands on NPU for a name below torch.cuda: data/torch_cuda.tsv, which is made from the official wheels.

struct CudaTwin {
  bool known = false;     ///< the table has the name
  std::string_view npu;   ///< "torch.npu.Stream"; "" where torch_npu has none
  Bilingual note;         ///< what to do instead, or what differs; may be empty
  bool is_class = false;  ///< the name is a module's and `npu` is a class, from which nothing can be imported
};

/// "torch.cuda.Stream" and "torch.cuda.nvtx.range_push" alike, also a few names of torch.backends.cuda and cudnn. A
/// member of a class ("torch.cuda.Stream.wait_stream") is known with an empty `npu` only if its class has none; else
/// ask for the class.
CudaTwin cuda_twin(std::string_view name);

// Where NPU tensors run a function of torch, as the dispatcher says with the official torch_npu loaded:
// data/torch_dispatch.tsv. It also knows of functions that no support list names.

enum class RunsOn : uint8_t {
  unknown,    ///< not an operator, or not one of torch, torch.Tensor, nn.functional, linalg, fft, special
  npu,        ///< torch_npu has a kernel
  composite,  ///< made of other operators
  cpu,        ///< no kernel: the operands are copied to the CPU and the result back
};

/// `name` is resolved ("torch.lgamma", "torch.Tensor.fmax"); other names of the same API are found as well.
RunsOn runs_on(std::string_view name);

Bilingual describe(RunsOn where);

// Names that no list of support is about: data/names.tsv.

/// Whether the lists say nothing of a name on purpose: types, other vendors' devices, what other rules are about.
bool outside_lists(std::string_view api) noexcept;
/// Whether a source that imports a module is about PyTorch: torch itself, or a package that works on its tensors.
bool of_torch(std::string_view module) noexcept;
/// torch, tensorflow and the like, which a folder of that name in a project does not hide.
bool is_framework(std::string_view module) noexcept;
/// Whether a name is a module that a star import of the one that it is in brings: torch.cuda.
bool comes_with_star(std::string_view name) noexcept;

// Suggestions: what is faster on NPU by another name (data/affinity.tsv), and advice on precision, performance, shapes
// that depend on data and dtypes (data/advice.tsv).

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
