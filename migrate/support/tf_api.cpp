#include "migrate/support/tf_api.h"

#include <array>
#include <string>
#include <utility>

#include "migrate/support/table.h"

namespace updraft::migrate {
namespace {

using support::Row;
using support::Table;

struct ClassNames {
  std::string_view id;
  Bilingual text;
};
constexpr std::array<ClassNames, 8> kClasses = {{
    {"supported", {"supported, nothing to migrate", "支持（无需迁移）"}},
    {"tool_api", {"supported after migration", "工具迁移后API功能支持"}},
    {"tool_train", {"training runs after migration", "工具迁移后训练功能打通"}},
    {"no_harmless", {"not supported, harmless", "不支持（不影响迁移，无需干预）"}},
    {"no_avoid", {"not supported, do not use", "不支持（无迁移方案，建议不使用）"}},
    {"deprecated", {"deprecated", "废弃类"}},
    {"analysing", {"under analysis", "分析中"}},
    {"none", {"no operator involved", "不涉及"}},
}};

TfClass parse_class(std::string_view id) {
  for (size_t i = 0; i < kClasses.size(); ++i)
    if (id == kClasses[i].id) return static_cast<TfClass>(i);
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

TfApi from(const Row& row) {
  static const Table rules = Table::of("tf_rules.tsv");
  const Row rule = rules.find(row.cell(2));
  return {true, parse_class(row.cell(1)), row.key(), {rule.cell(2), rule.cell(3)}, rule.cell(4)};
}

}  // namespace

TfApi lookup_tf(std::string_view name) {
  static const Table names = Table::of("tf_api.tsv");
  const std::string wanted = listed_name(name);
  if (const Row row = names.find(wanted)) return from(row);
  for (size_t dot = wanted.rfind('.'); dot != std::string::npos && dot > 0; dot = wanted.rfind('.', dot - 1)) {
    const Row row = names.find(std::string_view(wanted).substr(0, dot));
    if (!row) continue;
    const TfApi owner = from(row);
    // tf.nn.no_such_name is not known for being below a module, nor is tf.float32.name more than its dtype
    const bool family = row.cell(2).ends_with(".*");
    return owner.support == TfClass::none && !family ? TfApi{} : owner;
  }
  return {};
}

Bilingual describe(TfClass support) { return kClasses[static_cast<size_t>(support)].text; }

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
