// AIPP: what is done to images of bytes before a model reads them (kernels/aipp.h).
#include "kernels/aipp.h"

#include <string_view>

#include "device/device.h"
#include "device/memory.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using aipp::Settings;
using aipp::Size;

struct Shape {
  int64_t images, channels;
  Size size;
  bool channels_last;
};

/// What the model reads. Dynamic AIPP: the images have that shape already, their memory has max_src_image_size bytes.
/// Static AIPP: `size` (height and width), or the sizes of the images where it is left out.
Shape shape_of(const Op& op, const TensorView& images, bool dynamic, std::string_view source, const Ints& size,
               std::string_view data_format) {
  op.require(data_format == "NCHW" || data_format == "NHWC", "attribute data_format is \"{}\", want NCHW or NHWC",
             data_format);
  op.require(images.rank == 4 && images.dtype == DType::UInt8, "images is {}, want four dimensions of UINT8",
             describe(images));
  const bool last = data_format == "NHWC";
  const int64_t* d = images.dims;
  if (dynamic) return {d[0], d[last ? 3 : 1], {d[last ? 1 : 2], d[last ? 2 : 3]}, last};
  const bool planes = source == "YUV420SP_U8";
  op.require(!planes || d[1] % 3 == 0, "images is {}, want one and a half times an even number of rows",
             describe(images));
  op.require(size.size() == 0 || size.size() == 2, "attribute size has {} values, want height and width", size.size());
  const Size own{planes ? d[1] / 3 * 2 : d[1], d[2]};
  return {d[0], source == "YUV400_U8" ? 1 : 3, size.size() ? Size{size[0], size[1]} : own, last};
}

/// Throws where the memory behind the images has not so many bytes.
void require_room(const Op& op, const In& images, int64_t bytes) {
  const void* begin = images.handle->storage;
  Device* const owner = begin ? Device::owner(begin) : nullptr;
  op.require(!owner || owner->memory().covers(begin, static_cast<const std::byte*>(begin) + bytes),
             "images is at {}, want {} bytes (max_src_image_size) in one allocation", begin, bytes);
}

}  // namespace

ABOUT(Aipp, Vector, "Images of bytes as a model reads them: cut out, converted, resized, scaled, padded",
      "字节图像的预处理：抠图、色域转换、缩放、减均值乘系数、补边")
IR_OP(Aipp, Aipp, (In, images), (OptIn, params), (Out, features), (Text, aipp_config_path, "./aipp.cfg"),
      (Text, aipp_mode, "static"), (Text, input_format, "RGB888_U8"), (Ints, size, nullptr),
      (Text, data_format, "NCHW"), (Int, max_src_image_size, 0)) {
  ir::want(op, "aipp_config_path", aipp_config_path, "./aipp.cfg");  // atc reads the file, into params
  op.require(params && params->dtype == DType::UInt8 && params->rank == 1 && params->is_contiguous(),
             "params is {}, want the bytes that atc's insert_op_conf or aclmdlSetInputAIPP makes",
             params ? std::string(describe(*params).text()) : "absent");
  const bool dynamic = aipp_mode == std::string_view("dynamic");
  op.require(dynamic || aipp_mode == std::string_view("static"),
             "attribute aipp_mode is \"{}\", want static or dynamic", aipp_mode);
  const Shape shape = shape_of(op, *images, dynamic, input_format, size, data_format);
  const auto [n, c, hw, last] = shape;
  const int64_t dims[] = {n, last ? hw.height : c, last ? hw.width : hw.height, last ? c : hw.width};
  op.result("features", *features, dims, 4, DType::Float);
  op.require(features->dtype == DType::Float && features->is_contiguous() && images->is_contiguous(),
             "images is {} and features {}, want both contiguous, and features of FLOAT", describe(*images),
             describe(*features));
  if (dynamic && !op.inferring()) require_room(op, images, max_src_image_size);
  op.work(features->numel() * 16);
  op.launch([shape, images = *images, params = *params, to = features->as<float>(), dynamic,
             most = static_cast<int64_t>(max_src_image_size)] {
    try {
      Settings settings = Settings::read({params.as<std::byte>(), params.bytes()});
      if (!settings.common.height) settings.common.height = static_cast<int32_t>(shape.size.height);
      if (!settings.common.width) settings.common.width = static_cast<int32_t>(shape.size.width);
      settings.check(shape.images, shape.channels, shape.size);
      const int64_t bytes = shape.images * settings.common.bytes(), room = dynamic ? most : images.numel();
      if (bytes > room)
        throw Error(code::kAclInvalidParam, "{} images of {} with {} rows and {} columns take {} bytes, there are {}",
                    shape.images, aipp::name_of(settings.common.source), settings.common.height, settings.common.width,
                    bytes, room);
      aipp::run(settings, images.as<uint8_t>(), shape.images, shape.channels_last, to);
    } catch (const Error& e) { fail_kernel(e.text()); }
  });
}

}  // namespace updraft
