# The stand-in for NVML, linked as a program links the real one, and by Python's module. One process a test: NVML counts
# its initialisations.
add_executable(nvml_standin_test ${CMAKE_CURRENT_LIST_DIR}/nvml_test.cpp)
target_link_libraries(nvml_standin_test PRIVATE
  ddpscope::options ddpscope::cuda_headers ddpscope::cudart standin_nvml GTest::gtest_main)
add_dependencies(nvml_standin_test standin_cudart)
gtest_discover_tests(nvml_standin_test TEST_PREFIX standin.nvml.
  PROPERTIES LABELS standin TIMEOUT 60
  ENVIRONMENT "LD_PRELOAD=${PROJECT_BINARY_DIR}/lib/standin/libcudart.so.13")
add_python_test(standin.pynvml pynvml_test.py)
set_property(TEST standin.pynvml APPEND PROPERTY
  ENVIRONMENT_MODIFICATION "PYTHONPATH=path_list_append:${PROJECT_SOURCE_DIR}/.venv/nvml")
