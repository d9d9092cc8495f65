// What a file is, by its name and its first bytes, and what is not looked into.
#pragma once
#include <span>
#include <string_view>

#include "migrate/finding.h"

namespace updraft::migrate::text {

struct Skipped {
  std::string_view folder;  ///< a leading or trailing * stands for any characters
  std::string_view en;      ///< what it holds
};
/// Folders whose files are nobody's sources: repositories, environments, caches, what builds make.
std::span<const Skipped> skipped_folders() noexcept;
/// `name` without the folders above it.
bool is_skipped_folder(std::string_view name) noexcept;

/// `head` is the beginning of the file (4 KiB are enough); it decides where the name does not (#! lines) and keeps
/// binary files out.
FileKind kind_of(std::string_view path, std::string_view head) noexcept;

/// NUL bytes, or the signature of a format that is no text. UTF-16 counts as binary: nothing here reads it.
bool is_binary(std::string_view head) noexcept;

bool is_makefile(std::string_view path) noexcept;
bool is_cmake(std::string_view path) noexcept;

}  // namespace updraft::migrate::text
