# oneDNN comes from PyPI (onednn-devel-cpu-gomp and onednn-cpu-gomp). Their files lie under the prefix of the
# environment that pip installed them into: .venv, or in `pip install .` an overlay that is not sys.prefix. So Python is
# asked where they are. Needs Python3_EXECUTABLE.
execute_process(
  COMMAND ${Python3_EXECUTABLE} -c "
import importlib.metadata as metadata, os
files = metadata.files('onednn-devel-cpu-gomp') or []
print(next((os.path.dirname(os.path.realpath(f.locate())) for f in files if f.name == 'dnnl-config.cmake'), ''))"
  OUTPUT_VARIABLE UPDRAFT_DNNL_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(UPDRAFT_DNNL_DIR)
  # an overlay of an earlier `pip install .` is gone: never trust the cache
  set(dnnl_DIR ${UPDRAFT_DNNL_DIR} CACHE PATH "oneDNN's CMake package" FORCE)
endif()
find_package(dnnl 3.2 QUIET CONFIG)
if(NOT dnnl_FOUND)
  message(FATAL_ERROR "Updraft's build needs oneDNN 3.2 and ${Python3_EXECUTABLE} has none (pip install . brings it by itself):\n"
                      "pip install onednn-devel-cpu-gomp==2023.2.0 onednn-cpu-gomp==2023.2.0")
endif()
