#include "media/planes.h"

#include <cstring>

#include "base/parallel.h"

namespace updraft::media {
namespace {

int64_t share(int64_t size, int64_t by) { return (size + by - 1) / by; }

/// Where the first value of a channel lies, and from one to the next, in the rows of its plane.
struct Walk {
  uint8_t* first;
  int64_t stride, step;
  uint8_t* row(int64_t y) const { return first + y * stride; }
};

Walk walk(const FormatInfo& info, const Picture& picture, size_t channel, uint32_t left, uint32_t top) {
  auto* base = static_cast<uint8_t*>(picture.data);
  const int64_t stride = picture.width_stride;
  const bool chroma = info.family == Family::Yuv && channel > 0;
  if (!chroma || (!info.pairs && info.columns == 1))
    return {base + top * stride + int64_t{left} * info.unit + info.order[channel], stride, info.unit};
  if (!info.pairs)  // four bytes hold two pixels
    return {base + top * stride + int64_t{left} / 2 * 4 + info.order[channel], stride, 4};
  // rows of pairs: as many bytes as a row of Y where a pair serves two columns, twice as many where it serves one
  const int64_t pair_stride = 2 * stride / info.columns;
  return {base + int64_t{picture.height_stride} * stride + top / info.rows * pair_stride +
              int64_t{left} / info.columns * 2 + info.order[channel],
          pair_stride, 2};
}

void read(uint8_t* to, const uint8_t* from, int64_t n, int64_t step) {
  if (step == 1) std::memcpy(to, from, static_cast<size_t>(n));
  else
    for (int64_t x = 0; x < n; ++x) to[x] = from[x * step];
}

void write(uint8_t* to, const uint8_t* from, int64_t n, int64_t step) {
  if (step == 1) std::memcpy(to, from, static_cast<size_t>(n));
  else
    for (int64_t x = 0; x < n; ++x) to[x * step] = from[x];
}

}  // namespace

Planes unpack(const Picture& from, const Rectangle& part) {
  const FormatInfo& info = *find_format(from.format);
  Planes made{info.family, {}};
  for (size_t c = 0; c < made.count(); ++c) {
    const bool chroma = info.family == Family::Yuv && c > 0;
    const Walk at = walk(info, from, c, part.left, part.top);
    Plane& plane = made.plane[c] =
        Plane(share(part.width, chroma ? info.columns : 1), share(part.height, chroma ? info.rows : 1));
    for (int64_t y = 0; y < plane.height; ++y) read(plane.row(y), at.row(y), plane.width, at.step);
  }
  return made;
}

void pack(const Planes& from, const Picture& to, uint32_t left, uint32_t top) {
  const FormatInfo& info = *find_format(to.format);
  for (size_t c = 0; c < from.count(); ++c) {
    const Plane& plane = from.plane[c];
    const Walk at = walk(info, to, c, left, top);
    for (int64_t y = 0; y < plane.height; ++y) write(at.row(y), plane.row(y), plane.width, at.step);
  }
  if (info.order[3] == 255) return;
  const Walk alpha = walk(info, to, 3, left, top);
  for (int64_t y = 0; y < from.plane[0].height; ++y)
    for (int64_t x = 0; x < from.plane[0].width; ++x) alpha.row(y)[x * alpha.step] = 255;
}

}  // namespace updraft::media
