// Constant operands through the registry: operators whose weight is marked prepare it once, for all plans.
#include <gtest/gtest.h>

#include <vector>

#include "acl/acl.h"
#include "device/context.h"
#include "kernels/constant_operand.h"
#include "ops/call.h"
#include "ops/kept_arguments.h"

namespace updraft {
namespace {

struct ConstantOperator : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }
  void TearDown() override {
    for (void* p : memory_) aclrtFree(p);
  }
  // Numbers 1, 2, ... % 7 on the device, as fp16.
  void* device(int64_t n, int step = 1) {
    std::vector<Half> values;
    for (int64_t i = 0; i < n; ++i) values.emplace_back(static_cast<float>((i * step) % 7 - 3));
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, values.size() * 2 + 2, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(aclrtMemcpy(p, values.size() * 2, values.data(), values.size() * 2, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    memory_.push_back(p);
    return p;
  }
  std::vector<float> host(void* p, int64_t n) {
    std::vector<Half> values(static_cast<size_t>(n));
    EXPECT_EQ(aclrtMemcpy(values.data(), values.size() * 2, p, values.size() * 2, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return {values.begin(), values.end()};
  }
  std::vector<void*> memory_;
};

// Small whole numbers: every order of the sum gives the same.
TEST_F(ConstantOperator, EveryProductTakesIt) {
  struct Case {
    const char* name;
    const char *left, *right, *add;
    int64_t batches;
  };
  for (const Case& c : {Case{"aclnnMm", "self", "mat2", nullptr, 0},
                        {"aclnnMatmul", "self", "mat2", nullptr, 0},
                        {"aclnnBatchMatMul", "self", "mat2", nullptr, 2},
                        {"aclnnAddmm", "mat1", "mat2", "self", 0},
                        {"aclnnBaddbmm", "batch1", "batch2", "self", 2}}) {
    SCOPED_TRACE(c.name);
    auto shape = [&](int64_t rows, int64_t cols) {
      return c.batches ? std::vector<int64_t>{c.batches, rows, cols} : std::vector<int64_t>{rows, cols};
    };
    const int64_t many = std::max<int64_t>(1, c.batches);
    void* weight = device(many * 32 * 24, 3);
    void* bias = device(24, 5);
    ConstantOperand constant;
    for (int round = 0; round < 3; ++round) {
      void *a = device(many * 16 * 32, round + 1), *want = device(many * 16 * 24), *got = device(many * 16 * 24);
      for (bool prepared : {false, true}) {
        OpCall call(c.name);
        call.add_tensor(c.left, {DType::Float16, shape(16, 32), {}, a});
        CallTensor right{DType::Float16, shape(32, 24), {}, weight};
        if (prepared) right.constant = &constant;
        call.add_tensor(c.right, right);
        if (c.add) {
          call.add_tensor(c.add, {DType::Float16, {24}, {}, bias});
          call.set("alpha", int64_t{1});
          call.set("beta", int64_t{1});
        }
        call.add_tensor("out", {DType::Float16, shape(16, 24), {}, prepared ? got : want});
        call.set("cubeMathType", int64_t{0});
        call.run(stream_of(nullptr));
      }
      ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
      EXPECT_EQ(host(got, many * 16 * 24), host(want, many * 16 * 24));
    }
    EXPECT_EQ(constant.made(), 1) << "once, for plans on other memory, too";
  }
}

TEST_F(ConstantOperator, ConvolutionsTakeItAndPlansPrepareAhead) {
  void *weight = device(8 * 4 * 3 * 3, 3), *in = device(1 * 4 * 6 * 6), *want = device(8 * 36), *got = device(8 * 36);
  ConstantOperand constant;
  auto plan = [&](void* out, ConstantOperand* mark) {
    aclTensor tensors[3];
    const std::vector<int64_t> dims[] = {{1, 4, 6, 6}, {8, 4, 3, 3}, {1, 8, 6, 6}};
    void* const data[] = {in, weight, out};
    for (int i = 0; i < 3; ++i) {
      tensors[i].view = TensorView::contiguous(nullptr, DType::Float16, dims[i].data(), 4);
      set_address(tensors[i], data[i]);
    }
    tensors[1].constant = mark;
    const aclIntArray ones{{1, 1}}, zeros{{0, 0}};
    const Value values[] = {Value(&tensors[0]), Value(&tensors[1]), Value(nullptr),  Value(&ones),
                            Value(&ones),       Value(&ones),       Value(false),    Value(&zeros),
                            Value(int64_t{1}),  Value(&tensors[2]), Value(int8_t{0})};
    return make_plan(*find_op("aclnnConvolution"), values);
  };
  launch_plan(*plan(want, nullptr), stream_of(nullptr));
  aclOpExecutor* prepared = plan(got, &constant);
  prepare_constants(*prepared);
  EXPECT_EQ(constant.made(), 1);
  launch_plan(*prepared, stream_of(nullptr));
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(host(got, 8 * 36), host(want, 8 * 36));
  EXPECT_EQ(constant.made(), 1);
  aclOpExecutor* plain = plan(got, nullptr);
  prepare_constants(*plain);  // nothing to prepare
  plain->release();
}

}  // namespace
}  // namespace updraft
