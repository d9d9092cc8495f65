// AIPP of loaded models: what clients ask of it, and the parameters of dynamic AIPP (aclmdlCreateAIPP …
// aclmdlSetInputAIPP).
#include <algorithm>
#include <cstring>
#include <set>

#include "acl/api.h"
#include "acl/model/dataset.h"
#include "acl/tensor_desc.h"
#include "base/handle_pool.h"
#include "device/memory.h"
#include "graph/compile/aipp.h"
#include "graph/shape/aipp_inputs.h"

using namespace updraft;
using aipp::Settings;

struct aclmdlAIPP {
  Settings settings;
};

namespace {

constexpr int kInputAddress = 145011, kInputLength = 145012, kNoAipp = 145015, kWrongMode = 145016, kNotStatic = 100038;
constexpr uint64_t kMostPictures = 1 << 16;
constexpr size_t kNoInput = 0xFFFFFFFF;

HandlePool<aclmdlAIPP>& handles() {
  static auto* p = new HandlePool<aclmdlAIPP>(1 << 16);
  return *p;
}

Settings& live(const aclmdlAIPP* handle) {
  need(handle, "aippParmsSet");
  if (aclmdlAIPP* found = handles().get(handle)) return found->settings;
  throw Error(code::kAclInvalidParam, "aippParmsSet {} is none (destroyed, or never created)",
              static_cast<const void*>(handle));
}

aipp::Picture& picture(const aclmdlAIPP* handle, uint64_t index) {
  Settings& settings = live(handle);
  if (index >= settings.pictures.size())
    throw Error(code::kAclInvalidParam, "batchIndex is {}, the parameters were created for {} images", index,
                settings.pictures.size());
  return settings.pictures[index];
}

uint8_t checked_switch(int8_t value, const char* name) {
  if (value == 0 || value == 1) return static_cast<uint8_t>(value);
  throw Error(code::kAclInvalidParam, "{} is {}, want 0 or 1", name, value);
}

void want_natural(std::initializer_list<std::pair<const char*, int32_t>> values) {
  for (const auto& [name, value] : values)
    if (value < 0) throw Error(code::kAclInvalidParam, "{} is {}, want no negative number", name, value);
}

using Model = std::shared_ptr<graph::LoadedModel>;

const graph::Node& input_of(const Model& model, size_t index) {
  if (index >= model->inputs().size())
    throw Error(code::kAclInvalidParam, "model {} has {} inputs, index {} is none", model->id(), model->inputs().size(),
                index);
  return *model->inputs()[index];
}

size_t index_of(const Model& model, const graph::Node* input) {
  const auto found = std::ranges::find(model->inputs(), input);
  return found == model->inputs().end() ? kNoInput : static_cast<size_t>(found - model->inputs().begin());
}

std::string names_of_parameters(const Model& model) {
  std::string names;
  for (const graph::Node* input : model->inputs())
    if (graph::aipp_with_parameters(*input)) names += (names.empty() ? "" : ", ") + input->name();
  return names;
}

/// The settings give what the model reads, in one of its gears where it has some.
void check_fit(const Model& model, const graph::Node& aipp, const Settings& settings) {
  const graph::Node* images = graph::aipp_images(aipp);
  const size_t input = index_of(model, images);
  if (input == kNoInput) throw Error(kNoAipp, "model {} has no input of images for {}", model->id(), aipp.name());
  const graph::Gears* gears = model->gears();
  std::vector<graph::Dims> shapes;
  for (size_t g = 0; gears && g < gears->values.size(); ++g) shapes.push_back(model->gear_inputs(g)[input]);
  if (!gears) shapes.push_back(images->output().desc.dims);
  const bool last = graph::find_or(aipp.attributes, "data_format", std::string()) == "NHWC";
  std::optional<Error> refusal;
  std::set<int64_t> batches;
  for (const graph::Dims& dims : shapes) {
    batches.insert(dims[0]);
    if (dims[0] != static_cast<int64_t>(settings.pictures.size())) continue;
    try {
      settings.check(dims[0], dims[last ? 3 : 1], {dims[last ? 1 : 2], dims[last ? 2 : 3]});
      const auto want = static_cast<size_t>(dims[0] * settings.common.bytes()),
                 room = graph::input_bytes(*images, dims);
      if (want <= room) return;
      throw Error(code::kAclInvalidParam,
                  "{} images of {} with {} rows and {} columns take {} bytes, max_src_image_size of input {} is {}",
                  dims[0], aipp::name_of(settings.common.source), settings.common.height, settings.common.width, want,
                  images->name(), room);
    } catch (const Error& e) {
      if (!refusal) refusal = e;
    }
  }
  if (refusal) throw *refusal;
  throw Error(code::kAclInvalidParam, "the parameters are for {} images, input {} of model {} has {}",
              settings.pictures.size(), images->name(), model->id(), fmt::join(batches, ", "));
}

void set_parameters(const Model& model, aclmdlDataset* handle, size_t index, const aclmdlAIPP* aipp) {
  const Settings& settings = live(aipp);
  aclmdlDataset& set = updraft::live(handle);
  const graph::Node& input = input_of(model, index);
  const graph::Node* node = graph::aipp_with_parameters(input);
  if (!node) {
    const std::string names = names_of_parameters(model);
    if (names.empty())
      throw Error(kNoAipp, "model {} has no dynamic AIPP: convert it with aipp_mode: dynamic in insert_op_conf",
                  model->id());
    throw Error(code::kAclInvalidParam, "index {} is input {}, want that of {}: ask aclmdlGetInputIndexByName", index,
                input.name(), names);
  }
  if (index >= set.items.size())
    throw Error(code::kAclInvalidParam, "the dataset has {} buffers, index {} is none: add a buffer for {}",
                set.items.size(), index, input.name());
  check_fit(model, *node, settings);
  const aclDataBuffer& buffer = updraft::live(set.items[index].buffer);
  const size_t bytes = Settings::bytes(settings.pictures.size());
  if (!buffer.data)
    throw Error(kInputAddress, "the buffer of {} has no memory, want {} bytes on the device", input.name(), bytes);
  if (buffer.size < bytes)
    throw Error(kInputLength, "the buffer of {} has {} bytes, want {}", input.name(), buffer.size, bytes);
  settings.write(static_cast<std::byte*>(host_address(buffer.data)));
}

void give_dims(aclmdlIODims& to, const std::string& name, const graph::Dims& dims) {
  std::memcpy(to.name, name.data(), std::min(name.size(), sizeof to.name - 1));
  to.dimCount = std::min(dims.size(), std::size(to.dims));
  std::copy_n(dims.begin(), to.dimCount, to.dims);
}

void give_settings(aclAippInfo& to, const Settings& settings) {
  const aipp::Common& c = settings.common;
  const aipp::Picture& p = settings.pictures[0];
  to.inputFormat = static_cast<aclAippInputFormat>(c.source);
  to.srcImageSizeW = c.width;
  to.srcImageSizeH = c.height;
  to.cropSwitch = static_cast<int8_t>(p.crop);
  to.loadStartPosW = p.crop_left;
  to.loadStartPosH = p.crop_top;
  to.cropSizeW = p.crop_width;
  to.cropSizeH = p.crop_height;
  to.resizeSwitch = static_cast<int8_t>(p.resize);
  to.resizeOutputW = p.resize_width;
  to.resizeOutputH = p.resize_height;
  to.paddingSwitch = static_cast<int8_t>(p.padding);
  to.leftPaddingSize = p.left;
  to.rightPaddingSize = p.right;
  to.topPaddingSize = p.top;
  to.bottomPaddingSize = p.bottom;
  to.cscSwitch = static_cast<int8_t>(c.csc);
  to.rbuvSwapSwitch = static_cast<int8_t>(c.swap_rb);
  to.axSwapSwitch = static_cast<int8_t>(c.alpha_last);
  int32_t* const matrix[] = {&to.matrixR0C0, &to.matrixR0C1, &to.matrixR0C2, &to.matrixR1C0, &to.matrixR1C1,
                             &to.matrixR1C2, &to.matrixR2C0, &to.matrixR2C1, &to.matrixR2C2};
  for (size_t i = 0; i < 9; ++i) *matrix[i] = c.matrix[i / 3][i % 3];
  int32_t* const biases[] = {&to.inputBias0,  &to.inputBias1,  &to.inputBias2,
                             &to.outputBias0, &to.outputBias1, &to.outputBias2};
  for (size_t i = 0; i < 6; ++i) *biases[i] = i < 3 ? c.input_bias[i] : c.output_bias[i - 3];
  int32_t* const mean[] = {&to.meanChn0, &to.meanChn1, &to.meanChn2, &to.meanChn3};
  float* const minimum[] = {&to.minChn0, &to.minChn1, &to.minChn2, &to.minChn3};
  float* const factor[] = {&to.varReciChn0, &to.varReciChn1, &to.varReciChn2, &to.varReciChn3};
  for (size_t i = 0; i < 4; ++i) {
    *mean[i] = static_cast<int32_t>(p.mean[i]);
    *minimum[i] = p.minimum[i];
    *factor[i] = p.factor[i];
  }
}

/// What the model's input was before atc put AIPP there, and what AIPP gives, in each gear.
void give_shapes(aclAippInfo& to, const Model& model, const graph::Node& input, const graph::Node& node) {
  const graph::TensorDesc& made = node.output().desc;
  const auto type = static_cast<DType>(graph::find_or(node.attributes, graph::kOriginalType, int64_t{0}));
  to.srcFormat = static_cast<aclFormat>(graph::find_or(node.attributes, "data_format", std::string()) == "NHWC"
                                            ? graph::Format::NHWC
                                            : graph::Format::NCHW);
  to.srcDatatype = static_cast<aclDataType>(type);
  to.srcDimNum = made.dims.size();
  const graph::Gears* gears = model->gears();
  const size_t shapes = gears ? gears->values.size() : 1, index = index_of(model, &input);
  to.shapeCount = std::min(shapes, std::size(to.outDims));
  for (size_t s = 0; s < to.shapeCount; ++s) {
    graph::Dims dims = made.dims;
    if (gears && made.dims.size() == 4) {
      const graph::Dims& image = model->gear_inputs(s)[index];
      const bool last = to.srcFormat == ACL_FORMAT_NHWC;
      const bool planes = graph::find_or(input.attributes, graph::kSharedPlanes, false);
      const int64_t sizes[] = {image[0], planes ? image[1] / 3 * 2 : image[1], image[2]};
      const size_t places[] = {0, last ? 1U : 2U, last ? 2U : 3U};
      for (size_t i = 0; i < 3; ++i)
        if (dims[places[i]] < 0) dims[places[i]] = sizes[i];
    }
    const int64_t count = graph::count_of(dims);
    give_dims(to.outDims[s].srcDims, input.name(), dims);
    give_dims(to.outDims[s].aippOutdims, node.name(), dims);
    if (count < 0) continue;  // sizes that come with each execution
    to.outDims[s].srcSize = static_cast<size_t>(count) * size_of(type);
    to.outDims[s].aippOutSize = static_cast<size_t>(count) * size_of(made.dtype);
  }
}

}  // namespace

