target_sources(ddpscope_injector PRIVATE process_groups/groups.cpp process_groups/works.cpp)
