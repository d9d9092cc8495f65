// Models that come and go: memory after a thousand of them, executions beside unloading, memory that clients may not
// give.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "../sanitizers.h"
#include "base/config.h"
#include "device/device.h"
#include "models.h"

namespace updraft::graph {
namespace {

size_t resident_bytes() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

struct Lifetimes : Models {
  void SetUp() override {
    Models::SetUp();
    Graph g("net");
    Builder build(g);
    layer(build, {2, 3});
    model_ = file(g);
  }
  /// The code of one execution; the values are checked where it is 0.
  static int execute(uint32_t id, void* x, void* y) {
    Set in, out;
    in.add(x, 24);
    out.add(y, 16);
    const int code = aclmdlExecute(id, in.set, out.set);
    if (code == 0) { EXPECT_EQ(values<float>(y, 4), kY); }
    return code;
  }
  uint32_t load_again() {
    uint32_t id = 0;
    EXPECT_EQ(aclmdlLoadFromMem(model_.data(), model_.size(), &id), 0) << error();
    return id;
  }
  Bytes model_;
};

TEST_F(Lifetimes, AThousandModelsLeaveMemoryAsItWas) {
  void *x = device(kX), *y = device(16);
  auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const uint32_t id = load_again();
      ASSERT_EQ(execute(id, x, y), 0) << error();
      aclmdlDesc* desc = aclmdlCreateDesc();
      ASSERT_EQ(aclmdlGetDesc(desc, id), 0);
      ASSERT_EQ(aclmdlUnload(id), 0);
      ASSERT_EQ(aclmdlDestroyDesc(desc), 0);
    }
  };
  rounds(400);                                                // handles and caches take what they want once
  const size_t used_before = Device::get(0).memory().used();  // what is free depends on other processes, too
  const size_t before = resident_bytes();
  rounds(1000);
  EXPECT_EQ(Device::get(0).memory().used(), used_before);
#ifndef UPDRAFT_SANITIZED  // their allocators keep what is freed
  EXPECT_LT(resident_bytes(), before + (1 << 20));
#else
  (void)before;
#endif
}

TEST_F(Lifetimes, UnloadingFreesAtOnceWhatDescriptionsDoNotSay) {
  Graph g("large");
  Builder build(g);
  const Endpoint x = build.input("x", 0, {DType::Float, {-1, 1024}});
  const Endpoint w = build.constant("w", {DType::Float, {1024, 1024}, Tensor::of(Floats(1 << 20, 0.5F)).data});
  build.outputs({build("MatMulV2", "product", {x, w})});
  const Bytes large = file(g, {{"dynamic_batch_size", "1,3"}});
  size_t before = 0, loaded = 0, after = 0, total = 0;
  aclrtGetMemInfo(ACL_HBM_MEM, &before, &total);
  uint32_t id = 0;
  ASSERT_EQ(aclmdlLoadFromMem(large.data(), large.size(), &id), 0) << error();
  aclmdlDesc* desc = aclmdlCreateDesc();
  ASSERT_EQ(aclmdlGetDesc(desc, id), 0);
  aclrtGetMemInfo(ACL_HBM_MEM, &loaded, &total);
  EXPECT_LE(loaded + (4 << 20), before);
  ASSERT_EQ(aclmdlUnload(id), 0);
  aclrtGetMemInfo(ACL_HBM_MEM, &after, &total);
  EXPECT_EQ(after, before);
  aclmdlBatch batch;
  ASSERT_EQ(aclmdlGetDynamicBatch(desc, &batch), 0);
  EXPECT_EQ(batch.batchCount, 2U);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 0), 3U * 4096);
  aclmdlIODims dims;
  ASSERT_EQ(aclmdlGetCurOutputDims(desc, 0, &dims), 0);
  EXPECT_EQ(dims.dims[0], 1);
  EXPECT_EQ(aclmdlDestroyDesc(desc), 0);
}

TEST_F(Lifetimes, ExecutionsBesideUnloadingEndWellOrAreRefused) {
  std::atomic<uint32_t> id{load_again()};
  std::atomic<bool> over{false};
  std::atomic<int> good{0}, refused{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      aclrtSetDevice(0);
      void *x = nullptr, *y = nullptr;
      aclrtMalloc(&x, 64, ACL_MEM_MALLOC_HUGE_FIRST);
      aclrtMalloc(&y, 64, ACL_MEM_MALLOC_HUGE_FIRST);
      aclrtMemcpy(x, 24, kX.data(), 24, ACL_MEMCPY_HOST_TO_DEVICE);
      while (!over) {
        const int code = execute(id, x, y);
        ++(code == 0 ? good : code == 145003 ? refused : wrong);
      }
      aclrtFree(x);
      aclrtFree(y);
      aclrtResetDevice(0);
    });
  for (int i = 0; i < 30; ++i) {
    const uint32_t old = id;
    EXPECT_EQ(aclmdlUnload(old), 0) << error();
    std::this_thread::yield();
    id = load_again();
  }
  while (good == 0) std::this_thread::yield();
  over = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(aclmdlUnload(id), 0);
}

