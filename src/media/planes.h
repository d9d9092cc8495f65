// Pictures as planes of bytes, one a channel: what decoders make, what is resized and converted.
#pragma once
#include <array>
#include <vector>

#include "media/pixel_format.h"

namespace updraft::media {

struct Plane {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> data;

  Plane() = default;
  Plane(int64_t w, int64_t h, uint8_t value = 0) : width(w), height(h), data(static_cast<size_t>(w * h), value) {}
  uint8_t* row(int64_t y) { return data.data() + y * width; }
  const uint8_t* row(int64_t y) const { return data.data() + y * width; }
};

/// Y, U, V (chroma maybe smaller) or R, G, B or Y alone.
struct Planes {
  Family family = Family::Grey;
  std::array<Plane, 3> plane;

  size_t count() const { return family == Family::Grey ? 1 : 3; }
};

struct Rectangle {
  uint32_t left = 0, top = 0, width = 0, height = 0;
};

/// The part of a picture, whose data this process may read. Its corner is even where chroma is shared.
Planes unpack(const Picture& from, const Rectangle& part);
/// Writes planes, whose sizes and family are those of the format, at a place of a picture. A fourth channel becomes
/// 255.
void pack(const Planes& from, const Picture& to, uint32_t left, uint32_t top);

/// Matrices of colours: acldvppCscMatrix.
enum class Matrix : int32_t { Bt601Wide, Bt601Narrow, Bt709Wide, Bt709Narrow, Bt2020Wide, Bt2020Narrow };
/// 0: as the client's default, 1: bilinear, 2: nearest.
enum class Interpolation : uint32_t { Default = 0, Bilinear = 1, Nearest = 2 };

/// Sampled at the centres of pixels, rounded to the nearest.
Plane resize(const Plane& from, int64_t width, int64_t height, Interpolation how);
/// The picture at a size in what a format holds: resized in its own colours, then converted.
Planes make(const Planes& from, const FormatInfo& format, int64_t width, int64_t height, Interpolation how,
            Matrix matrix);

}  // namespace updraft::media
