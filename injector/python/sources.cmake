target_sources(ddpscope_injector PRIVATE python/python_stack.cpp)
