#include "migrate/support/affinity.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "migrate/support/table.h"

namespace updraft::migrate {
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
