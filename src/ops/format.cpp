#include "ops/format.h"

#include <algorithm>
#include <string_view>

#include "base/config.h"
#include "base/error.h"
#include "device/host_layout.h"
#include "ops/op.h"

namespace updraft {
namespace {

enum Format : int32_t {
  kUndefined = -1,
  kNchw = 0,
  kNhwc = 1,
  kNd = 2,
  kNc1hwc0 = 3,
  kFractalZ = 4,
  kNc1hwc0C04 = 12,
  kHwcn = 16,
  kNdhwc = 27,
  kFractalNz = 29,
  kNcdhw = 30,
  kNdc1hwc0 = 32,
  kFractalZ3d = 33,
  kNc = 35,
  kNcl = 47,
};

bool channels_last(int32_t format) { return format == kNhwc || format == kNdhwc || format == kHwcn; }

// In the order of std::string_view. Graph operators are not here: their rows read the layout from an attribute.
constexpr std::string_view kOfImages[] = {"aclnnAdaptiveAvgPool2d",
                                          "aclnnAdaptiveAvgPool2dBackward",
                                          "aclnnAdaptiveAvgPool3d",
                                          "aclnnAdaptiveAvgPool3dBackward",
                                          "aclnnAdaptiveMaxPool2d",
                                          "aclnnAdaptiveMaxPool2dBackward",
                                          "aclnnAdaptiveMaxPool3d",
                                          "aclnnAdaptiveMaxPool3dBackward",
                                          "aclnnAffineGrid",
                                          "aclnnAvgPool2d",
                                          "aclnnAvgPool2dBackward",
                                          "aclnnAvgPool3d",
                                          "aclnnAvgPool3dBackward",
                                          "aclnnBatchNorm",
                                          "aclnnBatchNormBackward",
                                          "aclnnBatchNormElemt",
                                          "aclnnBatchNormElemtBackward",
                                          "aclnnBatchNormGatherStatsWithCounts",
                                          "aclnnBatchNormReduce",
                                          "aclnnBatchNormReduceBackward",
                                          "aclnnBatchNormStats",
                                          "aclnnChannelShuffle",
                                          "aclnnConvDepthwise2d",
                                          "aclnnConvTbc",
                                          "aclnnConvTbcBackward",
                                          "aclnnConvolution",
                                          "aclnnConvolutionBackward",
                                          "aclnnGridSampler2D",
                                          "aclnnGridSampler2DBackward",
                                          "aclnnGridSampler3D",
                                          "aclnnGridSampler3DBackward",
                                          "aclnnGroupNorm",
                                          "aclnnGroupNormBackward",
                                          "aclnnGroupNormSilu",
                                          "aclnnGroupNormSwish",
                                          "aclnnGroupNormSwishGrad",
                                          "aclnnIm2col",
                                          "aclnnIm2colBackward",
                                          "aclnnMaxPool2dWithIndices",
                                          "aclnnMaxPool2dWithIndicesBackward",
                                          "aclnnMaxPool2dWithMask",
                                          "aclnnMaxPool2dWithMaskBackward",
                                          "aclnnMaxPool3dWithArgmax",
                                          "aclnnMaxPool3dWithArgmaxBackward",
                                          "aclnnMaxUnpool2d",
                                          "aclnnMaxUnpool3d",
                                          "aclnnReflectionPad1d",
                                          "aclnnReflectionPad1dBackward",
                                          "aclnnReflectionPad2d",
                                          "aclnnReflectionPad2dBackward",
                                          "aclnnReflectionPad3d",
                                          "aclnnReflectionPad3dBackward",
                                          "aclnnReplicationPad1d",
                                          "aclnnReplicationPad1dBackward",
                                          "aclnnReplicationPad2d",
                                          "aclnnReplicationPad2dBackward",
                                          "aclnnReplicationPad3d",
                                          "aclnnReplicationPad3dBackward",
                                          "aclnnSyncBatchNormGatherStats",
                                          "aclnnUnfoldGrad",
                                          "aclnnUpsampleBicubic2d",
                                          "aclnnUpsampleBicubic2dAA",
                                          "aclnnUpsampleBicubic2dAAGrad",
                                          "aclnnUpsampleBicubic2dBackward",
                                          "aclnnUpsampleBilinear2d",
                                          "aclnnUpsampleBilinear2dAA",
                                          "aclnnUpsampleBilinear2dAABackward",
                                          "aclnnUpsampleBilinear2dBackward",
                                          "aclnnUpsampleBilinear2dBackwardV2",
                                          "aclnnUpsampleLinear1d",
                                          "aclnnUpsampleLinear1dBackward",
                                          "aclnnUpsampleNearest1d",
                                          "aclnnUpsampleNearest1dBackward",
                                          "aclnnUpsampleNearest1dV2",
                                          "aclnnUpsampleNearest2d",
                                          "aclnnUpsampleNearest2dBackward",
                                          "aclnnUpsampleNearest2dV2",
                                          "aclnnUpsampleNearest3d",
                                          "aclnnUpsampleNearest3dBackward",
                                          "aclnnUpsampleNearestExact1d",
                                          "aclnnUpsampleNearestExact1dBackward",
                                          "aclnnUpsampleNearestExact2d",
                                          "aclnnUpsampleNearestExact2dBackward",
                                          "aclnnUpsampleNearestExact3d",
                                          "aclnnUpsampleNearestExact3dBackward",
                                          "aclnnUpsampleTrilinear3d",
                                          "aclnnUpsampleTrilinear3dBackward"};
static_assert(std::ranges::is_sorted(kOfImages));

bool stored_as_viewed(const aclTensor& t) {
  return t.storage_rank == t.view.rank && std::equal(t.view.dims, t.view.dims + t.view.rank, t.storage_dims);
}

size_t storage_bytes(const aclTensor& t) {
  size_t elements = 1;
  for (int i = 0; i < t.storage_rank; ++i) elements *= static_cast<size_t>(std::max<int64_t>(t.storage_dims[i], 0));
  return elements * size_of(t.view.dtype);
}

}  // namespace

std::string format_name(int32_t format) {
  switch (format) {
    case kNchw: return "NCHW";
    case kNhwc: return "NHWC";
    case kNd: return "ND";
    case kNc1hwc0: return "NC1HWC0";
    case kFractalZ: return "FRACTAL_Z";
    case kNc1hwc0C04: return "NC1HWC0_C04";
    case kHwcn: return "HWCN";
    case kNdhwc: return "NDHWC";
    case kFractalNz: return "FRACTAL_NZ";
    case kNcdhw: return "NCDHW";
    case kNdc1hwc0: return "NDC1HWC0";
    case kFractalZ3d: return "FRACTAL_Z_3D";
    case kNc: return "NC";
    case kNcl: return "NCL";
    default: return fmt::format("format {}", format);
  }
}

std::span<const std::string_view> operators_of_images() { return kOfImages; }

bool is_product_format(int32_t format) {
  constexpr int32_t kClients[] = {kUndefined, kNchw, kNhwc, kNd, kHwcn, kNdhwc, kNcdhw, kNc, kNcl};
  return std::ranges::count(kClients, format) == 0;
}

bool reorders(int32_t format, std::span<const int64_t> dims) {
  return is_product_format(format) && std::ranges::count_if(dims, [](int64_t d) { return d > 1; }) > 1;
}

const char* layout_of(int32_t format) {
  switch (format) {
    case kNchw: return "NCHW";
    case kNhwc: return "NHWC";
    case kNdhwc: return "NDHWC";
    case kNcdhw: return "NCDHW";
    default: return nullptr;
  }
}

void check_format(const OpInfo& info, const char* name, const aclTensor& t, bool output) {
  if (channels_last(t.format) && t.view.rank >= 4 && std::ranges::binary_search(kOfImages, std::string_view(info.name)))
    throw Error(
        code::kAclnnParamInvalid,
        "{} is {} in format {}, want its dimensions in the order of {}: make the tensor with that order, strides "
        "that say where the channels lie, and its format",
        name, describe(t.view), format_name(t.format), t.view.rank == 5 ? "NCDHW" : "NCHW");
  if (!Config::get().card_rules() || t.view.empty()) return;
  const size_t bytes = t.storage_rank ? storage_bytes(t) : t.view.bytes();
  if (output) {
    note_device_write(t.storage, bytes);
  } else if (reorders(t.format, {t.view.dims, static_cast<size_t>(t.view.rank)}) && t.storage_rank &&
             !stored_as_viewed(t) && laid_out_by_host(t.storage, bytes)) {
    throw Error(code::kAclnnParamInvalid, "{} is {} in format {} with the storage {}, and {}", name, describe(t.view),
                format_name(t.format), describe_shape(t.storage_dims, t.storage_rank), kHostLaidOut);
  }
}

}  // namespace updraft
