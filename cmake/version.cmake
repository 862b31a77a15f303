# The commit that a build is of: `--version` tells it. Run at each build (cmake -P), it writes OUTPUT anew only if that
# changed. Outside a repository there is none.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git describe --always --dirty --exclude * WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  set(text "${VERSION}")
  if(NOT failed)
    string(APPEND text " (commit ${commit})")
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define DDPSCOPE_VERSION_TEXT \"${text}\"\n")
  return()
endif()

# Target ddpscope::version: "ddpscope_version.h" defines DDPSCOPE_VERSION_TEXT, "0.1.0 (commit 0123abc)".
set(version_header ${PROJECT_BINARY_DIR}/version/ddpscope_version.h)
add_custom_target(ddpscope_version_header
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} -DOUTPUT=${version_header}
          -P ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${version_header} COMMENT "" VERBATIM)
add_library(ddpscope_version INTERFACE)
add_library(ddpscope::version ALIAS ddpscope_version)
add_dependencies(ddpscope_version ddpscope_version_header)
target_include_directories(ddpscope_version INTERFACE ${PROJECT_BINARY_DIR}/version)
