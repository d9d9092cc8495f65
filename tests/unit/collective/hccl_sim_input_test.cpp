// What hccl_sim is told: presets, what-ifs, measurements; and links fitted to times that are known.
#include <gtest/gtest.h>

#include "base/error.h"
#include "hccl_sim/calibrate.h"
#include "hccl_sim/presets.h"

namespace hccl_sim {
namespace {

using nlohmann::json;
using enum Algorithm;

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const updraft::Error& e) { return e.text(); }
  return "nothing was refused";
}

TEST(HcclSimInput, PresetsAreClusters) {
  for (const Preset& p : presets()) {
    json description = preset(p.name);
    description["servers"] = 100;
    const Cluster cluster = parse_cluster(description);
    EXPECT_EQ(cluster.servers(), 100) << p.name;
    EXPECT_GT(predict_on(operation_of(Kind::AllReduce, NB, 1e6, cluster.ranks(), 4), cluster).seconds, 0) << p.name;
  }
  EXPECT_NE(refusal([] { preset("x"); }).find("910b-server"), std::string::npos);
}

TEST(HcclSimInput, WhatIf) {
  json description = json::parse(R"({"servers":4,"inter":{"beta":1e-9,"alpha":1}})");
  change(description, "inter.bandwidth_GBps=2,servers=8,super.dedicated=true,cards_per_server=[1,2]");
  EXPECT_EQ(description, json::parse(R"({"servers":8,"cards_per_server":[1,2],"inter":{"bandwidth_GBps":2,"alpha":1},
                                         "super":{"dedicated":true}})"));
  for (const char* bad : {"", "servers", "=3", "servers=", "servers=x", "servers.x=3", "inter.alpha=1,,x"})
    EXPECT_NE(refusal([&] { change(description, bad); }).find("what-if"), std::string::npos) << bad;
}

TEST(HcclSimInput, Measurements) {
  const auto found = parse_measurements(
      "# by "
      "hand\nbytes,operation,ranks,us,algorithm,servers\n1024,all_reduce,4,10.5,ring,2\n\n2048,allgather,2,7,auto,1\n",
      "x.csv");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].algorithm, Ring);
  EXPECT_EQ(found[0].servers, 2);
  EXPECT_DOUBLE_EQ(found[0].seconds, 10.5e-6);
  EXPECT_EQ(found[1].kind, Kind::AllGather);
  const auto again = parse_measurements(to_csv(found), "again");
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[1].bytes, 2048);
  for (const auto& [text, word] : std::vector<std::pair<const char*, const char*>>{
           {"", "no measurements"},
           {"bytes,us\n1,2\n", "no column operation"},
           {"operation,ranks,bytes,us\nall_sort,2,1,1\n", "line 2: the operation is \"all_sort\""},
           {"operation,ranks,bytes,us\nall_reduce,1,1,1\n", "ranks must be a number in [2, 1024], got \"1\""},
           {"operation,ranks,bytes,us\nall_reduce,2,x,1\n", "bytes must be"},
           {"operation,ranks,bytes,us\nall_reduce,2,1\n", "us must be"},
           {"operation,ranks,bytes,us,servers\nall_reduce,3,1,1,2\n", "do not share"},
           {"operation,ranks,bytes,us,algorithm\nall_reduce,3,1,1,best\n", "the algorithm is \"best\""}})
    EXPECT_NE(refusal([&] { parse_measurements(text, "x.csv"); }).find(word), std::string::npos) << text;
}

TEST(HcclSimInput, TableOfHcclTest) {
  const auto found = parse_hccl_test(
      "the minbytes is 1024\ndata_size(Bytes):|  avg_time(us):| alg_bandwidth(GB/s):| check_result:\n"
      "1024          |   12.50    |   0.1   |  NULL\n4096          |   20.00    |   0.2   |  NULL\n",
      {Kind::AllReduce, 3, 1, Auto, 0, 0, 2});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].bytes, 4096);
  EXPECT_DOUBLE_EQ(found[0].seconds, 12.5e-6);
  EXPECT_EQ(found[0].ranks, 3);
  EXPECT_EQ(found[0].cores, 2);
}

/// Times made of known links are explained by these links.
TEST(HcclSimInput, CalibrationFindsWhatTheTimesAreMadeOf) {
  Fabric fabric;
  fabric.intra = {{8e-6, 2e-10, 5e-11}, 0, false};
  fabric.inter = {{40e-6, 1e-9, 2e-10}, 0, false};
  fabric.super = fabric.inter;
  std::vector<Measurement> all;
  for (const Kind kind : {Kind::AllReduce, Kind::AllGather, Kind::Broadcast})
    for (const int ranks : {2, 3, 4})
      for (const double bytes : {1e3, 1e5, 1e7}) {
        all.push_back({kind, ranks, 1, Auto, bytes, 1});
        all.push_back({kind, ranks, ranks, Ring, bytes, 1});
      }
  for (Measurement& m : all) m.seconds = predict_measurement(m, fabric);
  const Calibration found = calibrate(all);
  EXPECT_TRUE(found.intra && found.inter);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(found.predicted[i] / all[i].seconds, 1, 0.02) << i;
  EXPECT_NEAR(found.fabric.inter.cost.alpha, 40e-6, 2e-6);
  EXPECT_NEAR(found.fabric.inter.cost.beta, 1e-9, 5e-11);
  EXPECT_NE(residuals(all, found.predicted).find("error: median 0 %"), std::string::npos);
  const Cluster cluster = parse_cluster(to_json(found));
  EXPECT_DOUBLE_EQ(cluster.fabric.inter.cost.beta, found.fabric.inter.cost.beta);

  all.resize(3);
  EXPECT_NE(refusal([&] { calibrate(all); }).find("too few"), std::string::npos);
}

}  // namespace
}  // namespace hccl_sim
