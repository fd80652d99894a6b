# Installs the core, its headers and the package files; backends and programs install themselves.
include(CMakePackageConfigHelpers)

install(TARGETS torchlean_core torchlean_headers EXPORT torchlean
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/include/torchlean
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/torchlean)
install(EXPORT torchlean NAMESPACE torchlean:: FILE torchleanTargets.cmake
  DESTINATION ${package_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/torchleanConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/torchleanConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS TORCHLEAN_BACKEND_INSTALL_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/torchleanConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/torchleanConfig.cmake
              ${PROJECT_BINARY_DIR}/package/torchleanConfigVersion.cmake
  DESTINATION ${package_folder})

file(RELATIVE_PATH PREFIX_FROM_PC
  /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" PREFIX_FROM_PC "${PREFIX_FROM_PC}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/torchlean.pc.in
  ${PROJECT_BINARY_DIR}/package/torchlean.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/torchlean.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
