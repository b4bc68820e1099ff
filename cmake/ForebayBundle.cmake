# The shared libraries that a bare machine lacks, copied to lib/ beside bin/: part of `all`.
get_property(executables GLOBAL PROPERTY FOREBAY_EXECUTABLES)
list(TRANSFORM executables REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/bundle.stamp
  COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DTO=${PROJECT_BINARY_DIR}/lib -DSTRIP=${CMAKE_STRIP}
          -P ${PROJECT_SOURCE_DIR}/cmake/CopyLibraries.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/bundle.stamp
  DEPENDS ${executables} ${PROJECT_SOURCE_DIR}/cmake/CopyLibraries.cmake
  COMMENT "Copying shared libraries to lib" VERBATIM)
add_custom_target(forebay_bundle ALL DEPENDS ${PROJECT_BINARY_DIR}/bundle.stamp)
