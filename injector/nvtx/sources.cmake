target_sources(ddpscope_injector PRIVATE nvtx/injection.cpp nvtx/names.cpp nvtx/nccl_ranges.cpp)
