// Reading and writing whole files.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace updraft::migrate::run {

/// Throws Error with the reason.
std::string read_file(const std::filesystem::path& file);
/// Whole or not at all: beside the place, then renamed. The mode is that of `like` where that exists.
void replace_file(const std::filesystem::path& file, std::string_view text, const std::filesystem::path& like);
/// A byte-identical copy with its mode.
void copy_file(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace updraft::migrate::run
