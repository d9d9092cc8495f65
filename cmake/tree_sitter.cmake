# tree-sitter and its Python grammar, from the sdists of third_party/sdists.toml, as the archive `tree_sitter`.
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
add_library(tree_sitter STATIC ${core}/src/lib.c ${python}/parser.c ${python}/scanner.c)
target_include_directories(tree_sitter SYSTEM PUBLIC ${core}/include)
# the grammar asks for "tree_sitter/array.h", which stands in the runtime's src under another name
set(shim ${CMAKE_BINARY_DIR}/third_party/include)
file(MAKE_DIRECTORY ${shim}/tree_sitter)
foreach(header array alloc ts_assert)
  configure_file(${core}/src/${header}.h ${shim}/tree_sitter/${header}.h COPYONLY)
endforeach()
configure_file(${core}/src/parser.h ${shim}/tree_sitter/parser.h COPYONLY)
target_include_directories(tree_sitter SYSTEM PRIVATE ${core}/src ${shim})
set_target_properties(tree_sitter PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
target_compile_options(tree_sitter PRIVATE -O2 -w)
