target_sources(ddpscope_injector PRIVATE processes/exec_hooks.cpp processes/exit_hooks.cpp processes/fork_hooks.cpp
  processes/generation.cpp processes/process_call.cpp processes/wait_hooks.cpp)
