# What a package holds beside the libraries. The prefix is a site-packages folder (of the wheel, or of .venv by
# ./dev setup):
#   <prefix>/updraft-preload.pth     loads the hook at interpreter start
#   <prefix>/updraft/*.py            CLI and hook (in a wheel scikit-build-core puts them: wheel.packages)
#   <prefix>/updraft/cann/           the CANN-shaped tree; libraries and headers are installed by their targets
# The component `runtime` is what Python clients run on: libraries, the tree, the package. The rest is tools and headers.
set(UPDRAFT_CANN_DIR updraft/cann)
set(UPDRAFT_LIB_DIR ${UPDRAFT_CANN_DIR}/lib64)
set(UPDRAFT_INCLUDE_DIR ${UPDRAFT_CANN_DIR}/include)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/updraft/tree/
  DESTINATION ${UPDRAFT_CANN_DIR} COMPONENT runtime USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/updraft-preload.pth DESTINATION . COMPONENT runtime)

if(NOT SKBUILD)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/updraft
    DESTINATION . COMPONENT runtime PATTERN tree EXCLUDE PATTERN __pycache__ EXCLUDE)
endif()
