#include "media/pixel_format.h"

#include "base/error.h"

namespace updraft::media {
namespace {

constexpr uint8_t no = 255;
constexpr FormatInfo kFormats[] = {
    {"YUV_400", Family::Grey, 1, 1, 1, false, {0, no, no, no}},
    {"YUV_SEMIPLANAR_420", Family::Yuv, 1, 2, 2, true, {0, 0, 1, no}},
    {"YVU_SEMIPLANAR_420", Family::Yuv, 1, 2, 2, true, {0, 1, 0, no}},
    {"YUV_SEMIPLANAR_422", Family::Yuv, 1, 2, 1, true, {0, 0, 1, no}},
    {"YVU_SEMIPLANAR_422", Family::Yuv, 1, 2, 1, true, {0, 1, 0, no}},
    {"YUV_SEMIPLANAR_444", Family::Yuv, 1, 1, 1, true, {0, 0, 1, no}},
    {"YVU_SEMIPLANAR_444", Family::Yuv, 1, 1, 1, true, {0, 1, 0, no}},
    {"YUYV_PACKED_422", Family::Yuv, 2, 2, 1, false, {0, 1, 3, no}},
    {"UYVY_PACKED_422", Family::Yuv, 2, 2, 1, false, {1, 0, 2, no}},
    {"YVYU_PACKED_422", Family::Yuv, 2, 2, 1, false, {0, 3, 1, no}},
    {"VYUY_PACKED_422", Family::Yuv, 2, 2, 1, false, {1, 2, 0, no}},
    {"YUV_PACKED_444", Family::Yuv, 3, 1, 1, false, {0, 1, 2, no}},
    {"RGB_888", Family::Rgb, 3, 1, 1, false, {0, 1, 2, no}},
    {"BGR_888", Family::Rgb, 3, 1, 1, false, {2, 1, 0, no}},
    {"ARGB_8888", Family::Rgb, 4, 1, 1, false, {1, 2, 3, 0}},
    {"ABGR_8888", Family::Rgb, 4, 1, 1, false, {3, 2, 1, 0}},
    {"RGBA_8888", Family::Rgb, 4, 1, 1, false, {0, 1, 2, 3}},
    {"BGRA_8888", Family::Rgb, 4, 1, 1, false, {2, 1, 0, 3}},
};

}  // namespace

const FormatInfo* find_format(int32_t format) {
  return format >= 0 && static_cast<size_t>(format) < std::size(kFormats) ? &kFormats[format] : nullptr;
}

const FormatInfo& format_info(int32_t format, const char* what) {
  if (const FormatInfo* info = find_format(format)) return *info;
  throw Error(
      code::kAclInvalidParam,
      "{} is in pixel format {}: want 0 (YUV_400) to 17 (BGRA_8888); formats of 10 bits, planar and 16-bit ones "
      "are not implemented",
      what, format);
}

size_t bytes_of(const FormatInfo& info, uint64_t width_stride, uint64_t height_stride) {
  const uint64_t first = width_stride * height_stride;
  return info.pairs ? first + 2 * first / (uint64_t{info.columns} * info.rows) : first;
}

}  // namespace updraft::media
