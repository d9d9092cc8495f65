#include "migrate/support/torch_api.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "migrate/source/words.h"
#include "migrate/support/messages.h"
#include "migrate/support/table.h"

namespace updraft::migrate {
namespace {

using source::is_digit;
using support::Row;
using support::Table;

enum Column : size_t { kApi, kSince, kUntil, kMarks, kNpu, kLimits, kPage };

struct Version {
  int major = 0, minor = 0, patch = 0;
};

/// "2.13.0+cpu", "v2.1", "1.11.0rc1", "2.x": numbers, then at most a suffix. Nothing after the third number is kept.
bool parse_version(std::string_view text, Version& out) {
  if (text.starts_with('v')) text.remove_prefix(1);
  int* const parts[] = {&out.major, &out.minor, &out.patch};
  for (int* part : parts) {
    const auto [after, problem] = std::from_chars(text.data(), text.data() + text.size(), *part);
    if (problem != std::errc{} || *part < 0 || *part > 9999) return false;
    text.remove_prefix(static_cast<size_t>(after - text.data()));
    if (text == ".x" || text == ".*") return true;
    if (text.size() < 2 || text.front() != '.' || !is_digit(text[1])) break;
    text.remove_prefix(1);
  }
  if (text.empty()) return true;
  // a local version, a candidate, a development build: 2.13.0+cpu, 2.1.0a0+git1234, 2.6.0.dev20250101, 1.13.1-rc2
  const std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789.+-_";
  if (text.size() < 2) return false;
  const bool begins = text.front() == '+' || text.front() == '-' || (text.front() >= 'a' && text.front() <= 'z') ||
                      (text.front() == '.' && text[1] >= 'a' && text[1] <= 'z');
  return begins && text.find_first_not_of(letters) == std::string_view::npos;
}

size_t version_index(std::string_view text) {
  const auto* found = std::find(std::begin(kTorchVersions), std::end(kTorchVersions), text);
  return static_cast<size_t>(found - std::begin(kTorchVersions));
}

const Table& apis() {
  static const Table table = Table::of("torch_api.tsv");
  return table;
}

Row row_for(std::string_view name, size_t version) {
  for (Row row = apis().find(name); row && row.key() == name; row = row.next())
    if (version_index(row.cell(kSince)) <= version && version <= version_index(row.cell(kUntil))) return row;
  return {};
}

Support mark_of(const Row& row, Product product) {
  const std::string_view marks = row.cell(kMarks);
  const auto index = static_cast<size_t>(product);
  if (index >= marks.size()) return Support::unknown;
  return marks[index] == 'y' ? Support::yes : marks[index] == 'n' ? Support::no : Support::unknown;
}

/// Names of a dtype that scripts have, and the list's.
constexpr std::pair<std::string_view, std::string_view> kDtypes[] = {
    {"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"},        {"float32", "fp32"},
    {"float", "fp32"},    {"float64", "fp64"}, {"double", "fp64"},      {"long", "int64"},
    {"int", "int32"},     {"short", "int16"},  {"cfloat", "complex64"}, {"cdouble", "complex128"}};

/// Their names are these messages.
constexpr std::array<std::string_view, 4> kProducts = {"product.a2", "product.a3", "product.950", "product.training"};

}  // namespace

std::string_view name_of(Product product, Language language) {
  return support::message(kProducts[static_cast<size_t>(product)]).in(language);
}

Product parse_product(std::string_view text) {
  for (size_t i = 0; i < kProducts.size(); ++i)
    if (const Bilingual name = support::message(kProducts[i]); text == name.en || text == name.zh)
      return static_cast<Product>(i);
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == "a2" || lower.starts_with("ascend910b")) return Product::a2;
  if (lower == "a3" || lower.starts_with("ascend910_93")) return Product::a3;
  if (lower == "950" || lower == "950dt" || lower.starts_with("ascend950") || lower.starts_with("ascend 950"))
    return Product::ascend950;
  if (lower == "training" || lower == "training_series" || lower.starts_with("ascend910a") || lower == "ascend910")
    return Product::training_series;
  throw std::invalid_argument(
      fmt::format("unknown product \"{}\": wanted A2, A3, 950DT, training, or a SoC name such as Ascend910B2", text));
}

