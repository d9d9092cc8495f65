// The simulator: its rounds against the closed formulas and hand-made cases, its parsers, its page.
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "every.h"
#include "hccl_sim/plan.h"
#include "hccl_sim/report.h"

namespace hccl_sim {
namespace {

using nlohmann::json;
using enum Algorithm;
using updraft::collective::kKinds;

Cluster cluster_of(int servers, int cards, bool dedicated_between = false) {
  Cluster cluster;
  cluster.cards.assign(static_cast<size_t>(servers), cards);
  cluster.fabric.intra = {{4e-6, 1e-10, 2e-12}, 1e-6, true};
  cluster.fabric.inter = {{10e-6, 4e-10, 3e-12}, 2e-6, dedicated_between};
  cluster.fabric.super = {{30e-6, 1e-9, 3e-12}, 5e-6, dedicated_between};
  return cluster;
}

// Neighbours tell each other what they are about to do; then it is the formula. Messages are small: none is announced,
// none travels in pieces.
TEST(HcclSim, OneCardAServerIsTheFormula) {
  for (const int p : {1, 2, 3, 4, 5, 7, 8, 12, 16, 100, 128}) {
    const double bytes = 4.0 * p * 64;
    for (const Kind kind : kKinds) {
      for (const Algorithm a : {Ring, HalvingDoubling, NHR, NB}) {
        const Cluster cluster = cluster_of(p, 1);
        const double formula = predict(kind, a, p, bytes, cluster.fabric.inter.cost);
        Prediction got = predict_on(operation_of(kind, a, bytes, p, 4), cluster);
        EXPECT_TRUE(got.simulated);
        if (p > 1) got.seconds -= 10e-6;
        // folded ranks that are early or late let some rounds overlap
        const bool folds = a == HalvingDoubling && (p & (p - 1)) != 0 && kind != Kind::AllReduce;
        if (folds) {
          EXPECT_LE(got.seconds, formula * (1 + 1e-9)) << word_of(kind) << " " << p;
          EXPECT_GE(got.seconds, formula * 0.5) << word_of(kind) << " " << p;
        } else {
          EXPECT_NEAR(got.seconds, formula, 1e-9 * formula) << word_of(kind) << " " << name_of(a) << " " << p;
        }
      }
    }
  }
}

TEST(HcclSim, SomeMembersStandForAll) {
  const auto same = [](Party party, int period, const Fabric& fabric) {
    party.period = 0;
    const double all = simulate(party, fabric);
    party.period = period;
    EXPECT_NEAR(all, simulate(party, fabric), 1e-9 * all);
    EXPECT_GT(all, 0);
  };
  for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather}) {
    for (const int p : {2, 3, 5, 8, 16, 31}) {
      for (const Algorithm a : {Mesh, Ring, NHR, NB, HalvingDoubling}) {
        if (a == HalvingDoubling && (p & (p - 1)) != 0) continue;
        const auto schedule = [&](int member) {
          return updraft::collective::make_schedule(kind, a, member, p, static_cast<uint64_t>(p) * 1000);
        };
        for (const Level level : {Level::Intra, Level::Inter})
          same({p, 4, schedule, [=](int, int) { return level; }}, 1, cluster_of(p, 1).fabric);
      }
    }
    // Groups on links of their own, turned within themselves; and members of other links again and again.
    for (const auto& [servers, cards] :
         std::vector<std::pair<int, int>>{{1, 4}, {4, 1}, {2, 2}, {3, 4}, {5, 3}, {4, 8}}) {
      const int p = servers * cards, size = cards;
      const auto level = [=](int x, int y) { return x / size == y / size ? Level::Intra : Level::Inter; };
      for (const bool dedicated : {false, true}) {
        const Fabric fabric = cluster_of(servers, cards, dedicated).fabric;
        for (const Algorithm a : {AHC, Pipeline}) {
          const std::vector<int> groups(static_cast<size_t>(servers), cards);
          const auto schedule = [&](int member) {
            return updraft::collective::make_grouped_schedule(kind, a, member, groups, static_cast<uint64_t>(p) * 1000);
          };
          same({p, 4, schedule, level}, 1, fabric);
        }
        for (const Algorithm a : {Ring, NHR, NB}) {
          const auto schedule = [&](int member) {
            return updraft::collective::make_schedule(kind, a, member, p, static_cast<uint64_t>(p) * 1000);
          };
          same({p, 4, schedule, level}, cards, fabric);
        }
      }
    }
  }
}

