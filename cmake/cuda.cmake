# The CUDA toolkit and NCCL: DDPSCOPE_CUDA_ROOT, else NVIDIA's wheels if install_dependencies.sh unpacked them into
# .venv/cuda (which it does only where no toolkit 13 is installed, or when told to), else an installed toolkit.
#   ddpscope::cuda_headers   cuda_runtime_api.h, cuda_fp16.h, cupti.h, nccl.h, nccl_newer.h
#   ddpscope::cudart         libcudart.so.13 to link against (at run time whichever library has that soname)
#   ddpscope::nccl           libnccl.so.2, likewise
#   ddpscope::cupti          libcupti.so.13, likewise
#   NVML_INCLUDE_DIR         the folder of nvml.h
#   add_cuda_object(NAME FILE.cu [OPTIONS ...])   compiles one .cu file with nvcc into NAME's object
set(DDPSCOPE_CUDA_ROOT "" CACHE PATH "folder with bin/nvcc, include/cuda_runtime.h, include/nccl.h (empty: search)")

set(cuda_parts CUDA_INCLUDE_DIR NCCL_INCLUDE_DIR CUPTI_INCLUDE_DIR NVML_INCLUDE_DIR CUDART_LIBRARY NCCL_LIBRARY CUPTI_LIBRARY NVCC)
# What an earlier run found may have been removed since (.venv, another toolkit).
foreach(part ${cuda_parts})
  if(NOT EXISTS "${${part}}")
    unset(${part} CACHE)
  endif()
endforeach()

set(cuda_hints ${DDPSCOPE_CUDA_ROOT} ${PROJECT_SOURCE_DIR}/.venv/cuda $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda /opt/cuda)
find_path(CUDA_INCLUDE_DIR cuda_runtime_api.h HINTS ${cuda_hints} PATH_SUFFIXES include)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${cuda_hints} PATH_SUFFIXES include)
find_path(CUPTI_INCLUDE_DIR cupti.h HINTS ${cuda_hints} PATH_SUFFIXES include extras/CUPTI/include)
# A toolkit may come without nvml.h, so install_dependencies.sh brings it in any case.
find_path(NVML_INCLUDE_DIR nvml.h HINTS ${PROJECT_SOURCE_DIR}/.venv/nvml/nvidia/cu13 ${cuda_hints} PATH_SUFFIXES include)
find_library(CUDART_LIBRARY NAMES cudart libcudart.so.13 NAMES_PER_DIR HINTS ${cuda_hints} PATH_SUFFIXES lib lib64)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 NAMES_PER_DIR HINTS ${cuda_hints} PATH_SUFFIXES lib lib64)
find_library(CUPTI_LIBRARY NAMES cupti libcupti.so.13 NAMES_PER_DIR HINTS ${cuda_hints}
             PATH_SUFFIXES lib lib64 extras/CUPTI/lib64)
find_program(NVCC nvcc HINTS ${cuda_hints} PATH_SUFFIXES bin)

set(missing ${cuda_parts})
foreach(part ${cuda_parts})
  if(${part})
    list(REMOVE_ITEM missing ${part})
  endif()
endforeach()
if(missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "of the CUDA toolkit 13 and NCCL these are not found: ${missing}\n"
    "hint: `bash cmake/install_dependencies.sh` brings nvml.h, and NVIDIA's wheels where there is no toolkit; "
    "-DDDPSCOPE_CUDA_ROOT=FOLDER names one that lies elsewhere")
endif()

add_library(ddpscope_cuda_headers INTERFACE)
add_library(ddpscope::cuda_headers ALIAS ddpscope_cuda_headers)
target_include_directories(ddpscope_cuda_headers SYSTEM INTERFACE
                           ${CUDA_INCLUDE_DIR} ${NCCL_INCLUDE_DIR} ${CUPTI_INCLUDE_DIR}
                           ${CMAKE_CURRENT_LIST_DIR}/headers)

add_library(ddpscope::cudart UNKNOWN IMPORTED)
set_target_properties(ddpscope::cudart PROPERTIES IMPORTED_LOCATION ${CUDART_LIBRARY})
add_library(ddpscope::nccl UNKNOWN IMPORTED)
set_target_properties(ddpscope::nccl PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY})

add_library(ddpscope::cupti UNKNOWN IMPORTED)
set_target_properties(ddpscope::cupti PROPERTIES IMPORTED_LOCATION ${CUPTI_LIBRARY})

function(add_cuda_object name source)
  cmake_parse_arguments(arg "" "" "OPTIONS" ${ARGN})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
  get_filename_component(source ${source} ABSOLUTE)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${NVCC} -c ${source} -o ${object} -std=c++20 -O2 -cudart shared -Xcompiler -fPIC
            -Xcompiler=-ffile-prefix-map=${PROJECT_SOURCE_DIR}/= $<$<BOOL:${CMAKE_SYSROOT}>:-Xcompiler=--sysroot=${CMAKE_SYSROOT}>
            -I${NCCL_INCLUDE_DIR} -MD -MF ${object}.d ${arg_OPTIONS}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "nvcc ${name}"
    COMMAND_EXPAND_LISTS
    VERBATIM)
  add_library(${name} OBJECT IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_OBJECTS ${object})
  add_custom_target(${name}_build DEPENDS ${object})
  add_dependencies(${name} ${name}_build)
endfunction()
