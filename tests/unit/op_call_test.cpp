// Operators by their names through the C interface (include/updraft/op.h).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "updraft/op.h"

namespace {

struct OpCalls : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }
  void TearDown() override {
    for (void* p : memory_) aclrtFree(p);
    for (updraftOpCall* call : calls_) updraftOpDestroy(call);
  }
  updraftOpCall* call(const char* name) {
    updraftOpCall* made = nullptr;
    EXPECT_EQ(updraftOpCreate(name, &made), 0);
    return calls_.emplace_back(made);
  }
  void* device(const std::vector<float>& values) {
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, values.size() * 4 + 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(aclrtMemcpy(p, values.size() * 4, values.data(), values.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    return memory_.emplace_back(p);
  }
  static std::string error() { return aclGetRecentErrMsg(); }

  /// Sizes of the tensor as pairs: least, most.
  static std::vector<std::pair<int64_t, int64_t>> sizes(updraftOpCall* call, const char* parameter, int32_t type) {
    int32_t dtype = -1;
    uint64_t rank = 0;
    int64_t low[UPDRAFT_MAX_DIMS], high[UPDRAFT_MAX_DIMS];
    EXPECT_EQ(updraftOpGetTensor(call, parameter, 0, &dtype, &rank, low, high), 0);
    EXPECT_EQ(dtype, type);
    std::vector<std::pair<int64_t, int64_t>> all;
    for (uint64_t d = 0; d < rank; ++d) all.emplace_back(low[d], high[d]);
    return all;
  }

 private:
  std::vector<void*> memory_;
  std::vector<updraftOpCall*> calls_;
};
using Sizes = std::vector<std::pair<int64_t, int64_t>>;

TEST_F(OpCalls, ListsOperatorsAndTheirParameters) {
  for (const int graph : {0, 1}) {
    uint64_t count = 0;
    ASSERT_EQ(updraftOpCount(graph, &count), 0);
    ASSERT_TRUE(graph || count > 400);
    std::string before;
    for (uint64_t i = 0; i < count; ++i) {
      const char *name = nullptr, *text = nullptr;
      ASSERT_EQ(updraftOpName(graph, i, &name), 0);
      EXPECT_LT(before, name);
      before = name;
      ASSERT_EQ(updraftOpDescribe(name, &text), 0);
      const auto entry = nlohmann::json::parse(text);
      EXPECT_EQ(entry["name"], name);
      EXPECT_EQ(entry["graph"], graph != 0);
    }
    const char* name = nullptr;
    EXPECT_EQ(updraftOpName(graph, count, &name), 161002);
  }
  const char* text = nullptr;
  ASSERT_EQ(updraftOpDescribe("aclnnAdd", &text), 0);
  const auto add = nlohmann::json::parse(text);
  ASSERT_EQ(add["parameters"].size(), 4u);
  EXPECT_EQ(add["parameters"][2]["kind"], "scalar");
  EXPECT_EQ(add["parameters"][3]["direction"], "out");
  EXPECT_EQ(updraftOpDescribe("aclnnAdddd", &text), 161002);
  EXPECT_NE(error().find("aclnnAdd"), std::string::npos);
}

TEST_F(OpCalls, InfersAndRuns) {
  updraftOpCall* c = call("aclnnMul");
  const int64_t dims[] = {2, 2}, row[] = {2};
  ASSERT_EQ(updraftOpSetTensor(c, "self", ACL_FLOAT, 2, dims, nullptr, device({1, 2, 3, 4}), 0), 0);
  ASSERT_EQ(updraftOpSetTensor(c, "other", ACL_FLOAT, 1, row, nullptr, device({10, 100}), 0), 0);
  ASSERT_EQ(updraftOpAsk(c, "out"), 0);
  ASSERT_EQ(updraftOpInfer(c), 0) << error();
  EXPECT_EQ(sizes(c, "out", ACL_FLOAT), (Sizes{{2, 2}, {2, 2}}));
  void* out = device({0, 0, 0, 0});
  ASSERT_EQ(updraftOpPlace(c, "out", 0, out), 0);
  ASSERT_EQ(updraftOpRun(c, nullptr), 0) << error();
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  std::vector<float> got(4);
  ASSERT_EQ(aclrtMemcpy(got.data(), 16, out, 16, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(got, (std::vector<float>{10, 200, 30, 400}));
}

TEST_F(OpCalls, UnknownSizesStayUnknown) {
  updraftOpCall* c = call("aclnnMatmul");
  const int64_t a[] = {-1, 8}, b[] = {8, 5};
  ASSERT_EQ(updraftOpSetTensor(c, "self", ACL_FLOAT16, 2, a, nullptr, nullptr, 0), 0);
  ASSERT_EQ(updraftOpSetTensor(c, "mat2", ACL_FLOAT16, 2, b, nullptr, nullptr, 0), 0);
  ASSERT_EQ(updraftOpSetInteger(c, "cubeMathType", 0), 0);
  ASSERT_EQ(updraftOpAsk(c, "out"), 0);
  ASSERT_EQ(updraftOpInfer(c), 0) << error();
  const Sizes out = sizes(c, "out", ACL_FLOAT16);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].second, -1);
  EXPECT_EQ(out[1], (std::pair<int64_t, int64_t>{5, 5}));
  EXPECT_EQ(updraftOpRun(c, nullptr), 161002);
}

TEST_F(OpCalls, SizesThatValuesDecideAreKnownOnceItRan) {
  updraftOpCall* c = call("aclnnNonzero");
  const int64_t dims[] = {2, 3};
  ASSERT_EQ(updraftOpSetTensor(c, "self", ACL_FLOAT, 2, dims, nullptr, device({0, 1, 0, 2, 0, 0}), 0), 0);
  ASSERT_EQ(updraftOpAsk(c, "out"), 0);
  ASSERT_EQ(updraftOpInfer(c), 0) << error();
  EXPECT_EQ(sizes(c, "out", ACL_INT64), (Sizes{{0, 6}, {2, 2}}));
  ASSERT_EQ(updraftOpPlace(c, "out", 0, device(std::vector<float>(24))), 0);
  ASSERT_EQ(updraftOpRun(c, nullptr), 0) << error();
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(sizes(c, "out", ACL_INT64), (Sizes{{2, 2}, {2, 2}}));
}

TEST_F(OpCalls, WrongCallsAreRefused) {
  EXPECT_EQ(updraftOpCount(0, nullptr), 161001);
  updraftOpCall* c = nullptr;
  EXPECT_EQ(updraftOpCreate("aclnnNone", &c), 161002);
  EXPECT_EQ(c, nullptr);
  ASSERT_EQ(updraftOpCreate("aclnnAbs", &c), 0);
  const int64_t wrong[] = {-2}, large[] = {int64_t{1} << 40, int64_t{1} << 40}, dims[] = {2};
  EXPECT_EQ(updraftOpSetTensor(c, "self", ACL_FLOAT, 1, wrong, nullptr, nullptr, 0), 161002);
  EXPECT_EQ(updraftOpSetTensor(c, "self", ACL_FLOAT, 2, large, nullptr, nullptr, 0), 161002);
  EXPECT_EQ(updraftOpSetTensor(c, "self", ACL_FLOAT, 17, dims, nullptr, nullptr, 0), 161002);
  EXPECT_EQ(updraftOpSetTensor(c, "self", 1000, 1, dims, nullptr, nullptr, 0), 161002);
  EXPECT_EQ(updraftOpSetTensor(c, "self", ACL_FLOAT, 1, nullptr, nullptr, nullptr, 0), 161001);
  EXPECT_EQ(updraftOpSetAbsent(c, "self"), 161002) << "no list";
  EXPECT_EQ(updraftOpAsk(c, "self"), 161002);
  EXPECT_EQ(updraftOpSetInteger(c, "self", 1), 161002);
  EXPECT_EQ(updraftOpInfer(c), 161002);
  EXPECT_NE(error().find("wants self"), std::string::npos);
  uint64_t count = 9;
  EXPECT_EQ(updraftOpTensorCount(c, "out", &count), 0);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(updraftOpPlace(c, "out", 0, nullptr), 161002);
  EXPECT_EQ(updraftOpDestroy(c), 0);
  EXPECT_EQ(updraftOpDestroy(c), 161002) << "it is gone";
  EXPECT_EQ(updraftOpInfer(c), 161002);
  EXPECT_EQ(updraftOpDestroy(nullptr), 0);
}

}  // namespace
