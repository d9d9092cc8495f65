// JPEG and PNG files into pictures, and pictures into JPEG files.
#include <cstring>

#include "acl/media/work.h"
#include "base/config.h"
#include "device/memory.h"
#include "media/jpeg.h"
#include "media/png.h"

using namespace updraft;

namespace {

using media::PixelFormat;
constexpr uint32_t kRowAlignment = 128, kLineAlignment = 16;

std::span<const uint8_t> file_of(const void* data, uint32_t size) {
  need(data, "data");
  if (size == 0) throw Error(code::kAclInvalidParam, "the file has 0 bytes");
  return {static_cast<const uint8_t*>(host_address(data)), size};
}

/// What a decoder of the card writes for a file when no format is asked for.
int32_t own_format(const media::JpegInfo& info) {
  if (info.components == 1) return static_cast<int32_t>(PixelFormat::Yuv400);
  if (info.columns == 1) return static_cast<int32_t>(PixelFormat::Nv24);
  return static_cast<int32_t>(info.rows == 1 ? PixelFormat::Nv16 : PixelFormat::Nv12);
}

const media::FormatInfo& decoded_format(int32_t format) {
  const media::FormatInfo& info = media::format_info(format, "the decoded picture");
  const bool packed = info.family == media::Family::Yuv && !info.pairs;
  if (packed || info.unit == 4)
    throw Error(code::kAclInvalidParam,
                "a JPEG is decoded into YUV_400, semi-planar YUV, RGB_888 or BGR_888, not into {}", info.name);
  return info;
}

size_t decoded_size(const media::FormatInfo& info, uint32_t width, uint32_t height) {
  return media::bytes_of(info, media::align_up(width * info.unit, kRowAlignment),
                         media::align_up(height, kLineAlignment));
}

/// Where a decoder writes: sizes and strides are known when the file is.
struct Target {
  HandleRef<acldvppPicDesc> handle;
  media::Picture picture;  ///< as the client described it

  explicit Target(const acldvppPicDesc* desc) {
    picture = media_object(desc, "outputDesc");
    handle = media_pool<acldvppPicDesc>().ref(desc);
    picture.data = checked_memory(picture.data, picture.size, "outputDesc");
    if (picture.width_stride % 16 || picture.height_stride % 2)
      throw Error(code::kAclInvalidParam, "outputDesc has strides {} and {}, want multiples of 16 and of 2",
                  picture.width_stride, picture.height_stride);
    if (Config::get().card_rules() && (picture.width_stride % 64 || picture.height_stride % kLineAlignment))
      throw Error(code::kAclInvalidParam,
                  "outputDesc has strides {} and {}: the card's decoders want multiples of 128 (64 on 310P) and of 16",
                  picture.width_stride, picture.height_stride);
  }

  /// Fills in what the client left open, and tells it.
  void fit(uint32_t width, uint32_t height, int32_t format) {
    const media::FormatInfo& info = *media::find_format(format);
    const uint32_t least = width * info.unit;
    picture.format = format;
    picture.width = width;
    picture.height = height;
    if (picture.width_stride == 0) picture.width_stride = media::align_up(least, kRowAlignment);
    if (picture.height_stride == 0) picture.height_stride = media::align_up(height, kLineAlignment);
    const size_t bytes = media::bytes_of(info, picture.width_stride, picture.height_stride);
    if (picture.width_stride < least || picture.height_stride < height || picture.size < bytes) {
      tell(code::kAclInvalidParam);
      throw Error(code::kAclInvalidParam,
                  "the file has {} columns and {} rows, which as {} want strides of at least {} and {} and {} bytes; "
                  "outputDesc has {}, {} and {}",
                  width, height, info.name, least, height, bytes, picture.width_stride, picture.height_stride,
                  picture.size);
    }
  }
  void tell(int code) const {
    media_pool<acldvppPicDesc>().locked(handle, [&](acldvppPicDesc& desc) {
      void* data = desc.data;  // the client's address
      if (!code) static_cast<media::Picture&>(desc) = picture;
      desc.data = data;
      desc.ret_code = static_cast<uint32_t>(code);
    });
  }
};

template <class Body>
void tell_failure(const Target& target, Body body) {
  try {
    body();
  } catch (const Error& e) {
    target.tell(e.code());
    throw;
  }
}

/// What a client asks of a picture's head; null: it does not.
template <class Info>
void tell(const Info& info, uint32_t* width, uint32_t* height, int32_t* components) {
  if (width) *width = info.width;
  if (height) *height = info.height;
  if (components) *components = info.components;
}

}  // namespace