extern "C" UPDRAFT_API aclmdlAIPP* aclmdlCreateAIPP(uint64_t batch) {
  aclmdlAIPP* made = nullptr;
  guard("aclmdlCreateAIPP", [&] {
    if (batch == 0 || batch > kMostPictures)
      throw Error(code::kAclInvalidParam, "batchSize is {}, want 1 to {} images", batch, kMostPictures);
    made = handles().create();
    made->settings.pictures.resize(batch);
  });
  return made;
}

ACL_API aclmdlDestroyAIPP(const aclmdlAIPP* aipp) {
  return guard("aclmdlDestroyAIPP", [&] {
    live(aipp);
    handles().destroy(aipp);
  });
}

ACL_API aclmdlGetAippDataSize(uint64_t batch, size_t* size) {
  return guard("aclmdlGetAippDataSize", [&] {
    need(size, "size");
    if (batch == 0 || batch > kMostPictures)
      throw Error(code::kAclInvalidParam, "batchSize is {}, want 1 to {} images", batch, kMostPictures);
    *size = Settings::bytes(batch);
  });
}

ACL_API aclmdlSetAIPPInputFormat(aclmdlAIPP* aipp, aclAippInputFormat format) {
  return guard("aclmdlSetAIPPInputFormat", [&] {
    Settings& settings = live(aipp);
    if (format < ACL_YUV420SP_U8 || format > ACL_YUV400_U8)
      throw Error(code::kAclInvalidParam,
                  "inputFormat is {}: dynamic AIPP takes ACL_YUV420SP_U8 (1), ACL_XRGB8888_U8 (2), ACL_RGB888_U8 (3) "
                  "and ACL_YUV400_U8 (4)",
                  static_cast<int>(format));
    settings.common.source = static_cast<aipp::Source>(format);
  });
}

