// Packages in requirements, environments and commands: those that do not work on NPU (support/third_party.h), builds
// for CUDA and where such builds come from.
#pragma once
#include <cstddef>
#include <string_view>

namespace updraft::migrate::text {

class Sheet;

/// A finding for a requirement (name[extra]==1.0+cu121 ; marker, conda's channel::name=1=build, a URL of a wheel).
/// `begin` is where it stands in the sheet's text.
void requirement(Sheet& sheet, std::string_view spec, std::size_t begin);
/// A finding for the name and the version of a requirement that stand apart (poetry, pipenv).
void requirement(Sheet& sheet, std::string_view name, std::string_view version, std::size_t begin, std::size_t end);
/// A finding for an index or a page of wheels of CUDA builds.
void package_index(Sheet& sheet, std::string_view url, std::size_t begin);

}  // namespace updraft::migrate::text
