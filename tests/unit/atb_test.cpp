// libatb.so as a C++ program calls it, without torch: operations over packs of tensors, the C functions, and both
// wrongly.
#include "atb/interface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "atb/older_text.h"
#include "error_text.h"

extern "C" {
int AtbFusedAddTopkDivGetWorkspaceSize(aclTensor* x, aclTensor* add, aclTensor* mapping_num, aclTensor* mapping_table,
                                       int64_t groups, int64_t kept, int64_t n, int64_t k, int activation, bool normal,
                                       float scale, bool mapping, aclTensor* y, aclTensor* indices, uint64_t* workspace,
                                       atb::Operation** operation, atb::Context* context);
int AtbFusedAddTopkDiv(void* workspace, uint64_t bytes, atb::Operation* operation, atb::Context* context);
int AtbPagedCacheLoad(void* workspace, uint64_t bytes, atb::Operation* operation, atb::Context* context);
}

namespace {

constexpr int32_t kFloat = 0, kInt32 = 3;

struct Atb : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    ASSERT_EQ(atb::CreateContext(&context), 0);
    ASSERT_EQ(context->SetExecuteStream(stream), 0);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
    EXPECT_EQ(atb::DestroyContext(context), 0);
    for (void* p : memory_) aclrtFree(p);
    aclrtDestroyStream(stream);
  }

  static atb::Tensor described(int32_t dtype, std::initializer_list<int64_t> dims) {
    atb::Tensor t{};
    t.desc.dtype = dtype;
    t.desc.format = 2;
    for (int64_t d : dims) t.desc.shape.dims[t.desc.shape.dimNum++] = d;
    t.dataSize = atb::Utils::GetTensorSize(t);
    return t;
  }
  atb::Tensor tensor(std::initializer_list<int64_t> dims, const std::vector<float>& values) {
    atb::Tensor t = described(kFloat, dims);
    EXPECT_EQ(t.dataSize, values.size() * 4);
    EXPECT_EQ(aclrtMalloc(&t.deviceData, t.dataSize + 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    memory_.push_back(t.deviceData);
    EXPECT_EQ(aclrtMemcpy(t.deviceData, t.dataSize, values.data(), t.dataSize, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    return t;
  }
  std::vector<float> values(const atb::Tensor& t) const {
    std::vector<float> v(t.dataSize / 4);
    EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
    EXPECT_EQ(aclrtMemcpy(v.data(), t.dataSize, t.deviceData, t.dataSize, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return v;
  }
  static std::unique_ptr<atb::VariantPack> pack(std::initializer_list<atb::Tensor> in,
                                                std::initializer_list<atb::Tensor> out) {
    auto p = std::make_unique<atb::VariantPack>();
    *p = {};
    for (const atb::Tensor& t : in) p->inTensors.place[p->inTensors.count++] = t;
    for (const atb::Tensor& t : out) p->outTensors.place[p->outTensors.count++] = t;
    return p;
  }
  template <class Param>
  atb::Operation* operation(const Param& param) {
    atb::Operation* made = nullptr;
    EXPECT_EQ(atb::CreateOperation(param, &made), 0);
    return made;
  }
  static atb::Operation* product(Atb& t) {
    atb::infer::LinearParam param{};
    param.outDataType = -1;
    return t.operation(param);
  }

  aclrtStream stream = nullptr;
  atb::Context* context = nullptr;

 private:
  std::vector<void*> memory_;
};

using Floats = std::vector<float>;

TEST_F(Atb, AnOperationRunsOnTensorsOfAnyShape) {
  atb::Operation* op = product(*this);
  EXPECT_EQ(op->GetName().str(), "LinearOperation");
  const atb::Tensor x = tensor({2, 2}, {1, 2, 3, 4}), w = tensor({2, 1}, {10, 1}), y = tensor({2, 1}, {0, 0});
  const atb::Tensor wide = tensor({1, 2}, {5, 7}), other = tensor({1, 1}, {0});
  uint64_t workspace = 7;
  const auto first = pack({x, w}, {y}), second = pack({wide, w}, {other});
  ASSERT_EQ(op->Setup(*first, workspace, context), 0) << error_text();
  ASSERT_EQ(op->Execute(*first, nullptr, workspace, context), 0) << error_text();
  EXPECT_EQ(values(y), Floats({12, 34}));
  // Again, and on other tensors than it was set up for.
  ASSERT_EQ(op->Execute(*first, nullptr, workspace, context), 0);
  ASSERT_EQ(op->Setup(*first, workspace, context), 0);
  ASSERT_EQ(op->Execute(*second, nullptr, workspace, context), 0) << error_text();
  EXPECT_EQ(values(other), Floats({57}));
  EXPECT_EQ(atb::DestroyOperation(op), 0);
}

TEST_F(Atb, MoreTensorsThanAPackHoldsInPlace) {
  atb::Operation* op = product(*this);
  const atb::Tensor x = tensor({1, 1}, {3}), y = tensor({1, 1}, {0});
  const auto p = pack({}, {y});
  atb::Tensor heap[2] = {x, x};
  p->inTensors.heap = heap;
  p->inTensors.count = p->inTensors.capacity = 2;
  uint64_t workspace = 0;
  ASSERT_EQ(op->Setup(*p, workspace, context), 0) << error_text();
  ASSERT_EQ(op->Execute(*p, nullptr, workspace, context), 0);
  EXPECT_EQ(values(y), Floats({9}));
  atb::DestroyOperation(op);
}

TEST_F(Atb, LengthsOfTheHostAreReadWhenItIsSetUp) {
  atb::infer::PagedAttentionParam param{};
  param.headNum = param.kvHeadNum = 1;
  param.qkScale = 1;
  atb::Operation* op = operation(param);
  const atb::Tensor q = tensor({2, 1, 1}, {0, 0}), keys = tensor({2, 2, 1, 1}, {0, 0, 0, 0});
  const atb::Tensor cached = tensor({2, 2, 1, 1}, {1, 3, 5, 100}), out = tensor({2, 1, 1}, {0, 0});
  std::vector<int32_t> table{0, 1, 1, 0}, lengths{3, 1};
  atb::Tensor tables = described(kInt32, {2, 2}), host = described(kInt32, {2});
  ASSERT_EQ(aclrtMalloc(&tables.deviceData, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  ASSERT_EQ(aclrtMemcpy(tables.deviceData, 16, table.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  host.hostData = lengths.data();
  uint64_t workspace = 0;
  const auto p = pack({q, keys, cached, tables, host}, {out});
  ASSERT_EQ(op->Setup(*p, workspace, context), 0) << error_text();
  lengths = {1, 1};
  ASSERT_EQ(op->Execute(*p, nullptr, workspace, context), 0) << error_text();
  EXPECT_EQ(values(out), Floats({3, 5}));  // (1 + 3 + 5) / 3, and 5
  atb::DestroyOperation(op);
  aclrtFree(tables.deviceData);
}

TEST_F(Atb, ThreadsHaveOperationsAndContextsOfTheirOwn) {
  std::vector<std::thread> threads;
  std::vector<int> failures(4, -1);
  for (size_t i = 0; i < failures.size(); ++i)
    threads.emplace_back([&failures, i] {
      aclrtSetDevice(0);
      aclrtStream own = nullptr;
      atb::Context* context = nullptr;
      atb::Operation* op = nullptr;
      void* memory = nullptr;
      atb::infer::LinearParam param{};
      param.outDataType = -1;
      int bad = aclrtCreateStream(&own) + atb::CreateContext(&context) + context->SetExecuteStream(own) +
                atb::CreateOperation(param, &op) + aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST);
      const auto p = std::make_unique<atb::VariantPack>();
      *p = {};
      atb::Tensor t = described(kFloat, {1, 1});
      t.deviceData = memory;
      p->inTensors.place[0] = p->inTensors.place[1] = t;
      p->inTensors.count = 2;
      t.deviceData = static_cast<char*>(memory) + 16;
      p->outTensors.place[0] = t;
      p->outTensors.count = 1;
      for (int n = 0; n < 50; ++n) {
        const float x = static_cast<float>(n);
        float y = 0;
        uint64_t workspace = 0;
        bad += aclrtMemcpy(memory, 4, &x, 4, ACL_MEMCPY_HOST_TO_DEVICE) + op->Setup(*p, workspace, context) +
               op->Execute(*p, nullptr, 0, context) + aclrtSynchronizeStream(own) +
               aclrtMemcpy(&y, 4, t.deviceData, 4, ACL_MEMCPY_DEVICE_TO_HOST);
        bad += y != x * x;
      }
      bad += atb::DestroyOperation(op) + atb::DestroyContext(context) + aclrtFree(memory) + aclrtDestroyStream(own);
      failures[i] = bad;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failures, std::vector<int>(4, 0));
}

TEST_F(Atb, TheNameTellsWhyItWasRefused) {
  atb::Operation* op = product(*this);
  const atb::Tensor x = tensor({2, 2}, {1, 2, 3, 4}), y = tensor({3, 1}, {0, 0, 0});
  uint64_t workspace = 0;
  EXPECT_EQ(op->Setup(*pack({x}, {y}), workspace, context), 161002);
  EXPECT_EQ(op->GetName().str(), "LinearOperation (1 inputs are given, want 2: x, weight)");
  EXPECT_EQ(op->Setup(*pack({x, x}, {y}), workspace, context), 161002);
  EXPECT_NE(op->GetName().str().find("out is FLOAT[3,1]"), std::string::npos) << op->GetName().str();
  EXPECT_EQ(op->Setup(*pack({x, atb::Tensor{{-1, 2, {}}, nullptr, nullptr, 0}}, {y}), workspace, context), 161002);
  EXPECT_NE(op->GetName().str().find("Linear wants weight: a tensor"), std::string::npos) << op->GetName().str();
  atb::Tensor many = x;
  many.desc.shape.dimNum = 9;
  EXPECT_EQ(op->Setup(*pack({many, x}, {y}), workspace, context), 161002);
  EXPECT_NE(op->GetName().str().find("x has 9 dimensions, the most is 8"), std::string::npos) << op->GetName().str();
  const auto good = pack({x, x}, {x});
  EXPECT_EQ(op->Setup(*good, workspace, context), 0);
  EXPECT_EQ(op->GetName().str(), "LinearOperation");
  EXPECT_NE(op->Execute(*good, nullptr, 0, nullptr), 0);
  EXPECT_NE(op->GetName().str().find("context is null"), std::string::npos) << op->GetName().str();
  atb::DestroyOperation(op);
}

TEST(AtbText, TheOlderAbiGetsThePointerThatAStringWas) {
  alignas(8) char room[24];
  std::fill(std::begin(room), std::end(room), 'x');
  updraft::atb_ops::make_older_text(room, "LinearOperation (why)");
  EXPECT_EQ(std::string(room + 8, room + 24), std::string(16, 'x')) << "the client has room for a pointer";
  EXPECT_EQ(updraft::atb_ops::take_older_text(room), "LinearOperation (why)");
}

TEST_F(Atb, NullIsRefused) {
  EXPECT_NE(atb::CreateContext(nullptr), 0);
  EXPECT_NE(atb::DestroyContext(nullptr), 0);
  EXPECT_NE(atb::DestroyOperation(nullptr), 0);
  EXPECT_NE(atb::CreateOperation(atb::infer::RopeParam{2}, nullptr), 0);
  EXPECT_NE(AtbFusedAddTopkDiv(nullptr, 0, nullptr, context), 0);
}

TEST_F(Atb, BytesOfATensor) {
  EXPECT_EQ(atb::Utils::GetTensorSize(described(kFloat, {3, 5})), 60U);
  EXPECT_EQ(atb::Utils::GetTensorSize(described(kFloat, {})), 4U);
  EXPECT_EQ(atb::Utils::GetTensorSize(described(kFloat, {3, 0})), 0U);
  EXPECT_EQ(atb::Utils::GetTensorSize(described(kFloat, {int64_t{1} << 40, int64_t{1} << 40})), 0U);
  EXPECT_NE(error_text().find("which no memory holds"), std::string::npos);
  EXPECT_EQ(atb::Utils::GetTensorSize(described(-1, {1})), 0U);
}

TEST_F(Atb, TheCFunctionsKeepTheirPlanInTheOperation) {
  const atb::Tensor x = tensor({1, 4}, {0, 1, 2, 3}), add = tensor({4}, {0, 0, 0, 0}), y = tensor({1, 1}, {0});
  const atb::Tensor indices = tensor({1, 1}, {7});
  const auto handle = [](const atb::Tensor& t, int32_t type) {
    const atb::Dims& d = t.desc.shape;
    return aclCreateTensor(d.dims, d.dimNum, static_cast<aclDataType>(type), nullptr, 0, ACL_FORMAT_ND, d.dims,
                           d.dimNum, t.deviceData);
  };
  aclTensor *hx = handle(x, 0), *ha = handle(add, 0), *hy = handle(y, 0), *hi = handle(indices, kInt32);
  atb::Operation* op = nullptr;
  uint64_t workspace = 7;
  const auto plan = [&](int64_t k, int activation) {
    return AtbFusedAddTopkDivGetWorkspaceSize(hx, ha, nullptr, nullptr, 2, 1, 1, k, activation, false, 2.0f, false, hy,
                                              hi, &workspace, &op, context);
  };
  ASSERT_EQ(plan(1, 8), 0) << error_text();
  atb::Operation* const made = op;
  ASSERT_EQ(plan(1, 8), 0);
  EXPECT_EQ(op, made);
  EXPECT_EQ(AtbPagedCacheLoad(nullptr, 0, op, context), 161002);
  EXPECT_NE(error_text().find("operation is AtbFusedAddTopkDiv"), std::string::npos);
  ASSERT_EQ(AtbFusedAddTopkDiv(nullptr, 0, op, context), 0);
  EXPECT_FLOAT_EQ(values(y)[0], 2 / (1 + std::exp(-3.0f)));
  EXPECT_EQ(AtbFusedAddTopkDiv(nullptr, 0, op, context), 161002);
  EXPECT_NE(error_text().find("the plan has run"), std::string::npos);
  EXPECT_EQ(plan(3, 8), 161002);
  EXPECT_EQ(plan(1, 2), 161002);
  EXPECT_NE(op->GetName().str().find("activationType is 2, supported is 8 (sigmoid)"), std::string::npos)
      << op->GetName().str();
  atb::Operation* other = product(*this);
  std::swap(op, other);
  EXPECT_EQ(plan(1, 8), 161002);
  std::swap(op, other);
  for (aclTensor* t : {hx, ha, hy, hi}) aclDestroyTensor(t);
  EXPECT_EQ(atb::DestroyOperation(op), 0);
  EXPECT_EQ(atb::DestroyOperation(other), 0);
}

}  // namespace