/// What predict_on() takes together of large parties is what it finds member by member.
TEST(HcclSim, LargePartiesAreAsSmallOnes) {
  Cluster cluster = cluster_of(72, 2);
  for (const int pod : {72, 8, 9}) {
    cluster.pods = pods_of(72, pod);
    for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather, Kind::AllToAll})
      for (const Algorithm a : {Ring, HalvingDoubling, NHR, NB, AHC, Pipeline, Pairwise}) {
        const Operation op = operation_of(kind, a, 4.0 * 144 * 72 * 10, 144, 4);
        if (!supports(op)) continue;
        const Plan plan(op, cluster);
        // two meetings of two cards, and what neighbours tell each other
        double all = 2 * 4e-6 + (pod < 72 ? 30e-6 : 10e-6);
        Fabric fabric = cluster.fabric;
        fabric.intra.cost.alpha = fabric.intra.overhead = 0;
        for (const Stage& stage : plan.stages()) {
          const auto& ranks = stage.ranks[static_cast<size_t>(stage.busiest)];
          const auto schedule = [&](int member) {
            Schedule rounds = stage.schedule(stage.busiest, member, false);
            if (!stage.at_once) return rounds;
            for (size_t k = 1; k < rounds.size(); ++k) {
              rounds[0].sends.push_back(rounds[k].sends[0]);
              rounds[0].receives.push_back(rounds[k].receives[0]);
            }
            rounds.resize(1);
            return rounds;
          };
          all += simulate(
              {static_cast<int>(ranks.size()), 4, schedule,
               [&](int x, int y) { return plan.level(ranks[static_cast<size_t>(x)], ranks[static_cast<size_t>(y)]); }},
              fabric);
        }
        EXPECT_NEAR(predict_on(op, cluster).seconds, all, 1e-9 * all)
            << word_of(kind) << " " << name_of(a) << " " << pod;
      }
  }
}

// α = 10 µs, 2 µs for each further message, 0.4 ns a byte: the messages of a mesh follow one another on the port.
TEST(HcclSim, MessagesShareAPort) {
  const Cluster cluster = cluster_of(5, 1);
  const double got = predict_on(operation_of(Kind::AllGather, Mesh, 5 * 4000, 5, 4), cluster).seconds;
  EXPECT_NEAR(got, 10e-6 + 10e-6 + 3 * 2e-6 + 4 * 4000 * 4e-10, 1e-12);
  const double alone = predict_on(operation_of(Kind::AllGather, Mesh, 5 * 4000, 5, 4), cluster_of(5, 1, true)).seconds;
  EXPECT_NEAR(alone, 10e-6 + 10e-6 + 4000 * 4e-10, 1e-12);
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
  const double got = simulate({3, 4, schedule, [](int, int) { return Level::Inter; }}, cluster_of(3, 1).fabric);
  EXPECT_NEAR(got, 10e-6 + 4000 * 4e-10 + 4000 * 3e-12 + 10e-6 + 40 * 4e-10, 1e-15);
}

/// Two members; the first sends `bytes`, which the second combines.
double one_message(double bytes, const Link& link, bool while_it_sends = false) {
  const auto n = static_cast<uint64_t>(bytes);
  const auto schedule = [=](int member) {
    Schedule rounds(1);
    if (member == 0) rounds[0].sends = {{1, 0, n}};
    if (member == 1) rounds[0] = {{}, {{0, 0, n}}, true};
    // nothing that counts, but of the same elements
    if (while_it_sends && member == 1) rounds[0].sends = {{0, 0, 1}};
    if (while_it_sends && member == 0) rounds[0].receives = {{1, n, 1}};
    return rounds;
  };
  Fabric fabric;
  fabric.inter = link;
  return simulate({2, 1, schedule, [](int, int) { return Level::Inter; }}, fabric);
}

