// The sanitizer's clocks, shadow and allocations, without a device.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "observe/sanitizer/allocations.h"
#include "observe/sanitizer/clock.h"
#include "observe/sanitizer/findings.h"
#include "observe/sanitizer/guards.h"
#include "observe/sanitizer/recorder.h"
#include "observe/sanitizer/runs.h"
#include "observe/sanitizer/shadow.h"

namespace updraft::sanitizer {
namespace {

constexpr StreamKey kA{0, 0}, kB{0, 1}, kC{0, 2};
int g_event, g_notify;

TEST(SanitizerClocks, StreamsAreApartUntilAnEvent) {
  Clocks clocks;
  const Moment first = clocks.task(kA);
  EXPECT_FALSE(ordered(first, clocks.task(kB)));
  EXPECT_TRUE(ordered(first, clocks.task(kA)));
  clocks.record(&g_event, kA);
  const Moment later = clocks.task(kA);
  clocks.wait(&g_event, kB);
  const Moment behind = clocks.task(kB);
  EXPECT_TRUE(ordered(first, behind));
  EXPECT_TRUE(ordered(behind, first));
  EXPECT_FALSE(ordered(later, behind));  // after the record
}

TEST(SanitizerClocks, OrderGoesOn) {
  Clocks clocks;
  const Moment first = clocks.task(kA);
  clocks.record(&g_event, kA);
  clocks.wait(&g_event, kB);
  clocks.record(&g_event, kB);  // again, on another stream
  clocks.wait(&g_event, kC);
  EXPECT_TRUE(ordered(first, clocks.task(kC)));
}

TEST(SanitizerClocks, AnEventThatWasNeverRecordedOrdersNothing) {
  Clocks clocks;
  const Moment first = clocks.task(kA);
  clocks.wait(&g_event, kB);
  EXPECT_FALSE(ordered(first, clocks.task(kB)));
  clocks.record(&g_event, kA);
  clocks.forget(&g_event);
  clocks.wait(&g_event, kB);
  EXPECT_FALSE(ordered(first, clocks.task(kB)));
}

TEST(SanitizerClocks, WhatTheHostWaitedForIsBeforeAllThatComes) {
  Clocks clocks;
  const Moment first = clocks.task(kA);
  EXPECT_FALSE(ordered(first, clocks.host()));
  EXPECT_FALSE(clocks.past(first));
  clocks.stream_reached(kA);
  EXPECT_TRUE(clocks.past(first));
  EXPECT_TRUE(ordered(first, clocks.host()));
  EXPECT_TRUE(ordered(first, clocks.task(kB)));
  const Moment host = clocks.host();
  EXPECT_TRUE(ordered(host, clocks.task(kC)));
  const Moment second = clocks.task(kA);
  clocks.record(&g_event, kA);
  const Moment third = clocks.task(kA);
  clocks.event_reached(&g_event);
  EXPECT_TRUE(clocks.past(second));
  EXPECT_FALSE(clocks.past(third));
  clocks.reached(third);
  EXPECT_TRUE(clocks.past(third));
}

TEST(SanitizerClocks, Notifies) {
  Clocks clocks;
  const Moment first = clocks.task(kA);
  clocks.set_notify(&g_notify, kA);
  const Moment later = clocks.task(kA);
  clocks.take_notify(&g_notify, kB);
  EXPECT_TRUE(ordered(first, clocks.task(kB)));
  EXPECT_FALSE(ordered(later, clocks.task(kB)));
  // taken before it is set: nothing is told until it is
  clocks.take_notify(&g_notify, kC);
  EXPECT_TRUE(ordered(later, clocks.task(kC)));
  clocks.set_notify(&g_notify, kA);
  EXPECT_TRUE(ordered(later, clocks.task(kC)));
  EXPECT_FALSE(ordered(clocks.task(kA), clocks.task(kC)));
}

TEST(SanitizerClocks, Values) {
  Clocks clocks;
  const Moment first = clocks.task(kA);
  clocks.write_value(&g_notify, kA, 3);
  clocks.await_value(&g_notify, kB, [](uint64_t v) { return v >= 2; });
  EXPECT_TRUE(ordered(first, clocks.task(kB)));
  const Moment later = clocks.task(kA);
  EXPECT_FALSE(ordered(later, clocks.task(kB)));
  clocks.await_value(&g_notify, kC, [](uint64_t v) { return v >= 4; });  // comes from elsewhere
  EXPECT_TRUE(ordered(later, clocks.task(kC)));
  clocks.stream_reached(kC);
  EXPECT_FALSE(ordered(clocks.task(kA), clocks.task(kC)));
}

alignas(64) char g_memory[4096];

TensorView view(int64_t offset, std::vector<int64_t> dims, std::vector<int64_t> strides) {
  TensorView v =
      TensorView::contiguous(g_memory + offset * 4, DType::Float, dims.data(), static_cast<int>(dims.size()));
  std::copy(strides.begin(), strides.end(), v.strides);
  return v;
}

std::vector<Range> runs_of(const TensorView& v) {
  std::vector<Range> runs;
  for_each_run(v, 1000, [&](Range r) {
    runs.push_back({r.begin - reinterpret_cast<uintptr_t>(g_memory), r.end - reinterpret_cast<uintptr_t>(g_memory)});
    return true;
  });
  return runs;
}

TEST(SanitizerRuns, DenseViewsAreOnePiece) {
  for (const TensorView& v : {view(1, {4, 8}, {8, 1}), view(1, {8, 4}, {1, 8}), view(1, {2, 1, 16}, {16, 99, 1})}) {
    const auto runs = runs_of(v);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].begin, 4u);
    EXPECT_EQ(runs[0].end, 4u + 128);
  }
}

