target_sources(ddpscope_injector PRIVATE
  cuda/copies.cpp cuda/kernels.cpp cuda/launches.cpp cuda/memory.cpp cuda/objects.cpp cuda/waits.cpp)
