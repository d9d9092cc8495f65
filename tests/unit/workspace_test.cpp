// Workspaces: what the first phase asks for, and what the kernels of the second take from it.
#include <gtest/gtest.h>

#include <vector>

#include "acl/acl.h"
#include "base/scratch.h"
#include "device/context.h"
#include "ops/kept_arguments.h"
#include "ops/op.h"

namespace updraft {
namespace {

struct Workspace : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }
  void TearDown() override {
    for (void* p : memory_) aclrtFree(p);
  }
  void* device(size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, bytes + 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(aclrtMemset(p, bytes, 0, bytes), 0);
    memory_.push_back(p);
    return p;
  }
  aclTensor tensor(DType type, std::vector<int64_t> dims) {
    aclTensor t;
    t.view = TensorView::contiguous(nullptr, type, dims.data(), static_cast<int>(dims.size()));
    set_address(t, device(t.view.bytes()));
    return t;
  }
  std::vector<void*> memory_;
};

TEST_F(Workspace, ProductsSayWhatTheyConvert) {
  auto bytes = [&](DType type, int64_t n) {
    const aclTensor a = tensor(type, {n, n}), b = tensor(type, {n, n}), c = tensor(type, {n, n});
    const Value values[] = {Value(&a), Value(&b), Value(&c), Value(int8_t{0})};
    aclOpExecutor* plan = make_plan(*find_op("aclnnMm"), values);
    const size_t want = plan->kernel_bytes;
    plan->release();
    return want;
  };
  EXPECT_EQ(bytes(DType::Float, 256), 0u);
  EXPECT_GE(bytes(DType::Float16, 256), Op::kLeastWorkspace) << "blocks of the operands";
  EXPECT_LT(bytes(DType::Float16, 3072), size_t{3072} * 3072 * 4 / 4) << "no large operand is converted as a whole";
  EXPECT_EQ(bytes(DType::Float16, 32), 0u) << "little is not worth asking for";
}

TEST_F(Workspace, IsUsedWhereItIsGiven) {
  constexpr int64_t kN = 1 << 17;
  const aclTensor self = tensor(DType::Float, {kN}), values = tensor(DType::Float, {kN}),
                  indices = tensor(DType::Int64, {kN});
  const Value arguments[] = {Value(&self), Value(true),    Value(int64_t{0}),
                             Value(false), Value(&values), Value(&indices)};
  const OpInfo& info = *find_op("aclnnSort");
  aclOpExecutor* plan = make_plan(info, arguments);
  const size_t bytes = plan->kernel_bytes;
  EXPECT_GE(bytes, static_cast<size_t>(kN) * 8 * 3);  // positions and two arrays of keys
  void* workspace = device(bytes);
  EXPECT_EQ(launch_op(info, workspace, bytes - 1, plan, nullptr), 161002) << "too small";
  ASSERT_EQ(launch_op(info, workspace, bytes, plan, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  std::vector<int64_t> places(kN);
  ASSERT_EQ(
      aclrtMemcpy(places.data(), places.size() * 8, indices.storage, places.size() * 8, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  for (int64_t i = 0; i < kN; ++i) ASSERT_EQ(places[static_cast<size_t>(i)], i) << "all are equal: the order stays";
  // The kernels wrote to it: positions 1, 2, ... lie there.
  std::vector<int64_t> used(bytes / 8);
  ASSERT_EQ(aclrtMemcpy(used.data(), bytes, workspace, bytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_NE(used, std::vector<int64_t>(bytes / 8));
}

TEST_F(Workspace, IsNotNeeded) {
  constexpr int64_t kN = 1 << 17;
  const aclTensor self = tensor(DType::Float, {kN}), values = tensor(DType::Float, {kN}),
                  indices = tensor(DType::Int64, {kN});
  const Value arguments[] = {Value(&self), Value(true),    Value(int64_t{0}),
                             Value(false), Value(&values), Value(&indices)};
  const OpInfo& info = *find_op("aclnnSort");
  // As graphs do it: the engine's own memory.
  ASSERT_EQ(launch_op(info, nullptr, 0, make_plan(info, arguments), nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  std::vector<int64_t> places(kN);
  ASSERT_EQ(
      aclrtMemcpy(places.data(), places.size() * 8, indices.storage, places.size() * 8, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  for (int64_t i = 0; i < kN; ++i) ASSERT_EQ(places[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace updraft