ACL_API aclmdlSetAIPPSrcImageSize(aclmdlAIPP* aipp, int32_t width, int32_t height) {
  return guard("aclmdlSetAIPPSrcImageSize", [&] {
    Settings& settings = live(aipp);
    if (width < 1 || height < 1)
      throw Error(code::kAclInvalidParam, "srcImageSizeW is {} and srcImageSizeH {}, want numbers from 1 on", width,
                  height);
    settings.common.width = width;
    settings.common.height = height;
  });
}

ACL_API aclmdlSetAIPPCscParams(aclmdlAIPP* aipp, int8_t on, int16_t r0c0, int16_t r0c1, int16_t r0c2, int16_t r1c0,
                               int16_t r1c1, int16_t r1c2, int16_t r2c0, int16_t r2c1, int16_t r2c2, uint8_t out0,
                               uint8_t out1, uint8_t out2, uint8_t in0, uint8_t in1, uint8_t in2) {
  return guard("aclmdlSetAIPPCscParams", [&] {
    aipp::Common& common = live(aipp).common;
    common.csc = checked_switch(on, "cscSwitch");
    const int16_t matrix[] = {r0c0, r0c1, r0c2, r1c0, r1c1, r1c2, r2c0, r2c1, r2c2};
    const uint8_t output[] = {out0, out1, out2}, input[] = {in0, in1, in2};
    for (size_t i = 0; i < 9; ++i) common.matrix[i / 3][i % 3] = matrix[i];
    std::ranges::copy(output, common.output_bias);
    std::ranges::copy(input, common.input_bias);
  });
}

