#include "media/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/error.h"
// after <cstdio>: it wants FILE
#include <jpeglib.h>

// after it: its numbers depend on how the library was built
#include <jerror.h>

namespace updraft::media {
namespace {

constexpr uint32_t kLargest = 8192;
// A file of a few KB can ask for thousands of passes over the whole picture.
constexpr int kScans = 500;

/// libjpeg reports by a call that must not return: it jumps back to where the library was entered, over frames of C
/// alone.
struct Failure {
  jpeg_error_mgr manager;
  jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail(j_common_ptr about) {
  auto* failure = reinterpret_cast<Failure*>(about->err);
  about->err->format_message(about, failure->text);
  longjmp(failure->back, 1);
}

/// Data that is not there or is no code is filled in with grey by libjpeg: for us it is a failure. Bytes too many
/// between markers, as cameras leave them, are not.
void message(j_common_ptr about, int level) {
  const int number = about->err->msg_code;
  if (level < 0 && (number == JWRN_JPEG_EOF || number == JWRN_HIT_MARKER || number == JWRN_HUFF_BAD_CODE ||
                    number == JWRN_ARITH_BAD_CODE || number == JWRN_MUST_RESYNC || number == JWRN_BOGUS_PROGRESSION))
    fail(about);
}

void scan_limit(j_common_ptr about) {
  auto* decoder = reinterpret_cast<j_decompress_ptr>(about);
  if (decoder->input_scan_number <= kScans) return;
  auto* failure = reinterpret_cast<Failure*>(about->err);
  std::snprintf(failure->text, sizeof failure->text, "it has more than %d scans", kScans);
  longjmp(failure->back, 1);
}

jpeg_error_mgr* set_up(Failure& failure) {
  jpeg_std_error(&failure.manager);
  failure.manager.error_exit = fail;
  failure.manager.emit_message = message;
  failure.manager.output_message = [](j_common_ptr) {};
  failure.text[0] = 0;
  return &failure.manager;
}

/// A decoder and what it writes to. Only this lives across jumps; its vectors are made between entries of libjpeg.
struct Decoder {
  jpeg_decompress_struct state{};
  Failure failure{};
  jpeg_progress_mgr progress{};
  std::span<const uint8_t> file;
  bool made = false;

  explicit Decoder(std::span<const uint8_t> of) : file(of) { state.err = set_up(failure); }
  ~Decoder() {
    if (made) jpeg_destroy_decompress(&state);
  }
  Decoder(const Decoder&) = delete;

  [[noreturn]] void refuse() const {
    throw Error(kUnsupportedJpeg, "the JPEG of {} bytes cannot be decoded: {}", file.size(), failure.text);
  }

  /// Each of these enters libjpeg once.
  void read_header() {
    if (setjmp(failure.back)) refuse();
    jpeg_create_decompress(&state);
    made = true;
    progress.progress_monitor = scan_limit;
    state.progress = &progress;
    jpeg_mem_src(&state, file.data(), file.size());
    jpeg_read_header(&state, TRUE);
    if (state.image_width > kLargest || state.image_height > kLargest) {
      std::snprintf(failure.text, sizeof failure.text, "it has %u columns and %u rows, %u are the most",
                    state.image_width, state.image_height, kLargest);
      refuse();
    }
  }
  void start() {
    if (setjmp(failure.back)) refuse();
    jpeg_start_decompress(&state);
  }
  void read_rows(uint8_t* to, size_t stride) {
    if (setjmp(failure.back)) refuse();
    while (state.output_scanline < state.output_height) {
      JSAMPROW row = to + state.output_scanline * stride;
      jpeg_read_scanlines(&state, &row, 1);
    }
  }
  void read_raw(JSAMPROW* const (&rows)[3], const int (&steps)[3]) {
    if (setjmp(failure.back)) refuse();
    const auto lines = static_cast<JDIMENSION>(state.max_v_samp_factor * state.min_DCT_scaled_size);
    while (state.output_scanline < state.output_height) {
      const JDIMENSION at = state.output_scanline / lines;
      JSAMPARRAY all[3] = {rows[0] + at * static_cast<JDIMENSION>(steps[0]),
                           rows[1] ? rows[1] + at * static_cast<JDIMENSION>(steps[1]) : nullptr,
                           rows[2] ? rows[2] + at * static_cast<JDIMENSION>(steps[2]) : nullptr};
      jpeg_read_raw_data(&state, all, lines);
    }
  }
};

Planes decode_rgb(Decoder& decoder) {
  auto& state = decoder.state;
  state.out_color_space = JCS_RGB;
  decoder.start();
  const size_t stride = size_t{3} * state.output_width;
  std::vector<uint8_t> pixels(stride * state.output_height);
  decoder.read_rows(pixels.data(), stride);
  Picture picture;
  picture.data = pixels.data();
  picture.format = static_cast<int32_t>(PixelFormat::Rgb888);
  picture.width_stride = static_cast<uint32_t>(stride);
  picture.height_stride = state.output_height;
  return unpack(picture, {0, 0, state.output_width, state.output_height});
}

/// A plane with room for whole blocks, and its rows as libjpeg wants them: those that no block has are the last one.
struct Blocks {
  std::vector<uint8_t> bytes;
  std::vector<JSAMPROW> rows;
  size_t width;

