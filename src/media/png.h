// PNG files, by libpng. What is wrong with a file is an Error with code 100000.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace updraft::media {

struct PngInfo {
  uint32_t width = 0, height = 0;
  int32_t components = 0;  ///< 1 grey, 2 grey and alpha, 3 RGB or a palette, 4 RGB and alpha
};

PngInfo png_info(std::span<const uint8_t> file);
/// Rows of RGB or RGBA in 8 bits, whatever the file has: palettes and grey become RGB, 16 bits lose the lower 8,
/// transparency is left out or 255 where the other is asked for.
std::vector<uint8_t> decode_png(std::span<const uint8_t> file, bool alpha, PngInfo& info);

}  // namespace updraft::media
