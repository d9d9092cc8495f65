#include "kernels/aipp.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/between.h"

namespace updraft::aipp {
namespace {

/// In front of the settings in memory: bytes of something else are told from them.
struct Header {
  uint64_t mark;
  uint64_t pictures;
  Common common;
};
constexpr uint64_t kMark = 0x31505049415F4455;  // "UD_AIPP1"
static_assert(sizeof(Common) == 36 && sizeof(Picture) == 104 && std::is_trivially_copyable_v<Picture>, "no gaps");
constexpr int32_t kMostSide = 1 << 20;  // far beyond any image; sizes in bytes fit

template <class... A>
[[noreturn]] void refuse(fmt::format_string<A...> text, A&&... args) {
  throw Error(code::kAclInvalidParam, fmt::format(text, std::forward<A>(args)...));
}

int64_t stored_channels(Source source) {
  switch (source) {
    case Source::Rgb888: return 3;
    case Source::Xrgb8888: return 4;
    default: return 1;
  }
}

/// Columns [left, left + count) of a row of the source, in the colours that the model wants: each channel by itself,
/// `count` numbers after the other.
void convert_row(const Common& c, const uint8_t* image, int64_t y, int64_t left, int64_t count, float* to) {
  const int64_t stored = stored_channels(c.source);
  const uint8_t* row = image + (y * c.width + left) * stored;
  if (c.source == Source::Yuv400) {
    for (int64_t x = 0; x < count; ++x) to[x] = row[x];
    return;
  }
  auto put = [&](int64_t x, int first, int second, int third) {
    if (c.csc) {
      const int less[3] = {first - c.input_bias[0], second - c.input_bias[1], third - c.input_bias[2]};
      for (int64_t r = 0; r < 3; ++r) {
        const int16_t* m = c.matrix[r];
        const int sum = (m[0] * less[0] + m[1] * less[1] + m[2] * less[2]) >> 8;  // rounds down
        to[r * count + x] = static_cast<float>(std::clamp(sum + c.output_bias[r], 0, 255));
      }
    } else {
      to[x] = static_cast<float>(first);
      to[count + x] = static_cast<float>(second);
      to[2 * count + x] = static_cast<float>(third);
    }
  };
  if (c.source == Source::Yuv420sp) {
    const uint8_t* pairs = image + c.height * static_cast<int64_t>(c.width) + y / 2 * c.width;
    const int u = c.swap_rb ? 1 : 0;
    for (int64_t x = 0; x < count; ++x) {
      const uint8_t* pair = pairs + (left + x) / 2 * 2;
      put(x, row[x], pair[u], pair[1 - u]);
    }
    return;
  }
  const int64_t begin = c.source == Source::Xrgb8888 && !c.alpha_last ? 1 : 0;
  const int64_t first = c.swap_rb ? 2 : 0;
  for (int64_t x = 0; x < count; ++x) {
    const uint8_t* pixel = row + x * stored + begin;
    put(x, pixel[first], pixel[1], pixel[2 - first]);
  }
}

/// One image of the batch, row by row of what it becomes.
class Image {
 public:
  Image(const Common& common, const Picture& picture, const uint8_t* data)
      : common_(common), picture_(picture), data_(data), size_(made_size(common, picture)) {
    const Picture& p = picture;
    part_ = {p.crop && p.crop_height ? p.crop_height : common.height,
             p.crop && p.crop_width ? p.crop_width : common.width};
    inner_ = p.resize ? Size{p.resize_height, p.resize_width} : part_;
    if (p.resize) {
      rows_ = between_centres(part_.height, inner_.height, scale(part_.height, inner_.height));
      columns_ = between_centres(part_.width, inner_.width, scale(part_.width, inner_.width));
    }
    for (size_t c = 0; c < 4; ++c) less_[c] = p.mean[c] + p.minimum[c];
  }

  Size size() const { return size_; }

