// Handles that clients kept too long: told so, and never written through.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../sanitizers.h"
#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "base/handle_pool.h"

extern "C" int aclnnNonzeroGetWorkspaceSize(const aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);
extern "C" int aclnnNonzero(void*, uint64_t, aclOpExecutor*, aclrtStream);
extern "C" int aclnnUnique2GetWorkspaceSize(const aclTensor*, bool, bool, bool, aclTensor*, aclTensor*, aclTensor*,
                                            uint64_t*, aclOpExecutor**);
extern "C" int aclnnUnique2(void*, uint64_t, aclOpExecutor*, aclrtStream);
extern "C" int aclnnCatGetWorkspaceSize(const aclTensorList*, int64_t, aclTensor*, uint64_t*, aclOpExecutor**);
extern "C" int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*,
                                                aclOpExecutor**);
extern "C" int aclnnInplaceAdds(void*, uint64_t, aclOpExecutor*, aclrtStream);

namespace updraft {
namespace {

// Pools of the library live as long as the process, and so do these: threads give back to them when they end.
HandlePool<uint64_t>& large_pool() {
  static auto* pool = new HandlePool<uint64_t>(size_t{1} << 20);
  return *pool;
}

TEST(HandlePool, ThreadsTakeAndGiveBackManyAtATime) {
  HandlePool<uint64_t>& pool = large_pool();
  std::mutex mutex;
  std::vector<uint64_t*> shared;  // made by one thread, destroyed by another
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t round = 0; round < 2000; ++round) {
        uint64_t* mine[10];
        for (uint64_t i = 0; i < 10; ++i) mine[i] = pool.create(t << 32 | round << 8 | i);
        // An object that two threads got at once would be overwritten.
        for (uint64_t i = 0; i < 10; ++i) wrong += *mine[i] != (t << 32 | round << 8 | i);
        std::vector<uint64_t*> others;
        {
          std::lock_guard lock(mutex);
          shared.insert(shared.end(), mine, mine + 10);
          const size_t count = std::min<size_t>(shared.size(), round % 3 * 10);
          others.assign(shared.begin(), shared.begin() + static_cast<std::ptrdiff_t>(count));
          shared.erase(shared.begin(), shared.begin() + static_cast<std::ptrdiff_t>(count));
        }
        for (uint64_t* other : others) wrong += !pool.destroy(other);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  const std::set<uint64_t*> alive(shared.begin(), shared.end());
  EXPECT_EQ(alive.size(), shared.size()) << "an address was given out twice";
  for (uint64_t* p : alive) EXPECT_TRUE(pool.destroy(p));
}

TEST(HandlePool, ThreadsThatEndLeaveNothingBehind) {
  HandlePool<uint64_t>& pool = large_pool();
  uintptr_t low = UINTPTR_MAX, high = 0;
  for (int i = 0; i < 500; ++i)
    std::thread([&] {
      for (int n = 0; n < 100; ++n) {
        uint64_t* p = pool.create(1u);
        low = std::min(low, reinterpret_cast<uintptr_t>(p));
        high = std::max(high, reinterpret_cast<uintptr_t>(p));
        ASSERT_TRUE(pool.destroy(p));
      }
    }).join();
  EXPECT_LT((high - low) / sizeof(uint64_t), 16000u) << "slots of threads that ended were not used again";
}

TEST(HandlePool, ASlotRestsBeforeItIsUsedAgain) {
  HandlePool<int> pool(1024, 16);
  int* first = pool.create(1);
  ASSERT_TRUE(pool.destroy(first));
  EXPECT_FALSE(pool.destroy(first));
  for (int i = 0; i < 16; ++i) {
    int* next = pool.create(i);
    EXPECT_NE(next, first);
    EXPECT_EQ(pool.get(first), nullptr);
    pool.destroy(next);
  }
  std::set<int*> seen;
  for (int i = 0; i < 100; ++i) {
    int* next = pool.create(i);
    seen.insert(next);
    pool.destroy(next);
  }
  EXPECT_LE(seen.size(), 17u);  // and then it is: memory does not grow
}

TEST(HandlePool, EverySlotIsUsedWhenThereAreNoOthers) {
  HandlePool<int> pool(8, 100);
  std::vector<int*> all;
  for (int i = 0; i < 8; ++i) all.push_back(pool.create(i));
  EXPECT_THROW(pool.create(9), PoolFull);
  for (int* p : all) pool.destroy(p);
  for (int i = 0; i < 8; ++i) EXPECT_NO_THROW(pool.create(i));
  EXPECT_THROW(pool.create(9), std::bad_alloc);
}

#ifndef UPDRAFT_SANITIZED  // their shadow counts against the limit
struct Page {
  char bytes[4096] = {};
};

/// In a process of its own, with room for a quarter of a pool. Ends with 0 when it is the memory that is missing.
[[noreturn]] void fill_a_pool_under_a_limit() {
  rlimit limit;
  limit.rlim_cur = limit.rlim_max = size_t{1} << 30;
  if (setrlimit(RLIMIT_DATA, &limit) != 0) std::_Exit(2);
  auto* pool = new HandlePool<Page>(size_t{1} << 20);
  for (int i = 0; i < 1000; ++i) pool->create();
  try {
    for (;;) pool->create();
  } catch (const PoolFull&) { std::_Exit(3); } catch (const std::bad_alloc&) {
    std::_Exit(0);
  }
}

// ulimit -d counts what a process may write: a pool that is hardly used takes hardly anything of it.
TEST(HandlePool, ALimitOfDataCountsWhatIsUsed) {
  EXPECT_EXIT(fill_a_pool_under_a_limit(), testing::ExitedWithCode(0), "");
}
#endif

TEST(HandlePool, ARefIsOfOneObject) {
  HandlePool<int> pool(8, 0);
  int* first = pool.create(1);
  const auto ref = pool.ref(first);
  EXPECT_EQ(pool.get(ref), first);
  pool.destroy(first);
  int* second = pool.create(2);
  ASSERT_EQ(second, first);  // the same slot
  EXPECT_EQ(pool.get(ref), nullptr);
  EXPECT_FALSE(pool.destroy(ref));
  EXPECT_FALSE(pool.locked(ref, [](int& i) { i = 3; }));
  EXPECT_EQ(*second, 2);
  EXPECT_TRUE(pool.locked(pool.ref(second), [](int& i) { i = 4; }));
  EXPECT_EQ(*second, 4);
  EXPECT_FALSE(pool.ref(nullptr).object);
  int own = 0;
  EXPECT_FALSE(pool.ref(&own).object);
  EXPECT_EQ(pool.get(HandleRef<int>{second, 0}), nullptr);
}

// One thread destroys and creates, another writes what it holds: no write may reach a later object.
TEST(HandlePool, WritersAndDestroyersDoNotMeet) {
  struct Pair {
    int64_t a = 0, b = 0;
    int64_t owner = 0;
  };
  HandlePool<Pair> pool(64, 0);
  std::atomic<int64_t> round{0}, seen{-1};
  std::atomic<bool> stop{false};
  HandleRef<Pair> shared;
  std::mutex mutex;
  std::thread writer([&] {
    while (!stop) {
      HandleRef<Pair> ref;
      int64_t mine;
      {
        std::lock_guard lock(mutex);
        ref = shared;
        mine = round;
      }
      pool.locked(ref, [&](Pair& p) {
        EXPECT_EQ(p.owner, mine);
        p.a = mine;
        p.b = mine;
      });
      seen = mine;
    }
  });
  for (int64_t i = 1; i <= 20000; ++i) {
    Pair* p = pool.create();
    p->owner = i;
    {
      std::lock_guard lock(mutex);
      shared = pool.ref(p);
      round = i;
    }
    if (i % 64 == 0)
      while (seen < i) std::this_thread::yield();
    EXPECT_TRUE(pool.destroy(p));
  }
  stop = true;
  writer.join();
}

struct Stale : testing::Test {
  static void SetUpTestSuite() { aclInit(nullptr); }
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    ASSERT_EQ(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    ASSERT_EQ(aclrtMemset(memory, kBytes, 1, kBytes), 0);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStream(stream), 0);
    EXPECT_EQ(aclrtFree(memory), 0);
    EXPECT_EQ(aclrtResetDevice(0), 0);
  }
  aclTensor* tensor(std::vector<int64_t> dims, aclDataType type = ACL_INT64, size_t at = 0) {
    return aclCreateTensor(dims.data(), dims.size(), type, nullptr, 0, ACL_FORMAT_ND, dims.data(), dims.size(),
                           static_cast<char*>(memory) + at);
  }
  std::vector<int64_t> shape(const aclTensor* t) {
    int64_t* dims = nullptr;
    uint64_t rank = 0;
    EXPECT_EQ(aclGetViewShape(t, &dims, &rank), 0);
    std::vector<int64_t> result(dims, dims + rank);
    delete[] dims;
    return result;
  }
  // Keeps the stream busy until open() is called.
  void hold() {
    gate = false;
    auto wait = [](void* flag) {
      while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
    };
    ASSERT_EQ(aclrtLaunchHostFunc(stream, wait, &gate), 0);
  }
  void open() {
    gate = true;
    ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  }

