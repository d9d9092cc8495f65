// What observers are told of collectives and messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../device/recorder.h"
#include "ranks.h"

namespace {

using namespace updraft;

std::vector<Seen> ends_of(const Recorder& recorder, const Rank& r, const std::string& name) {
  auto all = recorder.ends(name);
  std::erase_if(all, [&](const Seen& s) { return s.event.device != static_cast<int32_t>(r.rank); });
  return all;
}

bool has(const Seen& seen, const std::string& text) { return std::ranges::count(seen.arguments, text) == 1; }

TEST(ObservedCollective, EachRankSeesItsPart) {
  Subscribed<Recorder> recorder(watch::kTasks | watch::kArguments | watch::kCalls);
  as_ranks(2, [&](Rank& r) {
    const size_t n = 3000;
    Buffer in(n, [](size_t) { return 1.f; }), out(2 * n, [](size_t) { return 0.f; });
    ASSERT_EQ(HcclAllReduce(in.data(), out.data(), n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, r.comm, r.stream), 0);
    ASSERT_EQ(HcclAllGather(in.data(), out.data(), n, HCCL_DATA_TYPE_FP32, r.comm, r.stream), 0);
    ASSERT_EQ(HcclBroadcast(in.data(), n, HCCL_DATA_TYPE_FP32, 1, r.comm, r.stream), 0);
    ASSERT_EQ(r.rank == 0 ? HcclSend(in.data(), n, HCCL_DATA_TYPE_FP32, 1, r.comm, r.stream)
                          : HcclRecv(in.data(), n, HCCL_DATA_TYPE_FP32, 0, r.comm, r.stream),
              0);
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();

    const auto reduced = ends_of(*recorder.get(), r, "HcclAllReduce");
    ASSERT_EQ(reduced.size(), 1u);
    const Seen& s = reduced[0];
    EXPECT_EQ(s.event.kind, TaskKind::Control);
    EXPECT_EQ(s.event.outcome, Outcome::Done);
    EXPECT_EQ(s.event.cost.bytes, 12000);
    EXPECT_NE(s.event.correlation, 0u);
    EXPECT_GE(s.event.ended.monotonic, s.event.begun.monotonic);
    for (const char* text : {"sendBuf=FLOAT[3000]", "->recvBuf=FLOAT[3000]", "count=3000", "op=\"max\"", "ranks=2"})
      EXPECT_TRUE(has(s, text)) << text;
    EXPECT_TRUE(has(s, "rank=" + std::to_string(r.rank)));
    const auto gathered = ends_of(*recorder.get(), r, "HcclAllGather");
    ASSERT_EQ(gathered.size(), 1u);
    EXPECT_TRUE(has(gathered[0], "->recvBuf=FLOAT[6000]"));
    const auto sent = ends_of(*recorder.get(), r, "HcclBroadcast");
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_TRUE(has(sent[0], r.rank == 1 ? "buf=FLOAT[3000]" : "->buf=FLOAT[3000]"));
    EXPECT_TRUE(has(sent[0], "root=1"));
    const auto message = ends_of(*recorder.get(), r, r.rank == 0 ? "HcclSend" : "HcclRecv");
    ASSERT_EQ(message.size(), 1u);
    EXPECT_EQ(message[0].event.cost.bytes, 12000);
    EXPECT_TRUE(has(message[0], r.rank == 0 ? "buf=FLOAT[3000]" : "->buf=FLOAT[3000]"));
    EXPECT_TRUE(has(message[0], r.rank == 0 ? "remoteRank=1" : "remoteRank=0"));
  });
  const auto calls = recorder->calls("HcclAllReduce");
  ASSERT_EQ(calls.size(), 2u);
  for (const Seen& s : recorder->ends("HcclAllReduce"))
    EXPECT_EQ(std::ranges::count(calls, s.event.correlation, [](const SeenCall& c) { return c.call.correlation; }), 1);
}

TEST(ObservedCollective, AReplayPutsThemOnTheStreamAnew) {
  Subscribed<Recorder> recorder(watch::kTasks);
  as_ranks(2, [&](Rank& r) {
    Buffer data(100, [](size_t) { return 1.f; });
    ASSERT_EQ(aclmdlRICaptureBegin(r.stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
    ASSERT_EQ(aclrtMemsetAsync(data.data(), 400, 0, 400, r.stream), 0);
    ASSERT_EQ(HcclAllReduce(data.data(), data.data(), 100, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
    aclmdlRI graph = nullptr;
    ASSERT_EQ(aclmdlRICaptureEnd(r.stream, &graph), 0);
    uint32_t model = 0;
    ASSERT_EQ(aclmdlRIGetId(graph, &model), 0);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(aclmdlRIExecuteAsync(graph, r.stream), 0);
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
    const auto ends = ends_of(*recorder.get(), r, "HcclAllReduce");
    ASSERT_EQ(ends.size(), 2u);
    for (const Seen& s : ends) {
      EXPECT_EQ(s.event.model, model);
      EXPECT_EQ(s.event.index, 1);
    }
    EXPECT_EQ(ends_of(*recorder.get(), r, "MEMSET_ASYNC").size(), 2u);
    ASSERT_EQ(aclmdlRIDestroy(graph), 0);
  });
}

}  // namespace
