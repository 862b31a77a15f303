target_sources(ddpscope_injector PRIVATE torch/callers.cpp torch/collectives.cpp torch/group_calls.cpp
  torch/group_names.cpp torch/missing_functions.cpp torch/options.cpp torch/parameter_samples.cpp
  torch/parameters.cpp torch/profiler_scopes.cpp torch/tensors.cpp torch/training.cpp torch/trampoline.cpp
  torch/works_calls.cpp)
set_property(SOURCE torch/trampoline.cpp APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/torch/functions.def)