// 4 MiB at 1 ns a byte: while a piece of 1 MiB arrives, the one before is combined.
TEST(HcclSim, PiecesAreCombinedOnTheWay) {
  const double mib = 1 << 20;
  const auto of = [](double gamma) { return Link{{10e-6, 1e-9, gamma}, 0, true, 0}; };
  EXPECT_NEAR(one_message(4 * mib, of(0.25e-9)), 10e-6 + 4 * mib * 1e-9 + mib * 0.25e-9, 1e-12);
  // combining takes longer than the wire: it goes on without a pause once the first piece is there
  EXPECT_NEAR(one_message(4 * mib, of(3e-9)), 10e-6 + mib * 1e-9 + 4 * mib * 3e-9, 1e-12);
  EXPECT_NEAR(one_message(mib / 2, of(0.25e-9)), 10e-6 + mib / 2 * 1.25e-9, 1e-12);
  // what is still being sent is combined when all is there
  EXPECT_NEAR(one_message(4 * mib, of(0.25e-9), true), 10e-6 + 4 * mib * 1.25e-9, 2e-9);
}

TEST(HcclSim, LargeMessagesAreAnnounced) {
  const Link link = {{10e-6, 1e-9, 0}, 0, true, 35e-6};
  EXPECT_NEAR(one_message(65536, link), 10e-6 + 65536e-9, 1e-12);
  EXPECT_NEAR(one_message(65537, link), 10e-6 + 35e-6 + 65537e-9, 1e-12);
}

/// A host of 3 ranks on 2 cores, so that all takes 3/2 of the time: a launch of 7 µs, 5 µs for a meeting and 1 µs for
/// the third rank, 0.1 ns a byte read or written, 0.2 ns a byte combined.
double on_a_host(Kind kind, uint64_t count) {
  Cluster host;
  host.cards = {3};
  host.cores = 2;
  host.fabric.launch = 7e-6;
  host.fabric.intra = {{5e-6, 0.1e-9, 0.2e-9}, 1e-6, true, 0, true};
  return predict_on({kind, kind == Kind::AllToAll ? Pairwise : Ring, count, 4}, host).seconds / 1.5 - 7e-6;
}

