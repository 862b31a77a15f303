target_sources(ddpscope_injector PRIVATE
  python/debug_offsets.cpp python/frames.cpp python/interpreter.cpp python/printed_traceback.cpp
  python/python_stack.cpp python/python_text.cpp)
