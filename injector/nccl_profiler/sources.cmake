target_sources(ddpscope_injector PRIVATE
  nccl_profiler/device_timer.cpp nccl_profiler/exports.cpp nccl_profiler/names.cpp nccl_profiler/operations.cpp
  nccl_profiler/other_plugin.cpp nccl_profiler/plugin.cpp nccl_profiler/recorded.cpp nccl_profiler/sessions.cpp)
