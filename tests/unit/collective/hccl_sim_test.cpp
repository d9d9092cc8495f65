// The simulator: its rounds against the closed formulas and hand-made cases, its parsers, its page.
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "hccl_sim/report.h"

namespace hccl_sim {
namespace {

using nlohmann::json;
using enum Algorithm;

Cluster cluster_of(int servers, int cards, bool dedicated_between = false) {
  Cluster cluster;
  cluster.cards.assign(static_cast<size_t>(servers), cards);
  cluster.fabric.intra = {{4e-6, 1e-10, 2e-12}, 1e-6, true};
  cluster.fabric.inter = {{10e-6, 4e-10, 3e-12}, 2e-6, dedicated_between};
  return cluster;
}

constexpr Kind kKinds[] = {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather,
                           Kind::Broadcast, Kind::Reduce,        Kind::Scatter};

TEST(HcclSim, OneCardAServerIsTheFormula) {
  for (const int p : {1, 2, 3, 4, 5, 7, 8, 12, 16, 100, 128}) {
    const double bytes = 4.0 * p * 64 * 128;
    for (const Kind kind : kKinds) {
      for (const Algorithm a : {Ring, HalvingDoubling, NHR, NB}) {
        const Cluster cluster = cluster_of(p, 1);
        const double formula = predict(kind, a, p, bytes, cluster.fabric.inter.cost);
        const Prediction got = predict_on(operation_of(kind, a, bytes, p, 4), cluster);
        EXPECT_TRUE(got.simulated);
        // folded ranks that are early or late let some rounds overlap
        const bool folds = a == HalvingDoubling && (p & (p - 1)) != 0 && kind != Kind::AllReduce;
        if (folds) {
          EXPECT_LE(got.seconds, formula * (1 + 1e-9)) << word_of(kind) << " " << p;
          EXPECT_GE(got.seconds, formula * 0.5) << word_of(kind) << " " << p;
        } else {
          EXPECT_NEAR(got.seconds, formula, 1e-9 * formula) << word_of(kind) << " " << name_of(a) << " " << p;
        }
      }
      const Cluster one = cluster_of(1, p);
      const double formula = predict(kind, Mesh, p, bytes, one.fabric.intra.cost);
      EXPECT_NEAR(predict_on(operation_of(kind, Mesh, bytes, p, 4), one).seconds, formula, 1e-9 * formula) << p;
    }
  }
}

TEST(HcclSim, OneMemberStandsForAll) {
  const auto both = [](Party party, const Fabric& fabric) {
    party.symmetric = false;
    const double all = simulate(party, fabric);
    party.symmetric = true;
    const double one = simulate(party, fabric);
    EXPECT_NEAR(all, one, 1e-9 * all);
    EXPECT_GT(all, 0);
  };
  for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather}) {
    for (const int p : {2, 3, 5, 8, 16, 31}) {
      for (const Algorithm a : {Mesh, Ring, NHR, NB, HalvingDoubling}) {
        if (a == HalvingDoubling && (p & (p - 1)) != 0) continue;
        const auto schedule = [&](int member) {
          return updraft::collective::make_schedule(kind, a, member, p, static_cast<uint64_t>(p) * 1000);
        };
        both({p, 4, schedule, [](int, int) { return true; }, false}, cluster_of(p, 1).fabric);
        both({p, 4, schedule, [](int, int) { return false; }, false}, cluster_of(p, 1).fabric);
      }
    }
    for (const auto& [servers, cards] :
         std::vector<std::pair<int, int>>{{1, 4}, {4, 1}, {2, 2}, {3, 4}, {5, 3}, {4, 8}}) {
      for (const Algorithm a : {AHC, Pipeline}) {
        const std::vector<int> groups(static_cast<size_t>(servers), cards);
        const int p = servers * cards, size = cards;
        const auto schedule = [&](int member) {
          return updraft::collective::make_grouped_schedule(kind, a, member, groups, static_cast<uint64_t>(p) * 1000);
        };
        for (const bool dedicated : {false, true})
          both({p, 4, schedule, [=](int x, int y) { return x / size != y / size; }, false},
               cluster_of(servers, cards, dedicated).fabric);
      }
    }
  }
}

