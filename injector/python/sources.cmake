target_sources(ddpscope_injector PRIVATE python/interpreter.cpp python/python_stack.cpp python/python_text.cpp)
