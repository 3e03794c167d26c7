# Finds libpsl (the public suffix list) and defines LibPsl::LibPsl. Installed beside
# escalonaConfig.cmake, so that it also serves who links the static library.
find_path(LibPsl_INCLUDE_DIR libpsl.h)
find_library(LibPsl_LIBRARY psl)
mark_as_advanced(LibPsl_INCLUDE_DIR LibPsl_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibPsl
  REQUIRED_VARS LibPsl_LIBRARY LibPsl_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Debian's package is libpsl-dev")
if(LibPsl_FOUND AND NOT TARGET LibPsl::LibPsl)
  add_library(LibPsl::LibPsl UNKNOWN IMPORTED)
  set_target_properties(LibPsl::LibPsl PROPERTIES
    IMPORTED_LOCATION "${LibPsl_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LibPsl_INCLUDE_DIR}")
endif()
