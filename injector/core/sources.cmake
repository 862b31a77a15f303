target_sources(ddpscope_injector PRIVATE
  core/modules.cpp core/process.cpp core/real.cpp core/settings.cpp core/stack.cpp core/text_lines.cpp)
