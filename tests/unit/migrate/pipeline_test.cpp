// Runs over whole projects.
#include "migrate/run/pipeline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace updraft::migrate {
namespace {

namespace fs = std::filesystem;

TEST(MigratePipeline, ASourceThatIsTooLargeIsRefusedAndTheRestGoOn) {
  const fs::path root = fs::path(testing::TempDir()) / "migrate_pipeline_large";
  fs::remove_all(root);
  fs::create_directories(root);
  std::string large = "import torch\nx = torch.ones(1).cuda()\n";
  while (large.size() <= 8U << 20) large += "y = [1, 2, 3]  # a table that some program wrote\n";
  std::ofstream(root / "large.py") << large;
  // a name of it is asked for before its own turn
  std::ofstream(root / "a.py") << "import torch\nfrom large import x\nprint(torch.ones(1).cuda(), x.device)\n";
  run::Options options;
  options.input = root;
  options.mode = run::Mode::Report;
  const ProjectResult result = run::migrate(options);
  ASSERT_EQ(result.files.size(), 2U);
  EXPECT_TRUE(result.files[0].changed);
  EXPECT_NE(result.files[0].after.find("torch.ones(1).npu()"), std::string::npos);
  EXPECT_FALSE(result.files[1].changed);
  EXPECT_TRUE(result.files[1].failed);
  ASSERT_EQ(result.files[1].findings.size(), 1U);
  EXPECT_EQ(result.files[1].findings[0].rule, "IO007");
  EXPECT_NE(result.files[1].findings[0].message.en.find("8.0 MiB"), std::string::npos);
  fs::remove_all(root);
}

}  // namespace
}  // namespace updraft::migrate