  Blocks(size_t columns, size_t lines) : bytes(columns * lines), rows(lines), width(columns) {
    for (size_t y = 0; y < lines; ++y) rows[y] = bytes.data() + y * columns;
  }
};

}  // namespace

JpegInfo jpeg_info(std::span<const uint8_t> file) {
  Decoder decoder(file);
  decoder.read_header();
  const auto& state = decoder.state;
  JpegInfo info{state.image_width, state.image_height, state.num_components};
  int most_h = 1, most_v = 1;
  for (int c = 0; c < state.num_components; ++c) {
    most_h = std::max(most_h, state.comp_info[c].h_samp_factor);
    most_v = std::max(most_v, state.comp_info[c].v_samp_factor);
  }
  if (state.num_components == 3) {
    info.columns = static_cast<uint32_t>(most_h / std::max(1, state.comp_info[1].h_samp_factor));
    info.rows = static_cast<uint32_t>(most_v / std::max(1, state.comp_info[1].v_samp_factor));
  }
  return info;
}

Planes decode_jpeg(std::span<const uint8_t> file) {
  Decoder decoder(file);
  decoder.read_header();
  auto& state = decoder.state;
  if (state.jpeg_color_space == JCS_RGB) return decode_rgb(decoder);
  if (state.jpeg_color_space != JCS_YCbCr && state.jpeg_color_space != JCS_GRAYSCALE)
    throw Error(kUnsupportedJpeg, "the JPEG has {} components of colour space {}: want grey, YCbCr or RGB",
                state.num_components, static_cast<int>(state.jpeg_color_space));
  if (state.comp_info[0].h_samp_factor != state.max_h_samp_factor ||
      state.comp_info[0].v_samp_factor != state.max_v_samp_factor)
    throw Error(kUnsupportedJpeg, "the JPEG has its Y at {} x {} samples and other components at up to {} x {}",
                state.comp_info[0].h_samp_factor, state.comp_info[0].v_samp_factor, state.max_h_samp_factor,
                state.max_v_samp_factor);
  state.raw_data_out = TRUE;
  state.out_color_space = state.jpeg_color_space;
  decoder.start();
  const size_t count = state.num_components == 1 ? 1 : 3;
  Planes made{count == 1 ? Family::Grey : Family::Yuv, {}};
  const size_t units = (state.image_height + static_cast<unsigned>(state.max_v_samp_factor) * 8U - 1) /
                       (static_cast<unsigned>(state.max_v_samp_factor) * 8U);
  std::vector<Blocks> blocks;
  JSAMPROW* rows[3] = {};
  int steps[3] = {};
  for (size_t c = 0; c < count; ++c) {
    const jpeg_component_info& component = state.comp_info[c];
    steps[c] = component.v_samp_factor * component.DCT_scaled_size;
    blocks.emplace_back(size_t{component.width_in_blocks} * 8, units * static_cast<size_t>(steps[c]));
    rows[c] = blocks[c].rows.data();
  }
  decoder.read_raw(rows, steps);
  for (size_t c = 0; c < count; ++c) {
    const jpeg_component_info& component = state.comp_info[c];
    Plane& plane = made.plane[c] = Plane(component.downsampled_width, component.downsampled_height);
    for (int64_t y = 0; y < plane.height; ++y)
      std::copy_n(blocks[c].bytes.data() + static_cast<size_t>(y) * blocks[c].width, plane.width, plane.row(y));
  }
  return made;
}

namespace {

struct Encoder {
  jpeg_compress_struct state{};
  Failure failure{};
  unsigned char* file = nullptr;
  unsigned long size = 0;
  bool made = false;