TEST(SanitizerRuns, Columns) {
  const auto runs = runs_of(view(2, {3, 2}, {10, 1}));
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[1].begin, 48u);
  EXPECT_EQ(runs[1].end, 56u);
  EXPECT_FALSE(for_each_run(view(0, {100}, {2}), 99, [](Range) { return true; }));
  EXPECT_TRUE(runs_of(view(0, {0, 3}, {3, 1})).empty());
  EXPECT_EQ(runs_of(view(5, {4}, {0})).size(), 1u);  // expanded
}

TEST(SanitizerRuns, SharedBytes) {
  EXPECT_FALSE(share_a_byte(view(0, {10, 4}, {10, 1}), view(4, {10, 6}, {10, 1})));
  EXPECT_TRUE(share_a_byte(view(0, {10, 5}, {10, 1}), view(4, {10, 6}, {10, 1})));
  EXPECT_FALSE(share_a_byte(view(0, {50}, {2}), view(1, {50}, {2})));
  EXPECT_TRUE(share_a_byte(view(0, {50}, {2}), view(98, {4}, {1})));
  EXPECT_FALSE(share_a_byte(view(0, {4}, {1}), view(4, {4}, {1})));
}

WorkRef work(Clocks& clocks, StreamKey stream) {
  auto made = std::make_shared<Work>();
  made->stream = stream;
  made->moment = clocks.task(stream);
  return made;
}

TEST(SanitizerShadow, ConflictsByBytes) {
  Clocks clocks;
  Shadow shadow;
  std::vector<std::pair<const Work*, bool>> told;
  const auto tell = [&](const Work& earlier, bool wrote) { told.emplace_back(&earlier, wrote); };
  const WorkRef a = work(clocks, kA), b = work(clocks, kB), c = work(clocks, kC);
  shadow.write({100, 200}, a, tell);
  shadow.read({150, 160}, b, tell);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, a.get());
  EXPECT_TRUE(told[0].second);
  told.clear();
  shadow.read({200, 300}, b, tell);
  EXPECT_TRUE(told.empty());
  shadow.write({290, 295}, c, tell);  // against the read alone
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, b.get());
  EXPECT_FALSE(told[0].second);
  told.clear();
  clocks.record(&g_event, kA);
  clocks.wait(&g_event, kC);
  shadow.write({100, 150}, work(clocks, kC), tell);
  EXPECT_TRUE(told.empty());
  shadow.write({150, 200}, work(clocks, kC), tell);
  EXPECT_EQ(told.size(), 1u);  // b has read there
}

