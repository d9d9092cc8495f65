// One model in several contexts at once: executions run beside each other, with the bits that each has alone.
#include <atomic>
#include <future>
#include <thread>

#include "../device/work.h"
#include "base/config.h"
#include "base/parallel.h"
#include "device/context.h"
#include "device/device.h"
#include "device/stream.h"
#include "graph/executor/neighbours.h"
#include "models.h"

namespace updraft::graph {
namespace {

struct Contexts : Models {
  void SetUp() override {
    Models::SetUp();
    if (Config::get().threads < 2) GTEST_SKIP() << "UPDRAFT_THREADS=1: executions follow one another";
    Graph g("net");
    Builder build(g);
    Floats weights(kWide * kWide);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 2654435761u % 1000) / 500 - 1;
    const Endpoint x = build.input("x", 0, {DType::Float, {kRows, kWide}});
    const Endpoint w = build.constant("w", {DType::Float, {kWide, kWide}, Tensor::of(weights).data});
    const Endpoint hidden = build("Relu", "relu", {build("MatMulV2", "first", {x, w})});
    build.outputs({build("Tanh", "tanh", {build("MatMulV2", "second", {hidden, w})})});
    id = load(file(g));
  }
  static constexpr int64_t kRows = 48, kWide = 96;
  static constexpr size_t kBytes = kRows * kWide * sizeof(float);
  static Floats numbers(size_t seed) {
    Floats x(kRows * kWide);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i + seed) * 40503 % 997) / 997 - 0.5F;
    return x;
  }

  /// A context with memory and data of its own.
  struct Client {
    Client(Contexts& test, size_t seed) : x(test.device(numbers(seed))), y(test.device(kBytes)) {
      EXPECT_EQ(aclrtCreateContext(&context, 0), 0);
      EXPECT_EQ(aclrtCreateStream(&stream), 0);
      in.add(x, kBytes);
      out.add(y, kBytes);
    }
    ~Client() {
      aclrtDestroyStream(stream);
      aclrtDestroyContext(context);
      aclrtSetDevice(0);
    }
    Floats run(uint32_t model) {
      EXPECT_EQ(aclrtSetCurrentContext(context), 0);
      EXPECT_EQ(aclrtMemset(y, kBytes, 0xA5, kBytes), 0);
      EXPECT_EQ(aclmdlExecute(model, in.set, out.set), 0) << error();
      return values<float>(y, kRows * kWide);
    }
    void *x, *y;
    aclrtContext context = nullptr;
    aclrtStream stream = nullptr;
    Set in, out;
  };
  uint32_t id = 0;
};

TEST_F(Contexts, AnExecutionNeedsNotWaitForThatOfAnother) {
  Client first(*this, 1), second(*this, 2);
  const Floats want = second.run(id);
  first.run(id);  // from now on it is known how much work it is
  // The engine is busy, and an execution stands behind what keeps it so.
  std::promise<void> release;
  aclrtStream busy = nullptr;
  ASSERT_EQ(aclrtCreateStream(&busy), 0);
  stream_of(busy).submit(new Work([&] { release.get_future().wait(); }));
  ASSERT_EQ(aclrtSetCurrentContext(first.context), 0);
  ASSERT_EQ(aclmdlExecuteAsync(id, first.in.set, first.out.set, first.stream), 0) << error();
  EXPECT_EQ(second.run(id), want);  // it would never come back otherwise
  release.set_value();
  ASSERT_EQ(aclrtSynchronizeStream(busy), 0);
  ASSERT_EQ(aclrtSynchronizeStream(first.stream), 0);
  EXPECT_EQ(aclrtDestroyStream(busy), 0);
}

TEST_F(Contexts, ResultsHaveTheBitsOfExecutionsAlone) {
  constexpr size_t kClients = 4;
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Floats> want;
  for (size_t i = 0; i < kClients; ++i) want.push_back(clients.emplace_back(new Client(*this, 7 * i))->run(id));
  EXPECT_NE(want[0], want[1]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kClients; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) wrong += clients[i]->run(id) != want[i];
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Contexts, ResultsWithoutMemoryOfTheClientAreApart) {
  Client first(*this, 1), second(*this, 2);
  const Floats want = first.run(id), other = second.run(id);
  Set a, b;
  a.add(nullptr, 0);
  b.add(nullptr, 0);
  ASSERT_EQ(aclrtSetCurrentContext(first.context), 0);
  ASSERT_EQ(aclmdlExecute(id, first.in.set, a.set), 0) << error();
  ASSERT_EQ(aclrtSetCurrentContext(second.context), 0);
  ASSERT_EQ(aclmdlExecute(id, second.in.set, b.set), 0) << error();
  const void* p = aclGetDataBufferAddr(aclmdlGetDatasetBuffer(a.set, 0));
  const void* q = aclGetDataBufferAddr(aclmdlGetDatasetBuffer(b.set, 0));
  EXPECT_EQ(values<float>(p, kRows * kWide), want);
  EXPECT_EQ(values<float>(q, kRows * kWide), other);
}

TEST_F(Contexts, ThreadsAreShared) {
  Client first(*this, 1), second(*this, 2);
  Stream &a = stream_of(first.stream), &b = stream_of(second.stream);
  Neighbours all;
  EXPECT_FALSE(all.enter(a));
  EXPECT_FALSE(all.enter(a));
  EXPECT_TRUE(all.enter(b));
  std::thread([&] {
    const Neighbours::Share share(all);
    EXPECT_EQ(parallel_width(), Config::get().threads / 2);
  }).join();
  all.leave(a);
  all.leave(a);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than a client that comes back takes
  EXPECT_FALSE(all.enter(b));
  all.leave(b);
  all.leave(b);
}

}  // namespace
}  // namespace updraft::graph
