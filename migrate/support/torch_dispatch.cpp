#include "migrate/support/torch_dispatch.h"

#include "migrate/support/table.h"

namespace updraft::migrate {

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

Bilingual describe(RunsOn where) {
  switch (where) {
    case RunsOn::npu: return {"torch_npu has a kernel", "torch_npu 有对应算子"};
    case RunsOn::composite: return {"made of other operators", "由其他算子组合"};
    case RunsOn::cpu:
      return {"no kernel in torch_npu: runs on the CPU, with copies", "torch_npu 无对应算子：回退 CPU 执行并有拷贝"};
    case RunsOn::unknown: break;
  }
  return {"unknown", "未知"};
}

}  // namespace updraft::migrate
