// Which device memory the host wrote last. Tensors of a format of the product's own (FRACTAL_NZ, NC1HWC0, …) lie in
// row-major order here, because what converts them is ours: bytes that the host laid out in such a format are something
// else. Kept only while Config::card_rules() holds, for those who ask whether a tensor may be read.
#pragma once
#include <cstddef>

namespace updraft {

/// A copy from the host to [p, p + bytes).
void note_host_write(const void* p, size_t bytes);
/// A copy within devices: what the target holds came from where the source's came.
void note_device_copy(const void* to, const void* from, size_t bytes);
/// An operator or a fill wrote there.
void note_device_write(const void* p, size_t bytes);
/// True when some of the bytes were last written by the host.
bool laid_out_by_host(const void* p, size_t bytes);

}  // namespace updraft
