#include "migrate/support/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <unordered_map>

#include "migrate/support/messages.h"
#include "migrate/support/table.h"

namespace updraft::migrate {
namespace {

using support::Row;
using support::Table;

enum Column : std::size_t { kNames, kValues, kWhere, kRule, kCategory, kReplacement, kNoteEn, kNoteZh };

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> items;
  while (true) {
    const std::size_t comma = list.find(',');
    items.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    list.remove_prefix(comma + 1);
  }
}

/// One * at the beginning, at the end, at both, or none.
bool fits(std::string_view pattern, std::string_view text) noexcept {
  const bool before = pattern.starts_with('*'), after = pattern.ends_with('*') && pattern.size() > 1;
  if (before) pattern.remove_prefix(1);
  if (after) pattern.remove_suffix(1);
  if (before && after) return text.find(pattern) != std::string_view::npos;
  if (before) return text.ends_with(pattern);
  if (after) return text.starts_with(pattern) && text.size() > pattern.size();
  return text == pattern;
}

Category category(std::string_view name) noexcept {
  return name == "change"        ? Category::Change
         : name == "unsupported" ? Category::Unsupported
         : name == "third-party" ? Category::ThirdParty
         : name == "affinity"    ? Category::Affinity
         : name == "precision"   ? Category::Precision
         : name == "performance" ? Category::Performance
                                 : Category::Note;
}

bool is_true(std::string_view v) noexcept {
  return v == "true" || v == "True" || v == "TRUE" || v == "yes" || v == "on" || v == "1";
}

struct Known {
  Setting setting;
  std::vector<std::string_view> values;
};

struct Index {
  std::vector<Known> rows;
  std::unordered_map<std::string_view, std::vector<std::size_t>> names;
  std::vector<std::string_view> devices, backends;  // patterns of names

  Index() {
    static const Table table = Table::of("settings.tsv");
    for (Row row = table.first(); row; row = row.next()) {
      const std::string_view values = row.cell(kValues);
      if (values == "@device" || values == "@backend") {
        (values == "@device" ? devices : backends) = split(row.cell(kNames));
        continue;
      }
      if (values.starts_with("@acc")) continue;  // Lightning's own pass and text/values.h know more
      rows.push_back({{row.cell(kRule),
                       row.cell(kReplacement),
                       row.cell(kWhere),
                       category(row.cell(kCategory)),
                       {row.cell(kNoteEn), row.cell(kNoteZh)}},
                      split(values)});
      for (std::string_view name : split(row.cell(kNames))) names[name].push_back(rows.size() - 1);
    }
  }
};

const Index& index() {
  static const Index all;
  return all;
}

}  // namespace

std::string plain_setting(std::string_view name) {
  while (!name.empty() && (name[0] == '-' || name[0] == '+')) name.remove_prefix(1);
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  std::string out(name);
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

Holds holds(std::string_view name) noexcept {
  const auto any = [&](const std::vector<std::string_view>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view p) { return fits(p, name); });
  };
  if (any(index().devices)) return Holds::Device;
  return any(index().backends) ? Holds::Backend : Holds::Other;
}

bool is_setting(std::string_view name) noexcept { return index().names.contains(name); }

std::vector<Setting> lookup_setting(std::string_view name, std::string_view value) {
  std::vector<Setting> found;
  const auto rows = index().names.find(name);
  if (rows == index().names.end()) return found;
  for (const std::size_t i : rows->second) {
    const Known& known = index().rows[i];
    const bool match = std::any_of(known.values.begin(), known.values.end(), [&](std::string_view v) {
      return v == "*" || (v == "@true" ? is_true(value) : fits(v, value));
    });
    if (match) found.push_back(known.setting);
  }
  return found;
}

Text sentence(const Setting& setting, std::string_view value) {
  const auto fill = [&](std::string_view text) {
    std::string out(text);
    if (const std::size_t at = out.find("{}"); at != std::string::npos) out.replace(at, 2, value);
    return out;
  };
  return {fill(setting.note.en), fill(setting.note.zh)};
}

std::vector<std::string> telling_settings() {
  // other names, such as attn_implementation, are parameters of every second model
  return {"load_in_4bit", "load_in_8bit", "enable_xformers_memory_efficient_attention", "half_precision_backend",
          "tf32"};
}
namespace {

using support::Row;
using support::Table;

enum VariableColumn : size_t { kName, kTaken, kSure, kTextEn, kTextZh };

const Table& variables() {
  static const Table table = Table::of("variables.tsv");
  return table;
}

Variable from(const Row& row) {
  const std::string_view sure = row.cell(kSure);
  return {row.key(),
          row.cell(kTaken),
          sure == "certain"  ? Confidence::Certain
          : sure == "likely" ? Confidence::Likely
                             : Confidence::Review,
          {row.cell(kTextEn), row.cell(kTextZh)}};
}

}  // namespace

std::optional<Variable> lookup_variable(std::string_view name) {
  for (const char c : name)  // NCCL_DEBUG=INFO is no name
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return {};
  if (name.empty()) return {};
  if (const Row row = variables().find(name)) return from(row);
  for (const std::string_view rest : {"NCCL_*", "TORCH_NCCL_*"}) {
    const std::string_view stem = rest.substr(0, rest.size() - 1);
    if (name.starts_with(stem) && name.size() > stem.size()) return from(variables().find(rest));
  }
  return {};
}

std::vector<Variable> known_variables() {
  std::vector<Variable> all;
  for (Row row = variables().first(); row; row = row.next()) all.push_back(from(row));
  return all;
}

Text sentence(const Variable& known, std::string_view name) {
  return support::told("variable", {known.replacement.empty() ? name : known.replacement, known.note});
}

bool value_fits(const Variable& variable, std::string_view value) {
  if (value.empty() || value.find_first_of("$%{") != std::string_view::npos) return true;
  if (variable.name == "CUDA_VISIBLE_DEVICES" || variable.name == "NVIDIA_VISIBLE_DEVICES")
    return value.find_first_not_of("0123456789,- ") == std::string_view::npos;  // no GPU-uuid, MIG-…, all
  if (variable.name == "PYTORCH_CUDA_ALLOC_CONF") return value.find("cudaMallocAsync") == std::string_view::npos;
  struct Range {
    std::string_view name;
    int low, high, step;
  };
  for (const Range& r :
       {Range{"HCCL_RDMA_TC", 0, 255, 4}, Range{"HCCL_RDMA_SL", 0, 7, 1}, Range{"HCCL_RDMA_TIMEOUT", 5, 20, 1},
        Range{"HCCL_RDMA_RETRY_CNT", 1, 7, 1}, Range{"HCCL_RDMA_QPS_PER_CONNECTION", 1, 32, 1}}) {
    if (variable.replacement != r.name) continue;
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return error == std::errc() && end == value.data() + value.size() && number >= r.low && number <= r.high &&
           number % r.step == 0;
  }
  return true;
}

}  // namespace updraft::migrate
