// Pages of files that Bytes::of_file() has mapped.
#pragma once
#include <cstddef>

namespace updraft::graph {

/// The bytes were read and are not wanted soon: pages of a mapped file that lie wholly in them count no longer as
/// memory of the process, and are read again from the file where somebody wants them. Nothing for other memory.
void drop_file_pages(const void* data, size_t size);

}  // namespace updraft::graph
