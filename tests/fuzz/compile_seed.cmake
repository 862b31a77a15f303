# Compiles TEXT with TEXT_TRACE: its files are seeds of fuzz_trace_file, all of them in one are a seed of fuzz_analysis.
get_filename_component(name ${TEXT} NAME_WE)
set(folder ${SEEDS}/fuzz_trace_file/${name})
file(REMOVE_RECURSE ${folder})
execute_process(COMMAND ${TEXT_TRACE} ${TEXT} ${folder} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
file(GLOB files ${folder}/*.ddps)
file(MAKE_DIRECTORY ${SEEDS}/fuzz_analysis)
execute_process(COMMAND cat ${files} OUTPUT_FILE ${SEEDS}/fuzz_analysis/${name} COMMAND_ERROR_IS_FATAL ANY)
