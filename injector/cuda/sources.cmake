target_sources(ddpscope_injector PRIVATE
  cuda/arrays.cpp cuda/captures.cpp cuda/copies.cpp cuda/copy_digests.cpp cuda/device.cpp cuda/graphs.cpp cuda/kernel_names.cpp cuda/launches.cpp cuda/memory.cpp cuda/memory_type.cpp
  cuda/per_thread.cpp cuda/registration.cpp cuda/streams.cpp cuda/value_reads.cpp)
