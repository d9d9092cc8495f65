#include "collective/topology/rank_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/config.h"
#include "collective/error.h"
#include "variables.h"

namespace updraft::collective {
namespace {

using Json = nlohmann::json;

/// Template 1: servers of `devices` devices each, numbers as strings as in the guide.
Json servers(int count, int devices) {
  Json table = {{"status", "completed"}, {"version", "1.0"}, {"server_count", std::to_string(count)}};
  table["server_list"] = Json::array();
  for (int s = 0; s < count; ++s) {
    Json list = Json::array();
    for (int d = 0; d < devices; ++d)
      list.push_back({{"device_id", std::to_string(d)},
                      {"device_ip", fmt::format("192.168.{}.{}", 1 + s, 8 + d)},
                      {"rank_id", std::to_string(s * devices + d)}});
    table["server_list"].push_back({{"server_id", fmt::format("10.0.0.{}", 10 + s)}, {"device", list}});
  }
  return table;
}

/// The old template: pods of one device.
Json pods(const std::vector<std::string>& names) {
  Json instances = Json::array();
  for (size_t i = 0; i < names.size(); ++i)
    instances.push_back({{"pod_name", names[i]},
                         {"server_id", "10.0.0.10"},
                         {"devices", {{{"device_id", std::to_string(i)}, {"device_ip", ""}}}}});
  const std::string n = std::to_string(names.size());
  return {{"status", "completed"},
          {"group_count", "1"},
          {"group_list",
           {{{"group_name", "hccl_world_group"},
             {"instance_count", n},
             {"device_count", n},
             {"instance_list", instances}}}}};
}

Json super_pods() {
  Json table = servers(4, 2);
  table["version"] = "1.2";
  for (int s = 0; s < 4; ++s)
    for (int d = 0; d < 2; ++d) table["server_list"][s]["device"][d]["super_device_id"] = std::to_string(s % 2 * 2 + d);
  table["super_pod_list"] = Json::array();
  for (int p = 0; p < 2; ++p) {
    Json list = Json::array();
    for (int s : {0, 1}) list.push_back({{"server_id", table["server_list"][2 * p + s]["server_id"]}});
    table["super_pod_list"].push_back({{"super_pod_id", std::to_string(p)}, {"server_list", list}});
  }
  return table;
}

void refused(const Json& table, const std::vector<std::string>& parts) {
  std::vector<std::string> all = {"EI0004: rank table: at ", "want ", "found "};
  all.insert(all.end(), parts.begin(), parts.end());
  expect_error(result::kPara, all, [&] { parse_rank_table(table.dump()); });
}

/// `table` with another value at a JSON pointer.
Json with(Json table, const char* place, const Json& value) {
  table[Json::json_pointer(place)] = value;
  return table;
}
Json without(Json table, const char* object, const char* key) {
  table[Json::json_pointer(object)].erase(key);
  return table;
}

TEST(RankTable, TemplateOne) {
  for (int devices : {1, 2, 8}) {
    const RankTable t = parse_rank_table(servers(1, devices).dump());
    EXPECT_EQ(t.version, "1.0");
    EXPECT_EQ(t.status, "completed");
    ASSERT_EQ(t.ranks.size(), static_cast<size_t>(devices));
    for (int d = 0; d < devices; ++d) {
      const RankEntry& e = t.ranks[static_cast<size_t>(d)];
      EXPECT_EQ(e.rank, static_cast<uint32_t>(d));
      EXPECT_EQ(e.device, d);
      EXPECT_EQ(e.server, "10.0.0.10");
      EXPECT_EQ(e.device_ip, "192.168.1." + std::to_string(8 + d));
      EXPECT_EQ(e.pod + e.super_pod + e.super_device, "");
    }
  }
  const RankTable t = parse_rank_table(servers(2, 8).dump());
  ASSERT_EQ(t.ranks.size(), 16u);
  EXPECT_EQ(t.ranks[9].server, "10.0.0.11");
  EXPECT_EQ(t.ranks[9].device, 1);
}

TEST(RankTable, NumbersNamesOfListsAndCommentsMayDiffer) {
  const std::string digest = parse_rank_table(servers(1, 2).dump()).digest;
  EXPECT_EQ(digest.size(), 32u);
  EXPECT_EQ(digest.find_first_not_of("0123456789abcdef"), std::string::npos);
  Json table = servers(1, 2);
  table["version"] = 1.0;
  table["server_count"] = 1;
  table["note"] = "anything else is passed over";
  for (int d : {0, 1}) {
    table["server_list"][0]["device"][d]["device_id"] = d;
    table["server_list"][0]["device"][d]["rank_id"] = d;
  }
  EXPECT_EQ(parse_rank_table(table.dump()).digest, digest);
  std::swap(table["server_list"][0]["device"][0], table["server_list"][0]["device"][1]);
  table["server_list"][0]["devices"] = table["server_list"][0]["device"];
  table["server_list"][0].erase("device");
  EXPECT_EQ(parse_rank_table("\xef\xbb\xbf// two devices\n" + table.dump(4) + "/* end */\n").digest, digest);
  EXPECT_NE(parse_rank_table(with(servers(1, 2), "/server_list/0/device/0/device_ip", "1.2.3.4").dump()).digest,
            digest);
  EXPECT_NE(parse_rank_table(with(servers(1, 2), "/server_list/0/server_id", "node").dump()).digest, digest);
  Json swapped = servers(1, 2);
  std::swap(swapped["server_list"][0]["device"][0]["rank_id"], swapped["server_list"][0]["device"][1]["rank_id"]);
  EXPECT_NE(parse_rank_table(swapped.dump()).digest, digest);
}

TEST(RankTable, OldTemplate) {
  RankTable t = parse_rank_table(pods({"tf-b", "tf-a"}).dump());
  EXPECT_EQ(t.version, "");
  ASSERT_EQ(t.ranks.size(), 2u);
  EXPECT_EQ(t.ranks[0].pod, "tf-b");  // the order of the file
  t = parse_rank_table(pods({"1", "0", "2"}).dump());
  EXPECT_EQ(t.ranks[0].pod, "0");  // the pods' numbers
  EXPECT_EQ(t.ranks[0].device, 1);

  Json two = pods({"a", "b"});  // several groups are one
  Json other = pods({"c"})["group_list"][0];
  other.erase("group_name");
  other["instance_list"][0]["devices"][0]["device_id"] = "5";
  two["group_list"].push_back(other);
  two["group_count"] = "2";
  EXPECT_EQ(parse_rank_table(two.dump()).ranks.at(2).pod, "c");

  const Json table = pods({"a", "b"});
  refused(with(table, "/group_count", "2"), {"$.group_count", "1", "\"2\""});
  refused(with(table, "/group_list/0/instance_count", "1"), {"$.group_list[0].instance_count"});
  refused(with(table, "/group_list/0/device_count", "3"), {"$.group_list[0].device_count", "2"});
  refused(with(table, "/group_list/0/instance_list/1/pod_name", "a"), {"instance_list[1].pod_name", "\"a\" again"});
  refused(with(table, "/group_list/0/instance_list/1/pod_name", ""), {"instance_list[1].pod_name"});
  refused(with(table, "/group_list/0/instance_list/1/devices/0/device_id", "0"), {"devices[0].device_id", "again"});
  refused(without(table, "/group_list/0/instance_list/0", "devices"), {"instance_list[0].devices", "nothing"});
  refused(with(table, "/server_list", Json::array()), {"at $:", "both"});
}

TEST(RankTable, SuperPods) {
  const Json table = super_pods();
  const RankTable t = parse_rank_table(table.dump());
  EXPECT_EQ(t.version, "1.2");
  ASSERT_EQ(t.ranks.size(), 8u);
  EXPECT_EQ(t.ranks[3].super_pod, "0");
  EXPECT_EQ(t.ranks[4].super_pod, "1");
  EXPECT_EQ(t.ranks[7].super_device, "3");
  refused(without(table, "", "super_pod_list"), {"$.super_pod_list"});
  refused(without(table, "/server_list/1/device/0", "super_device_id"), {"$.server_list[1].device[0].super_device_id"});
  refused(with(table, "/server_list/1/device/0/super_device_id", "1"), {"device[0].super_device_id", "again"});
  refused(with(table, "/super_pod_list/1/super_pod_id", "0"), {"$.super_pod_list[1].super_pod_id", "again"});
  refused(with(table, "/super_pod_list/1/server_list/0/server_id", "10.0.0.11"), {"one super pod", "again"});
  refused(with(table, "/super_pod_list/1/server_list/0/server_id", "10.9.9.9"), {"a server_id of $.server_list"});
  Json short_list = table;
  short_list["super_pod_list"].erase(1);
  refused(short_list, {"$.super_pod_list", "10.0.0.12"});
}

TEST(RankTable, WhatIsWrongAndWhere) {
  const Json one = servers(1, 2), two = servers(2, 2);
  refused(with(one, "/status", "done"), {"$.status", "\"completed\" or \"initializing\"", "\"done\""});
  refused(without(one, "", "status"), {"$.status", "nothing"});
  refused(with(one, "/version", "1.1"), {"$.version", "\"1.0\" or \"1.2\"", "\"1.1\""});
  refused(without(one, "", "version"), {"$.version"});
  refused(with(one, "/server_count", "2"), {"$.server_count", "1", "\"2\"", "\"server_count\": \"1\""});
  refused(with(one, "/server_count", "one"), {"$.server_count", "\"one\""});
  refused(without(one, "", "server_list"), {"$.server_list"});
  refused(with(one, "/server_list", Json::array()), {"$.server_list", "not empty", "a list of 0"});
  refused(with(one, "/server_list/0", 5), {"$.server_list[0]", "object"});
  refused(with(one, "/server_list/0/server_id", ""), {"$.server_list[0].server_id"});
  refused(with(two, "/server_list/1/server_id", "10.0.0.10"),
          {"$.server_list[1].server_id", "again", "$.server_list[0]"});
  refused(with(one, "/server_list/0/device", Json::object()), {"$.server_list[0].device", "list"});
  refused(with(one, "/server_list/0/device/1", nullptr), {"$.server_list[0].device[1]"});
  const char* id = "/server_list/0/device/1/device_id";
  for (const Json& odd : {Json("-1"), Json(-1), Json("x"), Json(1.5), Json(true), Json(""), Json(nullptr),
                          Json(UINT64_MAX), Json("99999999999")})
    refused(with(one, id, odd), {"$.server_list[0].device[1].device_id"});
  refused(with(one, id, "0"), {"$.server_list[0].device[1].device_id", "again", "$.server_list[0].device[0]"});
  const int devices = Config::get().installed;
  refused(with(one, id, devices), {"device[1].device_id", fmt::format("0 to {}", devices - 1), "UPDRAFT_DEVICES"});
  EXPECT_NO_THROW(parse_rank_table(with(one, id, devices - 1).dump()));
  const char* ip = "/server_list/0/device/1/device_ip";
  refused(with(one, ip, "192.168.1.8"), {"$.server_list[0].device[1].device_ip", "192.168.1.8", "again"});
  refused(with(two, "/server_list/1/device/0/device_ip", "192.168.1.8"), {"$.server_list[1].device[0].device_ip"});
  for (const Json& odd : {Json("192.168.1"), Json("host"), Json(5)})
    refused(with(one, ip, odd), {"device[1].device_ip"});
  EXPECT_NO_THROW(parse_rank_table(with(one, ip, "").dump()));
  EXPECT_NO_THROW(parse_rank_table(without(one, "/server_list/0/device/1", "device_ip").dump()));
  refused(with(two, ip, ""), {"$.server_list[0].device[1].device_ip", "more than one server"});
  const char* rank = "/server_list/0/device/1/rank_id";
  refused(with(one, rank, "2"), {"$.server_list[0].device[1].rank_id", "[0, 1]"});
  refused(with(one, rank, "0"), {"$.server_list[0].device[1].rank_id", "again"});
  refused(with(one, rank, "-1"), {"rank_id"});
  refused(without(one, "/server_list/0/device/1", "rank_id"), {"rank_id", "nothing"});
}

TEST(RankTable, NoJson) {
  expect_error(result::kPara, {"EI0004: rank table: at line 3, column 9", "JSON", "found syntax error"},
               [] { parse_rank_table("{\n\"status\": \"a\"\n\"version\": 1}"); });
  for (const char* odd : {"", " ", "{", "[]", "null", "5", "\"\xff\"", "{\"status\":\"completed\",}", "nan"})
    expect_error(result::kPara, {"EI0004: other: at "}, [&] { parse_rank_table(odd, "other"); });
  const std::string deep = std::string(1 << 16, '[');
  expect_error(result::kPara, {"EI0004"}, [&] { parse_rank_table(deep); });
  expect_error(result::kPara, {"EI0004", "a list of 1"},
               [&] { parse_rank_table("{\"status\":" + deep + std::string(1 << 16, ']') + "}"); });
}

TEST(RankTable, CardLimits) {
  const SocProfile &first = *find_soc("Ascend910A"), &second = *find_soc("Ascend910B2");
  const auto table = [](int count, std::vector<int> devices) {
    RankTable t{"1.0", "completed", {}, ""};
    for (int s = 0; s < count; ++s)
      for (int d : devices)
        t.ranks.push_back({static_cast<uint32_t>(t.ranks.size()), std::to_string(s), "", d, "", "", ""});
    return t;
  };
  const auto refused_by = [](const SocProfile& product, const RankTable& t, const std::string& said) {
    expect_error(result::kPara, {"EI0004", "$.server_list", "UPDRAFT_FIDELITY", said},
                 [&] { check_card_limits(t, product); });
  };
  for (const auto& good : {std::vector<int>{5}, {0, 3}, {4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}})
    EXPECT_NO_THROW(check_card_limits(table(2, good), first));
  for (const auto& odd : {std::vector<int>{0, 1, 2}, {0, 1, 2, 3, 4, 5}})
    refused_by(first, table(1, odd), "1, 2, 4 or 8");
  refused_by(first, table(1, {3, 4}), "one net");
  refused_by(first, table(1, {8}), "0 to 7");
  EXPECT_NO_THROW(check_card_limits(table(512, {0}), first));
  refused_by(first, table(513, {0}), "at most 512 servers");
  EXPECT_NO_THROW(check_card_limits(table(1024, {0, 3, 5}), second));
  refused_by(second, table(1025, {0}), "at most 1024 servers");
  refused_by(second, table(1, {0, 1, 2, 3, 4, 5, 6, 7, 8}), "at most 8 devices");
  RankTable uneven = table(2, {0, 1});
  uneven.ranks.pop_back();
  refused_by(second, uneven, "as many devices");
  RankTable old = table(1, {0});
  old.version = "";
  EXPECT_NO_THROW(check_card_limits(old, first));
  expect_error(result::kPara, {"old template"}, [&] { check_card_limits(old, second); });
  // Without UPDRAFT_FIDELITY=card none of this holds.
  if (!Config::get().card_fidelity) { EXPECT_NO_THROW(parse_rank_table(servers(1, 3).dump())); }
}

class RankTableFile : public testing::Test {
 protected:
  ~RankTableFile() override { unlink(path_.c_str()); }
  void write(const std::string& text) const {
    std::ofstream(path_ + ".new") << text;
    rename((path_ + ".new").c_str(), path_.c_str());
  }
  std::string path_ = testing::TempDir() + "rank_table.json";
};

TEST_F(RankTableFile, IsReadOrRefused) {
  write(servers(2, 1).dump());
  EXPECT_EQ(read_rank_table(path_, 5).ranks.size(), 2u);
  write("{");
  expect_error(result::kPara, {"EI0004: rank table " + path_, "line 1"}, [&] { read_rank_table(path_, 60); });
  unlink(path_.c_str());
  expect_error(result::kOpenFile, {"EI0004", path_, "No such file", "RANK_TABLE_FILE"},
               [&] { read_rank_table(path_, 60); });
  expect_error(result::kOpenFile, {"regular"}, [] { read_rank_table("/dev/zero", 60); });
  expect_error(result::kOpenFile, {"regular"}, [] { read_rank_table("/tmp", 60); });
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  expect_error(result::kOpenFile, {"regular"}, [&] { read_rank_table(path_, 60); });
}

TEST_F(RankTableFile, InitializingWaits) {
  write(R"({"status": "initializing"})");
  expect_error(result::kTimeout, {"EI0004", path_, "initializing", "0.05 s"}, [&] { read_rank_table(path_, 0.05); });
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    write("{\"status\": \"comp");  // in the middle of it
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
    unlink(path_.c_str());
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
    write(servers(1, 2).dump());
  });
  EXPECT_EQ(read_rank_table(path_, 60).ranks.size(), 2u);
  writer.join();
}

TEST_F(RankTableFile, WhatIsWrongAfterWaitingIsSaidAtOnce) {
  write(R"({"status": "initializing"})");
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
    write(with(servers(1, 2), "/server_count", "3").dump());
  });
  const auto start = std::chrono::steady_clock::now();
  expect_error(result::kPara, {"$.server_count"}, [&] { read_rank_table(path_, 600); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  writer.join();
}

}  // namespace
}  // namespace updraft::collective
