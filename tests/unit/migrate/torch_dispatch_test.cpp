#include "migrate/support/torch_api.h"

#include <gtest/gtest.h>

#include "migrate/support/table.h"

namespace updraft::migrate {
namespace {

TEST(MigrateDispatch, SaysWhereAFunctionRuns) {
  EXPECT_EQ(runs_on("torch.add"), RunsOn::npu);
  EXPECT_EQ(runs_on("torch.Tensor.matmul"), RunsOn::npu);
  EXPECT_EQ(runs_on("torch.lgamma"), RunsOn::cpu);
  EXPECT_EQ(runs_on("torch.Tensor.lgamma_"), RunsOn::cpu);
  EXPECT_EQ(runs_on("torch.linalg.inv"), RunsOn::cpu);
  EXPECT_EQ(runs_on("torch.special.bessel_j0"), RunsOn::cpu);
  EXPECT_EQ(runs_on("torch.broadcast_to"), RunsOn::composite);
  for (const char* none : {"", "torch", "torch.nn.Linear", "torch.no_such_name", "torch.cuda.synchronize"})
    EXPECT_EQ(runs_on(none), RunsOn::unknown) << none;
  EXPECT_NE(describe(RunsOn::cpu).zh, "");
  EXPECT_EQ(describe(RunsOn::unknown).en, "unknown");
}

TEST(MigrateDispatch, EveryRowIsUnderstood) {
  size_t cpu = 0;
  for (support::Row row = support::Table::of("torch_dispatch.tsv").first(); row; row = row.next()) {
    ASSERT_NE(runs_on(row.key()), RunsOn::unknown) << row.line();
    cpu += runs_on(row.key()) == RunsOn::cpu;
  }
  EXPECT_GT(cpu, 50u);
}

}  // namespace
}  // namespace updraft::migrate
