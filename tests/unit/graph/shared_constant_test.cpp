// Constants that several models on a device have in common.
#include "graph/executor/shared_constant.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "device/device.h"
#include "graph/executor/loaded_model.h"
#include "models.h"

namespace updraft::graph {
namespace {

constexpr int64_t kSide = 256;
constexpr size_t kBytes = kSide * kSide * sizeof(float);

Floats numbers(float first = 0) {
  Floats all(kSide * kSide);
  for (size_t i = 0; i < all.size(); ++i) all[i] = first + static_cast<float>(i % 7) - 3;
  return all;
}
std::span<const std::byte> bytes_of(const Floats& v) { return std::as_bytes(std::span(v)); }

size_t used() { return Device::get(0).memory().used(); }

struct SharedConstants : Models {
  /// y = x w for x of `rows` rows.
  static Bytes product(int64_t rows, const Floats& w) {
    Graph g("product");
    Builder build(g);
    const Endpoint x = build.input("x", 0, {DType::Float, {rows, kSide}});
    const Endpoint by = build.constant("w", {DType::Float, {kSide, kSide}, Tensor::of(w).data});
    build.outputs({build("MatMulV2", "y", {x, by})});
    return file(g);
  }
  /// The first row of y for x of ones.
  Floats run(uint32_t id, int64_t rows) {
    Set in, out;
    const size_t bytes = static_cast<size_t>(rows * kSide) * sizeof(float);
    void* y = device(bytes);
    in.add(device(Floats(static_cast<size_t>(rows * kSide), 1)), bytes);
    out.add(y, bytes);
    EXPECT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
    return values<float>(y, kSide);
  }
  static Floats sums(const Floats& w) {
    Floats all(kSide);
    for (size_t i = 0; i < w.size(); ++i) all[i % kSide] += w[i];
    return all;
  }
  static const SharedConstant* weight_of(const LoadedModel& model) {
    for (const auto& node : model.graph().nodes())
      if (const Tensor* constant = node->constant(); constant && constant->data.size() == kBytes)
        return SharedConstant::of(model.device(), constant->data.span()).get();
    return nullptr;
  }
};

TEST_F(SharedConstants, EqualBytesAreOneAndOthersAreNot) {
  Device& device = Device::get(0);
  const size_t before = used();
  {
    const Floats v = numbers();
    const auto first = SharedConstant::of(device, bytes_of(v)), again = SharedConstant::of(device, bytes_of(numbers()));
    EXPECT_EQ(first, again);
    EXPECT_EQ(used(), before + kBytes);
    for (size_t at = 0; at < v.size(); at += 997) {  // wherever they differ, and also where nobody looks at first
      Floats other = v;
      other[at] += 1;
      const auto made = SharedConstant::of(device, bytes_of(other));
      ASSERT_NE(made, first) << at;
      ASSERT_EQ(values<float>(made->data() + at * sizeof(float), 1)[0], v[at] + 1);
    }
    EXPECT_NE(SharedConstant::of(device, bytes_of(v).first(kBytes - 4)), first);
    EXPECT_EQ(values<float>(first->data(), v.size()), v);
  }
  EXPECT_EQ(used(), before);
}

TEST_F(SharedConstants, DevicesHaveTheirOwn) {
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), 0);
  if (count < 2) GTEST_SKIP() << "one device";
  ASSERT_EQ(aclrtSetDevice(1), 0);
  const Floats v = numbers();
  EXPECT_NE(SharedConstant::of(Device::get(0), bytes_of(v)), SharedConstant::of(Device::get(1), bytes_of(v)));
  ASSERT_EQ(aclrtResetDevice(1), 0);
  ASSERT_EQ(aclrtSetDevice(0), 0);
}

TEST_F(SharedConstants, ModelsOfOneNetworkHaveTheWeightsOnceAndPackThemOnce) {
  const Floats w = numbers();
  const Bytes two = product(2, w), three = product(3, w), other = product(2, numbers(1));
  const size_t before = used();
  const uint32_t a = load(two);
  EXPECT_EQ(run(a, 2), sums(w));
  const auto shared = SharedConstant::of(Device::get(0), bytes_of(w));
  const size_t with_one = used();
  const int64_t made = shared->operand().made();
  const uint32_t b = load(three);
  EXPECT_LT(used(), with_one + kBytes);
  EXPECT_EQ(run(b, 3), sums(w));
  const uint32_t c = load(two);
  EXPECT_EQ(run(c, 2), sums(w));
  // AVX2 packs nothing for so few rows.
  EXPECT_LE(shared->operand().made(), std::max<int64_t>(made, 1)) << "the weights were packed again";
  const uint32_t d = load(other);
  EXPECT_GE(used(), with_one + kBytes);
  EXPECT_EQ(run(d, 2), sums(numbers(1)));
  ASSERT_EQ(aclmdlUnload(a), 0);
  EXPECT_EQ(run(b, 3), sums(w)) << "the first model took the weights with it";
  for (const uint32_t id : {b, c, d}) ASSERT_EQ(aclmdlUnload(id), 0);
  loaded_.clear();
  EXPECT_GE(used(), before + kBytes);  // `shared` here still has them
}

TEST_F(SharedConstants, AModelWhoseConstantsMoveLeavesThoseOfOthers) {
  const Floats w = numbers();
  const Bytes net = product(2, w);
  const uint32_t stays = load(net);
  auto moved = std::make_shared<LoadedModel>(om::read(net), Device::get(0), 1000);
  EXPECT_EQ(weight_of(*moved), SharedConstant::of(Device::get(0), bytes_of(w)).get());
  auto* memory = static_cast<std::byte*>(device(moved->weight_bytes()));
  moved->move_weights(memory);
  EXPECT_EQ(values<float>(memory, w.size()), w);
  EXPECT_EQ(aclrtMemset(memory, kBytes, 0, kBytes), 0);  // the client writes its own memory
  EXPECT_EQ(run(stays, 2), sums(w));
  moved.reset();
  EXPECT_EQ(run(stays, 2), sums(w));
}

TEST_F(SharedConstants, ThreadsLoadAndUnloadTheSameNetwork) {
  const Bytes nets[] = {product(2, numbers()), product(2, numbers(1))};
  const Floats want[] = {sums(numbers()), sums(numbers(1))};
  const size_t before = used();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      aclrtSetDevice(0);
      const size_t bytes = 2 * kSide * sizeof(float);
      void *x = nullptr, *y = nullptr;
      aclrtMalloc(&x, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
      aclrtMalloc(&y, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
      const Floats ones(2 * kSide, 1);
      aclrtMemcpy(x, bytes, ones.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
      for (int i = 0; i < 10; ++i) {
        const int which = (t + i) % 2;
        uint32_t id = 0;
        if (aclmdlLoadFromMem(nets[which].data(), nets[which].size(), &id) != 0) {
          ++wrong;
          continue;
        }
        {
          Set in, out;
          in.add(x, bytes);
          out.add(y, bytes);
          if (aclmdlExecute(id, in.set, out.set) != 0 || values<float>(y, kSide) != want[which]) ++wrong;
        }
        if (aclmdlUnload(id) != 0) ++wrong;
      }
      aclrtFree(x);
      aclrtFree(y);
      aclrtResetDevice(0);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(used(), before);
}

}  // namespace
}  // namespace updraft::graph