  static constexpr size_t kBytes = 1 << 16;
  aclrtStream stream = nullptr;
  void* memory = nullptr;
  std::atomic<bool> gate{true};
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
};

// The result's handle is destroyed before the work runs, and its slot belongs to another tensor by then.
TEST_F(Stale, ATaskWritesNoShapeIntoALaterTensor) {
  aclTensor* self = tensor({2, 3}, ACL_FLOAT);
  aclTensor* out = tensor({6, 2}, ACL_INT64, 4096);
  hold();
  ASSERT_EQ(aclnnNonzeroGetWorkspaceSize(self, out, &workspace, &executor), 0);
  ASSERT_EQ(aclnnNonzero(nullptr, workspace, executor, stream), 0);
  ASSERT_EQ(aclDestroyTensor(out), 0);
  // Enough for any order of reuse to come to its slot.
  std::vector<aclTensor*> later;
  aclTensor* same = nullptr;
  for (int i = 0; i < 2000 && !same; ++i) {
    aclTensor* t = tensor({7}, ACL_INT32, 8192);
    if (t == out) same = t;
    later.push_back(t);
    if (!same && i % 2) {
      aclDestroyTensor(later.back());
      later.pop_back();
    }
  }
  ASSERT_NE(same, nullptr);
  open();
  EXPECT_EQ(shape(same), std::vector<int64_t>{7});
  for (aclTensor* t : later) EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclDestroyTensor(self), 0);
}

