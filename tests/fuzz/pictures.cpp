// JPEG and PNG files: the input is the file. What is refused is refused with the code of its format; what is decoded
// has the size that its header says.
#include "base/error.h"
#include "input.h"
#include "media/jpeg.h"
#include "media/png.h"

using namespace updraft;

namespace {

constexpr uint64_t kMostPixels = 1 << 20;  // larger ones take long and show nothing else

template <class Body>
void refused_with(int code, Body body) {
  try {
    body();
  } catch (const Error& e) {
    if (e.code() != code) fuzz::wrong(e.what(), e.code());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span file(data, size);
  refused_with(media::kUnsupportedJpeg, [&] {
    const media::JpegInfo info = media::jpeg_info(file);
    if (uint64_t{info.width} * info.height > kMostPixels) return;
    const media::Planes picture = media::decode_jpeg(file);
    if (picture.plane[0].width != info.width || picture.plane[0].height != info.height)
      fuzz::wrong("width", picture.plane[0].width);
  });
  refused_with(code::kAclInvalidParam, [&] {
    media::PngInfo info = media::png_info(file);
    if (uint64_t{info.width} * info.height > kMostPixels) return;
    const auto pixels = media::decode_png(file, true, info);
    if (pixels.size() != size_t{4} * info.width * info.height)
      fuzz::wrong("bytes", static_cast<int64_t>(pixels.size()));
  });
  return 0;
}
