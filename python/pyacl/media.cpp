// acl.media: pictures (DVPP).
#include "acl/ops/acl_dvpp.h"

#include "binding.h"

namespace pyacl {
namespace {

/// The size is an address: it is room before the call and the file's size when the stream is done.
aclError encode(acldvppChannelDesc* channel, acldvppPicDesc* from, const void* data, void* size,
                acldvppJpegeConfig* config, aclrtStream stream) {
  return acldvppJpegEncodeAsync(channel, from, data, static_cast<uint32_t*>(size), config, stream);
}

using Areas = List<acldvppRoiConfig*>;

/// C reads as many numbers as `size` says, and as many areas as they sum up to.
bool fits(const List<uint32_t>& counts, uint32_t size, const Areas& areas) {
  uint64_t wanted = 0;
  for (size_t i = 0; i < size && i < counts.values.size(); ++i) wanted += counts.values[i];
  if (size <= counts.values.size() && wanted <= areas.values.size()) return true;
  PyErr_SetString(
      PyExc_ValueError,
      "acl.media: want a number in roi_nums for each of size pictures, and as many areas as they sum up to");
  return false;
}
aclError batch_crop(acldvppChannelDesc* channel, acldvppBatchPicDesc* from, List<uint32_t>& counts, uint32_t size,
                    acldvppBatchPicDesc* to, Areas& crops, aclrtStream stream) {
  if (!fits(counts, size, crops)) return ACL_ERROR_INVALID_PARAM;
  return acldvppVpcBatchCropAsync(channel, from, counts.data(), size, to, crops.data(), stream);
}
aclError batch_crop_resize(acldvppChannelDesc* channel, acldvppBatchPicDesc* from, List<uint32_t>& counts,
                           uint32_t size, acldvppBatchPicDesc* to, Areas& crops, acldvppResizeConfig* resize,
                           aclrtStream stream) {
  if (!fits(counts, size, crops)) return ACL_ERROR_INVALID_PARAM;
  return acldvppVpcBatchCropResizeAsync(channel, from, counts.data(), size, to, crops.data(), resize, stream);
}
aclError batch_crop_and_paste(acldvppChannelDesc* channel, acldvppBatchPicDesc* from, List<uint32_t>& counts,
                              uint32_t size, acldvppBatchPicDesc* to, Areas& crops, Areas& pastes, aclrtStream stream) {
  if (!fits(counts, size, crops) || !fits(counts, size, pastes)) return ACL_ERROR_INVALID_PARAM;
  return acldvppVpcBatchCropAndPasteAsync(channel, from, counts.data(), size, to, crops.data(), pastes.data(), stream);
}

constexpr Row kRows[] = {
    WAIT("dvpp_malloc", acldvppMalloc, "size -> dev_ptr"),
    WAIT("dvpp_free", acldvppFree, "dev_ptr"),
    CALL("dvpp_create_pic_desc", acldvppCreatePicDesc, "-> handle"),
    CALL("dvpp_destroy_pic_desc", acldvppDestroyPicDesc, "pic_desc"),
    CALL("dvpp_set_pic_desc_data", acldvppSetPicDescData, "pic_desc, data_dev"),
    CALL("dvpp_get_pic_desc_data", acldvppGetPicDescData, "pic_desc -> handle"),
    CALL("dvpp_set_pic_desc_size", acldvppSetPicDescSize, "pic_desc, size"),
    CALL("dvpp_get_pic_desc_size", acldvppGetPicDescSize, "pic_desc -> value"),
    CALL("dvpp_set_pic_desc_format", acldvppSetPicDescFormat, "pic_desc, format"),
    CALL("dvpp_get_pic_desc_format", acldvppGetPicDescFormat, "pic_desc -> value"),
    CALL("dvpp_set_pic_desc_width", acldvppSetPicDescWidth, "pic_desc, width"),
    CALL("dvpp_get_pic_desc_width", acldvppGetPicDescWidth, "pic_desc -> value"),
    CALL("dvpp_set_pic_desc_height", acldvppSetPicDescHeight, "pic_desc, height"),
    CALL("dvpp_get_pic_desc_height", acldvppGetPicDescHeight, "pic_desc -> value"),
    CALL("dvpp_set_pic_desc_width_stride", acldvppSetPicDescWidthStride, "pic_desc, width_stride"),
    CALL("dvpp_get_pic_desc_width_stride", acldvppGetPicDescWidthStride, "pic_desc -> value"),
    CALL("dvpp_set_pic_desc_height_stride", acldvppSetPicDescHeightStride, "pic_desc, height_stride"),
    CALL("dvpp_get_pic_desc_height_stride", acldvppGetPicDescHeightStride, "pic_desc -> value"),
    CALL("dvpp_set_pic_desc_ret_code", acldvppSetPicDescRetCode, "pic_desc, ret_code"),
    CALL("dvpp_get_pic_desc_ret_code", acldvppGetPicDescRetCode, "pic_desc -> value"),
    CALL("dvpp_create_batch_pic_desc", acldvppCreateBatchPicDesc, "batch_size -> handle"),
    CALL("dvpp_get_pic_desc", acldvppGetPicDesc, "batch_pic_desc, index -> handle"),
    CALL("dvpp_destroy_batch_pic_desc", acldvppDestroyBatchPicDesc, "batch_pic_desc"),
    CALL("dvpp_create_roi_config", acldvppCreateRoiConfig, "left, right, top, bottom -> handle"),
    CALL("dvpp_destroy_roi_config", acldvppDestroyRoiConfig, "roi_config"),
    CALL("dvpp_set_roi_config_left", acldvppSetRoiConfigLeft, "roi_config, left"),
    CALL("dvpp_set_roi_config_right", acldvppSetRoiConfigRight, "roi_config, right"),
    CALL("dvpp_set_roi_config_top", acldvppSetRoiConfigTop, "roi_config, top"),
    CALL("dvpp_set_roi_config_bottom", acldvppSetRoiConfigBottom, "roi_config, bottom"),
    CALL("dvpp_set_roi_config", acldvppSetRoiConfig, "roi_config, left, right, top, bottom"),
    CALL("dvpp_create_resize_config", acldvppCreateResizeConfig, "-> handle"),
    CALL("dvpp_destroy_resize_config", acldvppDestroyResizeConfig, "resize_config"),
    CALL("dvpp_set_resize_config_interpolation", acldvppSetResizeConfigInterpolation, "resize_config, interpolation"),
    CALL("dvpp_get_resize_config_interpolation", acldvppGetResizeConfigInterpolation, "resize_config -> value"),
    CALL("dvpp_create_jpege_config", acldvppCreateJpegeConfig, "-> handle"),
    CALL("dvpp_destroy_jpege_config", acldvppDestroyJpegeConfig, "jpege_config"),
    CALL("dvpp_set_jpege_config_level", acldvppSetJpegeConfigLevel, "jpege_config, level"),
    CALL("dvpp_get_jpege_config_level", acldvppGetJpegeConfigLevel, "jpege_config -> value"),
    CALL("dvpp_create_channel_desc", acldvppCreateChannelDesc, "-> handle"),
    CALL("dvpp_destroy_channel_desc", acldvppDestroyChannelDesc, "channel_desc"),
    CALL("dvpp_create_channel", acldvppCreateChannel, "channel_desc"),
    CALL("dvpp_destroy_channel", acldvppDestroyChannel, "channel_desc"),
    CALL("dvpp_get_channel_desc_channel_id", acldvppGetChannelDescChannelId, "channel_desc -> value"),
    CALL("dvpp_set_channel_desc_mode", acldvppSetChannelDescMode, "channel_desc, mode"),
    CALL("dvpp_set_channel_desc_matrix", acldvppSetChannelDescMatrix, "channel_desc, matrix"),
    CALL("dvpp_get_channel_desc_matrix", acldvppGetChannelDescMatrix, "channel_desc -> value"),
    CALL("dvpp_create_stream_desc", acldvppCreateStreamDesc, "-> handle"),
    CALL("dvpp_destroy_stream_desc", acldvppDestroyStreamDesc, "stream_desc"),
    CALL("dvpp_set_stream_desc_data", acldvppSetStreamDescData, "stream_desc, data_dev"),
    CALL("dvpp_get_stream_desc_data", acldvppGetStreamDescData, "stream_desc -> handle"),
    CALL("dvpp_set_stream_desc_size", acldvppSetStreamDescSize, "stream_desc, size"),
    CALL("dvpp_get_stream_desc_size", acldvppGetStreamDescSize, "stream_desc -> value"),
    CALL("dvpp_set_stream_desc_timestamp", acldvppSetStreamDescTimestamp, "stream_desc, timestamp"),
    CALL("dvpp_get_stream_desc_timestamp", acldvppGetStreamDescTimestamp, "stream_desc -> value"),
    CALL("dvpp_set_stream_desc_ret_code", acldvppSetStreamDescRetCode, "stream_desc, ret_code"),
    CALL("dvpp_get_stream_desc_ret_code", acldvppGetStreamDescRetCode, "stream_desc -> value"),
    CALL("dvpp_set_stream_desc_eos", acldvppSetStreamDescEos, "stream_desc, eos"),
    CALL("dvpp_get_stream_desc_eos", acldvppGetStreamDescEos, "stream_desc -> value"),
    WAIT("dvpp_vpc_resize_async", acldvppVpcResizeAsync,
         "channel_desc, input_desc, output_desc, resize_config, stream"),
    WAIT("dvpp_vpc_crop_async", acldvppVpcCropAsync, "channel_desc, input_desc, output_desc, crop_area, stream"),
    WAIT("dvpp_vpc_crop_resize_async", acldvppVpcCropResizeAsync,
         "channel_desc, input_desc, output_desc, crop_area, resize_config, stream"),
    WAIT("dvpp_vpc_crop_and_paste_async", acldvppVpcCropAndPasteAsync,
         "channel_desc, input_desc, output_desc, crop_area, paste_area, stream"),
    WAIT("dvpp_vpc_crop_resize_paste_async", acldvppVpcCropResizePasteAsync,
         "channel_desc, input_desc, output_desc, crop_area, paste_area, resize_config, stream"),
    WAIT("dvpp_vpc_convert_color_async", acldvppVpcConvertColorAsync, "channel_desc, input_desc, output_desc, stream"),
    WAIT("dvpp_jpeg_get_image_info", acldvppJpegGetImageInfo, "data, size -> width, height, components"),
    WAIT("dvpp_jpeg_predict_dec_size", acldvppJpegPredictDecSize, "data, data_size, output_pixel_format -> dec_size"),
    WAIT("dvpp_jpeg_predict_enc_size", acldvppJpegPredictEncSize, "input_desc, config -> size"),
    WAIT("dvpp_jpeg_decode_async", acldvppJpegDecodeAsync, "channel_desc, data, size, output_desc, stream"),
    WAIT("dvpp_png_get_image_info", acldvppPngGetImageInfo, "data, data_size -> width, height, components"),
    WAIT("dvpp_png_predict_dec_size", acldvppPngPredictDecSize, "data, data_size, output_pixel_format -> dec_size"),
    WAIT("dvpp_png_decode_async", acldvppPngDecodeAsync, "channel_desc, data, size, output_desc, stream"),
    WAIT_AS("dvpp_jpeg_encode_async", "acldvppJpegEncodeAsync", encode,
            "channel_desc, input_desc, data, size_ptr, config, stream"),
    CALL_AS("dvpp_vpc_batch_crop_async", "acldvppVpcBatchCropAsync", batch_crop,
            "channel_desc, src_batch, roi_nums, size, dst_batch, crop_areas, stream"),
    CALL_AS("dvpp_vpc_batch_crop_resize_async", "acldvppVpcBatchCropResizeAsync", batch_crop_resize,
            "channel_desc, src_batch, roi_nums, size, dst_batch, crop_areas, resize_config, stream"),
    CALL_AS("dvpp_vpc_batch_crop_and_paste_async", "acldvppVpcBatchCropAndPasteAsync", batch_crop_and_paste,
            "channel_desc, src_batch, roi_nums, size, dst_batch, crop_areas, paste_areas, stream"),
};

}  // namespace
const Table kMedia{"media", kRows};
}  // namespace pyacl
