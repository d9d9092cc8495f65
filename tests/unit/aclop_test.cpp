// Operators by their type (aclop): attributes of other types than theirs, and formats of the product's own.
#include "aclop.h"

#include <gtest/gtest.h>

#include "acl/acl_op_compiler.h"
#include "base/config.h"
#include "error_text.h"

namespace updraft {
namespace {

struct Aclops : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    void* p = nullptr;
    ASSERT_EQ(aclrtMalloc(&p, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    memory = static_cast<float*>(p);
    ASSERT_EQ(aclrtMemset(memory, kBytes, 0, kBytes), 0);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStream(stream), 0);
    EXPECT_EQ(aclrtFree(memory), 0);
  }
  static constexpr size_t kBytes = 4096;
  aclrtStream stream = nullptr;
  float* memory = nullptr;
};

TEST_F(Aclops, AttributesOfOtherTypesAreRefused) {
  Aclop pack;
  pack.add(false, {3}, memory, 3);
  pack.add(true, {1, 3}, memory + 16, 3);
  aclopSetAttrInt(pack.attributes, "N", 1);
  aclopSetAttrString(pack.attributes, "axis", "first");
  EXPECT_EQ(pack.run("Pack", stream), 100000);
  EXPECT_NE(error_text().find("axis"), std::string::npos) << error_text();
  aclopSetAttrInt(pack.attributes, "axis", 0);
  EXPECT_EQ(pack.run("Pack", stream), 0) << error_text();
  const uint8_t flags[] = {1, 0};
  aclopSetAttrListBool(pack.attributes, "axis", 2, flags);
  EXPECT_EQ(pack.run("Pack", stream), 100000) << "a list of bools is no number";
  const char* texts[] = {"a", "b"};
  aclopSetAttrListString(pack.attributes, "axis", 2, texts);
  EXPECT_EQ(pack.run("Pack", stream), 100000) << "nor are texts";
  aclopSetAttrInt(pack.attributes, "axis", 0);
  aclopSetAttrInt(pack.attributes, "of_a_later_version", 1);
  EXPECT_EQ(pack.run("Pack", stream), 0) << error_text();
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
}

TEST_F(Aclops, ABoolForATextLeavesTheDefault) {
  Aclop convolution;
  convolution.add(false, {1, 1, 4, 4}, memory, 16);
  convolution.add(false, {1, 1, 1, 1}, memory + 32, 1);
  convolution.add(true, {1, 1, 4, 4}, memory + 48, 16);
  const int64_t one_each[] = {1, 1, 1, 1}, none[] = {0, 0, 0, 0};
  aclopSetAttrListInt(convolution.attributes, "strides", 4, one_each);
  aclopSetAttrListInt(convolution.attributes, "pads", 4, none);
  aclopSetAttrBool(convolution.attributes, "data_format", 1);
  EXPECT_EQ(convolution.run("Conv2D", stream), 0) << error_text();
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
}

TEST_F(Aclops, HandlesOutliveTheDescriptionsTheyWereMadeOf) {
  const float given[] = {-2.5F, 4};
  ASSERT_EQ(aclrtMemcpy(memory, sizeof given, given, sizeof given, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  aclopHandle* handle = nullptr;
  aclDataBuffer *in = aclCreateDataBuffer(memory, sizeof given), *out = aclCreateDataBuffer(memory + 16, sizeof given);
  {
    Aclop power;
    power.add(false, {2}, memory, 2);
    power.add(true, {2}, memory + 16, 2);
    aclopSetAttrFloat(power.attributes, "power", 2);
    ASSERT_EQ(aclopCreateHandle("Power", 1, power.in.data(), 1, power.out.data(), power.attributes, &handle), 0)
        << error_text();
    EXPECT_EQ(aclopCompile("Power", 1, power.in.data(), 1, power.out.data(), power.attributes, ACL_ENGINE_SYS,
                           ACL_COMPILE_SYS, nullptr),
              0);
    EXPECT_EQ(aclopUpdateParams("Pow3r", 1, power.in.data(), 1, power.out.data(), nullptr), 100024);
  }
  EXPECT_EQ(aclopExecWithHandle(handle, 1, &in, 1, &out, stream), 0) << error_text();
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
  float found[2] = {};
  EXPECT_EQ(aclrtMemcpy(found, sizeof found, memory + 16, sizeof found, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(found[0], 6.25F);
  EXPECT_EQ(found[1], 16);
  EXPECT_EQ(aclopExecWithHandle(handle, 0, nullptr, 1, &out, stream), 100000);
  EXPECT_NE(error_text().find("0 inputs"), std::string::npos) << error_text();
  aclopDestroyHandle(handle);
  EXPECT_EQ(aclopExecWithHandle(handle, 1, &in, 1, &out, stream), 100000) << "it is destroyed";
  aclDestroyDataBuffer(in);
  aclDestroyDataBuffer(out);
}

TEST_F(Aclops, WhatIsNotThereNamesTheSettingThatAvoidsInternalFormats) {
  for (const auto format : {ACL_FORMAT_ND, ACL_FORMAT_NC1HWC0}) {
    Aclop unknown;
    aclTensorDesc* x = unknown.add(false, {1, 16, 1, 16}, memory, 256);
    unknown.add(true, {1, 16, 1, 16}, memory + 256, 256);
    ASSERT_EQ(aclSetTensorFormat(x, format), 0);
    EXPECT_EQ(unknown.run("NoSuchOperator", stream), 100024);
    const std::string text = error_text();
    EXPECT_NE(text.find("NoSuchOperator"), std::string::npos) << text;
    EXPECT_EQ(text.find("allow_internal_format = False") != std::string::npos, format == ACL_FORMAT_NC1HWC0) << text;
  }
}

TEST_F(Aclops, TheOverflowSwitchOfAStreamDecidesWhetherItIsNoted) {
  aclrtFloatOverflowMode before{};
  ASSERT_EQ(aclrtGetDeviceSatMode(&before), 0);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), 0);
  auto status = [&] {
    Aclop get;
    get.add(false, {8}, memory + 64, 8);
    get.add(true, {8}, memory + 72, 8);
    EXPECT_EQ(get.run("NPUGetFloatStatus", stream), 0) << error_text();
    float flag = -1;
    EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
    EXPECT_EQ(aclrtMemcpy(&flag, 4, memory + 72, 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    Aclop clear;
    clear.add(false, {8}, memory + 64, 8);
    clear.add(true, {8}, memory + 72, 8);
    EXPECT_EQ(clear.run("NPUClearFloatStatus", stream), 0) << error_text();
    return flag;
  };
  const float large = 3e38f;
  ASSERT_EQ(aclrtMemcpy(memory, 4, &large, 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  status();
  for (const uint32_t noted : {0u, 1u}) {
    ASSERT_EQ(aclrtSetStreamOverflowSwitch(stream, noted), 0);
    Aclop square;
    square.add(false, {1}, memory, 1);
    square.add(true, {1}, memory + 16, 1);
    ASSERT_EQ(square.run("Square", stream), 0) << error_text();
    EXPECT_EQ(status(), static_cast<float>(noted));
  }
  EXPECT_EQ(aclrtSetDeviceSatMode(before), 0);
}

// CTest runs this plainly, in strict mode and with UPDRAFT_FIDELITY=card.
struct CardRulesOfAclops : Aclops {};

TEST_F(CardRulesOfAclops, LayoutsThatTheHostMadeAreRefused) {
  Aclop swish;
  aclTensorDesc* x = swish.add(false, {1, 16, 1, 16}, memory, 256);
  swish.add(true, {1, 16, 1, 16}, memory + 256, 256);
  const int64_t storage[] = {1, 1, 1, 16, 16};
  ASSERT_EQ(aclSetTensorFormat(x, ACL_FORMAT_NC1HWC0), 0);
  ASSERT_EQ(aclSetTensorShape(x, 5, storage), 0);
  EXPECT_EQ(swish.run("Swish", stream), 0) << "the device filled it: " << error_text();
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  const std::vector<float> values(256, 1.0f);
  ASSERT_EQ(aclrtMemcpy(memory, 1024, values.data(), 1024, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  EXPECT_EQ(swish.run("Swish", stream), Config::get().card_rules() ? 100000 : 0);
  if (Config::get().card_rules()) { EXPECT_NE(error_text().find("NC1HWC0"), std::string::npos); }
  // A vector lies in the same order in every layout.
  Aclop vector;
  aclTensorDesc* v = vector.add(false, {1, 16, 1, 1}, memory, 16);
  vector.add(true, {1, 16, 1, 1}, memory + 256, 16);
  ASSERT_EQ(aclSetTensorFormat(v, ACL_FORMAT_NC1HWC0), 0);
  EXPECT_EQ(vector.run("Swish", stream), 0) << error_text();
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
}

}  // namespace
}  // namespace updraft
