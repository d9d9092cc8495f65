// Pictures in memory: how the pixels of each format lie, and what a client says of one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace updraft::media {

/// acldvppPixelFormat; hi_pixel_format has the same numbers.
enum class PixelFormat : int32_t {
  Yuv400 = 0,
  Nv12 = 1,  ///< a plane of Y, one of pairs UV at half the width and half the height
  Nv21 = 2,  ///< pairs VU
  Nv16 = 3,  ///< pairs UV at half the width
  Nv61 = 4,
  Nv24 = 5,  ///< pairs UV at the full size
  Nv42 = 6,
  Yuyv = 7,
  Uyvy = 8,
  Yvyu = 9,
  Vyuy = 10,
  Yuv444 = 11,  ///< triples YUV
  Rgb888 = 12,
  Bgr888 = 13,
  Argb8888 = 14,
  Abgr8888 = 15,
  Rgba8888 = 16,
  Bgra8888 = 17,
};

enum class Family : uint8_t { Grey, Yuv, Rgb };

struct FormatInfo {
  const char* name;
  Family family;
  uint8_t unit;           ///< bytes from one pixel of the first plane to the next
  uint8_t columns, rows;  ///< pixels to a pair of chroma in each direction
  bool pairs;             ///< chroma lies in a second plane of pairs
  uint8_t order[4];       ///< where the channels lie: of pairs the first of U and V; of packed pixels each; 255: none
};

/// Null when the format is none of the above.
const FormatInfo* find_format(int32_t format);
/// Throws 100000 that names `what` and the formats that there are.
const FormatInfo& format_info(int32_t format, const char* what);

/// A picture of a client.
struct Picture {
  void* data = nullptr;
  size_t size = 0;
  int32_t format = static_cast<int32_t>(PixelFormat::Nv12);
  uint32_t width = 0, height = 0;
  uint32_t width_stride = 0;   ///< bytes from row to row
  uint32_t height_stride = 0;  ///< rows of the first plane
};

/// Bytes that a picture of these strides takes.
size_t bytes_of(const FormatInfo& info, uint64_t width_stride, uint64_t height_stride);

constexpr uint32_t align_up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

}  // namespace updraft::media
