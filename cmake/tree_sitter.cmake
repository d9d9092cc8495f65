# tree-sitter and its Python grammar, from the sdists of third_party/sdists.toml, as the archive `tree_sitter`: one
# translation unit, migrate/syntax/grammar/parse.c.
set(UPDRAFT_SDIST_DIR ${CMAKE_BINARY_DIR}/third_party)
execute_process(
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/fetch_sdist.py
          ${PROJECT_SOURCE_DIR}/third_party/sdists.toml ${UPDRAFT_SDIST_DIR}
  RESULT_VARIABLE failed ERROR_VARIABLE why)
if(failed)
  message(FATAL_ERROR "${why}")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/third_party/sdists.toml)

set(core ${UPDRAFT_SDIST_DIR}/tree-sitter/tree_sitter/core/lib)
set(python ${UPDRAFT_SDIST_DIR}/tree-sitter-python/src)
# the grammar asks for "tree_sitter/array.h", which stands in the runtime's src under another name
set(shim ${CMAKE_BINARY_DIR}/third_party/include)
file(MAKE_DIRECTORY ${shim}/tree_sitter)
foreach(header array alloc ts_assert)
  configure_file(${core}/src/${header}.h ${shim}/tree_sitter/${header}.h COPYONLY)
endforeach()
configure_file(${core}/src/parser.h ${shim}/tree_sitter/parser.h COPYONLY)

set(grammar ${PROJECT_SOURCE_DIR}/migrate/syntax/grammar)
set(flags -std=gnu11 -w -O3 -fPIC -fvisibility=hidden -I${UPDRAFT_SDIST_DIR} -I${core}/include -I${shim})
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  list(APPEND flags -DNDEBUG)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND flags -march=x86-64-v2)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # a node of the parser's stack is zeroed for each token, and `rep stos` is slow to start
    list(APPEND flags -mmemset-strategy=unrolled_loop:512:noalign,libcall:-1:noalign)
  endif()
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT UPDRAFT_SANITIZE
   AND NOT CMAKE_CROSSCOMPILING)
  # parsing is most of what updraft-migrate does, and a profile saves a quarter of it
  set(object ${CMAKE_BINARY_DIR}/third_party/profile/parse.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/profile_guided.py ${grammar}/parse.c ${grammar}/train.c
            ${object} -- ${CMAKE_C_COMPILER_LAUNCHER} ${CMAKE_C_COMPILER} ${flags}
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/profile_guided.py ${grammar}/parse.c ${grammar}/parse.h ${grammar}/arena.h
            ${grammar}/train.c ${UPDRAFT_SDIST_DIR}/tree-sitter.sha256 ${UPDRAFT_SDIST_DIR}/tree-sitter-python.sha256
    COMMENT "Compiling the Python parser by a profile"
    VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(tree_sitter STATIC EXCLUDE_FROM_ALL ${object})
  set_target_properties(tree_sitter PROPERTIES LINKER_LANGUAGE C)
else()
  add_library(tree_sitter STATIC EXCLUDE_FROM_ALL ${grammar}/parse.c)
  target_compile_options(tree_sitter PRIVATE ${flags})
endif()
