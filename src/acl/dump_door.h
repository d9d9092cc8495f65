// How aclInit and aclFinalize reach dump, which is an observer and stands above them (src/observe/dump/).
#pragma once
#include <string>

namespace updraft {

struct DumpDoor {
  /// Starts what the section "dump" of a configuration asks for. `section` is JSON, `file` the file's name for
  /// messages. Throws Error 100009 that names key and value.
  void (*start)(const std::string& section, const std::string& file) = nullptr;
  /// Ends it and says on stderr what could not be written.
  void (*finish)() = nullptr;
};
DumpDoor& dump_door();

/// True between aclInit and aclFinalize.
bool acl_is_initialized();

}  // namespace updraft