ACL_API aclmdlSetAIPPRbuvSwapSwitch(aclmdlAIPP* aipp, int8_t on) {
  return guard("aclmdlSetAIPPRbuvSwapSwitch",
               [&] { live(aipp).common.swap_rb = checked_switch(on, "rbuvSwapSwitch"); });
}

ACL_API aclmdlSetAIPPAxSwapSwitch(aclmdlAIPP* aipp, int8_t on) {
  return guard("aclmdlSetAIPPAxSwapSwitch", [&] { live(aipp).common.alpha_last = checked_switch(on, "axSwapSwitch"); });
}

ACL_API aclmdlSetAIPPCropParams(aclmdlAIPP* aipp, int8_t on, int32_t left, int32_t top, int32_t width, int32_t height,
                                uint64_t index) {
  return guard("aclmdlSetAIPPCropParams", [&] {
    aipp::Picture& p = picture(aipp, index);
    want_natural({{"cropStartPosW", left}, {"cropStartPosH", top}, {"cropSizeW", width}, {"cropSizeH", height}});
    p.crop = checked_switch(on, "cropSwitch");
    p.crop_left = left;
    p.crop_top = top;
    p.crop_width = width;
    p.crop_height = height;
  });
}

ACL_API aclmdlSetAIPPScfParams(aclmdlAIPP* aipp, int8_t on, int32_t from_width, int32_t from_height, int32_t width,
                               int32_t height, uint64_t index) {
  return guard("aclmdlSetAIPPScfParams", [&] {
    aipp::Picture& p = picture(aipp, index);
    want_natural({{"scfInputSizeW", from_width},
                  {"scfInputSizeH", from_height},
                  {"scfOutputSizeW", width},
                  {"scfOutputSizeH", height}});
    p.resize = checked_switch(on, "scfSwitch");
    p.resize_from_width = from_width;
    p.resize_from_height = from_height;
    p.resize_width = width;
    p.resize_height = height;
  });
}

ACL_API aclmdlSetAIPPPaddingParams(aclmdlAIPP* aipp, int8_t on, int32_t top, int32_t bottom, int32_t left,
                                   int32_t right, uint64_t index) {
  return guard("aclmdlSetAIPPPaddingParams", [&] {
    aipp::Picture& p = picture(aipp, index);
    want_natural({{"paddingSizeTop", top},
                  {"paddingSizeBottom", bottom},
                  {"paddingSizeLeft", left},
                  {"paddingSizeRight", right}});
    p.padding = checked_switch(on, "paddingSwitch");
    p.top = top;
    p.bottom = bottom;
    p.left = left;
    p.right = right;
  });
}

