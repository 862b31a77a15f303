target_sources(ddpscope_injector PRIVATE core/process.cpp core/real.cpp core/settings.cpp core/stack.cpp)
