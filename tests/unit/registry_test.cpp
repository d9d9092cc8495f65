// The registry: operators called by name, repeatable executors on other memory, workspaces, inference.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "device/context.h"
#include "ops/call.h"
#include "ops/infer.h"

namespace updraft {
namespace {

struct Registry : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }
  void* device(const std::vector<float>& values) {
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, values.size() * 4 + 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(aclrtMemcpy(p, values.size() * 4, values.data(), values.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    return p;
  }
  std::vector<float> host(void* p, size_t n) {
    std::vector<float> values(n);
    EXPECT_EQ(aclrtMemcpy(values.data(), n * 4, p, n * 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return values;
  }
  std::string refusal(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& e) { return e.text(); }
    return "";
  }
};

TEST_F(Registry, CallsByName) {
  void *a = device({1, 2, 3, 4, 5, 6}), *b = device({10, 20, 30}), *out = device(std::vector<float>(6));
  OpCall call("aclnnAdd");
  call.add_tensor("self", {DType::Float, {2, 3}, {}, a});
  call.add_tensor("other", {DType::Float, {3}, {}, b});
  call.set("alpha", int64_t{2});
  call.ask("out");
  call.infer();
  ASSERT_EQ(call.tensors("out").size(), 1u);
  EXPECT_EQ(call.tensors("out")[0].dtype, DType::Float);
  EXPECT_EQ(call.tensors("out")[0].dims, (std::vector<int64_t>{2, 3}));
  call.place("out", 0, out);
  call.run(stream_of(nullptr));
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(host(out, 6), (std::vector<float>{21, 42, 63, 24, 45, 66}));
  for (void* p : {a, b, out}) aclrtFree(p);
}

TEST_F(Registry, RefusalsByNameSayWhatThereIs) {
  EXPECT_NE(refusal([] { OpCall call("aclnnAddd"); }).find("aclnnAdd"), std::string::npos);
  OpCall call("aclnnAdd");
  EXPECT_NE(refusal([&] { call.set("beta", 1.0); }).find("it has self, other, alpha, out"), std::string::npos);
  EXPECT_NE(refusal([&] { call.set("self", 1.0); }).find("a tensor"), std::string::npos);
  EXPECT_NE(refusal([&] { call.infer(); }).find("wants self"), std::string::npos);
  EXPECT_NE(refusal([&] { call.ask("self"); }).find("is no output"), std::string::npos);
}

TEST_F(Registry, InferenceRefusesWhatACallRefuses) {
  OpCall call("aclnnAdd");
  call.add_tensor("self", {DType::Float, {2, 3}, {}, nullptr});
  call.add_tensor("other", {DType::Float, {4}, {}, nullptr});
  call.set("alpha", int64_t{1});
  call.ask("out");
  EXPECT_NE(refusal([&] { call.infer(); }).find("broadcast"), std::string::npos);
}

TEST_F(Registry, InferenceKnowsTypes) {
  auto type = [](const char* name, DType self, DType other) {
    OpCall call(name);
    call.add_tensor("self", {self, {2}, {}, nullptr});
    call.add_tensor("other", {other, {2}, {}, nullptr});
    call.ask("out");
    call.infer();
    return call.tensors("out")[0].dtype;
  };
  EXPECT_EQ(type("aclnnMul", DType::Int32, DType::Float16), DType::Float16);
  EXPECT_EQ(type("aclnnDiv", DType::Int32, DType::Int32), DType::Float);
  EXPECT_EQ(type("aclnnGtTensor", DType::Float, DType::Float), DType::Bool);
  EXPECT_EQ(type("aclnnMaximum", DType::BFloat16, DType::Float), DType::Float);
}

TEST_F(Registry, UnknownSizesAreFollowed) {
  auto out = [](std::vector<int64_t> self, std::vector<int64_t> other) {
    OpCall call("aclnnMul");
    call.add_tensor("self", {DType::Float, std::move(self), {}, nullptr});
    call.add_tensor("other", {DType::Float, std::move(other), {}, nullptr});
    call.ask("out");
    call.infer();
    return call.tensors("out")[0].dims;
  };
  using Dims = std::vector<int64_t>;
  EXPECT_EQ(out({-1, 3}, {3}), (Dims{-1, 3}));
  EXPECT_EQ(out({-1, 3}, {-1, 3}), (Dims{-1, 3}));
  EXPECT_EQ(out({-1}, {5}), (Dims{5}));
  EXPECT_EQ(out({4, -1}, {4, 1}), (Dims{4, -1}));
  EXPECT_EQ(out({7, 1}, {-1}), (Dims{7, -1}));
}

TEST_F(Registry, BoundsAreFollowed) {
  const OpInfo& info = *find_op("aclnnMul");
  aclTensor self, other, result;
  self.view.dtype = other.view.dtype = DType::Float;
  result.view.dtype = DType::Undefined;
  const Value values[] = {&self, &other, &result};
  const Shape inputs[] = {{DType::Float, {Dim(2, 10), Dim(3)}}, {DType::Float, {Dim(3)}}, {}};
  const auto shapes = infer(info, values, inputs);
  ASSERT_EQ(shapes.size(), 3u);
  ASSERT_EQ(shapes[2].dims.size(), 2u);
  EXPECT_EQ(shapes[2].dims[0], Dim(2, 10));
  EXPECT_EQ(shapes[2].dims[1], Dim(3));
}

/// An executor of aclnnAdd over three tensors of two floats.
struct Repeated {
  aclTensor* tensors[3];
  aclScalar* alpha;
  aclOpExecutor* executor = nullptr;
  uint64_t workspace = 0;
};
using Plan = int (*)(aclTensor*, aclTensor*, aclScalar*, aclTensor*, uint64_t*, aclOpExecutor**);
extern "C" int aclnnAddGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclScalar*, aclTensor*, uint64_t*,
                                        aclOpExecutor**);
extern "C" int aclnnAdd(void*, uint64_t, aclOpExecutor*, void*);
extern "C" int aclnnNonzeroGetWorkspaceSize(const aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);
extern "C" int aclnnNonzero(void*, uint64_t, aclOpExecutor*, void*);

Repeated plan_add(void* a, void* b, void* out) {
  Repeated r;
  const int64_t dims[] = {2};
  void* const data[] = {a, b, out};
  for (int i = 0; i < 3; ++i)
    r.tensors[i] = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, data[i]);
  float one = 1;
  r.alpha = aclCreateScalar(&one, ACL_FLOAT);
  EXPECT_EQ(aclnnAddGetWorkspaceSize(r.tensors[0], r.tensors[1], r.alpha, r.tensors[2], &r.workspace, &r.executor), 0);
  return r;
}
void forget_handles(Repeated& r) {
  for (aclTensor* t : r.tensors) aclDestroyTensor(t);
  aclDestroyScalar(r.alpha);
}

TEST_F(Registry, RepeatableExecutorsTakeOtherMemory) {
  void *a = device({1, 2}), *b = device({10, 20}), *c = device({100, 200}), *out = device({0, 0}),
       *other = device({0, 0});
  Repeated r = plan_add(a, b, out);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(r.executor), 0);
  forget_handles(r);
  ASSERT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 0);
  ASSERT_EQ(aclSetTensorAddr(r.executor, 1, nullptr, c), 0);
  ASSERT_EQ(aclSetOutputTensorAddr(r.executor, 0, nullptr, other), 0);
  ASSERT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 0);
  ASSERT_EQ(aclSetInputTensorAddr(r.executor, 0, nullptr, c), 0);
  ASSERT_EQ(aclSetTensorAddr(r.executor, 2, nullptr, a), 0);
  ASSERT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(host(out, 2), (std::vector<float>{11, 22}));
  EXPECT_EQ(host(other, 2), (std::vector<float>{101, 202}));
  EXPECT_EQ(host(a, 2), (std::vector<float>{200, 400}));
  EXPECT_EQ(aclSetTensorAddr(r.executor, 3, nullptr, a), 161002);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("index 3 is out of range"), std::string::npos);
  EXPECT_EQ(aclSetDynamicTensorAddr(r.executor, 0, 0, nullptr, a), 161002);
  // An address outside any memory of the device is refused when it is used.
  ASSERT_EQ(aclSetTensorAddr(r.executor, 0, nullptr, static_cast<char*>(a) + (1 << 20)), 0);
  EXPECT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 161002);
  EXPECT_EQ(aclDestroyAclOpExecutor(r.executor), 0);
  for (void* p : {a, b, c, out, other}) aclrtFree(p);
}