size_t nearest_torch(std::string_view version) {
  Version wanted;
  if (!parse_version(version, wanted))
    throw std::invalid_argument(
        fmt::format("\"{}\" is no version of PyTorch: wanted numbers such as 2.1 or 1.11.0", version));
  size_t best = 0;
  std::pair<int, int> least;
  for (size_t i = 0; i < std::size(kTorchVersions); ++i) {
    Version have;
    parse_version(kTorchVersions[i], have);
    std::pair<int, int> distance = {std::abs(have.major - wanted.major), std::abs(have.minor - wanted.minor)};
    // across a major version the nearest are its first or last ones
    if (have.major != wanted.major) distance.second = have.major < wanted.major ? -have.minor : have.minor;
    if (i == 0 || distance < least) best = i, least = distance;
  }
  return best;
}

TorchApi lookup_torch(std::string_view name, size_t version, Product product) {
  Row row = row_for(name, version);
  if (!row) {
    static const Table aliases = Table::of("torch_alias.tsv");
    const Row alias = aliases.find(name);
    if (alias) row = row_for(alias.cell(1), version);
  }
  if (!row) return {};
  return {mark_of(row, product), row.key(), row.cell(kNpu), row.cell(kLimits), row.cell(kPage)};
}

Support accepts_dtype(std::string_view limits, std::string_view dtype) {
  if (dtype.starts_with("torch.")) dtype.remove_prefix(6);
  for (const auto& [name, listed] : kDtypes)
    if (dtype == name) dtype = listed;
  const size_t colon = limits.find(": ");
  if (colon == std::string_view::npos || dtype.empty()) return Support::unknown;
  std::string_view dtypes = limits.substr(colon + 2);
  dtypes = dtypes.substr(0, dtypes.find(';'));
  while (!dtypes.empty()) {
    const std::string_view one = dtypes.substr(0, dtypes.find(' '));
    if (one == dtype) return Support::yes;
    dtypes.remove_prefix(std::min(one.size() + 1, dtypes.size()));
  }
  return Support::no;
}

std::string describe_limits(std::string_view limits, Language language) {
  std::string out;
  const bool zh = language == Language::zh;
  while (!limits.empty()) {
    const std::string_view one = limits.substr(0, limits.find("; "));
    limits.remove_prefix(std::min(one.size() + 2, limits.size()));
    if (!out.empty()) out += zh ? "；" : "; ";
    const size_t colon = one.find(": ");
    if (colon == std::string_view::npos) {
      const std::string key = fmt::format("limit.{}", one);
      out += support::has_message(key) ? support::message(key).in(language) : one;
      continue;
    }
    const auto listed = [&](std::string_view text, char from) {
      std::string list;
      for (const char c : text)
        if (c == from) list += zh ? "、" : ", ";
        else list += c;
      return list;
    };
    const Text only =
        support::told("limit.only", {listed(one.substr(0, colon), ','), listed(one.substr(colon + 2), ' ')});
    out += zh ? only.zh : only.en;
  }
  return out;
}

std::string source_url(const TorchApi& api, size_t version) {
  if (api.page.empty() || version >= std::size(kTorchVersions)) return {};
  std::string folder = fmt::format("pytorch_{}", kTorchVersions[version]);
  std::replace(folder.begin(), folder.end(), '.', '-');
  return fmt::format("https://gitcode.com/Ascend/pytorch/blob/master/docs/zh/api/native_api/{}/{}.md", folder,
                     api.page);
}

std::vector<std::string_view> unsupported_torch(size_t version, Product product) {
  std::vector<std::string_view> names;
  for (Row row = apis().first(); row; row = row.next())
    if (version_index(row.cell(kSince)) <= version && version <= version_index(row.cell(kUntil)) &&
        mark_of(row, product) == Support::no)
      names.push_back(row.key());
  return names;
}