// α = 10 µs, 2 µs for each further message, 0.4 ns a byte: the messages of a mesh follow one another on the port.
TEST(HcclSim, MessagesShareAPort) {
  const Cluster cluster = cluster_of(5, 1);
  const double got = predict_on(operation_of(Kind::AllGather, Mesh, 5 * 4000, 5, 4), cluster).seconds;
  EXPECT_NEAR(got, 10e-6 + 3 * 2e-6 + 4 * 4000 * 4e-10, 1e-12);
  const double alone = predict_on(operation_of(Kind::AllGather, Mesh, 5 * 4000, 5, 4), cluster_of(5, 1, true)).seconds;
  EXPECT_NEAR(alone, 10e-6 + 4000 * 4e-10, 1e-12);
}

// Member 2 waits for 1, which waits for 0: nobody begins a round before its peer is there.
TEST(HcclSim, LateMembersAreWaitedFor) {
  const auto schedule = [](int member) {
    Schedule rounds(2);
    if (member == 0) rounds[0].sends = {{1, 0, 1000}};
    if (member == 1) {
      rounds[0].receives = {{0, 0, 1000}};
      rounds[0].combine = true;
      rounds[1].sends = {{2, 0, 10}};
    }
    if (member == 2) rounds[1].receives = {{1, 0, 10}};
    return rounds;
  };
  const double got = simulate({3, 4, schedule, [](int, int) { return true; }, false}, cluster_of(3, 1).fabric);
  EXPECT_NEAR(got, 10e-6 + 4000 * 4e-10 + 4000 * 3e-12 + 10e-6 + 40 * 4e-10, 1e-15);
}

TEST(HcclSim, TwoLevels) {
  const Cluster cluster = cluster_of(4, 8);
  const double n = 4.0 * 8 * 4 * 1000;
  const auto intra = [&](Kind k, double bytes) { return predict(k, Mesh, 8, bytes, cluster.fabric.intra.cost); };
  const auto inter = [&](Kind k, double bytes) { return predict(k, NB, 4, bytes, cluster.fabric.inter.cost); };
  const auto got = [&](Kind k) { return predict_on(operation_of(k, NB, n, 32, 4), cluster).seconds; };
  EXPECT_NEAR(got(Kind::AllReduce),
              intra(Kind::ReduceScatter, n) + inter(Kind::AllReduce, n / 8) + intra(Kind::AllGather, n), 1e-12);
  EXPECT_NEAR(got(Kind::ReduceScatter), inter(Kind::ReduceScatter, n) + intra(Kind::ReduceScatter, n / 4), 1e-12);
  EXPECT_NEAR(got(Kind::AllGather), intra(Kind::AllGather, n / 4) + inter(Kind::AllGather, n), 1e-12);
  EXPECT_NEAR(got(Kind::Broadcast), intra(Kind::Scatter, n) + inter(Kind::Broadcast, n / 8) + intra(Kind::AllGather, n),
              1e-12);
  EXPECT_NEAR(got(Kind::Reduce), intra(Kind::ReduceScatter, n) + inter(Kind::Reduce, n / 8) + intra(Kind::Scatter, n),
              1e-12);
  EXPECT_NEAR(got(Kind::Scatter), inter(Kind::Scatter, n) + intra(Kind::Scatter, n / 4), 1e-12);
}

TEST(HcclSim, MessagesAreTheSchedules) {
  const Cluster cluster = cluster_of(5, 1);
  Operation op{Kind::AllReduce, NHR, 103, 2};
  std::map<std::tuple<size_t, int, int>, double> got, want;
  for (const auto& m : messages_on(op, cluster)) got[{m.round, m.from, m.to}] += m.bytes;
  for (int r = 0; r < 5; ++r) {
    const Schedule schedule = updraft::collective::make_schedule(op.kind, op.algorithm, r, 5, 103);
    for (size_t k = 0; k < schedule.size(); ++k)
      for (const auto& t : schedule[k].sends) want[{k, r, t.peer}] += 2.0 * static_cast<double>(t.count);
  }
  EXPECT_EQ(got, want);

  // Two servers of two cards, 10 elements: the inner reduce-scatter, NB, the inner all-gather.
  double crossing = 0, inside = 0;
  for (const auto& m : messages_on({Kind::AllReduce, NB, 10, 4}, cluster_of(2, 2))) {
    EXPECT_EQ(m.crosses, m.from / 2 != m.to / 2);
    (m.crosses ? crossing : inside) += m.bytes;
  }
  EXPECT_EQ(crossing, 2 * 10 * 4);
  EXPECT_EQ(inside, 2 * 2 * 10 * 4);
  EXPECT_EQ(messages_on({Kind::AllToAll, Pairwise, 3, 4}, cluster_of(1, 4)).size(), 12u);
}

