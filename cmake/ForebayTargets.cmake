# How every target of the project is compiled, and the one way to declare a module or an executable.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

add_library(forebay_options INTERFACE)
target_compile_features(forebay_options INTERFACE cxx_std_20)
# -ffp-contract=off: a result may not depend on what the compiler likes to fuse.
target_compile_options(forebay_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                                 -fvisibility=hidden -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 sees ghosts in std::string, and more of them if that comes out of a precompiled header.
  target_compile_options(forebay_options INTERFACE -Wno-restrict)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(forebay_options INTERFACE -Wno-array-bounds -Wno-stringop-overflow
                                                     -Wno-stringop-overread)
  endif()
endif()
set(FOREBAY_LAUNCHER "")
if(FOREBAY_SANITIZE)
  target_compile_options(forebay_options INTERFACE -fsanitize=${FOREBAY_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(forebay_options INTERFACE -fsanitize=${FOREBAY_SANITIZE})
  # Kernels with more than 28 random bits in addresses put mappings where the sanitizers' shadow
  # should lie; so tests run without address randomisation where the machine allows that.
  execute_process(COMMAND setarch -R true RESULT_VARIABLE setarch_result OUTPUT_QUIET ERROR_QUIET)
  if(setarch_result EQUAL 0)
    set(FOREBAY_LAUNCHER setarch -R)
  else()
    message(STATUS "forebay: setarch -R is not allowed here; the sanitizers run with random addresses")
  endif()
endif()

# Most of compiling is reading headers. Those of the standard library that nearly every file includes
# are read once for all modules; and where nobody edits, several files are compiled as one, which
# FOREBAY_UNITY asks for. Names in unnamed namespaces of a target differ for that.
set(empty_source ${PROJECT_BINARY_DIR}/empty.cpp)
file(CONFIGURE OUTPUT ${empty_source} CONTENT "")
add_library(forebay_standard_headers OBJECT ${empty_source})
set_target_properties(forebay_standard_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(forebay_standard_headers PRIVATE forebay_options)
target_precompile_headers(forebay_standard_headers PRIVATE
  <algorithm> <array> <atomic> <chrono> <cstdint> <functional> <map> <memory> <mutex> <optional>
  <string> <string_view> <unordered_map> <utility> <vector>)
set(CMAKE_UNITY_BUILD ${FOREBAY_UNITY})  # whatever a project around this one asks for
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

# forebay_module(NAME SOURCES … HEADERS … [DEPENDS targets that users see] [PRIVATE targets])
# HEADERS are public and lie below NAME/include; sources may include private headers from the
# root of the tree, as "pool/span_engine.hpp".
function(forebay_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;DEPENDS;PRIVATE" ${ARGN})
  add_library(forebay_${name} STATIC ${arg_SOURCES})
  add_library(forebay::${name} ALIAS forebay_${name})
  set_target_properties(forebay_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
                        VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
  target_sources(forebay_${name} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS})
  target_compile_features(forebay_${name} PUBLIC cxx_std_20)
  target_precompile_headers(forebay_${name} REUSE_FROM forebay_standard_headers)
  # Header-only libraries are needed to build a module, not to link with it.
  list(TRANSFORM arg_PRIVATE REPLACE "^(forebay_cuda_headers|nlohmann_json::nlohmann_json|xxHash::headers)$"
       "$<BUILD_INTERFACE:\\1>")
  target_include_directories(forebay_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(forebay_${name} PUBLIC ${arg_DEPENDS}
                        PRIVATE $<BUILD_INTERFACE:forebay_options> ${arg_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY FOREBAY_MODULES forebay_${name})
endfunction()

# forebay_executable(NAME SOURCES … [LINK targets]): private headers of the tree are visible.
function(forebay_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE forebay_options ${arg_LINK})
  set_target_properties(${name} PROPERTIES CROSSCOMPILING_EMULATOR "${FOREBAY_LAUNCHER}")
  if(FOREBAY_SANITIZE)
    # What is instrumented is full of addresses; relocating them takes a third of a short test.
    target_link_options(${name} PRIVATE -no-pie)
  endif()
  if(FOREBAY_BUNDLE_LIBRARIES)
    # A classic RPATH, unlike RUNPATH, also serves the libraries that a copied library needs.
    set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
    target_link_options(${name} PRIVATE -s -Wl,--disable-new-dtags)
  endif()
  set_property(GLOBAL APPEND PROPERTY FOREBAY_EXECUTABLES ${name})
endfunction()
