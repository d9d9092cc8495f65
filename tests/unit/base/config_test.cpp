#include <gtest/gtest.h>

#include "base/config.h"

namespace {

using updraft::visible_devices;

TEST(Config, VisibleDevicesEndAtTheFirstInvalidOne) {
  EXPECT_EQ(visible_devices(nullptr, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(visible_devices("1", 8), (std::vector<int>{1}));
  EXPECT_EQ(visible_devices("1,2,3", 8), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(visible_devices("1, 2,3", 8), (std::vector<int>{1}));
  EXPECT_EQ(visible_devices("1,3,8", 8), (std::vector<int>{1, 3}));
  EXPECT_EQ(visible_devices("1,2,-1,3", 8), (std::vector<int>{1, 2}));
  EXPECT_EQ(visible_devices("2,2", 8), (std::vector<int>{}));
  EXPECT_EQ(visible_devices("1,0", 8), (std::vector<int>{}));
  EXPECT_EQ(visible_devices("0,32,0", 8), (std::vector<int>{0}));
  EXPECT_EQ(visible_devices("0,", 8), (std::vector<int>{0}));
  EXPECT_EQ(visible_devices("", 8), (std::vector<int>{}));
  EXPECT_EQ(visible_devices("99999999999999999999", 8), (std::vector<int>{}));
  EXPECT_EQ(visible_devices("x", 8), (std::vector<int>{}));
}

// An import goes on; the sentence says what was not understood.
TEST(Config, AMalformedVariableIsNamed) {
  for (const char* name : {"UPDRAFT_MAX_ISA", "UPDRAFT_THREADS"}) {
    setenv(name, "v5x", 1);
    testing::internal::CaptureStderr();
    updraft::Config::read();
    unsetenv(name);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(std::string(name) + "=v5x"), std::string::npos) << said;
  }
}

}  // namespace
