// Pages of files that Bytes::of_file() has mapped.
#pragma once
#include <cstddef>

namespace updraft::graph {

/// The bytes were read and are not wanted soon: pages of a mapped file that lie wholly in them count no longer as
/// memory of the process, and are read again from the file where somebody wants them. Nothing for other memory.
void drop_file_pages(const void* data, size_t size);

/// The bytes of a mapped file will be read soon, all of them. Nothing for other memory.
void want_file_pages(const void* data, size_t size);

/// True for bytes of a mapped file.
bool in_mapped_file(const void* data, size_t size);

/// Throws 100003 where a mapped file that the address lies in was written since it was mapped: its bytes are no longer
/// those that were there. A file that another one has replaced is as it was.
void require_unwritten(const void* data);

}  // namespace updraft::graph
