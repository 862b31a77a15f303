# The stand-in driver, beside the runtime. One process a test, because it is initialised once a process.
add_executable(driver_standin_test ${CMAKE_CURRENT_LIST_DIR}/driver_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/driver_memory_test.cpp)
target_link_libraries(driver_standin_test PRIVATE
  ddpscope::options ddpscope::cuda_headers ddpscope::cudart standin_cuda GTest::gtest_main)
add_dependencies(driver_standin_test standin_cudart)
gtest_discover_tests(driver_standin_test TEST_PREFIX standin.driver.
  PROPERTIES LABELS standin TIMEOUT 60
  ENVIRONMENT "LD_PRELOAD=${PROJECT_BINARY_DIR}/lib/standin/libcudart.so.13"
  ENVIRONMENT_MODIFICATION "CUDA_VISIBLE_DEVICES=unset:")
