# The libraries of others that the device's code calls, as `updraft_libraries`. A process may hold other copies of them
# (frameworks bring a libdnnl.so.3), so ours neither offers their names nor can be reached by them, nor calls theirs:
# fmt is an archive of hidden symbols; oneDNN and SLEEF, which come as shared libraries only, are private copies
# (cmake/elf/private_copy.py); OpenBLAS is linked from its archive into a library of ours (cmake/openblas.cmake);
# libjpeg-turbo, libpng and zlib are archives, whose names exports.map keeps inside. The C++ runtime and libgomp stay the process's own.
# Needs cmake/requirements.cmake and cmake/options.cmake.
add_library(updraft_fmt STATIC ${PROJECT_SOURCE_DIR}/third_party/fmt/format.cpp)
target_link_libraries(updraft_fmt PRIVATE updraft_options)
target_include_directories(updraft_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)

# updraft_private_library(TARGET FILE NAME KEEP [REPLACE]): TARGET is a private copy of FILE, NAME, in the tree's lib64.
# Whoever links it calls the functions that match KEEP by their usual names; it calls those that match REPLACE as
# updraft_..., which whoever links it defines.
set(private_copies)
function(updraft_private_library target file name keep)
  set(replace)
  if(ARGC GREATER 4)
    set(replace --replace ${ARGV4})
  endif()
  set(copy ${CMAKE_BINARY_DIR}/cann/lib64/${name})
  set(wrap ${CMAKE_BINARY_DIR}/generated/${name}.wrap)
  set(tools ${PROJECT_SOURCE_DIR}/cmake/elf)
  add_custom_command(
    OUTPUT ${copy} ${wrap}
    COMMAND ${Python3_EXECUTABLE} ${tools}/private_copy.py ${file} ${copy} --keep ${keep} ${replace} --wrap ${wrap}
    DEPENDS ${file} ${tools}/private_copy.py ${tools}/image.py
    VERBATIM)
  add_custom_target(${target}_copy DEPENDS ${copy} ${wrap})
  add_library(${target} SHARED IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_copy)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${copy} IMPORTED_SONAME ${name}
    INTERFACE_LINK_OPTIONS "-Wl,@${wrap}" INTERFACE_LINK_DEPENDS ${wrap})
  set(private_copies ${private_copies} ${copy} PARENT_SCOPE)
endfunction()

get_target_property(dnnl_file DNNL::dnnl LOCATION)
updraft_private_library(updraft_onednn ${dnnl_file} libupdraft_onednn.so "dnnl_\\w+" "G?[Oo][Mm][Pp]_\\w+|getenv")
set_target_properties(updraft_onednn PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES $<TARGET_PROPERTY:DNNL::dnnl,INTERFACE_INCLUDE_DIRECTORIES>)

include(cmake/openblas.cmake)

# Debian's archives of libjpeg-turbo and libpng are position independent but for their references to stderr, which get a
# name of ours (src/media/printed.cpp): what they would print there, our handlers of their errors take.
function(updraft_picture_archive target file)
  set(copy ${CMAKE_BINARY_DIR}/generated/${target}.a)
  add_custom_command(OUTPUT ${copy}
    COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=stderr_of_pictures ${file} ${copy} DEPENDS ${file} VERBATIM)
  add_custom_target(${target}_archive DEPENDS ${copy})
  add_library(${target} STATIC IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_archive)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${copy})
endfunction()
updraft_picture_archive(updraft_jpeg ${UPDRAFT_JPEG_LIBRARY})
updraft_picture_archive(updraft_png ${UPDRAFT_PNG_LIBRARY})

add_library(updraft_libraries INTERFACE)
target_link_libraries(updraft_libraries INTERFACE updraft_fmt updraft_onednn updraft_lapack OpenMP::OpenMP_CXX Threads::Threads ${CMAKE_DL_LIBS}
                      updraft_jpeg updraft_png ${UPDRAFT_Z_LIBRARY} m)
target_include_directories(updraft_libraries SYSTEM INTERFACE ${UPDRAFT_JPEG_INCLUDE} ${UPDRAFT_PNG_INCLUDE})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # the vector functions that loops call, for SSE, AVX2 and AVX-512
  updraft_private_library(updraft_sleef ${UPDRAFT_SLEEF_LIBRARY} libupdraft_sleef.so "_ZGV[bde]N\\d+v+_\\w+")
  target_link_libraries(updraft_libraries INTERFACE updraft_sleef)
endif()

# Left in the tree by builds from before the copies: the loader would give them to others who ask for these names.
file(GLOB left ${CMAKE_BINARY_DIR}/cann/lib64/lib*.so.*)
if(left)
  file(REMOVE ${left})
endif()
install(PROGRAMS ${private_copies} DESTINATION ${UPDRAFT_LIB_DIR} COMPONENT runtime)
