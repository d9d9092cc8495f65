#include "media/png.h"

#include <png.h>

#include <csetjmp>
#include <cstring>

#include "base/error.h"

namespace updraft::media {
namespace {

constexpr uint32_t kLargest = 8192;
constexpr size_t kSignature = 8;

/// libpng reports by a call that must not return: it jumps back to where the library was entered, over frames of C
/// alone.
struct Reader {
  std::span<const uint8_t> file;
  size_t at = 0;
  png_structp state = nullptr;
  png_infop info = nullptr;
  jmp_buf back;
  char text[256] = "";

  explicit Reader(std::span<const uint8_t> of) : file(of) {
    if (file.size() < kSignature || png_sig_cmp(file.data(), 0, kSignature) != 0)
      throw Error(code::kAclInvalidParam, "the {} bytes are no PNG: they do not begin with its signature", file.size());
    state = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &failed, [](png_structp, png_const_charp) {});
    if (state) info = png_create_info_struct(state);
    if (!info) {
      png_destroy_read_struct(&state, nullptr, nullptr);
      throw Error(code::kAclBadAlloc, "no memory to decode a PNG of {} bytes", file.size());
    }
  }
  ~Reader() { png_destroy_read_struct(&state, &info, nullptr); }
  Reader(const Reader&) = delete;

  [[noreturn]] static void failed(png_structp of, png_const_charp text) {
    auto* reader = static_cast<Reader*>(png_get_error_ptr(of));
    std::strncpy(reader->text, text, sizeof reader->text - 1);
    longjmp(reader->back, 1);
  }
  static void read(png_structp of, png_bytep to, size_t n) {
    auto* reader = static_cast<Reader*>(png_get_io_ptr(of));
    if (n > reader->file.size() - reader->at) png_error(of, "the file ends too early");
    std::memcpy(to, reader->file.data() + reader->at, n);
    reader->at += n;
  }
  [[noreturn]] void refuse() const {
    throw Error(code::kAclInvalidParam, "the PNG of {} bytes cannot be decoded: {}", file.size(), text);
  }

  void read_header() {
    if (setjmp(back)) refuse();
    png_set_read_fn(state, this, &read);
    png_set_user_limits(state, kLargest, kLargest);
    png_set_chunk_malloc_max(state, 8 << 20);
    png_read_info(state, info);
  }
  /// Returns the bytes of a row.
  size_t start(bool alpha) {
    if (setjmp(back)) refuse();
    png_set_expand(state);
    png_set_strip_16(state);
    png_set_gray_to_rgb(state);
    if (alpha) png_set_add_alpha(state, 255, PNG_FILLER_AFTER);
    else png_set_strip_alpha(state);
    png_set_interlace_handling(state);
    png_read_update_info(state, info);
    return png_get_rowbytes(state, info);
  }
  void read_all(png_bytep* rows) {
    if (setjmp(back)) refuse();
    png_read_image(state, rows);
    png_read_end(state, nullptr);
  }
  PngInfo described() const {
    PngInfo made{png_get_image_width(state, info), png_get_image_height(state, info), png_get_channels(state, info)};
    if (png_get_color_type(state, info) == PNG_COLOR_TYPE_PALETTE) made.components = 3;
    return made;
  }
};

}  // namespace

PngInfo png_info(std::span<const uint8_t> file) {
  Reader reader(file);
  reader.read_header();
  return reader.described();
}

std::vector<uint8_t> decode_png(std::span<const uint8_t> file, bool alpha, PngInfo& info) {
  Reader reader(file);
  reader.read_header();
  info = reader.described();
  const size_t row = reader.start(alpha), wanted = size_t{info.width} * (alpha ? 4 : 3);
  if (row != wanted) throw Error(code::kAclInternal, "libpng gives rows of {} bytes, want {}", row, wanted);
  std::vector<uint8_t> pixels(row * info.height);
  std::vector<png_bytep> rows(info.height);
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = pixels.data() + y * row;
  reader.read_all(rows.data());
  return pixels;
}

}  // namespace updraft::media
