// Memory that the runs of a model share, one after the other.
#include "graph/executor/arenas.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "graph/executor/loaded_model.h"
#include "models.h"

namespace updraft::graph {
namespace {

struct ArenaBlocks : Models {
  Device& device_ = Device::get(0);
  size_t used() const {
    size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), 0);
    return total - free;
  }
};

TEST_F(ArenaBlocks, OneForRunsThatFollowEachOther) {
  Arenas arenas(device_);
  EXPECT_EQ(arenas.take(0, nullptr).data(), nullptr);
  std::byte* first = arenas.take(4000, nullptr).data();
  arenas.give_back(first);
  EXPECT_EQ(arenas.take(3000, nullptr).data(), first);
  std::byte* second = arenas.take(1000, first).data();  // which is taken
  EXPECT_NE(second, first);
  arenas.give_back(first);
  arenas.give_back(second);
  EXPECT_EQ(arenas.take(1000, second).data(), second) << "plans hold its addresses";
  EXPECT_EQ(arenas.take(1000, second).data(), first);
}

TEST_F(ArenaBlocks, GrowWhereTheyLie) {
  Arenas arenas(device_);
  constexpr size_t kFirst = size_t{64} << 20;
  std::byte* first = arenas.take(kFirst, nullptr).data();
  ASSERT_EQ(aclrtMemset(first, 64, 7, 64), 0);
  arenas.give_back(first);
  const size_t before = used();
  EXPECT_EQ(arenas.take(kFirst + 1, nullptr).data(), first) << "plans hold its addresses";
  EXPECT_LE(used() - before, 4096u) << "no more than it lacks";
  std::byte* beside = arenas.take(kFirst, nullptr).data();
  EXPECT_TRUE(beside >= first + kFirst + 1 || beside + kFirst <= first);
  arenas.give_back(first);
  arenas.give_back(beside);
  EXPECT_EQ(arenas.take(2 * kFirst, nullptr).data(), first) << "the largest is nearest to it";
  EXPECT_EQ(values<uint8_t>(first, 64), std::vector<uint8_t>(64, 7));
  arenas.clear();
  EXPECT_GE(used(), before) << "it is taken";
  arenas.give_back(first);
  arenas.clear();
  EXPECT_LE(used() + kFirst, before + (4 << 20));
}

TEST_F(ArenaBlocks, MoreThanThereIsIsRefusedAndTheNextOneServed) {
  Arenas arenas(device_);
  arenas.give_back(arenas.take(1000, nullptr).data());
  EXPECT_THROW(arenas.take(size_t{1} << 50, nullptr).data(), Error);
  std::byte* block = arenas.take(1000, nullptr).data();
  EXPECT_NE(block, nullptr);
  arenas.give_back(block);
}

/// y = -((x + x) * x) of any batch, in memory that lives during the run.
void any_batch(Graph& g) {
  Builder build(g);
  const Endpoint x = build.input("x", 0, {DType::Float, {-1, 1 << 16}});
  build.outputs({build("Neg", "neg", {build("Mul", "mul", {build("Add", "twice", {x, x}), x})})});
}

struct ManySizes : ArenaBlocks {
  static void execute(uint32_t id, int64_t batch, aclrtStream stream = nullptr) {
    const size_t count = static_cast<size_t>(batch) << 16;
    Floats x(count);
    for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 251) - 125;
    Set in, out;
    void *from = nullptr, *y = nullptr;
    ASSERT_EQ(aclrtMalloc(&from, count * 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    ASSERT_EQ(aclrtMalloc(&y, count * 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    ASSERT_EQ(aclrtMemcpy(from, count * 4, x.data(), count * 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    in.add(from, count * 4, {batch, 1 << 16});
    out.add(y, count * 4);
    ASSERT_EQ(stream ? aclmdlExecuteAsync(id, in.set, out.set, stream) : aclmdlExecute(id, in.set, out.set), 0)
        << error();
    if (stream) { ASSERT_EQ(aclrtSynchronizeStream(stream), 0); }
    const Floats got = values<float>(y, count);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], -2 * x[i] * x[i]) << i << " of batch " << batch;
    aclrtFree(from);
    aclrtFree(y);
  }
};

TEST_F(ManySizes, KeepTheMemoryOfTheLargest) {
  Graph g("any");
  any_batch(g);
  const uint32_t id = load(file(g));
  execute(id, 40);
  const size_t before = used();
  for (int64_t batch = 39; batch > 0; --batch) execute(id, batch);
  EXPECT_LE(used(), before + (8 << 20));  // a tensor of batch 40 has 10 MiB, those of all batches 200 MiB
  for (const int64_t batch : {41, 7, 55, 40, 7}) execute(id, batch);
}

TEST_F(ManySizes, ModelsShareItAndTakeItWithThem) {
  const size_t before = used();
  Graph g("any");
  any_batch(g);
  const Bytes bytes = file(g);
  std::vector<uint32_t> ids(5);
  for (uint32_t& id : ids) {
    ASSERT_EQ(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id), 0);
    execute(id, 40);
  }
  EXPECT_LE(used(), before + (25 << 20));  // two tensors of 10 MiB
  for (const uint32_t id : ids) execute(id, 17);
  ASSERT_EQ(aclmdlUnload(ids[0]), 0);
  for (size_t i = 1; i < ids.size(); ++i) {
    execute(ids[i], 17);
    ASSERT_EQ(aclmdlUnload(ids[i]), 0);
  }
  EXPECT_EQ(used(), before);
}

TEST_F(ManySizes, RunsBesideEachOtherHaveTheirOwn) {
  Graph g("any");
  any_batch(g);
  const uint32_t id = load(file(g));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      ASSERT_EQ(aclrtSetDevice(0), 0);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), 0);
      for (int64_t turn = 0; turn < 12; ++turn) execute(id, 1 + (turn * 5 + t) % 9, stream);
      aclrtDestroyStream(stream);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace updraft::graph
