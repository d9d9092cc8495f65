#include "migrate/support/tf_api.h"

#include <array>
#include <string>
#include <utility>

#include "migrate/support/messages.h"
#include "migrate/support/table.h"

namespace updraft::migrate {
namespace {

using support::Row;
using support::Table;

/// As the tables have them; their names are the messages class.CLASS.
constexpr std::array<std::string_view, 8> kClasses = {"supported", "tool_api",   "tool_train", "no_harmless",
                                                      "no_avoid",  "deprecated", "analysing",  "none"};

TfClass parse_class(std::string_view id) {
  for (size_t i = 0; i < kClasses.size(); ++i)
    if (id == kClasses[i]) return static_cast<TfClass>(i);
  return TfClass::analysing;
}

/// The name that the table has: tf. for tensorflow., nothing for compat.v2, one Horovod.
std::string listed_name(std::string_view name) {
  const auto begins = [&](std::string_view prefix) {
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return true;
  };
  if (name == "tensorflow") return "tf";
  for (const std::string_view horovod : {"hvd.", "horovod.tensorflow.keras.", "horovod.tensorflow.", "horovod.keras."})
    if (begins(horovod)) return "horovod.tensorflow." + std::string(name);
  if (!begins("tensorflow.") && !begins("tf.")) return std::string(name);
  begins("compat.v2.");
  if (name.starts_with("compat.v1.raw_ops.")) begins("compat.v1.");  // the same operators
  return "tf." + std::string(name);
}

/// What a row says of a version: columns 1 and 2, or 3 and 4 where the newer one differs.
TfApi from(const Row& row, std::size_t version) {
  static const Table rules = Table::of("tf_rules.tsv"), seen = Table::of("tf_seen.tsv");
  const std::size_t column = version && !row.cell(3).empty() ? 3 : 1;
  const std::string_view id = row.cell(column), by = row.cell(column + 1);
  if (id == "absent") {
    static constexpr std::array<std::string_view, 2> kAbsent = {"class.absent.2.6", "class.absent.2.15"};
    return {true, TfClass::analysing, row.key(), support::message(kAbsent[version]), "names of tensorflow"};
  }
  if (by.starts_with("seen:")) {
    const bool host = seen.find(by.substr(5)).cell(1) != "-";
    const Bilingual note = support::message(host ? "class.seen.host" : "class.seen");
    return {true, parse_class(id), row.key(), note, "tools/migrate_facts/tf_seen.py"};
  }
  const Row rule = rules.find(by);
  return {true, parse_class(id), row.key(), {rule.cell(2), rule.cell(3)}, rule.cell(4)};
}

}  // namespace

std::size_t nearest_tf(std::string_view version) noexcept {
  // 2.6 to 2.10 are nearer to 2.6.5
  if (!version.starts_with("2.")) return 0;
  std::size_t minor = 0;
  for (const char c : version.substr(2)) {
    if (c < '0' || c > '9') break;
    minor = minor * 10 + static_cast<std::size_t>(c - '0');
  }
  return minor > 10 ? 1 : 0;
}

TfApi lookup_tf(std::string_view name, std::size_t version) {
  static const Table names = Table::of("tf_api.tsv");
  const std::string wanted = listed_name(name);
  if (const Row row = names.find(wanted)) return from(row, version);
  for (size_t dot = wanted.rfind('.'); dot != std::string::npos && dot > 0; dot = wanted.rfind('.', dot - 1)) {
    const Row row = names.find(std::string_view(wanted).substr(0, dot));
    if (!row) continue;
    const TfApi owner = from(row, version);
    // tf.nn.no_such_name is not known for being below a module, nor is tf.float32.name more than its dtype
    const bool family = row.cell(2).ends_with(".*");
    return owner.support == TfClass::none && !family ? TfApi{} : owner;
  }
  return {};
}

Bilingual describe(TfClass support) {
  return support::message(std::string("class.").append(kClasses[static_cast<size_t>(support)]));
}

TfCount count_as(TfClass support) {
  switch (support) {
    case TfClass::supported:
    case TfClass::tool_api:
    case TfClass::tool_train: return TfCount::support;
    case TfClass::no_harmless:
    case TfClass::no_avoid:
    case TfClass::deprecated: return TfCount::unsupport;
    case TfClass::none: return TfCount::no_operator;
    case TfClass::analysing: break;
  }
  return TfCount::analysing;
}

}  // namespace updraft::migrate
