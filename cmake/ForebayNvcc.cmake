# nvcc, which compiles kernels for every architecture from sm_80 on that it knows, with PTX for those
# that come later. Without it, programs wait for NVRTC.
set(FOREBAY_HAVE_INTERPRETER OFF)
if(NOT FOREBAY_HAVE_CUDA)
  return()
endif()
get_filename_component(cuda_folder ${FOREBAY_CUDA_INCLUDE_DIR} DIRECTORY)
find_program(FOREBAY_NVCC nvcc HINTS ${cuda_folder}/bin ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin
             DOC "nvcc, for the interpreter kernels")
if(NOT FOREBAY_NVCC)
  message(STATUS "forebay: no nvcc found; the first run of a program waits for NVRTC")
  return()
endif()
execute_process(COMMAND ${FOREBAY_NVCC} --list-gpu-code OUTPUT_VARIABLE known RESULT_VARIABLE result)
string(REGEX MATCHALL "sm_[0-9]+" known "${known}")
list(TRANSFORM known REPLACE "sm_" "")
list(FILTER known EXCLUDE REGEX "^[0-7][0-9]$")
if(NOT result EQUAL 0 OR NOT known)
  message(STATUS "forebay: ${FOREBAY_NVCC} names no architecture from sm_80 on; the first run of a "
                 "program waits for NVRTC")
  return()
endif()
list(SORT known COMPARE NATURAL)
set(FOREBAY_NVCC_ARCHITECTURES ${known})
get_filename_component(FOREBAY_NVCC_FOLDER ${FOREBAY_NVCC} DIRECTORY)
set(FOREBAY_NVCC_FLAGS -O3 -std=c++20 --fmad=false -ccbin ${CMAKE_CXX_COMPILER}
    -allow-unsupported-compiler -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_SOURCE_DIR}/compute/include)

# forebay_fatbin(IMAGE SOURCE DEPENDS...): a fat binary of kernels. The source becomes PTX once, for
# the oldest architecture, and that becomes machine code for each; the host compiler only
# preprocesses. Contraction is off everywhere.
function(forebay_fatbin image source)
  list(GET FOREBAY_NVCC_ARCHITECTURES 0 oldest)
  list(JOIN FOREBAY_NVCC_ARCHITECTURES ",sm_" codes)
  add_custom_command(
    OUTPUT ${image}
    COMMAND ${FOREBAY_NVCC} -fatbin ${FOREBAY_NVCC_FLAGS} -compress-mode=size --threads 2
            -gencode "arch=compute_${oldest},code=[sm_${codes},compute_${oldest}]" -o ${image} ${source}
    DEPENDS ${source} ${ARGN} COMMENT "Compiling ${source}" VERBATIM)
endfunction()

# The same as relocatable code, whose kernels share functions instead of having their own copies.
function(forebay_linked_fatbin image source)
  list(GET FOREBAY_NVCC_ARCHITECTURES 0 oldest)
  get_filename_component(base ${image} NAME_WE)
  get_filename_component(folder ${image} DIRECTORY)
  set(ptx ${folder}/${base}.ptx)
  add_custom_command(
    OUTPUT ${ptx}
    COMMAND ${FOREBAY_NVCC} -ptx ${FOREBAY_NVCC_FLAGS} -arch compute_${oldest} -o ${ptx} ${source}
    DEPENDS ${source} ${ARGN} COMMENT "Compiling ${source}" VERBATIM)
  set(parts --image3=kind=ptx,sm=${oldest},file=${ptx})
  set(cubins)
  foreach(architecture ${FOREBAY_NVCC_ARCHITECTURES})
    set(part ${folder}/${base}_${architecture})
    add_custom_command(
      OUTPUT ${part}.cubin
      COMMAND ${FOREBAY_NVCC_FOLDER}/ptxas -c -O3 -arch sm_${architecture} -o ${part}.o ${ptx}
      COMMAND ${FOREBAY_NVCC_FOLDER}/nvlink --arch sm_${architecture} -o ${part}.cubin ${part}.o
      DEPENDS ${ptx} COMMENT "Assembling ${base} for sm_${architecture}" VERBATIM)
    list(APPEND cubins ${part}.cubin)
    list(APPEND parts --image3=kind=elf,sm=${architecture},file=${part}.cubin)
  endforeach()
  add_custom_command(
    OUTPUT ${image}
    COMMAND ${FOREBAY_NVCC_FOLDER}/fatbinary -64 --create=${image} --compress-mode=size ${parts}
    DEPENDS ${ptx} ${cubins} VERBATIM)
endfunction()

set(FOREBAY_HAVE_INTERPRETER ON)
message(STATUS "forebay: interpreter kernels for ${known}, compiled by ${FOREBAY_NVCC}")