TEST_F(Stale, ALiveHandleGetsTheShape) {
  aclTensor* self = tensor({2, 3}, ACL_FLOAT);
  aclTensor* out = tensor({20, 2}, ACL_INT64, 4096);
  ASSERT_EQ(aclnnNonzeroGetWorkspaceSize(self, out, &workspace, &executor), 0);
  ASSERT_EQ(aclnnNonzero(nullptr, workspace, executor, stream), 0);
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(shape(out), (std::vector<int64_t>{6, 2}));
  aclTensor* values = tensor({6}, ACL_FLOAT, 4096);
  aclTensor* inverse = tensor({6}, ACL_INT64, 8192);
  aclTensor* counts = tensor({6}, ACL_INT64, 12288);
  ASSERT_EQ(aclnnUnique2GetWorkspaceSize(self, true, true, true, values, inverse, counts, &workspace, &executor), 0);
  ASSERT_EQ(aclnnUnique2(nullptr, workspace, executor, stream), 0);
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(shape(values), std::vector<int64_t>{1});
  EXPECT_EQ(shape(counts), std::vector<int64_t>{1});
  EXPECT_EQ(shape(inverse), std::vector<int64_t>{6});
  for (aclTensor* t : {self, out, values, inverse, counts}) EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST_F(Stale, HandlesAreToldSoAfterOthersWereMade) {
  for (int i = 0; i < 4; ++i) {
    aclrtStream gone = nullptr, next = nullptr;
    ASSERT_EQ(aclrtCreateStream(&gone), 0);
    ASSERT_EQ(aclrtDestroyStream(gone), 0);
    ASSERT_EQ(aclrtCreateStream(&next), 0);
    EXPECT_EQ(aclrtSynchronizeStream(gone), 107017);
    EXPECT_EQ(aclrtDestroyStream(gone), 107017);
    EXPECT_EQ(aclrtDestroyStream(next), 0);
    aclrtEvent event = nullptr, another = nullptr;
    ASSERT_EQ(aclrtCreateEvent(&event), 0);
    ASSERT_EQ(aclrtDestroyEvent(event), 0);
    ASSERT_EQ(aclrtCreateEvent(&another), 0);
    EXPECT_EQ(aclrtRecordEvent(event, stream), 107017);
    EXPECT_EQ(aclrtDestroyEvent(event), 107017);
    EXPECT_EQ(aclrtDestroyEvent(another), 0);
    aclTensor* t = tensor({4}, ACL_FLOAT);
    ASSERT_EQ(aclDestroyTensor(t), 0);
    aclTensor* u = tensor({4}, ACL_FLOAT);
    EXPECT_EQ(aclDestroyTensor(t), 161002);
    EXPECT_EQ(aclDestroyTensor(u), 0);
  }
}

TEST_F(Stale, AnExecutorIsNotLaunchedInPlaceOfALaterOne) {
  float one = 1;
  aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
  aclTensor* t = tensor({4}, ACL_FLOAT);
  ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(t, scalar, scalar, &workspace, &executor), 0);
  ASSERT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  aclOpExecutor* later = nullptr;
  ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(t, scalar, scalar, &workspace, &later), 0);
  EXPECT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 161002);
  EXPECT_EQ(aclnnInplaceAdds(nullptr, 0, later, stream), 0);
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  aclDestroyTensor(t);
  aclDestroyScalar(scalar);
}