  /// Row y of the result goes to to[channel * channel_step + column * column_step].
  void write_row(int64_t y, float* to, int64_t channel_step, int64_t column_step, std::vector<float>& room) const {
    const Picture& p = picture_;
    const int64_t channels = channels_of(common_.source), top = p.padding ? p.top : 0, left = p.padding ? p.left : 0;
    const int64_t inner_y = y - top;
    const bool inside = inner_y >= 0 && inner_y < inner_.height;
    if (inside) make_row(inner_y, channels, room);
    for (int64_t c = 0; c < channels; ++c) {
      float* at = to + c * channel_step;
      int64_t x = 0;
      auto border = [&](int64_t end) {
        for (; x < end; ++x, at += column_step) *at = p.padding_value;
      };
      if (inside) {
        border(left);
        const float* from = room.data() + c * inner_.width;
        const float less = less_[c], factor = p.factor[c];
        for (int64_t i = 0; i < inner_.width; ++i, ++x, at += column_step) *at = (from[i] - less) * factor;
      }
      border(size_.width);
    }
  }

 private:
  static double scale(int64_t from, int64_t to) { return static_cast<double>(from) / static_cast<double>(to); }

  void source_row(int64_t y, float* to) const {
    const Picture& p = picture_;
    convert_row(common_, data_, y + (p.crop ? p.crop_top : 0), p.crop ? p.crop_left : 0, part_.width, to);
  }

  /// A row before mean and factor, at the beginning of `room`.
  void make_row(int64_t y, int64_t channels, std::vector<float>& room) const {
    const int64_t wide = part_.width * channels, made = inner_.width * channels;
    if (!picture_.resize) {
      room.resize(static_cast<size_t>(wide));
      return source_row(y, room.data());
    }
    room.resize(static_cast<size_t>(made + 2 * wide));
    float *upper = room.data() + made, *lower = upper + wide;
    const Between& down = rows_[static_cast<size_t>(y)];
    source_row(down.first, upper);
    if (down.weight != 0) {
      source_row(down.second, lower);
      for (int64_t i = 0; i < wide; ++i) upper[i] += (lower[i] - upper[i]) * down.weight;
    }
    for (int64_t c = 0; c < channels; ++c) {
      const float* from = upper + c * part_.width;
      float* to = room.data() + c * inner_.width;
      for (int64_t x = 0; x < inner_.width; ++x) {
        const Between& across = columns_[static_cast<size_t>(x)];
        to[x] = from[across.first] + (from[across.second] - from[across.first]) * across.weight;
      }
    }
  }

