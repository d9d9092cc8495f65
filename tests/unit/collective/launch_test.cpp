#include <gtest/gtest.h>

#include "collective/error.h"
#include "collective/topology/rank_table.h"
#include "variables.h"

namespace updraft::collective {
namespace {

class LaunchVariables : public testing::Test {
 protected:
  void set(std::initializer_list<std::pair<const char*, const char*>> values) {
    variables_.clear();
    for (auto [name, value] : values) variables_.set(name, value);
  }
  Variables variables_;
};

RankTable table(const std::string& version, const std::vector<std::pair<std::string, int>>& pods) {
  RankTable t{version, "completed", {}, ""};
  for (const auto& [pod, device] : pods)
    t.ranks.push_back({static_cast<uint32_t>(t.ranks.size()), "10.0.0.10", pod, device, "", "", ""});
  return t;
}

TEST_F(LaunchVariables, AreReadAndChecked) {
  EXPECT_FALSE(read_launch().rank || read_launch().size || read_launch().device);
  set({{"RANK_ID", "3"}, {"RANK_SIZE", "8"}, {"DEVICE_ID", "1"}, {"ASCEND_DEVICE_ID", "2"}});
  const Launch launch = read_launch();
  EXPECT_EQ(launch.rank, 3u);
  EXPECT_EQ(launch.size, 8u);
  EXPECT_EQ(launch.device, 2);
  EXPECT_EQ(launch.rank_text, "3");
  EXPECT_EQ(launch.rank_table, "");
  set({{"RANK_ID", "tf-worker-0"}, {"RANK_TABLE_FILE", "/x"}});
  EXPECT_FALSE(read_launch().rank);
  EXPECT_EQ(read_launch().rank_text, "tf-worker-0");
  EXPECT_EQ(read_launch().rank_table, "/x");
  set({{"RANK_ID", "8"}, {"RANK_SIZE", "8"}});
  expect_error(result::kPara, {"EI0001: RANK_ID=\"8\"", "[0, 7]"}, read_launch);
  for (const char* odd : {"0", "-1", "x", "1.0"}) {
    set({{"RANK_SIZE", odd}});
    expect_error(result::kPara, {"EI0001: RANK_SIZE", odd}, read_launch);
  }
  for (const char* name : {"DEVICE_ID", "ASCEND_DEVICE_ID"}) {
    set({{name, "-1"}});
    expect_error(result::kPara, {std::string("EI0001: ") + name}, read_launch);
  }
}

TEST_F(LaunchVariables, FindTheEntryOfTheProcess) {
  const RankTable t = table("1.0", {{"", 0}, {"", 1}});
  Launch launch;
  expect_error(result::kPara, {"EI0001", "RANK_ID", "0 to 1"}, [&] { own_entry(t, launch); });
  launch.rank_text = "1";
  EXPECT_EQ(own_entry(t, launch).device, 1);
  launch.rank_text = "2";
  expect_error(result::kPara, {"EI0001: RANK_ID=\"2\"", "[0, 1]"}, [&] { own_entry(t, launch); });
  launch.rank_text = "a";
  expect_error(result::kPara, {"EI0001: RANK_ID=\"a\""}, [&] { own_entry(t, launch); });
  launch.rank_text = "1";
  launch.size = 1;
  expect_error(result::kPara, {"EI0004", "2 devices", "RANK_SIZE says 1"}, [&] { own_entry(t, launch); });
  EXPECT_EQ(own_entry(table("1.0", {{"", 5}}), Launch{}).device, 5);
}

TEST_F(LaunchVariables, RankIdIsThePodOfTheOldTemplate) {
  const RankTable t = table("", {{"a", 0}, {"b", 1}, {"b", 2}});
  Launch launch;
  launch.rank_text = "a";
  EXPECT_EQ(own_entry(t, launch).rank, 0u);
  launch.rank_text = "0";
  expect_error(result::kPara, {"EI0001: RANK_ID=\"0\"", "pod_name", "a, b"}, [&] { own_entry(t, launch); });
  launch.rank_text = "b";
  expect_error(result::kPara, {"EI0001: pod b has 2 devices", "ASCEND_DEVICE_ID"}, [&] { own_entry(t, launch); });
  launch.device = 2;
  EXPECT_EQ(own_entry(t, launch).rank, 2u);
  launch.device = 0;
  expect_error(result::kPara, {"EI0001: pod b"}, [&] { own_entry(t, launch); });
}

TEST_F(LaunchVariables, Chief) {
  EXPECT_FALSE(read_chief_settings());
  const std::vector<std::pair<std::string, std::string>> good = {{"CM_CHIEF_IP", "192.168.1.1"},
                                                                 {"CM_CHIEF_PORT", "6000"},
                                                                 {"CM_CHIEF_DEVICE", "0"},
                                                                 {"CM_WORKER_SIZE", "16"},
                                                                 {"CM_WORKER_IP", "192.168.2.1"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    variables_.clear();
    for (const auto& [n, v] : good) variables_.set(n, v);
    variables_.set(name, value);
    return read_chief_settings();
  };
  const auto c = with("CM_CHIEF_PORT", " 65520 ");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->chief_ip, "192.168.1.1");
  EXPECT_EQ(c->chief_port, 65520);
  EXPECT_EQ(c->chief_device, 0);
  EXPECT_EQ(c->worker_size, 16u);
  EXPECT_EQ(c->worker_ip, "192.168.2.1");
  EXPECT_EQ(with("CM_WORKER_SIZE", "4096")->worker_size, 4096u);
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"CM_CHIEF_IP", "host"},
                                                                                    {"CM_CHIEF_PORT", "65521"},
                                                                                    {"CM_CHIEF_PORT", "0"},
                                                                                    {"CM_CHIEF_DEVICE", "-1"},
                                                                                    {"CM_WORKER_SIZE", "4097"},
                                                                                    {"CM_WORKER_SIZE", "0"},
                                                                                    {"CM_WORKER_IP", "1.2.3"},
                                                                                    {"CM_WORKER_IP", "fd00::1"}})
    expect_error(result::kPara, {"EI0001: " + name, "\"" + value + "\""}, [&] { with(name, value); });
  for (const auto& missing : good)
    expect_error(result::kPara, {"EI0001", missing.first + " is not set"}, [&] { with(missing.first, ""); });
  for (const char* other : {"RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE"})
    expect_error(result::kPara, {"EI0001: CM_CHIEF_IP", other}, [&] { with(other, "1"); });
}

}  // namespace
}  // namespace updraft::collective
