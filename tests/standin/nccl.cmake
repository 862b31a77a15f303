# The stand-in NCCL: programs of several ranks, started by pytest with the stand-ins in front.
foreach(program nccl_numerics nccl_mismatch nccl_endings nccl_order)
  add_executable(${program} ${CMAKE_CURRENT_LIST_DIR}/${program}.cpp ${CMAKE_CURRENT_LIST_DIR}/nccl_rank.cpp)
  target_link_libraries(${program} PRIVATE
    ddpscope::options ddpscope::cuda_headers ddpscope::cudart ddpscope::nccl)
  add_dependencies(${program} standin_nccl standin_cudart)
endforeach()

add_python_test(standin.nccl nccl_test.py)

add_executable(nccl_link_model_test
  ${CMAKE_CURRENT_LIST_DIR}/nccl_link_model_test.cpp ${PROJECT_SOURCE_DIR}/standin/nccl/link_model.cpp)
target_link_libraries(nccl_link_model_test PRIVATE ddpscope::options ddpscope::cuda_headers GTest::gtest_main)
gtest_discover_tests(nccl_link_model_test PROPERTIES LABELS standin)
