# The stand-ins of cuBLAS, cuBLASLt and cuRAND, linked as a program links the real ones.
if(DDPSCOPE_CUBLAS)
  add_executable(cublas_standin_test
    ${CMAKE_CURRENT_LIST_DIR}/cublas_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cublas_vectors_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/cublas_calls_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/cublaslt_test.cpp)
  target_include_directories(cublas_standin_test SYSTEM PRIVATE ${CUBLAS_INCLUDE_DIR})
  target_precompile_headers(cublas_standin_test PRIVATE <gtest/gtest.h>)
  target_link_libraries(cublas_standin_test PRIVATE
    ddpscope::options ddpscope::cuda_headers standin_cublas standin_cublaslt standin_cudart GTest::gtest_main)
  gtest_discover_tests(cublas_standin_test TEST_PREFIX standin. PROPERTIES LABELS standin TIMEOUT 60)
endif()
if(DDPSCOPE_CURAND)
  add_executable(curand_standin_test ${CMAKE_CURRENT_LIST_DIR}/curand_test.cpp)
  target_include_directories(curand_standin_test SYSTEM PRIVATE ${CURAND_INCLUDE_DIR})
  target_link_libraries(curand_standin_test PRIVATE
    ddpscope::options ddpscope::cuda_headers standin_curand standin_cudart GTest::gtest_main)
  gtest_discover_tests(curand_standin_test TEST_PREFIX standin. PROPERTIES LABELS standin TIMEOUT 60)
endif()
add_python_test(standin.blas_names blas_names_test.py)