ACL_API aclmdlSetAIPPDtcPixelMean(aclmdlAIPP* aipp, int16_t mean0, int16_t mean1, int16_t mean2, int16_t mean3,
                                  uint64_t index) {
  return guard("aclmdlSetAIPPDtcPixelMean", [&] {
    const int16_t values[] = {mean0, mean1, mean2, mean3};
    std::ranges::copy(values, picture(aipp, index).mean);
  });
}

ACL_API aclmdlSetAIPPDtcPixelMin(aclmdlAIPP* aipp, float min0, float min1, float min2, float min3, uint64_t index) {
  return guard("aclmdlSetAIPPDtcPixelMin", [&] {
    const float values[] = {min0, min1, min2, min3};
    std::ranges::copy(values, picture(aipp, index).minimum);
  });
}

ACL_API aclmdlSetAIPPPixelVarReci(aclmdlAIPP* aipp, float reci0, float reci1, float reci2, float reci3,
                                  uint64_t index) {
  return guard("aclmdlSetAIPPPixelVarReci", [&] {
    const float values[] = {reci0, reci1, reci2, reci3};
    std::ranges::copy(values, picture(aipp, index).factor);
  });
}

ACL_API aclmdlSetInputAIPP(uint32_t id, aclmdlDataset* dataset, size_t index, const aclmdlAIPP* aipp) {
  return guard("aclmdlSetInputAIPP", [&] { set_parameters(loaded_model(id), dataset, index, aipp); });
}

ACL_API aclmdlSetAIPPByInputIndex(uint32_t id, aclmdlDataset* dataset, size_t index, const aclmdlAIPP* aipp) {
  return guard("aclmdlSetAIPPByInputIndex", [&] {
    const auto model = loaded_model(id);
    const graph::Node& input = input_of(model, index);
    const graph::Node* node = graph::aipp_of(input);
    if (!node)
      throw Error(kNoAipp, "input {} ({}) of model {} has no AIPP: convert it with insert_op_conf", index, input.name(),
                  id);
    if (!graph::is_dynamic_aipp(*node))
      throw Error(kWrongMode, "AIPP of input {} ({}) of model {} is static: its parameters stand in the om", index,
                  input.name(), id);
    set_parameters(model, dataset, index_of(model, graph::aipp_parameters(*node)), aipp);
  });
}

ACL_API aclmdlGetAippType(uint32_t id, size_t index, aclmdlInputAippType* type, size_t* dynamic_index) {
  return guard("aclmdlGetAippType", [&] {
    need(type, "type");
    need(dynamic_index, "dynamicAttachedDataIndex");
    const auto model = loaded_model(id);
    const graph::Node& input = input_of(model, index);
    *dynamic_index = kNoInput;
    if (graph::aipp_with_parameters(input)) {
      *type = ACL_DYNAMIC_AIPP_NODE;
      return;
    }
    const graph::Node* node = graph::aipp_of(input);
    const bool dynamic = node && graph::is_dynamic_aipp(*node);
    *type = !node ? ACL_DATA_WITHOUT_AIPP : dynamic ? ACL_DATA_WITH_DYNAMIC_AIPP : ACL_DATA_WITH_STATIC_AIPP;
    if (dynamic) *dynamic_index = index_of(model, graph::aipp_parameters(*node));
  });
}

ACL_API aclmdlGetFirstAippInfo(uint32_t id, size_t index, aclAippInfo* info) {
  return guard("aclmdlGetFirstAippInfo", [&] {
    need(info, "aippInfo");
    const auto model = loaded_model(id);
    const graph::Node& input = input_of(model, index);
    const graph::Node* node = graph::aipp_of(input);
    const graph::Node* parameters = node ? graph::aipp_parameters(*node) : nullptr;
    const graph::Tensor* settings = parameters ? parameters->constant() : nullptr;
    if (!settings)
      throw Error(kNotStatic, "input {} ({}) of model {} has {} AIPP: static AIPP alone has parameters in the om",
                  index, input.name(), id, node ? "dynamic" : "no");
    std::memset(info, 0, sizeof *info);
    give_settings(*info, Settings::read({settings->data.data(), settings->data.size()}));
    give_shapes(*info, model, input, *node);
  });
}
