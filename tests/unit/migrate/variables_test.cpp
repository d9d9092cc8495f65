// The one table of environment variables.
#include "migrate/support/settings.h"

#include <gtest/gtest.h>

namespace updraft::migrate {
namespace {

TEST(MigrateVariables, AreFoundByNameAndBeginning) {
  const auto own = lookup_variable("CUDA_VISIBLE_DEVICES");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->replacement, "ASCEND_RT_VISIBLE_DEVICES");
  EXPECT_EQ(own->confidence, Confidence::Certain);
  EXPECT_EQ(lookup_variable("NCCL_DEBUG")->name, "NCCL_DEBUG");
  EXPECT_EQ(lookup_variable("NCCL_WHATEVER")->name, "NCCL_*");
  EXPECT_EQ(lookup_variable("TORCH_NCCL_WHATEVER")->name, "TORCH_NCCL_*");
  for (const char* none : {"", "*", "NCCL_", "NCCL_*", "TORCH_NCCL_", "XNCCL_DEBUG", "HCCL_ALGO", "nccl_debug"})
    EXPECT_FALSE(lookup_variable(none)) << none;
}

TEST(MigrateVariables, RowsAreWhole) {
  EXPECT_GT(known_variables().size(), 40U);
  for (const Variable& row : known_variables()) {
    EXPECT_FALSE(row.note.en.empty() || row.note.zh.empty()) << row.name;
    EXPECT_TRUE(row.confidence == Confidence::Review || !row.replacement.empty()) << row.name;
  }
}

TEST(MigrateVariables, ValuesMustFit) {
  const auto fits = [](const char* name, const char* value) { return value_fits(*lookup_variable(name), value); };
  EXPECT_TRUE(fits("CUDA_VISIBLE_DEVICES", "0,1"));
  EXPECT_FALSE(fits("CUDA_VISIBLE_DEVICES", "GPU-8932f937"));
  EXPECT_TRUE(fits("CUDA_VISIBLE_DEVICES", "$ALL"));
  EXPECT_TRUE(fits("NCCL_IB_TIMEOUT", "20"));
  EXPECT_FALSE(fits("NCCL_IB_TIMEOUT", "22"));
  EXPECT_FALSE(fits("NCCL_IB_TC", "106"));
  EXPECT_FALSE(fits("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync"));
}

}  // namespace
}  // namespace updraft::migrate
