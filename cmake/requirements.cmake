# What the build needs of the system. Whatever is absent is told at once, with the names of Debian's packages.
set(UPDRAFT_MISSING)
set(UPDRAFT_APT)
macro(updraft_require found what package)
  if(NOT ${found})
    list(APPEND UPDRAFT_MISSING "${what}")
    list(APPEND UPDRAFT_APT ${package})
  endif()
endmacro()

find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
include(cmake/openmp.cmake)
find_package(fmt QUIET)
find_package(nlohmann_json QUIET)
find_package(CLI11 QUIET)
find_package(Threads QUIET)
find_package(ucx QUIET)  # optional: the transport between hosts (libucx-dev)
# The vector forms of the mathematical functions (kernels/simd/math.h).
find_library(UPDRAFT_SLEEF_LIBRARY sleefgnuabi)
# Linear algebra (cmake/openblas.cmake): the archive whose threads are OpenMP's.
find_library(UPDRAFT_OPENBLAS_LIBRARY libopenblas.a PATH_SUFFIXES openblas-openmp)

# The rules of the migration tool; the archive, so that a wheel does not need the library.
find_library(UPDRAFT_YAML_LIBRARY NAMES libyaml-cpp.a yaml-cpp)
find_path(UPDRAFT_YAML_INCLUDE yaml-cpp/yaml.h)
if(UPDRAFT_YAML_INCLUDE AND UPDRAFT_YAML_LIBRARY)
  set(yaml_FOUND TRUE)
endif()

# Protobuf messages: ONNX models, graphs of the Ascend IR. Headers only.
find_path(UPDRAFT_PROTOZERO_INCLUDE protozero/pbf_reader.hpp)

updraft_require(Python3_Development.Module_FOUND "Python's headers (Python.h, for pyACL)" python3-dev)
updraft_require(fmt_FOUND "fmt" libfmt-dev)
updraft_require(yaml_FOUND "yaml-cpp" libyaml-cpp-dev)
updraft_require(nlohmann_json_FOUND "nlohmann/json" nlohmann-json3-dev)
updraft_require(CLI11_FOUND "CLI11" libcli11-dev)
updraft_require(UPDRAFT_PROTOZERO_INCLUDE "protozero" libprotozero-dev)
updraft_require(Threads_FOUND "threads" libc6-dev)
updraft_require(UPDRAFT_SLEEF_LIBRARY "SLEEF (libsleefgnuabi)" libsleef-dev)
updraft_require(UPDRAFT_OPENBLAS_LIBRARY "OpenBLAS (libopenblas.a with OpenMP)" libopenblas-openmp-dev)
if(UPDRAFT_TESTS)
  find_package(GTest QUIET)
  updraft_require(GTest_FOUND "GoogleTest" libgtest-dev)
endif()
if(UPDRAFT_MISSING)
  list(JOIN UPDRAFT_MISSING ", " missing)
  list(REMOVE_DUPLICATES UPDRAFT_APT)
  list(JOIN UPDRAFT_APT " " packages)
  message(FATAL_ERROR "Updraft's build needs what is not installed: ${missing}.\nOn Debian and Ubuntu: apt-get install ${packages}")
endif()

execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; __import__('tomllib' if sys.version_info >= (3, 11) else 'tomli')"
                RESULT_VARIABLE UPDRAFT_NO_TOML OUTPUT_QUIET ERROR_QUIET)
if(UPDRAFT_NO_TOML)
  message(FATAL_ERROR "${Python3_EXECUTABLE} is older than 3.11 and has no tomli: pip install tomli, or take a newer Python "
                      "(-DPython3_EXECUTABLE=…)")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} is too old: Updraft needs g++ 12 or newer (Debian 12 has it)")
endif()
include(cmake/find_dnnl.cmake)
