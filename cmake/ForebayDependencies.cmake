# Third-party libraries: found on the machine, else fetched at a pinned version.
include(FetchContent)
find_package(Threads REQUIRED)

# What is fetched is installed with forebay, since its static libraries need it there.
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
set(CMAKE_POLICY_DEFAULT_CMP0126 NEW)
set(JSON_Install ${FOREBAY_INSTALL})
set(FMT_INSTALL ${FOREBAY_INSTALL})
set(SPDLOG_INSTALL ${FOREBAY_INSTALL})
set(SPDLOG_FMT_EXTERNAL ON)
FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.3
                     FIND_PACKAGE_ARGS 3.10)
FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt.git GIT_TAG 9.1.0 FIND_PACKAGE_ARGS)
FetchContent_Declare(spdlog GIT_REPOSITORY https://github.com/gabime/spdlog.git GIT_TAG v1.10.0
                     FIND_PACKAGE_ARGS)
FetchContent_MakeAvailable(nlohmann_json fmt spdlog)

# What traces need: FOREBAY_ZLIB and FOREBAY_ZSTD are targets, xxHash is a header.
set(ZLIB_BUILD_EXAMPLES OFF)
set(ZSTD_BUILD_PROGRAMS OFF)
set(ZSTD_BUILD_SHARED OFF)
FetchContent_Declare(ZLIB GIT_REPOSITORY https://github.com/madler/zlib.git GIT_TAG v1.3.1
                     FIND_PACKAGE_ARGS)
FetchContent_Declare(zstd GIT_REPOSITORY https://github.com/facebook/zstd.git GIT_TAG v1.5.4
                     SOURCE_SUBDIR build/cmake FIND_PACKAGE_ARGS)
FetchContent_Declare(xxHash GIT_REPOSITORY https://github.com/Cyan4973/xxHash.git GIT_TAG v0.8.1
                     SOURCE_SUBDIR none FIND_PACKAGE_ARGS)
FetchContent_MakeAvailable(ZLIB zstd xxHash)
set(FOREBAY_ZLIB ZLIB::ZLIB)
if(NOT TARGET ZLIB::ZLIB)  # fetched: zlib exports no targets, but installs what find_package finds
  target_include_directories(zlibstatic INTERFACE
    "$<BUILD_INTERFACE:${zlib_SOURCE_DIR};${zlib_BINARY_DIR}>")
  set(FOREBAY_ZLIB $<BUILD_INTERFACE:zlibstatic> $<INSTALL_INTERFACE:ZLIB::ZLIB>)
endif()
foreach(target libzstd_static zstd::libzstd_static zstd::libzstd zstd::libzstd_shared)
  if(TARGET ${target})
    set(FOREBAY_ZSTD ${target})
  endif()
endforeach()
if(NOT TARGET xxHash::headers)
  add_library(xxHash::headers INTERFACE IMPORTED)
  target_include_directories(xxHash::headers INTERFACE ${xxhash_SOURCE_DIR})
endif()

# Chooses the instruction set of the host's loops when the program runs.
set(HWY_ENABLE_CONTRIB OFF)
set(HWY_ENABLE_EXAMPLES OFF)
set(HWY_ENABLE_TESTS OFF)
set(HWY_ENABLE_INSTALL ${FOREBAY_INSTALL})
FetchContent_Declare(hwy GIT_REPOSITORY https://github.com/google/highway.git GIT_TAG 1.0.3
                     FIND_PACKAGE_ARGS)
FetchContent_MakeAvailable(hwy)
if(NOT TARGET hwy::hwy)
  add_library(hwy::hwy ALIAS hwy)
endif()

# Not fetched: building a BLAS takes longer than building forebay.
find_package(CBLAS REQUIRED)

if(FOREBAY_BUILD_TOOLS)
  FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git GIT_TAG v2.3.2
                       FIND_PACKAGE_ARGS)
  FetchContent_MakeAvailable(CLI11)
endif()

if(FOREBAY_BUILD_TESTS)
  FetchContent_Declare(Catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2.git GIT_TAG v3.4.0
                       FIND_PACKAGE_ARGS)
  FetchContent_Declare(valijson GIT_REPOSITORY https://github.com/tristanpenman/valijson.git
                       GIT_TAG v1.0 FIND_PACKAGE_ARGS)
  FetchContent_MakeAvailable(Catch2 valijson)
  if(NOT TARGET ValiJSON::valijson)  # installed packages name it without a namespace
    set_target_properties(valijson PROPERTIES IMPORTED_GLOBAL ON)
    add_library(ValiJSON::valijson ALIAS valijson)
  endif()
  if(DEFINED catch2_SOURCE_DIR)  # fetched; an installed one extends the path itself
    list(APPEND CMAKE_MODULE_PATH ${catch2_SOURCE_DIR}/extras)
  endif()
endif()

# Only headers are needed: leak reports open libdw when they name functions.
find_path(FOREBAY_LIBDW_INCLUDE_DIR elfutils/libdwfl.h DOC "Folder of elfutils/libdwfl.h")
if(NOT FOREBAY_LIBDW_INCLUDE_DIR)
  message(STATUS "forebay: no elfutils/libdwfl.h found; leak reports name exported functions only")
endif()

# Only headers are needed: the driver, NVRTC and cuBLASLt are opened when the program runs.
set(FOREBAY_HAVE_CUDA OFF)
if(FOREBAY_CUDA)
  find_path(FOREBAY_CUDA_INCLUDE_DIR cuda.h
            HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include
            DOC "Folder of cuda.h, nvrtc.h and cublasLt.h")
  if(FOREBAY_CUDA_INCLUDE_DIR AND EXISTS ${FOREBAY_CUDA_INCLUDE_DIR}/nvrtc.h
     AND EXISTS ${FOREBAY_CUDA_INCLUDE_DIR}/cublasLt.h)
    set(FOREBAY_HAVE_CUDA ON)
  endif()
endif()
add_library(forebay_cuda_headers INTERFACE)  # empty in a host-only build
if(FOREBAY_HAVE_CUDA)
  message(STATUS "forebay: CUDA headers in ${FOREBAY_CUDA_INCLUDE_DIR}")
  target_include_directories(forebay_cuda_headers SYSTEM INTERFACE ${FOREBAY_CUDA_INCLUDE_DIR})
else()
  message(STATUS "forebay: no CUDA headers (cuda.h, nvrtc.h, cublasLt.h) found; this build is host-only")
endif()