TEST_F(Lifetimes, OneOfTwoThreadsUnloads) {
  for (int i = 0; i < 50; ++i) {
    const uint32_t id = load_again();
    std::atomic<int> good{0}, refused{0};
    auto unload = [&] {
      aclrtSetDevice(0);
      const int code = aclmdlUnload(id);
      good += code == 0;
      refused += code == 145003;
    };
    std::thread other(unload);
    unload();
    other.join();
    EXPECT_EQ(good, 1);
    EXPECT_EQ(refused, 1);
  }
}

TEST_F(Lifetimes, AnAsynchronousExecutionOutlivesItsModelsNumber) {
  void *x = device(kX), *y = device(16);
  const uint32_t id = load_again();
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  std::atomic<int> state{0};
  auto hold = [](void* p) {
    auto& s = *static_cast<std::atomic<int>*>(p);
    s = 1;
    while (s != 2) std::this_thread::yield();
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, hold, &state), 0);
  {
    Set in, out;  // the handles may go before the stream comes to the execution
    in.add(x, 24);
    out.add(y, 16);
    ASSERT_EQ(aclmdlExecuteAsync(id, in.set, out.set, stream), 0) << error();
  }
  while (state != 1) std::this_thread::yield();
  std::thread unloading([&] {
    aclrtSetDevice(0);
    EXPECT_EQ(aclmdlUnload(id), 0);  // waits for what is under way
  });
  state = 2;
  unloading.join();
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0) << error();
  EXPECT_EQ(values<float>(y, 4), kY);
  EXPECT_EQ(execute(id, x, y), 145003);
  aclrtDestroyStream(stream);
}

TEST_F(Lifetimes, BuffersThatAreTooSmallAreRefused) {
  void *x = device(kX), *y = device(16);
  const uint32_t id = load(model_);
  auto run = [&](void* in_data, size_t in_bytes, void* out_data, size_t out_bytes, const char* words) {
    Set in, out;
    in.add(in_data, in_bytes);
    out.add(out_data, out_bytes);
    const int code = aclmdlExecute(id, in.set, out.set);
    const std::string text = error();
    EXPECT_NE(text.find(words), std::string::npos) << text;
    return code;
  };
  EXPECT_EQ(run(x, 23, y, 16, "want 24 bytes, got 23"), 100000);
  EXPECT_EQ(run(nullptr, 24, y, 16, "input 0 (x)"), 100000);
  EXPECT_EQ(run(x, 24, y, 15, "output 0 of model"), 100000);
  // larger buffers are fine
  Set in, out;
  in.add(x, 32);
  out.add(y, 32);
  EXPECT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
  // what a buffer says of memory that is not there fails the execution, and the next one is fine
  void* gone = nullptr;
  ASSERT_EQ(aclrtMalloc(&gone, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  ASSERT_EQ(aclrtFree(gone), 0);
  EXPECT_NE(run(gone, 24, y, 16, "is not inside one allocation"), 0);
  EXPECT_NE(run(x, 24, gone, 16, "is not inside one allocation"), 0);
  EXPECT_EQ(execute(id, x, y), 0) << error();
}

/// CTest runs this plainly, in strict mode and with UPDRAFT_FIDELITY=card.
struct CardRulesOfModels : Lifetimes {};

TEST_F(CardRulesOfModels, DatasetsTakeDeviceMemory) {
  void *x = device(kX), *y = device(16);
  const uint32_t id = load(model_);
  Floats host_x = kX, host_y(4);
  const bool rules = Config::get().card_rules();
  for (const bool host_input : {true, false}) {
    Set in, out;
    in.add(host_input ? host_x.data() : x, 24);
    out.add(host_input ? y : host_y.data(), 16);
    const int code = aclmdlExecute(id, in.set, out.set);
    EXPECT_EQ(code, rules ? 100000 : 0) << error();
    const std::string text = error();
    if (rules) {
      EXPECT_NE(text.find(host_input ? "input 0 is at" : "output 0 is at"), std::string::npos) << text;
    } else if (!host_input) {
      EXPECT_EQ(host_y, kY);
    }
  }
  // registered memory of the host is what devices reach
  void* mapped = nullptr;
  ASSERT_EQ(aclrtHostRegister(host_x.data(), 24, ACL_HOST_REGISTER_MAPPED, &mapped), 0) << error();
  EXPECT_EQ(execute(id, mapped, y), 0) << error();
  EXPECT_EQ(aclrtHostUnregister(host_x.data()), 0);
}

}  // namespace
}  // namespace updraft::graph
