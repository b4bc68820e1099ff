# cmake -DFILES=… -DTO=folder -DSTRIP=strip -P CopyLibraries.cmake
# Copies every shared library that FILES need, but for the C and C++ runtimes, each under the name
# by which it is asked for.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${FILES}
     RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so")
if(missing)
  message(FATAL_ERROR "libraries that were not found: ${missing}")
endif()
file(REMOVE_RECURSE ${TO})
file(MAKE_DIRECTORY ${TO})
foreach(library ${found})
  cmake_path(GET library FILENAME name)
  file(REAL_PATH ${library} real)
  file(COPY_FILE ${real} ${TO}/${name})
  execute_process(COMMAND ${STRIP} --strip-unneeded ${TO}/${name} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
