// Sizes and colours of planes.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/between.h"
#include "media/planes.h"

namespace updraft::media {
namespace {

std::vector<Between> places(int64_t from, int64_t to, double scale, Interpolation how) {
  if (how != Interpolation::Nearest) return between_centres(from, to, scale);
  std::vector<Between> all(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const int64_t at = std::min(static_cast<int64_t>(std::floor(static_cast<double>(i) * scale)), from - 1);
    all[static_cast<size_t>(i)] = {at, at, 0};
  }
  return all;
}

uint8_t byte(float value) { return static_cast<uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F)); }

struct Weights {
  float red, blue;  ///< of luminance; green has the rest
  bool narrow;      ///< Y within 16 to 235, chroma within 16 to 240
};

Weights weights_of(Matrix matrix) {
  switch (matrix) {
    case Matrix::Bt601Wide: return {0.299F, 0.114F, false};
    case Matrix::Bt601Narrow: return {0.299F, 0.114F, true};
    case Matrix::Bt709Wide: return {0.2126F, 0.0722F, false};
    case Matrix::Bt709Narrow: return {0.2126F, 0.0722F, true};
    case Matrix::Bt2020Wide: return {0.2627F, 0.0593F, false};
    case Matrix::Bt2020Narrow: return {0.2627F, 0.0593F, true};
  }
  return {0.299F, 0.114F, false};
}

void to_rgb(Planes& picture, Matrix matrix) {
  const Weights w = weights_of(matrix);
  const float green = 1 - w.red - w.blue;
  const float luma = w.narrow ? 255.0F / 219 : 1, chroma = w.narrow ? 255.0F / 224 : 1;
  const float dark = w.narrow ? 16 : 0;
  auto& [y, u, v] = picture.plane;
  parallel_for(y.height, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * y.width; i < end * y.width; ++i) {
      const auto at = static_cast<size_t>(i);
      const float light = (static_cast<float>(y.data[at]) - dark) * luma;
      const float cb = (static_cast<float>(u.data[at]) - 128) * chroma,
                  cr = (static_cast<float>(v.data[at]) - 128) * chroma;
      const float red = light + 2 * (1 - w.red) * cr, blue = light + 2 * (1 - w.blue) * cb;
      y.data[at] = byte(red);
      u.data[at] = byte((light - w.red * red - w.blue * blue) / green);
      v.data[at] = byte(blue);
    }
  });
  picture.family = Family::Rgb;
}

void to_yuv(Planes& picture, Matrix matrix) {
  const Weights w = weights_of(matrix);
  const float luma = w.narrow ? 219.0F / 255 : 1, chroma = w.narrow ? 224.0F / 255 : 1;
  const float dark = w.narrow ? 16 : 0;
  auto& [r, g, b] = picture.plane;
  parallel_for(r.height, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * r.width; i < end * r.width; ++i) {
      const auto at = static_cast<size_t>(i);
      const auto red = static_cast<float>(r.data[at]), blue = static_cast<float>(b.data[at]);
      const float light = w.red * red + (1 - w.red - w.blue) * static_cast<float>(g.data[at]) + w.blue * blue;
      r.data[at] = byte(light * luma + dark);
      g.data[at] = byte((blue - light) / (2 * (1 - w.blue)) * chroma + 128);
      b.data[at] = byte((red - light) / (2 * (1 - w.red)) * chroma + 128);
    }
  });
  picture.family = Family::Yuv;
}

}  // namespace

namespace {

/// Values of a picture's width or height to one of a plane's: an odd one leaves the last value with fewer.
int64_t shared_by(int64_t picture, int64_t plane) { return (picture + plane - 1) / plane; }

/// From places of one plane to places of another, of which each may hold fewer values than its picture.
double scale_of(int64_t from, int64_t from_shared, int64_t to, int64_t to_shared) {
  return static_cast<double>(from * to_shared) / static_cast<double>(to * from_shared);
}

Plane sample(const Plane& from, int64_t width, int64_t height, double across, double down, Interpolation how) {
  if (from.width == width && from.height == height) return from;
  Plane made(width, height);
  const auto columns = places(from.width, width, across, how), rows = places(from.height, height, down, how);
  parallel_for(height, 16, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      const Between& r = rows[static_cast<size_t>(y)];
      const uint8_t *upper = from.row(r.first), *lower = from.row(r.second);
      uint8_t* to = made.row(y);
      for (int64_t x = 0; x < width; ++x) {
        const Between& c = columns[static_cast<size_t>(x)];
        const auto between = [&](const uint8_t* row) {
          const auto a = static_cast<float>(row[c.first]);
          return a + (static_cast<float>(row[c.second]) - a) * c.weight;
        };
        const float a = between(upper);
        to[x] = byte(a + (between(lower) - a) * r.weight);
      }
    }
  });
  return made;
}

/// The chroma of a picture at another size of the picture, of which `columns` and `rows` pixels share a value.
Plane chroma(const Planes& from, size_t c, int64_t width, int64_t height, int64_t columns, int64_t rows,
             Interpolation how) {
  const Plane &whole = from.plane[0], &plane = from.plane[c];
  return sample(plane, (width + columns - 1) / columns, (height + rows - 1) / rows,
                scale_of(whole.width, shared_by(whole.width, plane.width), width, columns),
                scale_of(whole.height, shared_by(whole.height, plane.height), height, rows), how);
}

}  // namespace

Plane resize(const Plane& from, int64_t width, int64_t height, Interpolation how) {
  return sample(from, width, height, scale_of(from.width, 1, width, 1), scale_of(from.height, 1, height, 1), how);
}

Planes make(const Planes& from, const FormatInfo& format, int64_t width, int64_t height, Interpolation how,
            Matrix matrix) {
  Planes made{from.family, {}};
  const bool keeps_colours = from.family == Family::Yuv && format.family == Family::Yuv;
  made.plane[0] = resize(from.plane[0], width, height, how);
  for (size_t c = 1; c < from.count(); ++c)
    made.plane[c] = from.family == Family::Yuv ? chroma(from, c, width, height, keeps_colours ? format.columns : 1,
                                                        keeps_colours ? format.rows : 1, how)
                                               : resize(from.plane[c], width, height, how);
  if (keeps_colours) return made;
  if (from.family == Family::Grey && format.family != Family::Grey) {
    made.family = Family::Yuv;
    for (size_t c : {1, 2}) made.plane[c] = Plane(width, height, 128);
  }
  if (made.family == Family::Yuv && format.family == Family::Rgb) to_rgb(made, matrix);
  else if (made.family == Family::Rgb && format.family != Family::Rgb) to_yuv(made, matrix);
  if (format.family == Family::Grey) {
    made.family = Family::Grey;
    made.plane[1] = made.plane[2] = Plane();
  } else if (format.family == Family::Yuv) {
    for (size_t c : {1, 2})  // means of the pixels that share a pair
      made.plane[c] = chroma(made, c, width, height, format.columns, format.rows, Interpolation::Bilinear);
  }
  return made;
}

}  // namespace updraft::media