extern "C" {

UPDRAFT_API aclError acldvppJpegGetImageInfo(const void* data, uint32_t size, uint32_t* width, uint32_t* height,
                                             int32_t* components) {
  return guard("acldvppJpegGetImageInfo",
               [&] { tell(media::jpeg_info(file_of(data, size)), width, height, components); });
}
UPDRAFT_API aclError acldvppJpegPredictDecSize(const void* data, uint32_t size, acldvppPixelFormat format,
                                               uint32_t* decoded) {
  return guard("acldvppJpegPredictDecSize", [&] {
    need(decoded, "decSize");
    const media::JpegInfo info = media::jpeg_info(file_of(data, size));
    const int32_t wanted = format == PIXEL_FORMAT_UNKNOWN ? own_format(info) : static_cast<int32_t>(format);
    *decoded = static_cast<uint32_t>(decoded_size(decoded_format(wanted), info.width, info.height));
  });
}
UPDRAFT_API aclError acldvppJpegDecodeAsync(acldvppChannelDesc* channel, const void* data, uint32_t size,
                                            acldvppPicDesc* to, aclrtStream stream) {
  return guard("acldvppJpegDecodeAsync", [&] {
    Target target(to);
    if (target.picture.format != PIXEL_FORMAT_UNKNOWN) decoded_format(target.picture.format);
    checked_memory(data, size, "data");
    const auto file = file_of(data, size);
    const auto matrix = static_cast<media::Matrix>(live_channel(channel).matrix);
    submit_media("acldvppJpegDecodeAsync", channel, stream, int64_t{size} * 8, [target, file, matrix]() mutable {
      tell_failure(target, [&] {
        const media::JpegInfo info = media::jpeg_info(file);
        const media::Planes picture = media::decode_jpeg(file);
        Target at = target;  // a replay decodes another file
        const int32_t format = at.picture.format == PIXEL_FORMAT_UNKNOWN ? own_format(info) : at.picture.format;
        at.fit(info.width, info.height, format);
        pack(media::make(picture, *media::find_format(format), info.width, info.height, media::Interpolation::Bilinear,
                         matrix),
             at.picture, 0, 0);
        at.tell(0);
      });
    });
  });
}

UPDRAFT_API aclError acldvppJpegPredictEncSize(const acldvppPicDesc* from, const acldvppJpegeConfig* config,
                                               uint32_t* size) {
  return guard("acldvppJpegPredictEncSize", [&] {
    need(size, "size");
    const media::Picture picture = media_object(from, "inputDesc");
    media::format_info(picture.format, "inputDesc");
    if (config) media_object(config, "config");
    // three bytes a pixel, and the tables: no file of the encoder is larger
    *size = media::align_up(picture.width, 16) * media::align_up(picture.height, 16) * 3 + 4096;
  });
}
UPDRAFT_API aclError acldvppJpegEncodeAsync(acldvppChannelDesc* channel, acldvppPicDesc* from, const void* data,
                                            uint32_t* size, acldvppJpegeConfig* config, aclrtStream stream) {
  return guard("acldvppJpegEncodeAsync", [&] {
    need(size, "size");
    const media::Picture picture = checked_picture(from, "inputDesc");
    const media::FormatInfo& info = *media::find_format(picture.format);
    if (info.family != media::Family::Yuv || (info.columns == 1 && !info.pairs))
      throw Error(code::kAclInvalidParam, "inputDesc is {}: a JPEG is made of YUV 4:2:0, 4:2:2 or 4:4:4", info.name);
    const uint32_t room = *size;
    auto* to = static_cast<uint8_t*>(checked_memory(data, room, "data"));
    const auto quality = static_cast<int>(config ? media_object(config, "config").level : 100);
    submit_media(
        "acldvppJpegEncodeAsync", channel, stream, int64_t{picture.width} * picture.height,
        [picture, to, size, room, quality] {
          const auto file = media::encode_jpeg(unpack(picture, {0, 0, picture.width, picture.height}), quality);
          if (file.size() > room)
            throw Error(code::kAclInvalidParam,
                        "the JPEG has {} bytes, its room {}: acldvppJpegPredictEncSize says what it may need",
                        file.size(), room);
          std::memcpy(to, file.data(), file.size());
          *size = static_cast<uint32_t>(file.size());
        });
  });
}

UPDRAFT_API aclError acldvppPngGetImageInfo(const void* data, uint32_t size, uint32_t* width, uint32_t* height,
                                            int32_t* components) {
  return guard("acldvppPngGetImageInfo",
               [&] { tell(media::png_info(file_of(data, size)), width, height, components); });
}
UPDRAFT_API aclError acldvppPngPredictDecSize(const void* data, uint32_t size, acldvppPixelFormat format,
                                              uint32_t* decoded) {
  return guard("acldvppPngPredictDecSize", [&] {
    need(decoded, "decSize");
    const media::PngInfo info = media::png_info(file_of(data, size));
    const bool alpha = format == PIXEL_FORMAT_UNKNOWN ? info.components % 2 == 0 : format == PIXEL_FORMAT_RGBA_8888;
    if (!alpha && format != PIXEL_FORMAT_RGB_888 && format != PIXEL_FORMAT_UNKNOWN)
      throw Error(code::kAclInvalidParam, "a PNG is decoded into RGB_888 (12) or RGBA_8888 (16), not into format {}",
                  static_cast<int>(format));
    *decoded = static_cast<uint32_t>(decoded_size(*media::find_format(alpha ? 16 : 12), info.width, info.height));
  });
}
UPDRAFT_API aclError acldvppPngDecodeAsync(acldvppChannelDesc* channel, const void* data, uint32_t size,
                                           acldvppPicDesc* to, aclrtStream stream) {
  return guard("acldvppPngDecodeAsync", [&] {
    Target target(to);
    const int32_t wanted = target.picture.format;
    if (wanted != PIXEL_FORMAT_RGB_888 && wanted != PIXEL_FORMAT_RGBA_8888 && wanted != PIXEL_FORMAT_UNKNOWN)
      throw Error(code::kAclInvalidParam, "a PNG is decoded into RGB_888 (12) or RGBA_8888 (16), not into format {}",
                  wanted);
    checked_memory(data, size, "data");
    const auto file = file_of(data, size);
    submit_media("acldvppPngDecodeAsync", channel, stream, int64_t{size} * 8, [target, file, wanted]() mutable {
      tell_failure(target, [&] {
        media::PngInfo info = media::png_info(file);
        const bool alpha = wanted == PIXEL_FORMAT_UNKNOWN ? info.components % 2 == 0 : wanted == PIXEL_FORMAT_RGBA_8888;
        const auto pixels = media::decode_png(file, alpha, info);
        Target at = target;
        at.fit(info.width, info.height, alpha ? PIXEL_FORMAT_RGBA_8888 : PIXEL_FORMAT_RGB_888);
        const size_t row = size_t{info.width} * (alpha ? 4 : 3);
        for (size_t y = 0; y < info.height; ++y)
          std::memcpy(static_cast<uint8_t*>(at.picture.data) + y * at.picture.width_stride, pixels.data() + y * row,
                      row);
        at.tell(0);
      });
    });
  });
}

}  // extern "C"
