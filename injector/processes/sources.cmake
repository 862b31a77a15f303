target_sources(ddpscope_injector PRIVATE processes/generation.cpp processes/thread_hooks.cpp)
