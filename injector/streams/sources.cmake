target_sources(ddpscope_injector PRIVATE streams/stream_io.cpp)
