# `cmake --install`: program, library, headers, CMake package, man page, shell completion.
include(CMakePackageConfigHelpers)

install(TARGETS escalona EXPORT escalonaTargets)
install(TARGETS escalona_program RUNTIME)
install(DIRECTORY include/escalona DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT escalonaTargets NAMESPACE escalona::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/escalona)
configure_package_config_file(cmake/escalonaConfig.cmake.in escalonaConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/escalona)
write_basic_package_version_file(escalonaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/escalonaConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/escalonaConfigVersion.cmake
              cmake/FindLibPsl.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/escalona)
install(FILES docs/escalona.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES scripts/completion.bash RENAME escalona
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
