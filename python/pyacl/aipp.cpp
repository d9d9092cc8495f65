// acl.mdl: preparing images on the device (AIPP).
#include "binding.h"

namespace pyacl {
namespace {

constexpr Row kRows[] = {
    CALL("create_aipp", aclmdlCreateAIPP, "batch_size -> aipp"),
    CALL("destroy_aipp", aclmdlDestroyAIPP, "aipp"),
    CALL("get_aipp_data_size", aclmdlGetAippDataSize, "batch_size -> size"),
    CALL("get_aipp_type", aclmdlGetAippType, "model_id, index -> type, dynamic_index"),
    CALL("get_first_aipp_info", aclmdlGetFirstAippInfo, "model_id, index -> info"),
    WAIT("set_input_aipp", aclmdlSetInputAIPP, "model_id, dataset, index, aipp"),
    WAIT("set_aipp_by_input_index", aclmdlSetAIPPByInputIndex, "model_id, dataset, index, aipp"),
    CALL("set_aipp_input_format", aclmdlSetAIPPInputFormat, "aipp, input_format"),
    CALL("set_aipp_src_image_size", aclmdlSetAIPPSrcImageSize, "aipp, width, height"),
    CALL("set_aipp_csc_params", aclmdlSetAIPPCscParams,
         "aipp, csc_switch, r0c0, r0c1, r0c2, r1c0, r1c1, r1c2, r2c0, r2c1, r2c2, out_bias_0, out_bias_1, out_bias_2, "
         "in_bias_0, in_bias_1, in_bias_2"),
    CALL("set_aipp_rbuv_swap_switch", aclmdlSetAIPPRbuvSwapSwitch, "aipp, rbuv_swap_switch"),
    CALL("set_aipp_ax_swap_switch", aclmdlSetAIPPAxSwapSwitch, "aipp, ax_swap_switch"),
    CALL("set_aipp_crop_params", aclmdlSetAIPPCropParams,
         "aipp, crop_switch, start_w, start_h, width, height, batch_index"),
    CALL("set_aipp_scf_params", aclmdlSetAIPPScfParams,
         "aipp, resize_switch, input_w, input_h, output_w, output_h, batch_index"),
    CALL("set_aipp_padding_params", aclmdlSetAIPPPaddingParams,
         "aipp, padding_switch, top, bottom, left, right, batch_index"),
    CALL("set_aipp_dtc_pixel_mean", aclmdlSetAIPPDtcPixelMean, "aipp, mean_0, mean_1, mean_2, mean_3, batch_index"),
    CALL("set_aipp_dtc_pixel_min", aclmdlSetAIPPDtcPixelMin, "aipp, min_0, min_1, min_2, min_3, batch_index"),
    CALL("set_aipp_pixel_var_reci", aclmdlSetAIPPPixelVarReci, "aipp, reci_0, reci_1, reci_2, reci_3, batch_index"),
};

}  // namespace
const Table kAipp{"mdl", kRows};
}  // namespace pyacl
