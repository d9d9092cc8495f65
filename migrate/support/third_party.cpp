#include "migrate/support/third_party.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "migrate/source/words.h"
#include "migrate/support/messages.h"
#include "migrate/support/table.h"

namespace updraft::migrate {
namespace {

using support::Row;
using support::Table;

enum Column : size_t { kName, kStatus, kAlternative, kDistributions, kNoteEn, kNoteZh, kSource };

/// As the table has them; their names are the messages package.STATUS.
constexpr std::array<std::string_view, 7> kStatuses = {"unknown", "works", "adapted", "manual",
                                                       "partial", "no",    "plain"};

const Table& packages() {
  static const Table table = Table::of("third_party.tsv");
  return table;
}

ThirdParty from(const Row& row) {
  ThirdParty found{true,
                   PackageStatus::unknown,
                   row.key(),
                   row.cell(kAlternative),
                   {row.cell(kNoteEn), row.cell(kNoteZh)},
                   row.cell(kSource)};
  for (size_t i = 0; i < kStatuses.size(); ++i)
    if (row.cell(kStatus) == kStatuses[i]) found.status = static_cast<PackageStatus>(i);
  return found;
}

/// One letter of a distribution's name as PEP 503 compares them, runs of -_. aside.
char folded(char c) {
  if (c == '_' || c == '.') return '-';
  return source::lower(c);
}

/// Is `b` the name `a`, or does it begin with it where `a` ends in *?
bool is_distribution(std::string_view a, std::string_view b) {
  const bool any = a.ends_with('*');
  if (any) a.remove_suffix(1);
  size_t i = 0, j = 0;
  const auto skip_run = [](std::string_view text, size_t& at) {
    while (at + 1 < text.size() && folded(text[at]) == '-' && folded(text[at + 1]) == '-') ++at;
  };
  while (i < a.size() && j < b.size()) {
    skip_run(a, i);
    skip_run(b, j);
    if (folded(a[i++]) != folded(b[j++])) return false;
  }
  return i == a.size() && (any || j == b.size());
}

}  // namespace

ThirdParty lookup_third_party(std::string_view name) {
  while (!name.empty()) {
    if (const Row row = packages().find(name)) return from(row);
    const size_t dot = name.rfind('.');
    name = name.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return {};
}

ThirdParty lookup_distribution(std::string_view distribution) {
  if (distribution.empty()) return {};
  Row best;
  size_t length = 0;  // of the pattern that fits; one without * is the name itself
  for (Row row = packages().first(); row; row = row.next())
    for (std::string_view rest = row.cell(kDistributions); !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(one.size() < rest.size() ? one.size() + 1 : rest.size());
      if (!is_distribution(one, distribution)) continue;
      if (!one.ends_with('*')) return from(row);
      if (one.size() > length) {
        best = row;
        length = one.size();
      }
    }
  return best ? from(best) : ThirdParty{};
}

Bilingual describe(PackageStatus status) {
  return support::message(fmt::format("package.{}", kStatuses[static_cast<size_t>(status)]));
}

bool worth_saying(const ThirdParty& known) noexcept {
  return known.listed && known.status != PackageStatus::works && known.status != PackageStatus::plain;
}

Text sentence(const ThirdParty& known, std::string_view name) {
  Text text = support::told("package", {name, describe(known.status)});
  if (!known.note.en.empty()) text += support::told("package.note", {known.note});
  if (!known.alternative.empty() && known.alternative != known.name)
    text += support::told("package.take", {known.alternative});
  return text;
}

}  // namespace updraft::migrate
