# updraft_embed(TARGET FILES file… NAMESPACE ns [BASE dir])
# Puts files into a target as read-only data and defines, in that C++ namespace,
#   std::string_view embedded(std::string_view name);            the file's bytes; empty where there is none of that name
#   std::span<const std::string_view> embedded_names();          sorted
# A name is the file's path relative to BASE (default: the calling CMakeLists.txt). Declare both functions in a header of
# the target. A target may embed several sets, each in a namespace of its own.
function(updraft_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 embed "" "NAMESPACE;BASE" "FILES")
  if(embed_UNPARSED_ARGUMENTS OR NOT embed_FILES OR NOT embed_NAMESPACE)
    message(FATAL_ERROR "updraft_embed(${target}): wanted FILES file… NAMESPACE ns [BASE dir], got: ${ARGN}")
  endif()
  if(NOT embed_BASE)
    set(embed_BASE ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  get_filename_component(embed_BASE "${embed_BASE}" ABSOLUTE)
  string(MAKE_C_IDENTIFIER "${target}_${embed_NAMESPACE}" unit)
  set(names_sorted)
  foreach(file IN LISTS embed_FILES)
    get_filename_component(file "${file}" ABSOLUTE)
    file(RELATIVE_PATH name "${embed_BASE}" "${file}")
    list(APPEND names_sorted "${name}")
  endforeach()
  list(SORT names_sorted)
  set(files)
  set(assembly "")
  set(symbols "")
  set(names "")
  set(values "")
  set(index 0)
  foreach(name IN LISTS names_sorted)
    get_filename_component(file "${embed_BASE}/${name}" ABSOLUTE)
    list(APPEND files "${file}")
    set(symbol "updraft_embedded_${unit}_${index}")
    string(APPEND assembly "    \"${symbol}: .incbin \\\"${file}\\\"\\n${symbol}_end: .byte 0\\n\"\n")
    string(APPEND symbols "extern const char first_${index}[] __asm__(\"${symbol}\");\n"
                          "extern const char last_${index}[] __asm__(\"${symbol}_end\");\n")
    string(APPEND names "    \"${name}\",\n")
    string(APPEND values "    {first_${index}, static_cast<std::size_t>(last_${index} - first_${index})},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/generated/embedded/${unit}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[// Made by updraft_embed (cmake/embed.cmake).
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

__asm__(".section .rodata\n"
@assembly@    ".previous\n");

namespace @embed_NAMESPACE@ {
std::string_view embedded(std::string_view name);
std::span<const std::string_view> embedded_names();
#pragma GCC visibility push(hidden)
@symbols@#pragma GCC visibility pop
namespace {
constexpr std::array<std::string_view, @index@> kNames = {
@names@};
}  // namespace

std::string_view embedded(std::string_view name) {
  const auto found = std::lower_bound(kNames.begin(), kNames.end(), name);
  if (found == kNames.end() || *found != name) return {};
  const std::string_view values[] = {
@values@  };
  return values[found - kNames.begin()];
}

std::span<const std::string_view> embedded_names() { return kNames; }

}  // namespace @embed_NAMESPACE@
]])
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${files}")
  target_sources(${target} PRIVATE ${source})
endfunction()
