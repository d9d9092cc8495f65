// Memory formats of tensors. Operators here read and write the elements of a tensor in the order of its view.
#pragma once
#include <span>
#include <string_view>

#include "ops/handles.h"

namespace updraft {

/// Throws where that order is not what the tensor's format means: formats with the channel last (NHWC, NDHWC, HWCN) for
/// operators that take images apart (operators_of_images()); and, where the
/// rules of the card hold, a format of the product's own (FRACTAL_NZ, NC1HWC0, …) whose bytes the host laid out.
/// Without these rules such tensors are taken to be converted by us, which leaves them in the order of the view.
void check_format(const OpInfo& info, const char* name, const aclTensor& tensor, bool output);

/// Operators that divide the dimensions of images: convolution, pooling, resizing, padding of images, batch and group
/// normalisation, and their gradients. In the order of their names.
std::span<const std::string_view> operators_of_images();

/// The name of an aclFormat, or its number.
std::string format_name(int32_t format);
/// Why such bytes are refused.
constexpr const char* kHostLaidOut =
    "the host wrote its bytes: operators here know no such layout, want ND (row-major), or a tensor that the device "
    "converted";
/// True for a layout of the product's own (NC1HWC0, FRACTAL_NZ, …): no client stores tensors so by itself.
bool is_product_format(int32_t format);
/// True where such a layout puts the elements of a tensor in another order than theirs. Vectors keep it in all of them.
bool reorders(int32_t format, std::span<const int64_t> dims);
/// The order of an image's dimensions that a format names ("NHWC"); null where it names none.
const char* layout_of(int32_t format);

}  // namespace updraft