TEST_F(Stale, AListHoldsItsOwnElementsOnly) {
  aclTensor* items[] = {tensor({4}, ACL_FLOAT), tensor({4}, ACL_FLOAT)};
  aclTensorList* list = aclCreateTensorList(items, 2);
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(aclDestroyTensor(items[1]), 0);
  aclTensor* out = tensor({8}, ACL_FLOAT, 4096);
  EXPECT_EQ(aclnnCatGetWorkspaceSize(list, 0, out, &workspace, &executor), 161002);
  // Tensors that came later, one of them in the slot of the destroyed one, stay.
  std::vector<aclTensor*> later;
  for (int i = 0; i < 2000; ++i) {
    later.push_back(tensor({4}, ACL_FLOAT));
    if (later.back() == items[1]) break;
    if (i % 2) {
      aclDestroyTensor(later.back());
      later.pop_back();
    }
  }
  ASSERT_EQ(later.back(), items[1]);
  EXPECT_EQ(aclnnCatGetWorkspaceSize(list, 0, out, &workspace, &executor), 161002);
  EXPECT_EQ(aclDestroyTensorList(list), 0);
  EXPECT_EQ(aclDestroyTensor(items[0]), 161002);  // the list had it
  for (aclTensor* t : later) EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclCreateTensorList(items, 1), nullptr);
  EXPECT_EQ(aclDestroyTensor(out), 0);
}

// A thread's context is destroyed and its place taken by one of another device.
TEST_F(Stale, AThreadDoesNotChangeItsDeviceWithALaterContext) {
  aclrtContext context = nullptr;
  std::atomic<int> step{0};
  std::thread other([&] {
    ASSERT_EQ(aclrtCreateContext(&context, 0), 0);
    step = 1;
    while (step != 2) std::this_thread::yield();
    int32_t device = -1;
    EXPECT_EQ(aclrtGetDevice(&device), 107002) << device;
  });
  while (step != 1) std::this_thread::yield();
  ASSERT_EQ(aclrtDestroyContext(context), 0);
  std::vector<aclrtContext> later;
  for (int i = 0; i < 2000; ++i) {
    aclrtContext made = nullptr;
    ASSERT_EQ(aclrtCreateContext(&made, 1), 0);
    later.push_back(made);
    if (made == context) break;
    if (i % 2) {
      aclrtDestroyContext(later.back());
      later.pop_back();
    }
  }
  ASSERT_EQ(later.back(), context);
  step = 2;
  other.join();
  for (aclrtContext made : later) EXPECT_EQ(aclrtDestroyContext(made), 0);
}

}  // namespace
}  // namespace updraft
