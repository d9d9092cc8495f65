// Packages that need CUDA or an NVIDIA GPU, and what to take on NPUs: in requirements, environments and commands.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "migrate/finding.h"

namespace updraft::migrate::text {

class Sheet;

struct Package {
  std::string_view name;         ///< normalised; a trailing * stands for any end
  std::string_view alternative;  ///< the package or API to take; empty: none
  std::string_view en, zh;
};

/// The row of a package by the name that a requirement or an environment has for it; nullptr: nothing is to be said.
const Package* package(std::string_view name);

/// A finding for a requirement (name[extra]==1.0+cu121 ; marker, conda's channel::name=1=build, a URL of a wheel).
/// `begin` is where it stands in the sheet's text.
void requirement(Sheet& sheet, std::string_view spec, std::size_t begin);
/// A finding for the name and the version of a requirement that stand apart (poetry, pipenv).
void requirement(Sheet& sheet, std::string_view name, std::string_view version, std::size_t begin, std::size_t end);
/// A finding for an index or a page of wheels of CUDA builds.
void package_index(Sheet& sheet, std::string_view url, std::size_t begin);

}  // namespace updraft::migrate::text