// By hand from local_work.cpp. 300,000 elements are 1.2 MB, a third of them 0.4 MB; or blocks of 0.4 MB.
TEST(HcclSim, OneServerByHand) {
  const double two = 2 * 6e-6, mb = 1e6 * 0.1e-9, combined = 1e6 * 0.2e-9;
  // a third of three buffers is read, combined, written to three
  EXPECT_NEAR(on_a_host(Kind::AllReduce, 300'000), two + 2.4 * mb + 0.8 * combined, 1e-12);
  EXPECT_NEAR(on_a_host(Kind::Reduce, 300'000), two + 1.6 * mb + 0.8 * combined, 1e-12);
  EXPECT_NEAR(on_a_host(Kind::ReduceScatter, 100'000), two + 1.6 * mb + 0.8 * combined, 1e-12);
  EXPECT_NEAR(on_a_host(Kind::AllGather, 100'000), two + 1.6 * mb, 1e-12);  // one block, to three
  EXPECT_NEAR(on_a_host(Kind::Broadcast, 300'000), two + 1.2 * mb, 1e-12);  // a third, to two
  EXPECT_NEAR(on_a_host(Kind::Scatter, 100'000), two + 0.8 * mb, 1e-12);    // the root's block
  EXPECT_NEAR(on_a_host(Kind::AllToAll, 100'000), two + 2.4 * mb, 1e-12);   // three blocks
  // up to 4 KiB everyone does everything, and who has met is done
  const double kb = 1e3 * 0.1e-9;
  EXPECT_NEAR(on_a_host(Kind::AllReduce, 1000), 6e-6 + 16 * kb + 8e3 * 0.2e-9, 1e-12);
  EXPECT_NEAR(on_a_host(Kind::AllReduce, 1025), two + 8.2 * kb + 4100. / 3 * 2 * 0.2e-9, 1e-12);
}

// What its links make of the same: two meetings, and bytes that only the others' memory counts.
TEST(HcclSim, OneServerOfLinkedCards) {
  const Cluster cluster = cluster_of(1, 8);
  const double n = 8e6, two = 2 * (4e-6 + 6 * 1e-6);
  const auto got = [&](Kind kind, Algorithm a) { return predict_on(operation_of(kind, a, n, 8, 4), cluster).seconds; };
  EXPECT_NEAR(got(Kind::AllReduce, Mesh), two + 2 * 1e6 * 1e-10 + 7e6 * 2e-12, 1e-9);
  EXPECT_NEAR(got(Kind::AllGather, Mesh), two + 1e6 * 1e-10, 1e-9);
  EXPECT_NEAR(got(Kind::AllToAll, Pairwise), two + 1e6 * 1e-10, 1e-9);
  // HCCL_ALGO has no say
  for (const Algorithm a : {Ring, HalvingDoubling, NHR, NB, AHC, Pipeline})
    EXPECT_EQ(got(Kind::AllReduce, a), got(Kind::AllReduce, Mesh));
}

// Two hosts of two ranks, an AllReduce of 4 MB by ring: each rank carries 2 MB, of which 1 MB goes each way, twice.
TEST(HcclSim, TwoHostsByHand) {
  Cluster hosts;
  hosts.cards = {2, 2};
  hosts.fabric.launch = 7e-6;
  hosts.fabric.intra = {{5e-6, 0.1e-9, 0.2e-9}, 1e-6, true, 0, true};
  hosts.fabric.inter = {{30e-6, 1e-9, 0.5e-9}, 0, false, 50e-6};
  const double memory = 4e6 + 2e6 /* two halves, into one */ + 4e6 /* one half, to two */;
  const double round = 30e-6 + 50e-6 + 1e6 * 1e-9;
  EXPECT_NEAR(predict_on({Kind::AllReduce, Ring, 1'000'000, 4}, hosts).seconds,
              7e-6 + 2 * 5e-6 + 30e-6 + memory * 0.1e-9 + 2e6 * 0.2e-9 + 2 * round + 1e6 * 0.5e-9, 1e-12);
  // all to all: a MB from each. That of the own host and the own are read and written, the others' come on one port.
  EXPECT_NEAR(predict_on({Kind::AllToAll, Pairwise, 250'000, 4}, hosts).seconds,
              7e-6 + 2 * 5e-6 + 30e-6 + 30e-6 + 50e-6 + 2e6 * 1e-9, 1e-12);
}

TEST(HcclSim, BlocksOfAnySizesHaveMessages) {
  const Cluster cluster = cluster_of(2, 1);
  const auto crossing = [&](Kind kind, std::vector<uint64_t> counts) {
    std::map<std::pair<int, int>, double> bytes;
    for (const auto& m : messages_on({kind, Ring, 0, 4, 0, std::move(counts)}, cluster))
      bytes[{m.from, m.to}] += m.bytes;
    return bytes;
  };
  using Bytes = std::map<std::pair<int, int>, double>;
  EXPECT_EQ(crossing(Kind::AllGatherV, {3, 5}), (Bytes{{{0, 1}, 12}, {{1, 0}, 20}}));
  EXPECT_EQ(crossing(Kind::ReduceScatterV, {3, 5}), (Bytes{{{0, 1}, 20}, {{1, 0}, 12}}));
  EXPECT_EQ(crossing(Kind::AllToAllV, {1, 2, 0, 4}), (Bytes{{{0, 1}, 8}, {{1, 0}, 0}}));
  EXPECT_EQ(messages_on({Kind::Barrier, Ring, 0, 8}, cluster).size(), 2u);
  EXPECT_THROW(predict_on({Kind::Barrier, Ring, 0, 8}, cluster), updraft::Error);
}

// Two meetings of 8 cards, a word with the neighbour, and what the cards read from and write to each other.
TEST(HcclSim, TwoLevels) {
  const Cluster cluster = cluster_of(4, 8);
  const double n = 4.0 * 8 * 4 * 1000;
  const LinkCost memory = {0, 1e-10, 2e-12};
  const auto intra = [&](Kind k, double bytes) { return predict(k, Mesh, 8, bytes, memory); };
  const auto inter = [&](Kind k, double bytes) { return predict(k, NB, 4, bytes, cluster.fabric.inter.cost); };
  const auto got = [&](Kind k) {
    return predict_on(operation_of(k, NB, n, 32, 4), cluster).seconds - 2 * (4e-6 + 6 * 1e-6) - 10e-6;
  };
  EXPECT_NEAR(got(Kind::AllReduce),
              intra(Kind::ReduceScatter, n) + inter(Kind::AllReduce, n / 8) + intra(Kind::AllGather, n), 1e-12);
  EXPECT_NEAR(got(Kind::ReduceScatter), intra(Kind::ReduceScatter, n) + inter(Kind::ReduceScatter, n / 8), 1e-12);
  EXPECT_NEAR(got(Kind::AllGather), inter(Kind::AllGather, n / 8) + intra(Kind::AllGather, n), 1e-12);
  EXPECT_NEAR(got(Kind::Broadcast), intra(Kind::Scatter, n) + inter(Kind::Broadcast, n / 8) + intra(Kind::AllGather, n),
              1e-12);
  EXPECT_NEAR(got(Kind::Reduce), intra(Kind::ReduceScatter, n) + inter(Kind::Reduce, n / 8) + intra(Kind::Scatter, n),
              1e-12);
  EXPECT_NEAR(got(Kind::Scatter), intra(Kind::Scatter, n) + inter(Kind::Scatter, n / 8), 1e-12);
}

// A port for two cards: what goes out takes twice as long.
TEST(HcclSim, CardsShareAPort) {
  Cluster cluster = cluster_of(4, 8);
  cluster.fabric.inter.cost.alpha = cluster.fabric.inter.cost.gamma = 0;
  const Operation op = operation_of(Kind::AllReduce, Ring, 4e6, 32, 4);
  const double own = predict_on(op, cluster).seconds;
  cluster.ports = 4;
  const double bytes = 2.0 * 3 / 4 * 4e6 / 8;
  EXPECT_NEAR(predict_on(op, cluster).seconds - own, bytes * 4e-10, 1e-12);
  cluster.ports = 100;
  EXPECT_DOUBLE_EQ(predict_on(op, cluster).seconds, own);
}

// Super pods are a level of their own: little crosses it.
TEST(HcclSim, SuperPods) {
  Cluster cluster = cluster_of(8, 1);
  cluster.pods = {4, 4};
  double crossing = 0;
  for (const auto& m : messages_on({Kind::AllReduce, NB, 800, 4}, cluster)) {
    EXPECT_EQ(m.level, m.from / 4 == m.to / 4 ? Level::Inter : Level::Super);
    if (m.level == Level::Super) crossing += m.bytes;
  }
  EXPECT_EQ(crossing, 2 * 800 * 4);
  const double n = 4 * 8 * 1000.0;
  const auto of = [&](int p, double bytes, const Link& link) {
    return predict(Kind::AllReduce, NB, p, bytes, link.cost);
  };
  EXPECT_NEAR(predict_on(operation_of(Kind::AllReduce, NB, n, 8, 4), cluster).seconds,
              30e-6 + of(4, n, cluster.fabric.inter) + of(2, n / 4, cluster.fabric.super), 1e-12);
  cluster.pods = {3, 5};
  EXPECT_GT(predict_on(operation_of(Kind::AllReduce, NB, n, 8, 4), cluster).seconds, 0);
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
    EXPECT_EQ(m.level, m.from / 2 == m.to / 2 ? Level::Intra : Level::Inter);
    EXPECT_EQ(m.level == Level::Inter, m.stage == 1);
    (m.level == Level::Inter ? crossing : inside) += m.bytes;
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
  EXPECT_EQ(bucketised(model, 25 << 20, 0).gradients.size(), 4u);
  const Model buckets = bucketised(model, 25 << 20, 1 << 20);
  EXPECT_EQ(buckets.gradients.size(), 5u);
  EXPECT_EQ(buckets.gradients.front().bytes, 4.0 * (2048 * 1000 + 1000));
  EXPECT_EQ(buckets.bytes(), model.bytes());
  EXPECT_EQ(bucketised(model, 0, 1).gradients.size(), 161u);

  const Model slower = timed(model, 0.06, 0.12);
  EXPECT_DOUBLE_EQ(slower.compute, 0.18);
  for (size_t i = 0; i < 161; ++i) EXPECT_NEAR(slower.gradients[i].ready, 2 * model.gradients[i].ready, 1e-12);
  EXPECT_DOUBLE_EQ(timed(model, -1, -1).gradients[7].ready, model.gradients[7].ready);
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
  const Cluster c = parse_cluster(json::parse(
      R"({"servers":5,"servers_per_super_pod":2,"ports_per_server":4,"super":{"bandwidth_GBps":5},"inter":{"alpha":1}})"));
  EXPECT_EQ(c.pods, (std::vector<int>{2, 2, 1}));
  EXPECT_DOUBLE_EQ(c.fabric.super.cost.beta, 2e-10);
  EXPECT_DOUBLE_EQ(c.fabric.super.cost.alpha, 1);  // what is not said is as between servers
  for (const Cluster& cluster : {a, b, c}) {       // what is written can be read
    const Cluster again = parse_cluster(to_json(cluster));
    EXPECT_EQ(to_json(again), to_json(cluster));
    EXPECT_EQ(again.pods, cluster.pods);
  }
  for (const char* bad :
       {"[]", R"({"servers":0})", R"({"servers":1.5})", R"({"server":2})", R"({"cards_per_server":[]})",
        R"({"servers":3,"cards_per_server":[2,2]})", R"({"intra":5})", R"({"intra":{"alpha":-1}})",
        R"({"inter":{"bandwidth_GBps":0}})", R"({"inter":{"speed":1}})", R"({"inter":{"dedicated":1}})",
        R"({"servers":1048576,"cards_per_server":1048576})", R"({"servers":99999999999})",
        R"({"inter":{"beta":1e-9,"bandwidth_GBps":1}})", R"({"servers":4,"servers_per_super_pod":[2,1]})",
        R"({"servers":4,"servers_per_super_pod":0})", R"({"servers":2,"ranks":17})", R"({"ports_per_server":0})"})
    EXPECT_THROW(parse_cluster(json::parse(bad)), updraft::Error) << bad;
}

// Two buckets, ready at 1 and 2 ms, of t each: they follow one another, and the backward pass hides the first.
TEST(HcclSim, StepsOverlap) {
  const Cluster cluster = cluster_of(2, 1);
  const double bytes = 4e6, t = predict_on(operation_of(Kind::AllReduce, Ring, bytes, 2, 4), cluster).seconds;
  ASSERT_GT(t, 1e-3);
  Model model{"m", 2e-3, {{"a", bytes, 1e-3}, {"b", bytes, 2e-3}}};
  const Step step = simulate_step(model, cluster, Ring);
  EXPECT_NEAR(step.seconds, 1e-3 + 2 * t, 1e-12);
  EXPECT_NEAR(step.exposed, 2 * t - 1e-3, 1e-12);
  EXPECT_NEAR(step.communication, 2 * t, 1e-12);
  model.compute = 1;
  EXPECT_DOUBLE_EQ(simulate_step(model, cluster, Ring).seconds, 1);
}

TEST(HcclSim, UnevenServers) {
  Cluster cluster = parse_cluster(json::parse(R"({"cards_per_server":[3,5,4]})"));
  for (const Kind kind : kKinds)
    for (const Algorithm a : candidates(cluster)) {
      const Operation op{kind, a, 1000, 4, 4};
      if (!supports(op)) continue;
      double crossing = 0;
      for (const auto& m : messages_on(op, cluster)) crossing += m.level == Level::Inter ? m.bytes : 0;
      EXPECT_GT(crossing, 0) << word_of(kind) << " " << name_of(a);
      EXPECT_GT(predict_on(op, cluster).seconds, 0) << word_of(kind) << " " << name_of(a);
    }
  EXPECT_THROW(predict_on({Kind::AllToAll, Ring, 1, 4}, cluster), updraft::Error);
  EXPECT_THROW(predict_on({Kind::Broadcast, AHC, 1, 4}, cluster), updraft::Error);
  EXPECT_THROW(operation_of(Kind::AllReduce, Ring, 1e300, 2, 4), updraft::Error);
}

TEST(HcclSim, ScalesToManyRanksAndReports) {
  Report report;
  report.cluster = cluster_of(2048, 8);
  report.model = resnet50(0.03, 0.06);
  report.model.name = "a <model> & \"more\"";
  report.buckets = bucketised(report.model, 25 << 20, 1 << 20);
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
  EXPECT_EQ(out["steps"][0]["buckets"].size(), 5u);
  EXPECT_EQ(out["scaling"].back()["ranks"], 16384);
  EXPECT_EQ(out["choice"]["HCCL_ALGO"], "level0:NA;level1:H-D_R");

  const std::string page = to_html(report);
  EXPECT_NE(page.find("a &lt;model&gt; &amp; &quot;more&quot;"), std::string::npos);
  for (const char* foreign : {"http", "src=", "href", "<script", "@import", "url(", "nan", "inf,"})
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  size_t charts = 0;
  for (size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) ++charts;
  EXPECT_EQ(charts, 4u);
  EXPECT_NE(to_text(report).find("Take H-D_R"), std::string::npos);
  EXPECT_NE(page.find("id=\"en\" checked"), std::string::npos);
  EXPECT_NE(to_html(report, true).find("id=\"zh\" checked"), std::string::npos);
  report.cluster.pods = pods_of(2048, 64);
  EXPECT_EQ(to_json(report)["choice"]["HCCL_ALGO"], "level0:NA;level1:H-D_R;level2:H-D_R");
}

}  // namespace
}  // namespace hccl_sim
