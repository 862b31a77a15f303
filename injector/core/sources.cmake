target_sources(ddpscope_injector PRIVATE
  core/bus_errors.cpp core/dlsym.cpp core/loaded_object.cpp core/memory_map.cpp core/modules.cpp core/process.cpp core/rank.cpp core/real.cpp core/safe_read.cpp core/secrets.cpp core/settings.cpp core/stack.cpp
  core/text_lines.cpp core/unwind.cpp)
