# The stand-in NCCL: programs of several ranks, started by pytest with the stand-ins in front.
foreach(program nccl_graphs nccl_numerics nccl_mismatch nccl_endings nccl_order nccl_profiled)
  add_executable(${program} ${CMAKE_CURRENT_LIST_DIR}/${program}.cpp ${CMAKE_CURRENT_LIST_DIR}/nccl_rank.cpp)
  target_link_libraries(${program} PRIVATE
    ddpscope::options ddpscope::cuda_headers ddpscope::cudart ddpscope::nccl)
  add_dependencies(${program} standin_nccl standin_cudart)
endforeach()

# Functions that the installed NCCL need not have.
add_executable(nccl_newer ${CMAKE_CURRENT_LIST_DIR}/nccl_newer.cpp ${CMAKE_CURRENT_LIST_DIR}/nccl_rank.cpp)
target_link_libraries(nccl_newer PRIVATE ddpscope::options ddpscope::cuda_headers standin_cudart standin_nccl)
add_python_test(standin.nccl_newer nccl_newer_test.py)

# Device memory out of the host's reach, as on a GPU.
add_library(far_memory SHARED ${CMAKE_CURRENT_LIST_DIR}/far_memory.cpp)
target_link_libraries(far_memory PRIVATE ddpscope::options ddpscope::cuda_headers)
set_target_properties(far_memory PROPERTIES
  CXX_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/tests)
add_dependencies(nccl_numerics far_memory)

add_python_test(standin.nccl nccl_test.py)
add_python_test(standin.nccl_graphs nccl_graphs_test.py)

# The same plugin as NCCL's six versions know it.
foreach(version 1 2 3 4 5 6)
  add_library(nccl_profiler_v${version} SHARED ${CMAKE_CURRENT_LIST_DIR}/nccl_profiler_plugin.cpp)
  target_link_libraries(nccl_profiler_v${version} PRIVATE ddpscope::options ddpscope::cuda_headers)
  target_compile_definitions(nccl_profiler_v${version} PRIVATE PLUGIN_VERSION=${version})
  set_target_properties(nccl_profiler_v${version} PROPERTIES
    OUTPUT_NAME nccl-profiler-v${version} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/tests)
endforeach()
add_python_test(standin.nccl_profiler nccl_profiler_test.py)

# Linked against NVIDIA's NCCL, which it runs with unless a stand-in is in front.
add_library(nvtx_tool SHARED ${CMAKE_CURRENT_LIST_DIR}/nvtx_tool.cpp)
target_link_libraries(nvtx_tool PRIVATE ddpscope::options ddpscope::cuda_headers)
set_target_properties(nvtx_tool PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/tests)
add_executable(nccl_without_communicator ${CMAKE_CURRENT_LIST_DIR}/nccl_without_communicator.c)
target_link_libraries(nccl_without_communicator PRIVATE ddpscope::cuda_headers ddpscope::cudart ddpscope::nccl)
add_python_test(standin.nccl_nvtx nccl_nvtx_test.py)

add_executable(nccl_link_model_test
  ${CMAKE_CURRENT_LIST_DIR}/nccl_link_model_test.cpp ${PROJECT_SOURCE_DIR}/standin/nccl/link_model.cpp)
target_link_libraries(nccl_link_model_test PRIVATE ddpscope::options ddpscope::cuda_headers GTest::gtest_main)
gtest_discover_tests(nccl_link_model_test PROPERTIES LABELS standin)