CudaTwin cuda_twin(std::string_view name) {
  static const support::Table table = support::Table::of("torch_cuda.tsv");
  const auto twin = [](const support::Row& row) {
    return CudaTwin{true, row.cell(2), {row.cell(3), row.cell(4)}, row.cell(5) == "class"};
  };
  if (const support::Row row = table.find(name)) return twin(row);
  // what has no twin has no members with one either: cudart().cudaProfilerStart, nccl.anything
  for (size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.', dot - 1)) {
    const support::Row row = table.find(name.substr(0, dot));
    if (row) return row.cell(2).empty() ? twin(row) : CudaTwin{};
    if (dot == 0) break;
  }
  return {};
}

RunsOn runs_on(std::string_view name) {
  static const support::Table table = support::Table::of("torch_dispatch.tsv");
  static const support::Table aliases = support::Table::of("torch_alias.tsv");
  support::Row row = table.find(name);
  if (!row) {
    const support::Row alias = aliases.find(name);
    if (alias) row = table.find(alias.cell(1));
  }
  const std::string_view where = row.cell(1);
  if (where == "npu") return RunsOn::npu;
  if (where == "composite") return RunsOn::composite;
  return where == "cpu" ? RunsOn::cpu : RunsOn::unknown;
}

namespace {

/// Whether data/names.tsv has a name, or what it stands below, in a role.
bool plays(std::string_view name, std::string_view role, bool below) noexcept {
  static const Table table = Table::of("names.tsv");
  while (true) {
    for (Row row = table.find(name); row && row.key() == name; row = row.next())
      if (row.cell(1) == role) return true;
    const size_t dot = name.rfind('.');
    if (!below || dot == std::string_view::npos) return false;
    name = name.substr(0, dot);
  }
}

}  // namespace

bool outside_lists(std::string_view api) noexcept {
  return api.find("._") != std::string_view::npos || plays(api, "outside", true);
}

bool of_torch(std::string_view module) noexcept { return plays(module, "package", true); }

bool is_framework(std::string_view module) noexcept { return plays(module, "framework", false); }

bool comes_with_star(std::string_view name) noexcept { return plays(name, "module", false); }

Bilingual describe(RunsOn where) {
  switch (where) {
    case RunsOn::npu: return support::message("runs.npu");
    case RunsOn::composite: return support::message("runs.composite");
    case RunsOn::cpu: return support::message("runs.cpu");
    case RunsOn::unknown: break;
  }
  return support::message("runs.unknown");
}
namespace {

using support::Row;
using support::Table;

const Table& affinities() {
  static const Table table = Table::of("affinity.tsv");
  return table;
}

const Table& advices() {
  static const Table table = Table::of("advice.tsv");
  return table;
}

constexpr std::array<std::string_view, 4> kKinds = {"dynamic_shape", "performance", "precision", "dtype"};

}  // namespace

Affinity lookup_affinity(std::string_view name) {
  const Row row = affinities().find(name);
  if (!row) return {};
  return {row.cell(1), row.cell(2), row.cell(3) == "certain", {row.cell(4), row.cell(5)}, row.cell(6)};
}

std::vector<Advice> lookup_advice(std::string_view name, Product product) {
  std::vector<Advice> found;
  for (Row row = advices().find(name); row && row.key() == name; row = row.next()) {
    const std::string_view products = row.cell(2);
    const auto index = static_cast<size_t>(product);
    if (index >= products.size() || products[index] != 'y') continue;
    const auto* kind = std::find(kKinds.begin(), kKinds.end(), row.cell(1));
    found.push_back({static_cast<AdviceKind>(kind - kKinds.begin()), {row.cell(3), row.cell(4)}, row.cell(5)});
  }
  return found;
}

bool may_be_known(std::string_view last) noexcept {
  static const std::unordered_set<std::string_view> words = [] {
    std::unordered_set<std::string_view> found;
    for (const Table* table : {&affinities(), &advices()})
      for (Row row = table->first(); row; row = row.next())
        if (!row.key().starts_with("pattern:")) found.insert(row.key().substr(row.key().rfind('.') + 1));
    return found;
  }();
  return words.contains(last);
}

std::vector<std::string_view> known_patterns() {
  std::vector<std::string_view> names;
  for (const Table* table : {&affinities(), &advices()})
    for (Row row = table->first(); row; row = row.next())
      if (row.key().starts_with("pattern:")) names.push_back(row.key());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace updraft::migrate
