# What the stand-ins of cuBLAS, cuBLASLt and cuRAND need beside the runtime: NVIDIA's headers and libraries, whose
# names they take, and OpenBLAS. Each is optional: without them those stand-ins are not built, which is said.
#   ddpscope::openblas   a static OpenBLAS without threads
#   DDPSCOPE_CUBLAS, DDPSCOPE_CURAND   whether the stand-ins can be built
foreach(part CUBLAS_INCLUDE_DIR CURAND_INCLUDE_DIR CUBLAS_LIBRARY CUBLASLT_LIBRARY CURAND_LIBRARY OPENBLAS_LIBRARY
        OPENBLAS_INCLUDE_DIR)
  if(NOT EXISTS "${${part}}")
    unset(${part} CACHE)
  endif()
endforeach()

find_path(CUBLAS_INCLUDE_DIR cublasLt.h HINTS ${cuda_hints} PATH_SUFFIXES include)
find_path(CURAND_INCLUDE_DIR curand_kernel.h HINTS ${cuda_hints} PATH_SUFFIXES include)
find_library(CUBLAS_LIBRARY NAMES libcublas.so.13 HINTS ${cuda_hints} PATH_SUFFIXES lib lib64)
find_library(CUBLASLT_LIBRARY NAMES libcublasLt.so.13 HINTS ${cuda_hints} PATH_SUFFIXES lib lib64)
find_library(CURAND_LIBRARY NAMES libcurand.so.10 HINTS ${cuda_hints} PATH_SUFFIXES lib lib64)

# Static and serial: a job's own BLAS keeps its symbols and its number of threads, and an installed stand-in
# depends on no package.
set(openblas_hints ${PROJECT_SOURCE_DIR}/.venv/openblas/usr)
find_library(OPENBLAS_LIBRARY NAMES libopenblas.a HINTS ${openblas_hints}
             PATH_SUFFIXES lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial lib/x86_64-linux-gnu/openblas-serial)
find_path(OPENBLAS_INCLUDE_DIR openblas_config.h HINTS ${openblas_hints}
          PATH_SUFFIXES include/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial include/x86_64-linux-gnu/openblas-serial)

set(DDPSCOPE_CUBLAS OFF)
set(DDPSCOPE_CURAND OFF)
if(CUBLAS_INCLUDE_DIR AND CUBLAS_LIBRARY AND CUBLASLT_LIBRARY AND OPENBLAS_LIBRARY AND OPENBLAS_INCLUDE_DIR)
  set(DDPSCOPE_CUBLAS ON)
  add_library(ddpscope_openblas INTERFACE)
  add_library(ddpscope::openblas ALIAS ddpscope_openblas)
  target_include_directories(ddpscope_openblas SYSTEM INTERFACE ${OPENBLAS_INCLUDE_DIR})
  target_link_libraries(ddpscope_openblas INTERFACE ${OPENBLAS_LIBRARY} m)
else()
  message(STATUS "no stand-in for cuBLAS: it needs the toolkit's cuBLAS, and OpenBLAS, which "
    "`bash cmake/install_dependencies.sh` unpacks")
endif()
if(CURAND_INCLUDE_DIR AND CURAND_LIBRARY)
  set(DDPSCOPE_CURAND ON)
else()
  message(STATUS "no stand-in for cuRAND: it needs the toolkit's cuRAND")
endif()

# The names that a library exports, each as EXPORTED(name), in `file`; they begin with `prefix`.
function(write_exported_names library prefix file)
  execute_process(COMMAND ${CMAKE_NM} --dynamic --defined-only --no-sort ${library}
                  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " [TW] ${prefix}[A-Za-z0-9_]+" exported "${symbols}")
  list(TRANSFORM exported REPLACE " [TW] (.*)" "EXPORTED(\\1)")
  list(JOIN exported "\n" exported)
  file(CONFIGURE OUTPUT ${file} CONTENT "${exported}\n" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${library})
endfunction()