  Encoder() { state.err = set_up(failure); }
  ~Encoder() {
    if (made) jpeg_destroy_compress(&state);
    std::free(file);
  }
  Encoder(const Encoder&) = delete;

  void write(const Planes& picture, int quality, JSAMPROW* const (&rows)[3], const int (&factors)[3][2]) {
    if (setjmp(failure.back)) throw Error(code::kAclInternal, "libjpeg cannot encode the picture: {}", failure.text);
    jpeg_create_compress(&state);
    made = true;
    jpeg_mem_dest(&state, &file, &size);
    state.image_width = static_cast<JDIMENSION>(picture.plane[0].width);
    state.image_height = static_cast<JDIMENSION>(picture.plane[0].height);
    state.input_components = static_cast<int>(picture.count());
    state.in_color_space = picture.count() == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
    jpeg_set_defaults(&state);
    jpeg_set_quality(&state, quality, TRUE);
    state.raw_data_in = TRUE;
    for (int c = 0; c < state.num_components; ++c) {
      state.comp_info[c].h_samp_factor = factors[c][0];
      state.comp_info[c].v_samp_factor = factors[c][1];
    }
    jpeg_start_compress(&state, TRUE);
    const auto lines = static_cast<JDIMENSION>(state.max_v_samp_factor * DCTSIZE);
    while (state.next_scanline < state.image_height) {
      const JDIMENSION at = state.next_scanline / lines;
      JSAMPARRAY all[3] = {};
      for (int c = 0; c < state.num_components; ++c)
        all[c] = rows[c] + at * static_cast<JDIMENSION>(factors[c][1] * DCTSIZE);
      jpeg_write_raw_data(&state, all, lines);
    }
    jpeg_finish_compress(&state);
  }
};

}  // namespace

std::vector<uint8_t> encode_jpeg(const Planes& picture, int quality) {
  int factors[3][2] = {{1, 1}, {1, 1}, {1, 1}};
  if (picture.count() == 3) {
    factors[0][0] = picture.plane[1].width < picture.plane[0].width ? 2 : 1;
    factors[0][1] = picture.plane[1].height < picture.plane[0].height ? 2 : 1;
  }
  // whole blocks: the last column and row again, so that the edge gets no other colour
  std::vector<Blocks> blocks;
  JSAMPROW* rows[3] = {};
  const int64_t wide = factors[0][0] * 8, high = factors[0][1] * 8;
  const int64_t across = (picture.plane[0].width + wide - 1) / wide, down = (picture.plane[0].height + high - 1) / high;
  for (size_t c = 0; c < picture.count(); ++c) {
    const Plane& plane = picture.plane[c];
    Blocks& made = blocks.emplace_back(static_cast<size_t>(across * factors[c][0] * 8),
                                       static_cast<size_t>(down * factors[c][1] * 8));
    for (size_t y = 0; y < made.rows.size(); ++y) {
      const uint8_t* from = plane.row(std::min(static_cast<int64_t>(y), plane.height - 1));
      std::copy_n(from, plane.width, made.rows[y]);
      std::fill(made.rows[y] + plane.width, made.rows[y] + made.width, from[plane.width - 1]);
    }
  }
  for (size_t c = 0; c < blocks.size(); ++c) rows[c] = blocks[c].rows.data();
  Encoder encoder;
  encoder.write(picture, quality, rows, factors);
  return {encoder.file, encoder.file + encoder.size};
}

}  // namespace updraft::media
