# Finds the C++ Actor Framework as Debian ships it: libraries and headers, no CMake package.
#
#   find_package(CAF 0.17.6 REQUIRED)
#
# Defines the target CAF::core, and CAF_VERSION.

find_path(CAF_INCLUDE_DIR NAMES caf/all.hpp)
find_library(CAF_CORE_LIBRARY NAMES caf_core)

set(CAF_VERSION "")
if(CAF_INCLUDE_DIR AND EXISTS "${CAF_INCLUDE_DIR}/caf/config.hpp")
  # The header states MAJOR * 10000 + MINOR * 100 + PATCH.
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" line REGEX "#define CAF_VERSION [0-9]+")
  if(line MATCHES "CAF_VERSION ([0-9]+)")
    math(EXPR major "${CMAKE_MATCH_1} / 10000")
    math(EXPR minor "(${CMAKE_MATCH_1} / 100) % 100")
    math(EXPR patch "${CMAKE_MATCH_1} % 100")
    set(CAF_VERSION "${major}.${minor}.${patch}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CAF
  REQUIRED_VARS CAF_CORE_LIBRARY CAF_INCLUDE_DIR
  VERSION_VAR CAF_VERSION)
mark_as_advanced(CAF_INCLUDE_DIR CAF_CORE_LIBRARY)

if(CAF_FOUND AND NOT TARGET CAF::core)
  add_library(CAF::core SHARED IMPORTED)
  set_target_properties(
    CAF::core PROPERTIES IMPORTED_LOCATION "${CAF_CORE_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                 "${CAF_INCLUDE_DIR}")
endif()
