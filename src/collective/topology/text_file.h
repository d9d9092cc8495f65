// Small files that users write: rank tables, white lists.
#pragma once
#include <string>

namespace updraft::collective {

struct TextFile {
  std::string text;
  bool others = false;  ///< it belongs to another user (but root), or others may read or write it
  std::string problem;  ///< why it could not be read; "" where it was
};
/// Only regular files of at most `most` bytes: a pipe would block, a device never ends.
TextFile read_text_file(const std::string& path, size_t most);

}  // namespace updraft::collective
