# updraft_precompile(TARGET [HEADER…]): the headers that nearly every source includes, and those named, are read once for
# the target. They are the standard library's and fmt's, which never change: parsing them was half of a source's compile
# time. Sources still include what they use; clang's builds, which do without, find out.
set(UPDRAFT_PRECOMPILED <algorithm> <atomic> <chrono> <complex> <condition_variable> <cstdint> <cstring> <functional> <map> <memory>
                        <mutex> <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
                        <fmt/format.h>)
function(updraft_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} PRIVATE ${UPDRAFT_PRECOMPILED} ${ARGN})
    # where a system gives the compiler no fixed addresses it reads the headers themselves
    target_compile_options(${target} PRIVATE -Wno-error=invalid-pch)
  endif()
endfunction()
