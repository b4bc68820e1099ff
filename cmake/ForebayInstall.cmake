# Installing: headers, libraries, the command, and a package for find_package(forebay).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/forebay)

get_property(modules GLOBAL PROPERTY FOREBAY_MODULES)
install(TARGETS ${modules} EXPORT forebay-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT forebay-targets NAMESPACE forebay:: DESTINATION ${package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/forebay-config.cmake.in forebay-config.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(forebay-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/forebay-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/forebay-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindCBLAS.cmake
        DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(TARGET forebay)
  install(TARGETS forebay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/forebay
        FILES_MATCHING PATTERN "*.json")
