# The stand-in CUPTI, used as a client uses the real one: NVIDIA's header, linked by soname, the stand-ins preloaded.
# One process a test: CUPTI has one client a process.
add_executable(cupti_standin_test
  ${CMAKE_CURRENT_LIST_DIR}/cupti_activities_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cupti_buffers_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cupti_calls_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cupti_graphs_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cupti_standin_test.cpp
  $<TARGET_OBJECTS:cuda_kernels>)
target_precompile_headers(cupti_standin_test PRIVATE <gtest/gtest.h>)
target_link_libraries(cupti_standin_test PRIVATE
  ddpscope::options ddpscope::cuda_headers ddpscope::cupti ddpscope::cudart ddpscope::nccl GTest::gtest_main)
target_link_options(cupti_standin_test PRIVATE -rdynamic)
add_dependencies(cupti_standin_test cuda_kernels_build standin_cudart standin_cupti standin_nccl)
set(standins ${PROJECT_BINARY_DIR}/lib/standin)
gtest_discover_tests(cupti_standin_test TEST_PREFIX standin.cupti.
  PROPERTIES LABELS standin TIMEOUT 60
  ENVIRONMENT "LD_PRELOAD=${standins}/libcudart.so.13:${standins}/libnccl.so.2:${standins}/libcupti.so.13"
  ENVIRONMENT_MODIFICATION "CUDA_VISIBLE_DEVICES=unset:")
