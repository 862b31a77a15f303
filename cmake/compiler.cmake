# Language level, warnings and sanitizers: one INTERFACE target that every target of ours links.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Every executable works straight from the build folder: bin/ holds what a user starts, lib/ what is preloaded.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# By which a merged file knows the build that made it.
add_link_options(-Wl,--build-id)

# Where the clone lies does not show in what is built of it.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

find_program(CCACHE ccache)
if(CCACHE)  # another clone, or work tree, of the same state takes what this one compiled
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # so that ccache knows a precompiled header again
  else()
    set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)  # clang is told where they lie: in another clone nothing would be found
  endif()
endif()

# Several files in one compilation: half the time for all of them (eight of the viewer: 9.3 s apart, 4.7 s together), more
# for one that was changed. Presets release and portable compile so, dev does not, so that each file includes what it uses.
option(DDPSCOPE_UNITY "compile several files at once where their names allow it" OFF)
function(compile_together)
  if(DDPSCOPE_UNITY)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

add_library(ddpscope_options INTERFACE)
add_library(ddpscope::options ALIAS ddpscope_options)
target_compile_options(ddpscope_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor $<$<BOOL:${DDPSCOPE_WERROR}>:-Werror>)
target_include_directories(ddpscope_options INTERFACE ${PROJECT_SOURCE_DIR})

# The injector and the stand-ins live inside other people's processes: they are never sanitized
# (an ASan runtime must come first in the process, and TSan would see the guest's own races).
set(DDPSCOPE_SANITIZE "" CACHE STRING "address, thread or empty: sanitizer of the collector and its tests")
add_library(ddpscope_sanitized INTERFACE)
add_library(ddpscope::sanitized ALIAS ddpscope_sanitized)
target_link_libraries(ddpscope_sanitized INTERFACE ddpscope_options)
if(DDPSCOPE_SANITIZE)
  set(flags -fsanitize=${DDPSCOPE_SANITIZE} -fno-omit-frame-pointer)
  if(DDPSCOPE_SANITIZE STREQUAL "address")
    list(APPEND flags -fsanitize=undefined -fno-sanitize-recover=undefined)
  endif()
  target_compile_options(ddpscope_sanitized INTERFACE ${flags})
  target_link_options(ddpscope_sanitized INTERFACE ${flags})
endif()
if(DDPSCOPE_FUZZ)  # libFuzzer follows the branches that an input takes
  target_compile_options(ddpscope_sanitized INTERFACE -fsanitize=fuzzer-no-link)
endif()
