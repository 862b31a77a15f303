target_sources(ddpscope_injector PRIVATE nvtx/injection.cpp nvtx/names.cpp nvtx/nccl_ranges.cpp)
# Its header renames functions by macros, which must not reach the names of calls: nvtxMark would be nvtxMarkA.
set_source_files_properties(nvtx/injection.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
