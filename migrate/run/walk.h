// The files of a project.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::run {

struct Entry {
  std::string path;  ///< relative to the root, with '/'
  FileKind kind = FileKind::Other;
  bool link = false;  ///< a symbolic link: copied as such, never followed
  std::uintmax_t size = 0;
};

struct Tree {
  std::filesystem::path root;
  std::vector<Entry> entries;        ///< files and links by path
  std::vector<std::string> folders;  ///< by path
  std::vector<Finding> left_out;     ///< what a copy does not have, and links that lead out of the project
  std::vector<Finding> problems;     ///< folders that could not be read; `api` is the path
};

/// `input` may be one file: then it is the only entry. Throws Error where there is nothing.
Tree walk(const std::filesystem::path& input);

/// By name, and by the first bytes where the name says nothing.
FileKind classify(const std::filesystem::path& file);

// Reading and writing whole files.

/// Throws Error with the reason.
void read_file(const std::filesystem::path& path, std::string& text);
std::string read_file(const std::filesystem::path& file);
/// Whole or not at all: beside the place, then renamed. The mode is that of `like` where that exists.
void replace_file(const std::filesystem::path& file, std::string_view text, const std::filesystem::path& like);
/// A byte-identical copy with its mode.
void copy_file(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace updraft::migrate::run
