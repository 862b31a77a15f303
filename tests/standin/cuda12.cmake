# The stand-in runtime for programs of CUDA 12, whose headers and library are NVIDIA's. What they include below crt/ is
# not among them, and comes from CUDA 13.
set(cuda12 ${PROJECT_SOURCE_DIR}/.venv/cuda12/nvidia/cuda_runtime)
if(NOT EXISTS ${cuda12}/lib/libcudart.so.12)
  message(STATUS "no test of programs built for CUDA 12: `bash cmake/install_dependencies.sh` brings its headers")
  return()
endif()
add_executable(cuda12_standin_test ${CMAKE_CURRENT_LIST_DIR}/cuda12_test.cpp)
target_include_directories(cuda12_standin_test SYSTEM PRIVATE ${cuda12}/include ${CUDA_INCLUDE_DIR})
target_link_libraries(cuda12_standin_test PRIVATE
  ddpscope::options ${cuda12}/lib/libcudart.so.12 GTest::gtest_main ${CMAKE_DL_LIBS})
target_link_options(cuda12_standin_test PRIVATE -rdynamic)
add_dependencies(cuda12_standin_test standin_cudart12)
gtest_discover_tests(cuda12_standin_test TEST_PREFIX standin.
  PROPERTIES LABELS standin TIMEOUT 60
  ENVIRONMENT "LD_PRELOAD=${PROJECT_BINARY_DIR}/lib/standin/libcudart.so.12"
  ENVIRONMENT_MODIFICATION "CUDA_VISIBLE_DEVICES=unset:")
