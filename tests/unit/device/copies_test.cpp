// Copies: bytes that overlap, rows, and the kind against the pointers.
#include "acl/copies.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "../error_text.h"
#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "base/config.h"

extern "C" int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*,
                                                aclOpExecutor**);
extern "C" int aclnnInplaceAdds(void*, uint64_t, aclOpExecutor*, aclrtStream);

namespace {

std::vector<uint32_t> counting(size_t n) {
  std::vector<uint32_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<uint32_t>(i * 2654435761u);
  return v;
}

struct Copies : testing::Test {
  static void SetUpTestSuite() { aclInit(nullptr); }
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    ASSERT_EQ(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    values = counting(kBytes / 4);
    fill();
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStream(stream), 0);
    EXPECT_EQ(aclrtFree(memory), 0);
    EXPECT_EQ(aclrtResetDevice(0), 0);
  }
  void fill() { ASSERT_EQ(aclrtMemcpy(memory, kBytes, values.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE), 0); }
  char* at(size_t words) { return static_cast<char*>(memory) + words * 4; }
  std::vector<uint32_t> read() {
    std::vector<uint32_t> back(kBytes / 4);
    EXPECT_EQ(aclrtMemcpy(back.data(), kBytes, memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return back;
  }

  static constexpr size_t kBytes = 24 << 20;
  aclrtStream stream = nullptr;
  void* memory = nullptr;
  std::vector<uint32_t> values;
};

// Sizes below and above what several threads share, forwards and backwards, by a little and by half.
TEST_F(Copies, RangesMayOverlap) {
  for (const size_t words : {size_t{1} << 10, size_t{1} << 18, size_t{1} << 21})
    for (const size_t shift : {size_t{1}, size_t{1000}, size_t{1} << 16, words / 2})
      for (const bool up : {true, false})
        for (const bool async : {true, false}) {
          fill();
          const size_t from = up ? 64 : 64 + shift, to = up ? 64 + shift : 64;
          if (async) {
            ASSERT_EQ(aclrtMemcpyAsync(at(to), words * 4, at(from), words * 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 0);
            ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
          } else {
            ASSERT_EQ(aclrtMemcpy(at(to), words * 4, at(from), words * 4, ACL_MEMCPY_DEVICE_TO_DEVICE), 0);
          }
          std::vector<uint32_t> expected = values;
          std::memmove(expected.data() + to, expected.data() + from, words * 4);
          ASSERT_EQ(std::memcmp(read().data(), expected.data(), kBytes), 0)
              << words << " words, shift " << shift << (up ? " up" : " down") << (async ? " on a stream" : "");
        }
}

TEST_F(Copies, RowsMayOverlap) {
  constexpr size_t kWidth = 4096, kPitch = 8192, kHeight = 1000;
  for (const size_t shift : {size_t{16}, size_t{kPitch}, size_t{3 * kPitch + 32}})
    for (const bool up : {true, false})
      for (const bool async : {true, false}) {
        fill();
        char* from = at(0) + (up ? 0 : shift);
        char* to = at(0) + (up ? shift : 0);
        if (async) {
          ASSERT_EQ(aclrtMemcpy2dAsync(to, kPitch, from, kPitch, kWidth, kHeight, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
                    0);
          ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
        } else {
          ASSERT_EQ(aclrtMemcpy2d(to, kPitch, from, kPitch, kWidth, kHeight, ACL_MEMCPY_DEVICE_TO_DEVICE), 0);
        }
        std::vector<uint32_t> expected = values;
        auto* target = reinterpret_cast<char*>(expected.data()) + (up ? shift : 0);
        const auto* source = reinterpret_cast<const char*>(values.data()) + (up ? 0 : shift);
        for (size_t row = 0; row < kHeight; ++row) std::memcpy(target + row * kPitch, source + row * kPitch, kWidth);
        ASSERT_EQ(std::memcmp(read().data(), expected.data(), kBytes), 0) << shift << up << async;
      }
}

// Host memory of a copy on a stream may change as soon as the call returns.
TEST_F(Copies, RowsOfTheHostAreTakenAtOnce) {
  for (const size_t height : {size_t{4}, size_t{1000}}) {
    std::vector<char> host(height * 256, 5);
    ASSERT_EQ(aclrtMemcpy2dAsync(memory, 512, host.data(), 256, 200, height, ACL_MEMCPY_HOST_TO_DEVICE, stream), 0);
    std::fill(host.begin(), host.end(), 6);
    ASSERT_EQ(aclrtMemcpy2dAsync(host.data(), 256, memory, 512, 200, height, ACL_MEMCPY_DEVICE_TO_HOST, stream), 0);
    for (size_t row = 0; row < height; ++row) {
      ASSERT_EQ(host[row * 256], 5);
      ASSERT_EQ(host[row * 256 + 199], 5);
      ASSERT_EQ(host[row * 256 + 200], 6);
    }
  }
}

// The rules of the card. CTest runs these three times: plainly, in strict mode and with UPDRAFT_FIDELITY=card.
struct CardRules : Copies {
  const bool refuses = updraft::Config::get().card_rules();

  void expect_copy(const void* to, const void* from, int kind, bool right) {
    const int code = aclrtMemcpy(const_cast<void*>(to), 64, from, 64, static_cast<aclrtMemcpyKind>(kind));
    EXPECT_EQ(code, right || !refuses ? 0 : 107000) << kind << " " << error_text();
    if (code) {
      const std::string text = error_text();
      EXPECT_NE(text.find("ACL_MEMCPY_"), std::string::npos) << text;
      EXPECT_NE(text.find("wants"), std::string::npos) << text;
    }
    EXPECT_EQ(aclrtMemcpyAsync(const_cast<void*>(to), 64, from, 64, static_cast<aclrtMemcpyKind>(kind), stream), code);
    EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
    EXPECT_EQ(aclrtMemcpy2d(const_cast<void*>(to), 64, from, 64, 64, 1, static_cast<aclrtMemcpyKind>(kind)), code);
    error_text();
  }
};

TEST_F(CardRules, TheKindOfACopyIsThatOfItsPointers) {
  std::vector<char> host(128), other(128);
  void* pinned = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 4096), 0);
  void* device[] = {at(0), at(1024)};
  struct Side {
    const void* p;
    bool device;
  };
  const Side sides[] = {
      {host.data(), false}, {other.data(), false}, {pinned, false}, {device[0], true}, {device[1], true}};
  for (const Side& to : sides)
    for (const Side& from : sides) {
      if (to.p == from.p) continue;
      const bool right[] = {!to.device && !from.device,
                            to.device && !from.device,
                            !to.device && from.device,
                            to.device && from.device,
                            true,
                            to.device && !from.device,
                            to.device && from.device,
                            false};
      for (int kind = 0; kind < 8; ++kind) expect_copy(to.p, from.p, kind, right[kind]);
    }
  EXPECT_EQ(aclrtFreeHost(pinned), 0);
}

TEST_F(CardRules, RegisteredHostMemoryIsBoth) {
  std::vector<char> host(1 << 16), other(128);
  void* seen = nullptr;
  ASSERT_EQ(aclrtHostRegister(host.data(), host.size(), ACL_HOST_REGISTER_MAPPED, &seen), 0);
  expect_copy(host.data(), other.data(), ACL_MEMCPY_HOST_TO_DEVICE, true);
  expect_copy(host.data(), at(0), ACL_MEMCPY_DEVICE_TO_HOST, true);
  expect_copy(host.data(), at(0), ACL_MEMCPY_DEVICE_TO_DEVICE, true);
  expect_copy(host.data(), other.data(), ACL_MEMCPY_DEVICE_TO_DEVICE, false);
  EXPECT_EQ(aclrtHostUnregister(host.data()), 0);
}

TEST_F(CardRules, TwoDevicesAreNotOne) {
  ASSERT_EQ(aclrtSetDevice(1), 0);
  void* far = nullptr;
  ASSERT_EQ(aclrtMalloc(&far, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  expect_copy(far, at(0), ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, false);
  expect_copy(far, at(0), ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, true);
  expect_copy(at(64), at(0), ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, false);
  expect_copy(far, at(0), ACL_MEMCPY_DEVICE_TO_DEVICE, true);
  EXPECT_EQ(aclrtFree(far), 0);
  EXPECT_EQ(aclrtResetDevice(1), 0);
}

TEST_F(CardRules, MappedMemoryIsOfItsDevice) {
  void* address = nullptr;
  aclrtPhysicalMemProp property{};
  property.memAttr = ACL_HBM_MEM_HUGE;
  property.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&address, 2 << 20, 0, nullptr, 0), 0);
  ASSERT_EQ(aclrtMallocPhysical(&handle, 2 << 20, &property, 0), 0);
  ASSERT_EQ(aclrtMapMem(address, 2 << 20, 0, handle, 0), 0);
  std::vector<char> host(64);
  expect_copy(address, host.data(), ACL_MEMCPY_HOST_TO_DEVICE, true);
  expect_copy(address, at(0), ACL_MEMCPY_DEVICE_TO_DEVICE, true);
  expect_copy(address, at(0), ACL_MEMCPY_DEVICE_TO_HOST, false);
  EXPECT_EQ(aclrtUnmapMem(address), 0);
  EXPECT_EQ(aclrtFreePhysical(handle), 0);
  EXPECT_EQ(aclrtReleaseMemAddress(address), 0);
}

TEST_F(CardRules, OperatorsTakeDeviceMemory) {
  std::vector<float> host(16, 1.0f);
  float one = 1;
  int64_t dims[] = {16};
  aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
  aclTensor* t = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, host.data());
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  const int code = aclnnInplaceAddsGetWorkspaceSize(t, scalar, scalar, &workspace, &executor);
  EXPECT_EQ(code, refuses ? 161002 : 0);
  if (code) {
    EXPECT_NE(error_text().find("host memory"), std::string::npos);
  } else {
    EXPECT_EQ(aclnnInplaceAdds(nullptr, workspace, executor, stream), 0);
    EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
    EXPECT_EQ(host[15], 2.0f);
  }
  void* seen = nullptr;
  ASSERT_EQ(aclrtHostRegister(host.data(), 64, ACL_HOST_REGISTER_MAPPED, &seen), 0);
  EXPECT_EQ(aclnnInplaceAddsGetWorkspaceSize(t, scalar, scalar, &workspace, &executor), 0) << error_text();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  EXPECT_EQ(aclrtHostUnregister(host.data()), 0);
  aclDestroyTensor(t);
  aclDestroyScalar(scalar);
}

}  // namespace
