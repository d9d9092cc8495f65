// AIPP's settings in memory that clients may write, and dynamic AIPP through the C interface.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <random>

#include "base/error.h"
#include "graph/shape/aipp_inputs.h"
#include "kernels/aipp.h"
#include "models.h"

namespace updraft::graph {
namespace {

using aipp::Settings;
using aipp::Source;

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& e) { return e.text(); }
  return "nothing was refused";
}

Settings plain(size_t pictures) {
  Settings settings;
  settings.common.source = Source::Rgb888;
  settings.common.width = 4;
  settings.common.height = 2;
  settings.pictures.resize(pictures);
  return settings;
}

TEST(Aipp, SettingsSurviveMemory) {
  Settings settings = plain(3);
  settings.common.matrix[2][1] = -7;
  settings.pictures[1].crop = 1;
  settings.pictures[2].factor[3] = 0.5F;
  std::vector<std::byte> memory(Settings::bytes(3) + 8);
  settings.write(memory.data());
  const Settings read = Settings::read(memory);
  EXPECT_EQ(read.common.matrix[2][1], -7);
  EXPECT_EQ(read.pictures.size(), 3U);
  EXPECT_EQ(read.pictures[1].crop, 1);
  EXPECT_EQ(read.pictures[2].factor[3], 0.5F);
  const auto part = [&](size_t bytes) { return std::span<const std::byte>(memory).first(bytes); };
  EXPECT_NE(refusal([&] { Settings::read(part(Settings::bytes(3) - 1)); }).find("name 3 images"), std::string::npos);
  EXPECT_NE(refusal([&] { Settings::read(part(10)); }).find("are not there"), std::string::npos);
  std::memset(memory.data(), 0, memory.size());
  EXPECT_NE(refusal([&] { Settings::read(memory); }).find("are not there"), std::string::npos);
}

/// Whatever stands in the parameters' memory: a refusal, or steps that stay inside of the images.
TEST(Aipp, AnyBytesAreRefusedOrRun) {
  std::mt19937 random(3);
  std::vector<uint8_t> image(2 * 4 * 2 * 4, 9);
  size_t run = 0;
  for (int i = 0; i < 20000; ++i) {
    Settings settings = plain(2);
    std::vector<std::byte> memory(Settings::bytes(2));
    settings.write(memory.data());
    for (int k = random() % 4; k >= 0; --k) {
      const size_t at = 16 + random() % (memory.size() - 16);
      memory[at] = static_cast<std::byte>(random() % 8 ? random() % 6 : random());
    }
    try {
      const Settings read = Settings::read(memory);
      const aipp::Size size = aipp::made_size(read.common, read.pictures[0]);
      if (size.height * size.width > 1 << 12 || 2 * read.common.bytes() > static_cast<int64_t>(image.size())) continue;
      const int64_t channels = aipp::channels_of(read.common.source);
      read.check(2, channels, size);
      std::vector<float> made(static_cast<size_t>(2 * channels * size.height * size.width));
      aipp::run(read, image.data(), 2, i % 2 != 0, made.data());
      ++run;
    } catch (const Error&) {}
  }
  EXPECT_GT(run, 1000U);
}

struct DynamicAipp : Models {
  /// y = x of two images, with AIPP before it.
  Bytes model(const std::string& block) {
    const std::string path = testing::TempDir() + "updraft_aipp_" + std::to_string(getpid()) + ".cfg";
    std::ofstream(path) << "aipp_op { " << block << " }";
    Graph g("net");
    Builder build(g);
    const Endpoint x = build.input("x", 0, {DType::Float, {2, 3, 2, 4}, Format::NCHW});
    build.outputs({build("Relu", "y", {x})});
    const Bytes made = file(g, {{"insert_op_conf", path}});
    std::remove(path.c_str());
    return made;
  }
};

