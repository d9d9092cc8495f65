# Warnings, sanitizers and the flags that every target shares.
add_library(updraft_options INTERFACE)
target_compile_options(updraft_options INTERFACE -Wall -Wextra -Werror -Wno-psabi -fno-math-errno -fno-trapping-math
                                                 -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports impossible overflows in inlined standard containers.
  target_compile_options(updraft_options INTERFACE -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized
                                                   -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(updraft_options INTERFACE -Wno-unknown-pragmas)  # GCC ivdep
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # Kernel targets name their own level (kernels.cmake); of two -march options the last wins, and this one would be it.
  target_compile_options(updraft_options INTERFACE "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:UPDRAFT_LEVEL>>>:-march=x86-64-v2>")
endif()
target_include_directories(updraft_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
foreach(sanitizer IN LISTS UPDRAFT_SANITIZE)
  target_compile_options(updraft_options INTERFACE -fsanitize=${sanitizer} -fno-omit-frame-pointer)
  target_link_options(updraft_options INTERFACE -fsanitize=${sanitizer})
endforeach()
if("undefined" IN_LIST UPDRAFT_SANITIZE)
  target_compile_options(updraft_options INTERFACE -fno-sanitize-recover=all)
endif()
if(UPDRAFT_FUZZ)
  target_compile_options(updraft_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
