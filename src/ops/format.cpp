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

// By words of the operators' names.
bool takes_images_apart(std::string_view name) {
  for (const char* part : {"Conv", "Pool", "Upsample", "GridSampler", "AffineGrid", "Im2col", "UnfoldGrad",
                           "ReflectionPad", "ReplicationPad", "CircularPad", "BatchNorm", "GroupNorm"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

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

bool is_product_format(int32_t format) {
  constexpr int32_t kClients[] = {kUndefined, kNchw, kNhwc, kNd, kHwcn, kNdhwc, kNcdhw, kNc, kNcl};
  return std::ranges::count(kClients, format) == 0;
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
  if (channels_last(t.format) && t.view.rank >= 4 && takes_images_apart(info.name))
    throw Error(
        code::kAclnnParamInvalid,
        "{} is {} in format {}, want its dimensions in the order of {}: make the tensor with that order, strides "
        "that say where the channels lie, and its format",
        name, describe(t.view), format_name(t.format), t.view.rank == 5 ? "NCDHW" : "NCHW");
  if (!Config::get().card_rules() || t.view.empty()) return;
  const size_t bytes = t.storage_rank ? storage_bytes(t) : t.view.bytes();
  if (output) {
    note_device_write(t.storage, bytes);
  } else if (is_product_format(t.format) && t.storage_rank && !stored_as_viewed(t) &&
             laid_out_by_host(t.storage, bytes)) {
    throw Error(code::kAclnnParamInvalid,
                "{} is {} in format {} with the storage {}, and the host wrote its bytes: operators here know no such "
                "layout, want ND (row-major), or a tensor that the device converted",
                name, describe(t.view), format_name(t.format), describe_shape(t.storage_dims, t.storage_rank));
  }
}

}  // namespace updraft
