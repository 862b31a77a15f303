# The stand-in CUDA runtime, used as a program uses the real one: linked by soname, the stand-in preloaded.
# One process a test, because a test may need one that has not used CUDA yet.
add_cuda_object(cuda_kernels ${CMAKE_CURRENT_LIST_DIR}/cuda_kernels.cu)
add_cuda_object(cuda_per_thread ${CMAKE_CURRENT_LIST_DIR}/cuda_per_thread.cu OPTIONS --default-stream per-thread)

add_executable(cuda_standin_test
  ${CMAKE_CURRENT_LIST_DIR}/cuda_copies_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cuda_devices_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cuda_captures_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cuda_events_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cuda_graph_nodes_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cuda_graph_changes_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cuda_graphs_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cuda_kernels_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cuda_ipc_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cuda_memory_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cuda_operator_launch_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cuda_process_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cuda_streams_test.cpp
  $<TARGET_OBJECTS:cuda_kernels> $<TARGET_OBJECTS:cuda_per_thread>)
target_precompile_headers(cuda_standin_test PRIVATE <gtest/gtest.h>)
target_link_libraries(cuda_standin_test PRIVATE
  ddpscope::options ddpscope::cuda_headers ddpscope::cudart GTest::gtest_main)
target_link_options(cuda_standin_test PRIVATE -rdynamic)
add_dependencies(cuda_standin_test cuda_kernels_build cuda_per_thread_build standin_cudart)
gtest_discover_tests(cuda_standin_test TEST_PREFIX standin.
  PROPERTIES LABELS standin TIMEOUT 60
  ENVIRONMENT "LD_PRELOAD=${PROJECT_BINARY_DIR}/lib/standin/libcudart.so.13"
  ENVIRONMENT_MODIFICATION "CUDA_VISIBLE_DEVICES=unset:")

add_python_test(standin.cuda_coverage cuda_coverage_test.py)
