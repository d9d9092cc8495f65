# libupdraft_lapack.so: the routines of LAPACK that linear algebra calls, from OpenBLAS' archive, as updraft_NAME. Nothing
# else of it has a name outside, so it meets no other BLAS in the process, and what is not called is not in it. Its
# regions run in the device's threads: runtime.c has libgomp's functions and hands them to base/openmp.cpp.
set(routines strsm dtrsm ctrsm ztrsm)
foreach(type s d c z)
  list(APPEND routines ${type}getrf ${type}getri ${type}potrf ${type}geqrt3 ${type}larfb ${type}gesdd)
endforeach()
list(APPEND routines zgeev zgees)
set(names)
set(definitions)
foreach(routine IN LISTS routines)
  string(APPEND names " updraft_${routine};")
  list(APPEND definitions LINKER:--defsym=updraft_${routine}=${routine}_)
endforeach()
set(script ${CMAKE_BINARY_DIR}/generated/lapack.map)
file(CONFIGURE OUTPUT ${script} CONTENT "{ global:${names} local: *; };\n" @ONLY)

add_library(updraft_lapack SHARED ${PROJECT_SOURCE_DIR}/third_party/openblas/runtime.c)
target_compile_options(updraft_lapack PRIVATE -Wall -Wextra -Werror)
target_link_libraries(updraft_lapack PRIVATE ${UPDRAFT_OPENBLAS_LIBRARY} Threads::Threads m)
target_link_options(updraft_lapack PRIVATE ${definitions} LINKER:--wrap=getenv LINKER:--version-script=${script}
                                           LINKER:--gc-sections LINKER:--no-undefined)
set_target_properties(updraft_lapack PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/cann/lib64
  INSTALL_RPATH "" BUILD_WITH_INSTALL_RPATH ON LINK_DEPENDS ${script})
install(TARGETS updraft_lapack LIBRARY DESTINATION ${UPDRAFT_LIB_DIR} COMPONENT runtime)
