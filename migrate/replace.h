// Files become whole or not at all: they are written beside their place and renamed into it.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

namespace updraft::migrate {

/// 0, or the errno of what failed: then what stood there before is untouched. Without a mode it is that of new files.
int replace_whole(const std::filesystem::path& path, std::string_view text, std::optional<mode_t> mode = {});

}  // namespace updraft::migrate
