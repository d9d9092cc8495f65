// Dump files and the arrays that comparisons read: the input is the file. What is refused is refused with 100006; what
// is taken is the same again when it is written and read.
#include "observe/dump/dump_file.h"

#include <unistd.h>
#include <cstdio>
#include <fstream>
#include <span>

#include "base/error.h"
#include "input.h"
#include "observe/compare/array.h"
#include "observe/compare/convert.h"
#include "observe/compare/npy.h"

using namespace updraft;

namespace {

void header_round(const uint8_t* data, size_t size) {
  uint64_t at = 0;
  const auto header = dump::read_header(std::as_bytes(std::span(data, size)), size, &at);
  dump::header_to_json(header);
  std::string again = dump::write_header(header);
  again.append(size, '\0');
  uint64_t bytes = size - at;
  const auto read = dump::read_header(std::as_bytes(std::span(again)), again.size() + bytes, nullptr);
  if (read.inputs.size() != header.inputs.size() || read.outputs.size() != header.outputs.size())
    fuzz::wrong("tensors", static_cast<int64_t>(read.inputs.size()));
}

/// All readers of files take the same bytes by their names.
void files_round(const uint8_t* data, size_t size) {
  const std::string stem = "/tmp/updraft_fuzz_" + std::to_string(getpid());
  for (const char* extension : {".npy", ".pt", ".bin", ""}) {
    const std::string path = stem + extension;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    try {
      if (*extension) {
        const compare::Array array = compare::read_array(path);
        if (array.count() < 1 << 16 && dump::type_size(array.type)) compare::write_npy(array);
      } else {
        compare::read_dump(path);
      }
    } catch (const Error& e) {
      if (e.code() != code::kAclParseFile) fuzz::wrong(e.what(), e.code());
    }
    std::remove(path.c_str());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    header_round(data, size);
  } catch (const Error& e) {
    if (e.code() != code::kAclParseFile) fuzz::wrong(e.what(), e.code());
  }
  files_round(data, size);
  return 0;
}
