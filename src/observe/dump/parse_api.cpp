// libascend_dump_parser.so: what msaccucmp reads dump files with.
#include <cstdio>
#include <span>

#include "acl/api.h"
#include "observe/dump/dump_file.h"

using namespace updraft;

/// Writes the header of a dump file, whose `size` bytes are at `bytes`, to the file `json`. 0, or an error's code: the
/// text is in aclGetRecentErrMsg.
extern "C" UPDRAFT_API int32_t ParseDumpProtoToJson(const char* bytes, size_t size, const char* json) {
  return guard("ParseDumpProtoToJson", [&] {
    need(bytes, "dumpData");
    need(json, "jsonFile");
    const auto header = dump::read_header(std::as_bytes(std::span(bytes, size)), size, nullptr);
    const std::string text = dump::header_to_json(header);
    std::FILE* file = std::fopen(json, "w");
    if (!file) throw Error(code::kAclInvalidFile, "{} cannot be written", json);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !written) throw Error(code::kAclInvalidFile, "{} cannot be written to its end", json);
  });
}
