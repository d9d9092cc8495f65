// Images of bytes become what a model reads (AIPP): a part of each, other colours, another size, mean and factor, a
// border. The settings stand in a tensor beside the images: a constant for static AIPP, an input for dynamic AIPP.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace updraft::aipp {

/// By the numbers of aclAippInputFormat.
enum class Source : uint8_t { None = 0, Yuv420sp = 1, Xrgb8888 = 2, Rgb888 = 3, Yuv400 = 4 };
/// "YUV420SP_U8".
const char* name_of(Source source);
/// Channels that a model gets.
int64_t channels_of(Source source);

/// What all images of a batch have in common.
struct Common {
  Source source = Source::None;
  uint8_t csc = 0, swap_rb = 0, alpha_last = 0;  ///< switches, as those below: 0 or 1 in memory that clients may write
  int32_t width = 0, height = 0;                 ///< of the source
  int16_t matrix[3][3] = {};
  uint8_t input_bias[3] = {}, output_bias[3] = {};

  /// Bytes of one image.
  int64_t bytes() const;
};

/// What is done to one image, in this order.
struct Picture {
  uint8_t crop = 0, resize = 0, padding = 0, reserved = 0;
  int32_t crop_left = 0, crop_top = 0, crop_width = 0, crop_height = 0;  ///< sizes of 0: those of the source
  int32_t resize_from_width = 0, resize_from_height = 0;                 ///< 0: what there is
  int32_t resize_width = 0, resize_height = 0;
  float mean[4] = {}, minimum[4] = {}, factor[4] = {1, 1, 1, 1};
  int32_t top = 0, bottom = 0, left = 0, right = 0;
  float padding_value = 0;
};

struct Size {
  int64_t height = 0, width = 0;
  bool operator==(const Size&) const = default;
};

/// The size of an image after all steps. Throws 100000 that says which of the settings is wrong.
Size made_size(const Common& common, const Picture& picture);

struct Settings {
  Common common;
  std::vector<Picture> pictures;  ///< one for each image of the batch; one alone serves all

  const Picture& of(int64_t image) const { return pictures[pictures.size() == 1 ? 0 : static_cast<size_t>(image)]; }
  /// Throws 100000 where they do not give so many images of that size and so many channels.
  void check(int64_t images, int64_t channels, Size size) const;

  /// As a tensor of bytes.
  static size_t bytes(size_t pictures);
  void write(std::byte* to) const;
  /// Throws 100000 for bytes that no write() made.
  static Settings read(std::span<const std::byte> from);
};

/// The steps, for images that lie one behind the other and settings that check() has passed. `to` is [N, C, H, W], or
/// [N, H, W, C] with the channels last.
void run(const Settings& settings, const uint8_t* images, int64_t count, bool channels_last, float* to);

}  // namespace updraft::aipp