  const Common& common_;
  const Picture& picture_;
  const uint8_t* data_;
  const Size size_;
  Size part_, inner_;  ///< what is cut out, and what becomes of it
  std::vector<Between> rows_, columns_;
  float less_[4];
};

}  // namespace

const char* name_of(Source source) {
  switch (source) {
    case Source::Yuv420sp: return "YUV420SP_U8";
    case Source::Xrgb8888: return "XRGB8888_U8";
    case Source::Rgb888: return "RGB888_U8";
    case Source::Yuv400: return "YUV400_U8";
    default: return "no format";
  }
}

int64_t channels_of(Source source) { return source == Source::Yuv400 ? 1 : 3; }

int64_t Common::bytes() const {
  const int64_t pixels = static_cast<int64_t>(width) * height;
  return source == Source::Yuv420sp ? pixels * 3 / 2 : pixels * stored_channels(source);
}

Size made_size(const Common& c, const Picture& p) {
  if (c.source < Source::Yuv420sp || c.source > Source::Yuv400)
    refuse("the images have no format: want YUV420SP_U8, XRGB8888_U8, RGB888_U8 or YUV400_U8");
  if (c.width < 1 || c.height < 1 || c.width > kMostSide || c.height > kMostSide)
    refuse("the source has {} rows and {} columns, want the size of its images", c.height, c.width);
  const bool shared = c.source == Source::Yuv420sp;
  if (shared && (c.width % 2 || c.height % 2))
    refuse("YUV420SP_U8 wants even sizes, the source has {} rows and {} columns", c.height, c.width);
  if (c.source == Source::Yuv400 && (c.csc || c.swap_rb))
    refuse("YUV400_U8 has one channel: conversion and exchange of colours want three");
  Size size{c.height, c.width};
  if (p.crop) {
    if (p.crop_left < 0 || p.crop_top < 0 || p.crop_width < 0 || p.crop_height < 0)
      refuse("the crop of {} rows and {} columns at row {}, column {} has negative numbers", p.crop_height,
             p.crop_width, p.crop_top, p.crop_left);
    if (shared && (p.crop_left % 2 || p.crop_top % 2))
      refuse("the crop begins at row {}, column {}: both must be even for YUV420SP_U8", p.crop_top, p.crop_left);
    const int64_t height = p.crop_height ? p.crop_height : size.height,
                  width = p.crop_width ? p.crop_width : size.width;
    if (p.crop_top + height > size.height || p.crop_left + width > size.width)
      refuse("the crop of {} rows and {} columns at row {}, column {} leaves the source of {} rows and {} columns",
             height, width, p.crop_top, p.crop_left, size.height, size.width);
    size = {height, width};
  }
  if (p.resize) {
    if (p.resize_width < 1 || p.resize_height < 1)
      refuse("resize gives {} rows and {} columns, want the size of its output", p.resize_height, p.resize_width);
    if ((p.resize_from_height && p.resize_from_height != size.height) ||
        (p.resize_from_width && p.resize_from_width != size.width))
      refuse("resize is told that it gets {} rows and {} columns; it gets {} and {}", p.resize_from_height,
             p.resize_from_width, size.height, size.width);
    size = {p.resize_height, p.resize_width};
  }
  if (p.padding) {
    if (p.top < 0 || p.bottom < 0 || p.left < 0 || p.right < 0)
      refuse("padding of {}, {}, {} and {} (top, bottom, left, right) has negative numbers", p.top, p.bottom, p.left,
             p.right);
    size.height += static_cast<int64_t>(p.top) + p.bottom;
    size.width += static_cast<int64_t>(p.left) + p.right;
  }
  return size;
}

void Settings::check(int64_t images, int64_t channels, Size size) const {
  if (pictures.size() != 1 && static_cast<int64_t>(pictures.size()) < images)
    refuse("there are settings for {} images, the batch has {}", pictures.size(), images);
  for (size_t i = 0; i < pictures.size() && static_cast<int64_t>(i) < images; ++i) {
    const Size made = made_size(common, pictures[i]);
    if (made != size || channels_of(common.source) != channels)
      refuse("the steps for image {} give {} channels, {} rows and {} columns; the model wants {}, {} and {}", i,
             channels_of(common.source), made.height, made.width, channels, size.height, size.width);
  }
}

size_t Settings::bytes(size_t pictures) { return sizeof(Header) + pictures * sizeof(Picture); }

void Settings::write(std::byte* to) const {
  Header header{};  // the same bytes for the same settings
  std::memcpy(&header.common, &common, sizeof common);
  header.mark = kMark;
  header.pictures = pictures.size();
  std::memcpy(to, &header, sizeof header);
  if (!pictures.empty()) std::memcpy(to + sizeof header, pictures.data(), pictures.size() * sizeof(Picture));
}

Settings Settings::read(std::span<const std::byte> from) {
  Header header;
  if (from.size() >= sizeof header) std::memcpy(&header, from.data(), sizeof header);
  if (from.size() < sizeof header || header.mark != kMark)
    refuse("the parameters of AIPP are not there: call aclmdlSetInputAIPP or aclmdlSetAIPPByInputIndex before");
  if (header.pictures == 0 || header.pictures > (from.size() - sizeof header) / sizeof(Picture))
    refuse("the parameters of AIPP have {} bytes and name {} images", from.size(), header.pictures);
  Settings made;
  made.common = header.common;
  made.pictures.resize(header.pictures);
  std::memcpy(made.pictures.data(), from.data() + sizeof header, header.pictures * sizeof(Picture));
  return made;
}

void run(const Settings& settings, const uint8_t* images, int64_t count, bool channels_last, float* to) {
  constexpr int64_t kRows = 8;
  const Common& common = settings.common;
  const int64_t channels = channels_of(common.source);
  for (int64_t n = 0; n < count; ++n) {
    const Image image(common, settings.of(n), images + n * common.bytes());
    const Size size = image.size();
    float* const begin = to + n * channels * size.height * size.width;
    parallel_for(size.height, kRows, [&](int64_t first, int64_t last) {
      std::vector<float> room;
      for (int64_t y = first; y < last; ++y) {
        if (channels_last) image.write_row(y, begin + y * size.width * channels, 1, channels, room);
        else image.write_row(y, begin + y * size.width, size.height * size.width, 1, room);
      }
    });
  }
}

}  // namespace updraft::aipp
