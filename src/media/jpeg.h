// JPEG files, by libjpeg-turbo. What is wrong with a file is an Error with code 148052 (unsupported JPEG).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "media/planes.h"

namespace updraft::media {

struct JpegInfo {
  uint32_t width = 0, height = 0;
  int32_t components = 0;
  uint32_t columns = 1, rows = 1;  ///< pixels to a value of chroma in each direction
};

inline constexpr int kUnsupportedJpeg = 148052;

JpegInfo jpeg_info(std::span<const uint8_t> file);
/// Chroma at the size that the file has it, as the decoder of a card leaves it; RGB files as RGB.
Planes decode_jpeg(std::span<const uint8_t> file);
/// Of planes in 4:2:0, 4:2:2, 4:4:4 or Y alone. `quality` is 1 to 100.
std::vector<uint8_t> encode_jpeg(const Planes& picture, int quality);

}  // namespace updraft::media