TEST_F(DynamicAipp, RunsWithWhatTheClientSays) {
  const uint32_t id = load(model("aipp_mode: dynamic max_src_image_size: 100"));
  aclmdlDesc* desc = aclmdlCreateDesc();
  ASSERT_EQ(aclmdlGetDesc(desc, id), 0);
  size_t index = 0, size = 0;
  ASSERT_EQ(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_AIPP_NAME, &index), 0) << error();
  EXPECT_EQ(index, 1U);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 0), 100U);
  ASSERT_EQ(aclmdlGetAippDataSize(2, &size), 0);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 1), size);
  std::vector<uint8_t> pixels(100);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37);
  Set in, out;
  void* y = device(2 * 24 * 4);
  in.add(device(pixels), 100);
  in.add(device(size), size);
  out.add(y, 2 * 24 * 4);
  aclmdlAIPP* aipp = aclmdlCreateAIPP(2);
  ASSERT_NE(aipp, nullptr);
  EXPECT_EQ(aclmdlSetAIPPInputFormat(aipp, ACL_RGB888_U8), 0);
  EXPECT_EQ(aclmdlSetAIPPSrcImageSize(aipp, 4, 3), 0);
  EXPECT_EQ(aclmdlSetAIPPCropParams(aipp, 1, 0, 0, 4, 2, 0), 0);
  EXPECT_EQ(aclmdlSetInputAIPP(id, in.set, index, aipp), 100000);  // the second image has three rows
  EXPECT_NE(error().find("image 1 give 3 channels, 3 rows"), std::string::npos);
  EXPECT_EQ(aclmdlSetAIPPCropParams(aipp, 1, 0, 1, 4, 2, 1), 0);
  EXPECT_EQ(aclmdlSetAIPPDtcPixelMean(aipp, 1, 2, 3, 0, 1), 0);
  ASSERT_EQ(aclmdlSetInputAIPP(id, in.set, index, aipp), 0) << error();
  EXPECT_EQ(aclmdlDestroyAIPP(aipp), 0);
  ASSERT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
  const std::vector<float> made = values<float>(y, 48);
  for (size_t n = 0; n < 2; ++n)
    for (size_t c = 0; c < 3; ++c)
      for (size_t p = 0; p < 8; ++p) {
        const float byte = pixels[n * 36 + n * 12 + p * 3 + c], less = n ? static_cast<float>(c) + 1 : 0;
        ASSERT_EQ(made[(n * 3 + c) * 8 + p], std::max(byte - less, 0.0F)) << n << " " << c << " " << p;
      }
  // a client that claims more memory than there is
  Set wrong;
  void* small = nullptr;
  ASSERT_EQ(aclrtMalloc(&small, 32, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  wrong.add(small, 100);
  wrong.add(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(in.set, 1)), size);
  aclrtFree(small);
  EXPECT_NE(aclmdlExecute(id, wrong.set, out.set), 0);
  aclmdlDestroyDesc(desc);
}

TEST_F(DynamicAipp, InputsTellOfTheirNodes) {
  const uint32_t fixed = load(model("input_format: RGB888_U8 mean_chn_0: 5"));
  aclmdlInputAippType type;
  size_t index = 0;
  ASSERT_EQ(aclmdlGetAippType(fixed, 0, &type, &index), 0);
  EXPECT_EQ(type, ACL_DATA_WITH_STATIC_AIPP);
  EXPECT_EQ(index, 0xFFFFFFFFU);
  const auto info = std::make_unique<aclAippInfo>();
  ASSERT_EQ(aclmdlGetFirstAippInfo(fixed, 0, info.get()), 0) << error();
  EXPECT_EQ(info->inputFormat, ACL_RGB888_U8);
  EXPECT_EQ(info->srcImageSizeW, 4);
  EXPECT_EQ(info->meanChn0, 5);
  EXPECT_EQ(info->outDims[0].aippOutSize, 2U * 24 * 4);
  EXPECT_EQ(aclmdlGetFirstAippInfo(fixed, 1, info.get()), 100000);
  EXPECT_EQ(aclmdlGetFirstAippInfo(fixed, 0, nullptr), 107000);
}

}  // namespace
}  // namespace updraft::graph