TEST_F(Registry, TheTensorItselfSaysWhichAddressIsMeant) {
  void *a = device({1, 2}), *b = device({10, 20}), *out = device({0, 0}), *other = device({0, 0});
  Repeated r = plan_add(a, a, out);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(r.executor), 0);
  // A client that counts something else among its indices.
  ASSERT_EQ(aclSetTensorAddr(r.executor, 5, r.tensors[1], b), 0);
  ASSERT_EQ(aclSetTensorAddr(r.executor, 0, r.tensors[2], other), 0);
  ASSERT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(host(other, 2), (std::vector<float>{11, 22}));
  EXPECT_EQ(host(out, 2), (std::vector<float>{0, 0}));
  aclTensor* gone = r.tensors[2];
  forget_handles(r);
  ASSERT_EQ(aclSetTensorAddr(r.executor, 0, gone, b), 0) << "the index decides";
  ASSERT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(host(other, 2), (std::vector<float>{20, 40}));
  EXPECT_EQ(aclDestroyAclOpExecutor(r.executor), 0);
  // One tensor in two places.
  aclTensor* twice =
      aclCreateTensor((const int64_t[]){2}, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, (const int64_t[]){2}, 1, a);
  aclTensor* result =
      aclCreateTensor((const int64_t[]){2}, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, (const int64_t[]){2}, 1, out);
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t bytes = 0;
  ASSERT_EQ(aclnnAddGetWorkspaceSize(twice, twice, alpha, result, &bytes, &r.executor), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(r.executor), 0);
  ASSERT_EQ(aclSetTensorAddr(r.executor, 1, twice, b), 0);
  ASSERT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(host(out, 2), (std::vector<float>{11, 22}));
  for (aclTensor* t : {twice, result}) EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclDestroyScalar(alpha), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(r.executor), 0);
  for (void* p : {a, b, out, other}) aclrtFree(p);
}