TEST(SanitizerShadow, WholeWritesAreOneCellAgain) {
  Clocks clocks;
  Shadow shadow;
  const auto never = [](const Work&, bool) { FAIL(); };
  for (uintptr_t i = 0; i < 100; ++i) shadow.write({i * 10, i * 10 + 10}, work(clocks, kA), never);
  EXPECT_EQ(shadow.size(), 100u);
  shadow.read({5, 995}, work(clocks, kA), never);
  EXPECT_EQ(shadow.size(), 102u);
  shadow.write({0, 1000}, work(clocks, kA), never);
  EXPECT_EQ(shadow.size(), 1u);
  shadow.forget(Range{200, 300});
  EXPECT_EQ(shadow.size(), 2u);
  shadow.forget([](const Work&) { return true; });
  EXPECT_EQ(shadow.size(), 0u);
}

Piece piece(uintptr_t begin, uintptr_t end) {
  Piece made{{begin, end}, begin + 7000, 0};
  return made;
}

TEST(SanitizerShadow, ReadsOfTheSameBytesAreOneCell) {
  Clocks clocks;
  Shadow shadow;
  std::vector<std::pair<const Work*, bool>> told;
  const auto tell = [&](const Work& earlier, bool wrote) { told.emplace_back(&earlier, wrote); };
  const WorkRef a = work(clocks, kA), b = work(clocks, kB), later = work(clocks, kA);
  shadow.write({100, 200}, a, tell);
  shadow.read({100, 200}, later, tell);
  EXPECT_TRUE(told.empty());
  shadow.read({100, 200}, b, tell);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, a.get());
  EXPECT_EQ(shadow.size(), 1u);
  told.clear();
  shadow.write({100, 200}, work(clocks, kC), tell);  // against the write and both reads
  EXPECT_EQ(told.size(), 3u);
}

TEST(SanitizerGuards, WholePagesOfTheAllocation) {
  const auto expect = [](Range got, uintptr_t begin, uintptr_t end) {
    EXPECT_EQ(got.begin, begin);
    EXPECT_EQ(got.end, end);
  };
  expect(pages_of({4096, 8192}, {4096, 8192}), 4096, 8192);
  expect(pages_of({4096, 4196}, {4096, 4196}), 4096, 8192);  // the rest of the page is nobody's
  EXPECT_TRUE(pages_of({4096, 4196}, {4096, 5000}).empty());
  expect(pages_of({5000, 14000}, {4096, 20480}), 8192, 12288);
}

