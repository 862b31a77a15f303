# `cmake --install`: the commands, what `run` preloads, the man page and bash's completion, both made by the command itself,
# and a package configuration with the target ddpscope::ddpscope. Of the portable build, packages as well (packaging/).
#
# Components: recorder is what records a job and reports on it; viewer asks for OpenGL; ddpscope is all else.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME ddpscope)

set(libraries ${CMAKE_INSTALL_LIBDIR}/ddpscope)
install(TARGETS ddpscope EXPORT ddpscopeTargets RUNTIME COMPONENT recorder)
install(TARGETS ddpscope_injector LIBRARY DESTINATION ${libraries} COMPONENT recorder)
install(TARGETS reference_trainer RUNTIME)
install(PROGRAMS reference_trainer/demo.sh TYPE BIN RENAME ddpscope-demo)
if(TARGET ddpscope-viewer)
  install(TARGETS ddpscope-viewer RUNTIME COMPONENT viewer)
endif()
if(DDPSCOPE_PORTABLE AND TARGET ddpscope-viewer)  # what it needs where nothing is installed but OpenGL
  set_target_properties(ddpscope-viewer PROPERTIES INSTALL_RPATH $ORIGIN/../${libraries})
  set(system_libraries ${CMAKE_SYSROOT}/usr/lib/x86_64-linux-gnu)
  install(FILES ${system_libraries}/libglfw.so.3 DESTINATION ${libraries} COMPONENT viewer)
  install(FILES ${system_libraries}/libepoxy.so.0.0.0 DESTINATION ${libraries} RENAME libepoxy.so.0 COMPONENT viewer)
  set(fonts ${CMAKE_SYSROOT}/usr/share/fonts)
  install(FILES ${fonts}/opentype/inter/Inter-Regular.otf ${fonts}/opentype/inter/Inter-SemiBold.otf
                ${fonts}/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf
          DESTINATION ${CMAKE_INSTALL_DATADIR}/ddpscope/fonts COMPONENT viewer)
endif()
install(TARGETS standin_cuda standin_cudart standin_cudart12 standin_cupti standin_cupti12 standin_nccl standin_nvml
        LIBRARY DESTINATION ${libraries}/standin)
foreach(library standin_cublas standin_cublaslt standin_curand)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${libraries}/standin)
  endif()
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/standin/torch/ DESTINATION ${libraries}/standin/torch
        FILES_MATCHING PATTERN *.py PATTERN native/*.cpp PATTERN native/*.h PATTERN __pycache__ EXCLUDE)
install(FILES standin/cuda/operator_launch.h DESTINATION ${libraries}/standin/torch/standin_torch/native)
if(DDPSCOPE_PORTABLE)  # where packaging/operators.py has compiled them
  install(DIRECTORY ${PROJECT_BINARY_DIR}/operators/ DESTINATION ${libraries}/standin/torch/standin_torch/prebuilt OPTIONAL)
endif()

# An installed command finds them from where it lies: the prefix can be moved.
file(RELATIVE_PATH from_command ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/ddpscope)
target_compile_definitions(ddpscope PRIVATE DDPSCOPE_INSTALLED_LIBRARIES="${from_command}")

set(manual ${PROJECT_BINARY_DIR}/manual)
add_custom_command(OUTPUT ${manual}/ddpscope.1 ${manual}/ddpscope.bash
  COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
  COMMAND ddpscope manual man > ${manual}/ddpscope.1
  COMMAND ddpscope manual bash > ${manual}/ddpscope.bash
  DEPENDS ddpscope COMMENT "man page and completion" VERBATIM)
add_custom_target(manual ALL DEPENDS ${manual}/ddpscope.1 ${manual}/ddpscope.bash)
install(FILES ${manual}/ddpscope.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${manual}/ddpscope.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ddpscope)
if(TARGET ddpscope-viewer)  # both are found by the command's name
  file(WRITE ${manual}/ddpscope-viewer.1 ".so man1/ddpscope.1\n")
  file(WRITE ${manual}/ddpscope-viewer "source \"\${BASH_SOURCE[0]%-viewer}\"\n")
  install(FILES ${manual}/ddpscope-viewer.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT viewer)
  install(FILES ${manual}/ddpscope-viewer DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT viewer)
endif()
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md PATTERN *.png PATTERN *.py PATTERN *.diff PATTERN *.yaml)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ddpscope)
install(EXPORT ddpscopeTargets NAMESPACE ddpscope:: DESTINATION ${package} FILE ddpscopeConfig.cmake)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ddpscopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ddpscopeConfigVersion.cmake DESTINATION ${package})

if(DDPSCOPE_PORTABLE)
  include(${PROJECT_SOURCE_DIR}/packaging/system_packages.cmake)
endif()