TEST_F(Registry, PlansWithoutMemoryGetItLater) {
  Repeated r = plan_add(nullptr, nullptr, nullptr);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(r.executor), 0);
  forget_handles(r);
  EXPECT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 161001);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("data is null"), std::string::npos);
  void *a = device({1, 2}), *out = device({0, 0});
  for (size_t i : {0, 1}) ASSERT_EQ(aclSetTensorAddr(r.executor, i, nullptr, a), 0);
  EXPECT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 161001) << "out has no memory yet";
  ASSERT_EQ(aclSetTensorAddr(r.executor, 2, nullptr, out), 0);
  ASSERT_EQ(aclnnAdd(nullptr, 0, r.executor, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(host(out, 2), (std::vector<float>{2, 4}));
  EXPECT_EQ(aclDestroyAclOpExecutor(r.executor), 0);
  for (void* p : {a, out}) aclrtFree(p);
}

TEST_F(Registry, RepeatedResultsTellTheirShape) {
  const int64_t in[] = {4}, most[] = {4, 1};
  void *first = device({1, 0, 2, 3}), *second = device({0, 0, 5, 0}), *places[2];
  for (void*& p : places) ASSERT_EQ(aclrtMalloc(&p, 4 * sizeof(int64_t), ACL_MEM_MALLOC_HUGE_FIRST), 0);
  aclTensor* self = aclCreateTensor(in, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, in, 1, first);
  aclTensor* out = aclCreateTensor(most, 2, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, most, 2, places[0]);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnNonzeroGetWorkspaceSize(self, out, &bytes, &executor), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  auto rows = [&] {
    EXPECT_EQ(aclnnNonzero(nullptr, 0, executor, nullptr), 0);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
    int64_t* dims = nullptr;
    uint64_t rank = 0;
    EXPECT_EQ(aclGetViewShape(out, &dims, &rank), 0);
    const int64_t n = rank == 2 ? dims[0] : -1;
    delete[] dims;
    return n;
  };
  EXPECT_EQ(rows(), 3);
  for (auto [at, data] : {std::pair<size_t, void*>{0, second}, {1, places[1]}})
    ASSERT_EQ(aclSetTensorAddr(executor, at, nullptr, data), 0);
  EXPECT_EQ(rows(), 1) << "at other addresses";
  ASSERT_EQ(aclSetTensorAddr(executor, 0, nullptr, first), 0);
  EXPECT_EQ(rows(), 3) << "as many as at first, more than the last time";
  EXPECT_EQ(aclDestroyTensor(out), 0);
  EXPECT_EQ(aclnnNonzero(nullptr, 0, executor, nullptr), 0) << "nobody asks for the shape";
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(aclDestroyTensor(self), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  for (void* p : {first, second, places[0], places[1]}) aclrtFree(p);
}

TEST_F(Registry, OnlyRepeatableExecutorsAreReaddressed) {
  void* a = device({1, 2});
  Repeated r = plan_add(a, a, a);
  EXPECT_EQ(aclSetTensorAddr(r.executor, 0, nullptr, a), 161002);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("aclSetAclOpExecutorRepeatable"), std::string::npos);
  aclDestroyTensor(r.tensors[0]);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(r.executor), 161002) << "its arguments are gone";
  for (int i : {1, 2}) aclDestroyTensor(r.tensors[i]);
  aclDestroyScalar(r.alpha);
  EXPECT_EQ(aclDestroyAclOpExecutor(r.executor), 0);
  aclrtFree(a);
}

}  // namespace
}  // namespace updraft
