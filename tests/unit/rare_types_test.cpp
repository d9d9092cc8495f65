// Types and layouts that few clients use: computed right, or refused, never left out.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "base/config.h"
#include "error_text.h"
#include "tensor/dtype.h"

#define TWO_PHASES(NAME, ...)                                                     \
  extern "C" int NAME##GetWorkspaceSize(__VA_ARGS__, uint64_t*, aclOpExecutor**); \
  extern "C" int NAME(void*, uint64_t, aclOpExecutor*, aclrtStream);
TWO_PHASES(aclnnNonzero, const aclTensor*, aclTensor*)
TWO_PHASES(aclnnIndexAdd, const aclTensor*, int64_t, const aclTensor*, const aclTensor*, const aclScalar*, aclTensor*)
TWO_PHASES(aclnnScatterAdd, const aclTensor*, int64_t, const aclTensor*, const aclTensor*, aclTensor*)
TWO_PHASES(aclnnIndexSelect, const aclTensor*, int64_t, const aclTensor*, aclTensor*)
TWO_PHASES(aclnnCat, const aclTensorList*, int64_t, aclTensor*)
TWO_PHASES(aclnnInplaceFillScalar, aclTensor*, const aclScalar*)
TWO_PHASES(aclnnSearchSorted, const aclTensor*, const aclTensor*, bool, bool, const aclTensor*, aclTensor*)
TWO_PHASES(aclnnGtTensor, const aclTensor*, const aclTensor*, aclTensor*)
TWO_PHASES(aclnnGtScalar, const aclTensor*, const aclScalar*, aclTensor*)
TWO_PHASES(aclnnMaximum, const aclTensor*, const aclTensor*, aclTensor*)
TWO_PHASES(aclnnFloorDivide, const aclTensor*, const aclTensor*, aclTensor*)
TWO_PHASES(aclnnRemainderTensorTensor, const aclTensor*, const aclTensor*, aclTensor*)
TWO_PHASES(aclnnAmax, const aclTensor*, const aclIntArray*, bool, aclTensor*)
TWO_PHASES(aclnnClampMin, const aclTensor*, const aclScalar*, aclTensor*)
TWO_PHASES(aclnnAdaptiveAvgPool2d, const aclTensor*, const aclIntArray*, aclTensor*)
TWO_PHASES(aclnnGroupNormSwish, const aclTensor*, const aclTensor*, const aclTensor*, int64_t, const char*, double,
           bool, double, aclTensor*, aclTensor*, aclTensor*)
TWO_PHASES(aclnnInplaceAdds, aclTensor*, const aclScalar*, const aclScalar*)
TWO_PHASES(aclnnMm, const aclTensor*, const aclTensor*, aclTensor*, int8_t)

namespace updraft {
namespace {

struct RareTypes : testing::Test {
  static void SetUpTestSuite() { aclInit(nullptr); }
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
  }
  void TearDown() override {
    for (aclTensor* t : tensors) aclDestroyTensor(t);
    EXPECT_EQ(aclrtDestroyStream(stream), 0);
    for (void* p : memory) EXPECT_EQ(aclrtFree(p), 0);
    EXPECT_EQ(aclrtResetDevice(0), 0);
  }

