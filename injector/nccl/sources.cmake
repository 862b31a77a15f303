target_sources(ddpscope_injector PRIVATE
  nccl/collectives.cpp nccl/communicators.cpp nccl/lifecycle.cpp nccl/newer.cpp nccl/queries.cpp nccl/timed_calls.cpp
  nccl/unhooked.cpp)