TEST(HcclSim, ResNet50) {
  const Model model = resnet50(0.03, 0.06);
  EXPECT_EQ(model.gradients.size(), 161u);
  EXPECT_EQ(model.bytes(), 4.0 * 25557032);
  EXPECT_EQ(model.gradients.front().name, "fc.bias");
  EXPECT_EQ(model.gradients.back().name, "conv1.weight");
  EXPECT_DOUBLE_EQ(model.gradients.back().ready, 0.09);
  EXPECT_GT(model.gradients.front().ready, 0.03 - 1e-12);
  const Model buckets = bucketised(model, 25 << 20);
  EXPECT_EQ(buckets.gradients.size(), 4u);
  EXPECT_EQ(buckets.bytes(), model.bytes());
  EXPECT_EQ(bucketised(model, 0).gradients.size(), 161u);
}

TEST(HcclSim, Models) {
  const Model a = parse_model_csv("name,bytes,ready_ms\nw2,200,3\r\n# a remark\nw1,100,1\n\n50,2\n", "x.csv");
  ASSERT_EQ(a.gradients.size(), 3u);
  EXPECT_EQ(a.gradients[0].name, "w1");  // in the order of time
  EXPECT_EQ(a.gradients[1].bytes, 50);
  EXPECT_DOUBLE_EQ(a.compute, 3e-3);
  const Model b = parse_model(json::parse(
      R"({"name":"b","forward_ms":5,"backward_ms":10,"gradients":[{"elements":10,"ready_ms":9},{"bytes":7,"ready_ms":8}]})"));
  EXPECT_DOUBLE_EQ(b.compute, 15e-3);
  EXPECT_EQ(b.gradients[1].bytes, 40);
  EXPECT_THROW(parse_model_csv("name,bytes,ready_ms\n", "x"), updraft::Error);
  EXPECT_THROW(parse_model_csv("a,1,2\nb,x,3\n", "x"), updraft::Error);
  EXPECT_THROW(parse_model_csv("1,-2\n1,2,3,4\n", "x"), updraft::Error);
  for (const char* bad :
       {"{}", "[]", R"({"gradients":[]})", R"({"gradients":[{"bytes":1}]})", R"({"gradients":[3]})",
        R"({"gradients":[{"bytes":-1,"ready_ms":1}]})", R"({"gradients":[{"bytes":"1","ready_ms":1}]})",
        R"({"gradients":[{"bytes":1,"elements":1,"ready_ms":1}]})", R"({"name":3,"gradients":7})"})
    EXPECT_THROW(parse_model(json::parse(bad)), updraft::Error) << bad;
}

TEST(HcclSim, Clusters) {
  const Cluster a = parse_cluster(json::parse(
      R"({"servers":3,"cards_per_server":4,"inter":{"latency_us":7,"bandwidth_GBps":10,"dedicated":true},"intra":{"beta":2e-9}})"));
  EXPECT_EQ(a.ranks(), 12);
  EXPECT_TRUE(a.even());
  EXPECT_DOUBLE_EQ(a.fabric.inter.cost.alpha, 7e-6);
  EXPECT_DOUBLE_EQ(a.fabric.inter.cost.beta, 1e-10);
  EXPECT_TRUE(a.fabric.inter.dedicated);
  EXPECT_DOUBLE_EQ(a.fabric.intra.cost.beta, 2e-9);
  const Cluster b = parse_cluster(json::parse(R"({"cards_per_server":[2,3]})"));
  EXPECT_FALSE(b.even());
  EXPECT_EQ(b.servers(), 2);
  for (const char* bad :
       {"[]", R"({"servers":0})", R"({"servers":1.5})", R"({"server":2})", R"({"cards_per_server":[]})",
        R"({"servers":3,"cards_per_server":[2,2]})", R"({"intra":5})", R"({"intra":{"alpha":-1}})",
        R"({"inter":{"bandwidth_GBps":0}})", R"({"inter":{"speed":1}})", R"({"inter":{"dedicated":1}})",
        R"({"servers":1048576,"cards_per_server":1048576})", R"({"servers":99999999999})"})
    EXPECT_THROW(parse_cluster(json::parse(bad)), updraft::Error) << bad;
}