TEST(SanitizerGuards, CloseOpenAndGo) {
  constexpr size_t kPage = 4096;
  auto* memory =
      static_cast<char*>(mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  // The kernel says what may be done with a page, where a touch would end the test.
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const auto readable = [&](size_t page) {
    char back;
    return write(pipe_ends[1], memory + page * kPage, 1) == 1 && read(pipe_ends[0], &back, 1) == 1;
  };
  const auto writable = [&](size_t page) {
    char left;  // what a refused read leaves in the pipe
    if (write(pipe_ends[1], "x", 1) != 1) return false;
    return read(pipe_ends[0], memory + page * kPage, 1) == 1 || read(pipe_ends[0], &left, 1) != 1;
  };
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  Clocks clocks;
  Guards guards;
  const WorkRef down = work(clocks, kA), up = work(clocks, kB);
  guards.add(up, {begin, begin + 2 * kPage}, false);
  EXPECT_TRUE(readable(0) && readable(1) && writable(2));
  EXPECT_FALSE(writable(0) || writable(1));
  guards.add(down, {begin + kPage, begin + 3 * kPage}, true);
  EXPECT_FALSE(readable(1) || readable(2));
  guards.open({begin + kPage + 8, begin + kPage + 16});
  EXPECT_TRUE(writable(1));
  EXPECT_FALSE(readable(2));
  guards.close({begin + kPage + 8, begin + kPage + 16});
  EXPECT_FALSE(readable(1));
  guards.release([&](const Work& one) { return &one == down.get(); });
  EXPECT_TRUE(readable(1) && writable(2));
  EXPECT_FALSE(writable(1));
  EXPECT_EQ(guards.touched(begin + 5, false), nullptr);  // a read beside a read
  EXPECT_TRUE(guards.empty() && writable(1));
  guards.add(down, {begin, begin + kPage}, true);
  EXPECT_EQ(guards.touched(begin + 5, false), down);
  EXPECT_TRUE(writable(0));
  guards.add(down, {begin, begin + kPage}, true);
  guards.forget({begin, begin + 1});
  EXPECT_TRUE(guards.empty() && writable(0));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  munmap(memory, 3 * kPage);
}

// A program that frees thousands of tensors has as many freed blocks behind those that it uses.
TEST(SanitizerAllocations, FreedBlocksBehindCostNothing) {
  const auto seconds = [](uintptr_t freed) {
    Allocations all;
    all.add(piece(0, (freed + 2) * 512), true);
    for (uintptr_t i = 0; i <= freed; ++i) all.block_taken(i * 512, i + 1, false, nullptr);
    for (uintptr_t i = 1; i <= freed; ++i) all.block_freed(i * 512, nullptr);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(all.next_block({0, 64}), 0u);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double few = seconds(10);
  EXPECT_LT(seconds(50000), 100 * few + 0.05);
}

TEST(SanitizerAllocations, WrittenBytes) {
  Allocations all;
  all.add(piece(1000, 2000), false);
  EXPECT_FALSE(all.all_written({1000, 1001}));
  all.written({1000, 1500});
  EXPECT_TRUE(all.all_written({1000, 1500}));
  EXPECT_FALSE(all.all_written({1499, 1501}));
  EXPECT_FALSE(all.none_written({1499, 1501}));
  EXPECT_TRUE(all.none_written({1500, 2000}));
  all.add(piece(4000, 5000), true);
  EXPECT_TRUE(all.all_written({4000, 5000}));
  all.shared(1200);
  EXPECT_TRUE(all.all_written({1000, 2000}));
  ASSERT_TRUE(all.remove(1000, nullptr));
  EXPECT_FALSE(all.allocation_at(1500)->live);
  EXPECT_EQ(all.allocation_at(2000), nullptr);
  EXPECT_FALSE(all.remove(1000, nullptr));
}

TEST(SanitizerAllocations, Blocks) {
  Allocations all;
  all.add(piece(1000, 9000), false);
  EXPECT_EQ(all.block_at(1000), nullptr);
  all.block_taken(1000, 1, false, nullptr);
  all.written({1000, 9000});
  all.block_taken(3000, 2, false, nullptr);
  EXPECT_EQ(all.block_at(2999)->bytes.begin, 1000u);
  EXPECT_EQ(all.block_at(3000)->client, 10000u);
  EXPECT_TRUE(all.all_written({1000, 3000}));
  EXPECT_TRUE(all.none_written({3000, 9000}));
  EXPECT_EQ(all.next_block({1000, 3000}), 0u);
  EXPECT_EQ(all.next_block({1000, 3001}), 3000u);
  all.block_freed(3000, nullptr);
  EXPECT_FALSE(all.block_at(3500)->live);
  all.block_freed(1000, nullptr);
  all.block_taken(1000, 3, false, nullptr);  // one large one
  EXPECT_TRUE(all.block_at(3500)->live);
  EXPECT_EQ(all.block_at(3500)->born, 3u);
  EXPECT_TRUE(all.none_written({1000, 9000}));
}

TEST(SanitizerAllocations, PoolsOfGraphsHaveNoBlocks) {
  Allocations all;
  all.add(piece(1000, 9000), false);
  all.add(piece(20000, 30000), false);
  all.block_taken(1000, 1, false, nullptr);  // before the capture, for its warm-up
  all.block_freed(1000, nullptr);
  all.block_taken(3000, 2, true, nullptr);
  EXPECT_EQ(all.block_at(1000), nullptr);
  EXPECT_TRUE(all.all_written({1000, 9000}));
  all.block_taken(1000, 3, false, nullptr);
  EXPECT_EQ(all.block_at(1000), nullptr);
  all.block_taken(20000, 4, false, nullptr);
  EXPECT_TRUE(all.block_at(20000)->live);  // other memory has them still
}

TEST(SanitizerAllocations, MappedOnesInARow) {
  Allocations all;
  for (const bool mapped : {false, true}) {
    for (uintptr_t at : {1000u, 2000u, 4000u}) {
      Piece one = piece(at, at + 1000);
      one.mapped = mapped;
      all.add(one, true);
    }
    EXPECT_EQ(all.end_for({1500, 1600}), 2000u);
    EXPECT_EQ(all.end_for({1500, 2600}), mapped ? 3000u : 2000u);
    EXPECT_EQ(all.end_for({1500, 4600}), mapped ? 3000u : 2000u);  // a hole
  }
}

TEST(SanitizerFindings, Kinds) {
  EXPECT_EQ(kinds_of("race"), 1u);
  EXPECT_EQ(kinds_of("all"), (1u << kKinds) - 1);
  EXPECT_EQ(kinds_of("race,host"), 0b110001u);
  EXPECT_FALSE(kinds_of("races"));
  EXPECT_FALSE(kinds_of(""));
}

TaskEvent task(uint64_t id, StreamKey stream, const char* name, const std::vector<Argument>& arguments) {
  TaskEvent event;
  event.id = id;
  event.device = stream.first;
  event.stream = stream.second;
  event.name = name;
  event.arguments_known = true;
  event.arguments = arguments;
  return event;
}

std::vector<Argument> argument(const TensorView& v, Direction direction) {
  TensorArgument tensor;
  tensor.view = v;
  return {{"x", direction, -1, tensor}};
}

/// All of g_memory is taken from the device.
OrderEvent memory_taken() {
  OrderEvent memory{.what = OrderEvent::What::Allocated, .object = g_memory};
  memory.client = g_memory;
  memory.bytes = sizeof g_memory;
  memory.device = 0;
  memory.name = "device";
  return memory;
}

TEST(SanitizerRecorder, ThreadsOfTheHost) {
  Recorder recorder((1u << kKinds) - 1);
  OrderEvent memory = memory_taken();
  recorder.ordered(memory);
  const auto fill = argument(view(0, {1024}, {1}), Direction::Out);
  recorder.submitted(task(1, kA, "aclnnInplaceZero", fill));
  OrderEvent reached{.what = OrderEvent::What::StreamReached};
  reached.device = 0;
  reached.stream = 0;
  recorder.ordered(reached);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const StreamKey stream{0, i};
      const auto own = argument(view(i * 100, {100}, {1}), Direction::Out);
      const auto read = argument(view(i * 100, {100}, {1}), Direction::In);
      for (uint64_t k = 0; k < 500; ++k) {
        recorder.submitted(task(100 + k, stream, "aclnnNeg", own));
        recorder.submitted(task(100 + k, stream, "aclnnAbs", read));
        OrderEvent record{.what = OrderEvent::What::EventRecorded, .object = &threads + i};
        record.device = 0;
        record.stream = i;
        recorder.ordered(record);
        OrderEvent wait = record;
        wait.what = OrderEvent::What::EventAwaited;
        wait.stream = (i + 1) % 4;
        recorder.ordered(wait);
        if (k % 50 == 0) {
          OrderEvent done{.what = OrderEvent::What::StreamReached};
          done.device = 0;
          done.stream = i;
          recorder.ordered(done);
        }
        recorder.block(g_memory + 2048, k % 2);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_TRUE(recorder.findings().empty());
  const auto again = argument(view(0, {1024}, {1}), Direction::Out);
  recorder.submitted(task(9000, {0, 40}, "aclnnInplaceOne", again));
  const auto json = nlohmann::json::parse(recorder.findings().json());
  ASSERT_FALSE(json["findings"].empty());
  EXPECT_EQ(json["findings"][0]["kind"], "race");
  EXPECT_EQ(json["findings"][0]["second"]["name"], "aclnnInplaceOne");
  EXPECT_EQ(json["findings"][0]["second"]["tensor"], "FLOAT[1024]");
}

TEST(SanitizerRecorder, FreedMemoryThatTheLibraryUses) {
  const auto read = argument(view(0, {100}, {1}), Direction::In);
  for (const bool library : {false, true}) {
    Recorder recorder((1u << kKinds) - 1);
    OrderEvent memory = memory_taken();
    recorder.ordered(memory);
    memory.what = OrderEvent::What::Freed;
    recorder.ordered(memory);
    memory.what = OrderEvent::What::Allocated;
    memory.name = "library";
    if (library) recorder.ordered(memory);
    recorder.submitted(task(1, kA, "HcclAllGather", read));
    EXPECT_EQ(recorder.findings().empty(), library);
  }
}

TEST(SanitizerRecorder, ResultsOfAModel) {
  const auto read = argument(view(0, {100}, {1}), Direction::In);
  for (const bool told : {false, true}) {
    Recorder recorder((1u << kKinds) - 1);
    recorder.ordered(memory_taken());
    OrderEvent written{.what = OrderEvent::What::Written, .object = g_memory};
    written.bytes = 400;
    if (told) recorder.ordered(written);
    recorder.submitted(task(1, kA, "aclnnNeg", read));
    EXPECT_EQ(recorder.findings().empty(), told);
  }
}

TEST(SanitizerRecorder, BlocksThatAGraphTakes) {
  const auto read = argument(view(0, {100}, {1}), Direction::In);
  for (const bool told : {false, true}) {
    Recorder recorder((1u << kKinds) - 1);
    recorder.ordered(memory_taken());
    OrderEvent block{.what = OrderEvent::What::BlockTaken, .object = g_memory};
    recorder.ordered(block);  // nobody has told of blocks: the allocation stays whole, and unwritten
    recorder.block(g_memory, true);
    recorder.block(g_memory, false);
    if (told) recorder.ordered(block);
    recorder.submitted(task(1, kA, "aclnnNeg", read));
    EXPECT_EQ(recorder.findings().empty(), told);
  }
}

TEST(SanitizerRecorder, BlocksThatWentWithoutAWord) {
  const auto write = argument(view(0, {100}, {1}), Direction::Out);
  for (const bool asked : {false, true}) {
    Recorder recorder((1u << kKinds) - 1);
    recorder.ordered(memory_taken());
    recorder.block(g_memory, true);
    recorder.block(g_memory + 256, true);
    recorder.block(g_memory, false);
    const uint64_t since = recorder.now();
    recorder.block(g_memory, true);  // now as large as both
    if (asked) recorder.blocks_in_use({}, since);
    recorder.submitted(task(1, kA, "aclnnNeg", write));
    EXPECT_EQ(recorder.findings().empty(), asked);
  }
}

std::string described(const void*, uint64_t value) { return value ? "FLOAT[" + std::to_string(value) + "]" : ""; }

TEST(SanitizerRecorder, HandlesThatAreLeft) {
  int objects[4];
  Recorder recorder((1u << kKinds) - 1);
  OrderEvent made{.what = OrderEvent::What::Made};
  made.text = "aclCreateTensor";
  made.left = described;
  for (uint64_t i = 0; i < 3; ++i) {  // the first is gone
    made.object = objects + i;
    made.name = "Tensor";
    made.value = i;
    recorder.ordered(made);
  }
  made.object = objects + 3;
  made.name = "executor";
  recorder.ordered(made);
  recorder.finish(Recorder::Keeps::Handles);
  const auto json = nlohmann::json::parse(recorder.findings().json());
  ASSERT_EQ(json["findings"].size(), 1u);  // frameworks keep executors
  EXPECT_EQ(json["findings"][0]["items"], 2);
  EXPECT_EQ(json["findings"][0]["second"]["call"], "aclCreateTensor");
  const std::string detail = json["findings"][0]["detail"];
  EXPECT_EQ(detail, "Tensor FLOAT[1], FLOAT[2]");
}

TEST(SanitizerRecorder, APlanKeepsWhatItWasMadeOf) {
  for (const bool plan : {false, true}) {
    int objects[2];
    Recorder recorder((1u << kKinds) - 1);
    OrderEvent made{.what = OrderEvent::What::Made, .object = objects, .value = 1};
    made.name = "Tensor";
    made.left = described;
    recorder.ordered(made);
    made.object = objects + 1;
    made.name = "executor";
    if (plan) recorder.ordered(made);
    recorder.finish(Recorder::Keeps::Plans);
    EXPECT_EQ(recorder.findings().empty(), plan);
  }
}

}  // namespace
}  // namespace updraft::sanitizer
