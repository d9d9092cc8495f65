#include "migrate/support/variables.h"

#include <cctype>
#include <charconv>

#include "migrate/support/table.h"

namespace updraft::migrate {
namespace {

using support::Row;
using support::Table;

enum Column : size_t { kName, kReplacement, kSure, kNoteEn, kNoteZh };

const Table& variables() {
  static const Table table = Table::of("variables.tsv");
  return table;
}

Variable from(const Row& row) {
  const std::string_view sure = row.cell(kSure);
  return {row.key(),
          row.cell(kReplacement),
          sure == "certain"  ? Confidence::Certain
          : sure == "likely" ? Confidence::Likely
                             : Confidence::Review,
          {row.cell(kNoteEn), row.cell(kNoteZh)}};
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

std::string sentence(const Variable& known, std::string_view name, Language language) {
  std::string text(known.replacement.empty() ? name : known.replacement);
  return text.append(language == Language::zh ? "：" : ": ").append(known.note.in(language));
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