// Two buckets, ready at 1 and 2 ms, of t each: they follow one another, and the backward pass hides the first.
TEST(HcclSim, StepsOverlap) {
  const Cluster cluster = cluster_of(2, 1);
  const double bytes = 4e6, t = predict(Kind::AllReduce, Ring, 2, bytes, cluster.fabric.inter.cost);
  ASSERT_GT(t, 1e-3);
  Model model{"m", 2e-3, {{"a", bytes, 1e-3}, {"b", bytes, 2e-3}}};
  const Step step = simulate_step(model, cluster, Ring);
  EXPECT_NEAR(step.seconds, 1e-3 + 2 * t, 1e-12);
  EXPECT_NEAR(step.exposed, 2 * t - 1e-3, 1e-12);
  EXPECT_NEAR(step.communication, 2 * t, 1e-12);
  model.compute = 1;
  EXPECT_DOUBLE_EQ(simulate_step(model, cluster, Ring).seconds, 1);
}

TEST(HcclSim, UnevenServersTakeAhc) {
  Cluster cluster = parse_cluster(json::parse(
      R"({"cards_per_server":[64,128],"intra":{"bandwidth_GBps":50,"dedicated":false},"inter":{"bandwidth_GBps":5}})"));
  const auto algorithms = candidates(cluster);
  EXPECT_EQ(algorithms, (std::vector<Algorithm>{Ring, HalvingDoubling, NHR, NB, AHC}));
  std::vector<Step> steps;
  const Model model{"m", 1e-3, {{"a", 1e8, 1e-3}}};
  for (const Algorithm a : algorithms) steps.push_back(simulate_step(model, cluster, a));
  EXPECT_EQ(best_of(steps).algorithm, AHC);
  EXPECT_FALSE(supports({Kind::AllReduce, Pipeline, 1, 4}, cluster));
  EXPECT_THROW(predict_on({Kind::AllReduce, Pipeline, 1, 4}, cluster), updraft::Error);
  EXPECT_THROW(predict_on({Kind::AllToAll, Ring, 1, 4}, cluster), updraft::Error);
  EXPECT_THROW(operation_of(Kind::AllReduce, Ring, 1e300, 2, 4), updraft::Error);
}

TEST(HcclSim, ScalesToManyRanksAndReports) {
  Report report;
  report.cluster = cluster_of(2048, 8);
  report.model = resnet50(0.03, 0.06);
  report.model.name = "a <model> & \"more\"";
  report.buckets = bucketised(report.model, 25 << 20);
  for (const Algorithm a : candidates(report.cluster))
    report.steps.push_back(simulate_step(report.buckets, report.cluster, a));
  for (const int cards : {8, 1}) {
    report.scaling = scale(report.buckets, cluster_of(1, cards), 16384);
    ASSERT_EQ(report.scaling.front().ranks, cards);
    ASSERT_EQ(report.scaling.back().ranks, 16384);
    for (size_t a = 0; a < report.scaling.front().steps.size(); ++a) {
      EXPECT_TRUE(report.scaling.back().steps[a].simulated);
      EXPECT_GE(report.scaling.back().steps[a].seconds, report.scaling.front().steps[a].seconds);
    }
  }
  report.collectives.push_back({operation_of(Kind::AllReduce, NB, 1e6, 16384, 4), 1e6, {1e-3, false}});
  const json out = to_json(report);
  EXPECT_EQ(out["cluster"]["ranks"], 16384);
  EXPECT_EQ(out["steps"].size(), 6u);
  EXPECT_EQ(out["steps"][0]["buckets"].size(), 4u);
  EXPECT_EQ(out["scaling"].back()["ranks"], 16384);
  EXPECT_EQ(out["choice"]["HCCL_ALGO"], "level0:NA;level1:H-D_R");

  const std::string page = to_html(report);
  EXPECT_NE(page.find("a &lt;model&gt; &amp; &quot;more&quot;"), std::string::npos);
  for (const char* foreign : {"http", "src=", "href", "<script", "@import", "url(", "nan", "inf,"})
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  size_t charts = 0;
  for (size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) ++charts;
  EXPECT_EQ(charts, 3u);
  EXPECT_NE(to_text(report).find("Take H-D_R"), std::string::npos);
}

}  // namespace
}  // namespace hccl_sim
