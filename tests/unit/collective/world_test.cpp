// The job as the environment describes it; the rest of world.h is seen from Python (tests/python/test_hccl_api.py).
#include "collective/topology/world.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <map>

#include "base/error.h"
#include "collective/topology/groups.h"

namespace updraft::collective {
namespace {

constexpr const char* kNames[] = {"RANK_TABLE_FILE", "RANK_ID",        "RANK_SIZE",       "ASCEND_DEVICE_ID",
                                  "DEVICE_ID",       "RANK",           "WORLD_SIZE",      "LOCAL_RANK",
                                  "GROUP_RANK",      "CM_CHIEF_IP",    "CM_CHIEF_PORT",   "LOCAL_WORLD_SIZE",
                                  "CM_WORKER_IP",    "CM_WORKER_SIZE", "CM_CHIEF_DEVICE", "HCCL_CONNECT_TIMEOUT"};

class WorldTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) {
      if (const char* text = std::getenv(name)) before_[name] = text;
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const char* name : kNames) unsetenv(name);
    for (const auto& [name, text] : before_) setenv(name.c_str(), text.c_str(), 1);
  }
  static void set(std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const auto& [name, text] : variables) setenv(name, text, 1);
  }

 private:
  std::map<std::string, std::string> before_;
};

TEST_F(WorldTest, NodesOfTorchrunMayDiffer) {
  // nodes of 2, 4 and 1 ranks; what is known of the second is where it begins and ends
  set({{"RANK", "3"}, {"WORLD_SIZE", "7"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}, {"GROUP_RANK", "1"}});
  const World world = read_world();
  ASSERT_EQ(world.ranks.size(), 7u);
  EXPECT_EQ(world.rank, 3u);
  for (uint32_t r = 0; r < 7; ++r) {
    EXPECT_EQ(world.ranks[r].rank, r);
    EXPECT_EQ(world.ranks[r].server == world.ranks[3].server, r >= 2 && r < 6) << r;
  }
  EXPECT_EQ(world.ranks[5].device, 3);
  EXPECT_NE(world.ranks[0].server, world.ranks[6].server);
}

TEST_F(WorldTest, OneWorkerNeedsNoChief) {
  set({{"CM_CHIEF_IP", "10.0.0.1"},
       {"CM_CHIEF_PORT", "6000"},
       {"CM_CHIEF_DEVICE", "0"},
       {"CM_WORKER_SIZE", "1"},
       {"CM_WORKER_IP", "10.0.0.2"},
       {"ASCEND_DEVICE_ID", "3"}});
  const World world = read_world();
  ASSERT_EQ(world.ranks.size(), 1u);
  EXPECT_EQ(world.ranks[0].device, 3);
  set({{"CM_WORKER_SIZE", "2"}});
  unsetenv("ASCEND_DEVICE_ID");
  EXPECT_THROW(read_world(), Error) << "several devices of a server cannot be told apart";
}

TEST_F(WorldTest, GroupNamesHaveRoomForTheirEnd) {
  EXPECT_NO_THROW(check_group_name(std::string(127, 'x')));
  EXPECT_THROW(check_group_name(std::string(128, 'x')), Error);
  EXPECT_THROW(check_group_name(""), Error);
  EXPECT_THROW(check_group_name(std::string("a\0b", 3)), Error);
}

}  // namespace
}  // namespace updraft::collective