  // Numbers that no aclDataType has come here as clients of C send them.
  template <class T>
  __attribute__((no_sanitize("enum"))) aclTensor* tensor(aclDataType type, std::vector<int64_t> dims,
                                                         const std::vector<T>& values, aclFormat format = ACL_FORMAT_ND,
                                                         std::vector<int64_t> storage = {}) {
    void* p = nullptr;
    const size_t bytes = values.size() * sizeof(T);
    EXPECT_EQ(aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(aclrtMemcpy(p, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    memory.push_back(p);
    if (storage.empty()) storage = dims;
    tensors.push_back(
        aclCreateTensor(dims.data(), dims.size(), type, nullptr, 0, format, storage.data(), storage.size(), p));
    return tensors.back();
  }
  template <class T>
  std::vector<T> read(const aclTensor* t, size_t n) {
    std::vector<T> values(n);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i] == t) {
        EXPECT_EQ(aclrtMemcpy(values.data(), n * sizeof(T), memory[i], n * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST), 0);
      }
    return values;
  }
  int run(int planned, int (*launch)(void*, uint64_t, aclOpExecutor*, aclrtStream)) {
    if (planned) return planned;
    if (int code = launch(nullptr, workspace, executor, stream)) return code;
    return aclrtSynchronizeStream(stream);
  }
  std::vector<ComplexHalf> complex(const std::vector<complex64>& z) {
    std::vector<ComplexHalf> halves;
    for (complex64 value : z) halves.emplace_back(value);
    return halves;
  }

  aclrtStream stream = nullptr;
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  std::vector<aclTensor*> tensors;
  std::vector<void*> memory;
};
#define CALL(NAME, ...) run(NAME##GetWorkspaceSize(__VA_ARGS__, &workspace, &executor), NAME)

TEST_F(RareTypes, Complex32Moves) {
  const std::vector<complex64> z = {{1, 2}, {0, 0}, {0, -3}, {4, 0}};
  aclTensor* self = tensor(ACL_COMPLEX32, {4}, complex(z));
  aclTensor* places = tensor(ACL_INT64, {4, 1}, std::vector<int64_t>(4, -1));
  ASSERT_EQ(CALL(aclnnNonzero, self, places), 0) << error_text();
  int64_t* dims = nullptr;
  uint64_t rank = 0;
  ASSERT_EQ(aclGetViewShape(places, &dims, &rank), 0);
  EXPECT_EQ(dims[0], 3);
  delete[] dims;
  EXPECT_EQ(read<int64_t>(places, 3), (std::vector<int64_t>{0, 2, 3}));

  aclTensor* index = tensor(ACL_INT64, {3}, std::vector<int64_t>{2, 0, 2});
  aclTensor* picked = tensor(ACL_COMPLEX32, {3}, complex({3, {}}));
  ASSERT_EQ(CALL(aclnnIndexSelect, self, int64_t{0}, index, picked), 0) << error_text();
  const std::vector<ComplexHalf> got = read<ComplexHalf>(picked, 3);
  EXPECT_EQ(complex64(got[0]), z[2]);
  EXPECT_EQ(complex64(got[1]), z[0]);
  EXPECT_EQ(complex64(got[2]), z[2]);

  // The list takes its tensors: they are not ours to destroy.
  aclTensor* a = tensor(ACL_COMPLEX32, {4}, complex(z));
  aclTensor* b = tensor(ACL_COMPLEX32, {4}, complex(z));
  aclTensor* joined = tensor(ACL_COMPLEX32, {8}, complex(std::vector<complex64>(8)));
  aclTensor* parts[] = {a, b};
  aclTensorList* list = aclCreateTensorList(parts, 2);
  ASSERT_EQ(CALL(aclnnCat, list, int64_t{0}, joined), 0) << error_text();
  EXPECT_EQ(aclDestroyTensorList(list), 0);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(complex64(read<ComplexHalf>(joined, 8)[i]), z[i % 4]);

  float number[2] = {5, -6};
  aclScalar* value = aclCreateScalar(number, ACL_COMPLEX64);
  ASSERT_EQ(CALL(aclnnInplaceFillScalar, self, value), 0) << error_text();
  for (ComplexHalf h : read<ComplexHalf>(self, 4)) EXPECT_EQ(complex64(h), complex64(5, -6));
  aclDestroyScalar(value);
}

TEST_F(RareTypes, Complex32IsSummedByIndex) {
  const std::vector<complex64> z = {{1, 2}, {3, 4}, {5, 6}};
  aclTensor* index = tensor(ACL_INT64, {3}, std::vector<int64_t>{1, 1, 0});
  aclTensor* source = tensor(ACL_COMPLEX32, {3}, complex(z));
  aclTensor* self = tensor(ACL_COMPLEX32, {2}, complex({{10, 0}, {20, 0}}));
  ComplexHalf two(complex64(2, 0));
  aclScalar* alpha = aclCreateScalar(&two, ACL_COMPLEX32);
  ASSERT_EQ(CALL(aclnnIndexAdd, self, int64_t{0}, index, source, alpha, self), 0) << error_text();
  std::vector<ComplexHalf> got = read<ComplexHalf>(self, 2);
  EXPECT_EQ(complex64(got[0]), complex64(20, 12));
  EXPECT_EQ(complex64(got[1]), complex64(28, 12));
  aclTensor* out = tensor(ACL_COMPLEX32, {2}, complex({{0, 0}, {0, 0}}));
  ASSERT_EQ(CALL(aclnnScatterAdd, self, int64_t{0}, index, source, out), 0) << error_text();
  got = read<ComplexHalf>(out, 2);
  EXPECT_EQ(complex64(got[0]), complex64(25, 18));
  EXPECT_EQ(complex64(got[1]), complex64(32, 18));
  aclDestroyScalar(alpha);
}

TEST_F(RareTypes, Complex32HasNoOrder) {
  aclTensor* self = tensor(ACL_COMPLEX32, {4}, complex({{1, 2}, {0, 0}, {0, -3}, {4, 0}}));
  aclTensor* out = tensor(ACL_INT64, {4}, std::vector<int64_t>(4));
  EXPECT_EQ(CALL(aclnnSearchSorted, self, self, false, false, static_cast<aclTensor*>(nullptr), out), 161002);
  EXPECT_NE(error_text().find("order"), std::string::npos);
}

TEST_F(RareTypes, UnsignedLongsAreRightInTheirUpperHalf) {
  constexpr uint64_t kBig = (uint64_t{1} << 63) + 5;
  aclTensor* a = tensor(ACL_UINT64, {3}, std::vector<uint64_t>{kBig, 7, ~uint64_t{0}});
  aclTensor* b = tensor(ACL_UINT64, {3}, std::vector<uint64_t>{3, kBig, 10});
  aclTensor* truth = tensor(ACL_BOOL, {3}, std::vector<uint8_t>(3));
  ASSERT_EQ(CALL(aclnnGtTensor, a, b, truth), 0) << error_text();
  EXPECT_EQ(read<uint8_t>(truth, 3), (std::vector<uint8_t>{1, 0, 1}));
  int64_t five = 5;
  aclScalar* scalar = aclCreateScalar(&five, ACL_INT64);
  ASSERT_EQ(CALL(aclnnGtScalar, a, scalar, truth), 0) << error_text();
  EXPECT_EQ(read<uint8_t>(truth, 3), (std::vector<uint8_t>{1, 1, 1}));
  aclTensor* out = tensor(ACL_UINT64, {3}, std::vector<uint64_t>(3));
  ASSERT_EQ(CALL(aclnnMaximum, a, b, out), 0) << error_text();
  EXPECT_EQ(read<uint64_t>(out, 3), (std::vector<uint64_t>{kBig, kBig, ~uint64_t{0}}));
  ASSERT_EQ(CALL(aclnnFloorDivide, a, b, out), 0) << error_text();
  EXPECT_EQ(read<uint64_t>(out, 3), (std::vector<uint64_t>{kBig / 3, 0, ~uint64_t{0} / 10}));
  ASSERT_EQ(CALL(aclnnRemainderTensorTensor, a, b, out), 0) << error_text();
  EXPECT_EQ(read<uint64_t>(out, 3), (std::vector<uint64_t>{kBig % 3, 7, ~uint64_t{0} % 10}));
  // Where they would be taken for negative numbers they are refused.
  const int64_t zero = 0;
  aclIntArray* dims = aclCreateIntArray(&zero, 1);
  aclTensor* one = tensor(ACL_UINT64, {}, std::vector<uint64_t>(1));
  EXPECT_EQ(CALL(aclnnAmax, a, dims, false, one), 161002);
  EXPECT_NE(error_text().find("2^63"), std::string::npos);
  EXPECT_EQ(CALL(aclnnClampMin, a, scalar, out), 161002);
  EXPECT_NE(error_text().find("2^63"), std::string::npos);
  aclDestroyIntArray(dims);
  aclDestroyScalar(scalar);
}

TEST_F(RareTypes, ImagesWithTheChannelLastAreRefused) {
  const int64_t size[] = {2, 2}, other[] = {2, 3};
  aclIntArray *wanted = aclCreateIntArray(size, 2), *wrong = aclCreateIntArray(other, 2);
  aclTensor* in = tensor(ACL_FLOAT, {1, 4, 4, 8}, std::vector<float>(128), ACL_FORMAT_NHWC);
  aclTensor* out = tensor(ACL_FLOAT, {1, 2, 2, 8}, std::vector<float>(32), ACL_FORMAT_NHWC);
  EXPECT_EQ(CALL(aclnnAdaptiveAvgPool2d, in, wanted, out), 161002);
  EXPECT_NE(error_text().find("NHWC"), std::string::npos) << error_text();
  aclTensor* planes = tensor(ACL_FLOAT, {1, 8, 4, 4}, std::vector<float>(128, 1.0f), ACL_FORMAT_NCHW);
  aclTensor* pooled = tensor(ACL_FLOAT, {1, 8, 2, 2}, std::vector<float>(32), ACL_FORMAT_NCHW);
  EXPECT_EQ(CALL(aclnnAdaptiveAvgPool2d, planes, wanted, pooled), 0) << error_text();
  EXPECT_EQ(read<float>(pooled, 32), std::vector<float>(32, 1.0f));
  EXPECT_EQ(CALL(aclnnAdaptiveAvgPool2d, planes, wrong, pooled), 161002);
  EXPECT_NE(error_text().find("outputSize"), std::string::npos);
  // Operators that look at elements one by one do not mind.
  float number = 1;
  aclScalar* one = aclCreateScalar(&number, ACL_FLOAT);
  EXPECT_EQ(CALL(aclnnInplaceAdds, in, one, one), 0) << error_text();
  aclDestroyScalar(one);
  aclTensor* none = nullptr;
  aclTensor *mean = tensor(ACL_FLOAT, {1, 2}, std::vector<float>(2)),
            *rstd = tensor(ACL_FLOAT, {1, 2}, std::vector<float>(2));
  aclTensor* y = tensor(ACL_FLOAT, {1, 8, 4, 4}, std::vector<float>(128));
  auto swish = [&](const char* format) {
    return CALL(aclnnGroupNormSwish, planes, none, none, int64_t{2}, format, 1e-5, true, 1.0, y, mean, rstd);
  };
  EXPECT_EQ(swish("NHWC"), 161002);
  EXPECT_NE(error_text().find("dataFormat"), std::string::npos);
  EXPECT_EQ(swish("NCHW"), 0) << error_text();
  aclDestroyIntArray(wanted);
  aclDestroyIntArray(wrong);
}

TEST_F(RareTypes, TypesOutsideOfAByteAreNotOthers) {
  aclTensor* t = tensor(static_cast<aclDataType>(256), {2}, std::vector<float>(2));
  ASSERT_NE(t, nullptr);
  int32_t type = 0;
  EXPECT_EQ(aclGetDataType(t, reinterpret_cast<aclDataType*>(&type)), 0);
  EXPECT_EQ(type, 256);
  float number = 1;
  aclScalar* one = aclCreateScalar(&number, ACL_FLOAT);
  EXPECT_EQ(CALL(aclnnInplaceAdds, t, one, one), 161002);
  EXPECT_NE(error_text().find("256"), std::string::npos);
  aclDestroyScalar(one);
  EXPECT_EQ(aclCreateScalar(&number, static_cast<aclDataType>(256)), nullptr);
  EXPECT_EQ(aclDataTypeSize(static_cast<aclDataType>(256)), 0u);
}

// A layout of the product's own. CTest runs these plainly, in strict mode and with UPDRAFT_FIDELITY=card.
struct CardRulesOfFormats : RareTypes {
  const bool refuses = Config::get().card_rules();
};

TEST_F(CardRulesOfFormats, LayoutsThatTheHostMadeAreRefused) {
  aclTensor* a = tensor(ACL_FLOAT, {4, 32}, std::vector<float>(128, 1.0f));
  aclTensor* weight = tensor(ACL_FLOAT, {32, 16}, std::vector<float>(512, 1.0f), ACL_FORMAT_FRACTAL_NZ, {1, 2, 16, 16});
  aclTensor* out = tensor(ACL_FLOAT, {4, 16}, std::vector<float>(64));
  EXPECT_EQ(CALL(aclnnMm, a, weight, out, int8_t{0}), refuses ? 161002 : 0);
  if (refuses) { EXPECT_NE(error_text().find("FRACTAL_NZ"), std::string::npos); }
  // What the device wrote is in the order of the view.
  float number = 1;
  aclScalar* one = aclCreateScalar(&number, ACL_FLOAT);
  ASSERT_EQ(CALL(aclnnInplaceFillScalar, weight, one), 0) << error_text();
  EXPECT_EQ(CALL(aclnnMm, a, weight, out, int8_t{0}), 0) << error_text();
  EXPECT_EQ(read<float>(out, 64), std::vector<float>(64, 32.0f));
  // By any way that bytes of the host come.
  const std::vector<float> values(512, 2.0f);
  void* to = memory[1];
  auto* from = const_cast<void*>(static_cast<const void*>(values.data()));
  const size_t bytes = values.size() * sizeof(float);
  using Way = std::function<int()>;
  size_t room = bytes, size = bytes, failed = 0;
  const Way ways[] = {
      [&] { return aclrtMemcpy2d(to, 128, from, 128, 128, 16, ACL_MEMCPY_HOST_TO_DEVICE); },
      [&] { return aclrtMemcpy2d(static_cast<char*>(to) + 64, 128, from, 64, 64, 15, ACL_MEMCPY_HOST_TO_DEVICE); },
      [&] { return aclrtMemcpy2dAsync(to, 128, from, 128, 128, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream); },
      [&] { return aclrtMemcpyBatch(&to, &room, &from, &size, 1, nullptr, nullptr, 0, &failed); },
      [&] { return aclrtMemcpyAsync(to, bytes, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream); }};
  for (const Way& way : ways) {
    ASSERT_EQ(way(), 0) << error_text();
    EXPECT_EQ(CALL(aclnnMm, a, weight, out, int8_t{0}), refuses ? 161002 : 0) << &way - ways;
    ASSERT_EQ(CALL(aclnnInplaceFillScalar, weight, one), 0) << error_text();
    EXPECT_EQ(CALL(aclnnMm, a, weight, out, int8_t{0}), 0) << error_text();
  }
  aclDestroyScalar(one);
}

}  // namespace
}  // namespace updraft
