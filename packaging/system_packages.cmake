# `cpack -G DEB` and `cpack -G RPM` of the portable build: ddpscope, and ddpscope-viewer, which alone asks for OpenGL.
#
# Neither depends on anything but the C library: what else is needed lies inside. The libraries of the stand-ins bear
# NVIDIA's names, so nothing is derived from the files: no package may think that this one provides CUDA.
set(CPACK_PACKAGE_CONTACT "ddpscope maintainers <maintainers@ddpscope.example>")
set(libc 2.28)  # packaging/root.sh
set(CPACK_PACKAGE_VENDOR ddpscope)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/lay_out.cmake)

include(CPackComponent)
set(CPACK_COMPONENTS_ALL recorder ddpscope viewer)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
cpack_add_component_group(ddpscope)
cpack_add_component(recorder GROUP ddpscope)
cpack_add_component(ddpscope GROUP ddpscope)
cpack_add_component_group(viewer)
cpack_add_component(viewer GROUP viewer)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(summary_ddpscope "finds the bugs of distributed data-parallel training jobs")
set(description_ddpscope
    "Records the NCCL, CUDA, PyTorch and file calls of all ranks from outside the"
    "program, and names skipped barriers, duplicate checkpoint writes, unsharded"
    "samplers, redundant gradient reductions and their relatives, with rank and"
    "line.")
set(summary_viewer "time lines of training jobs that ddpscope recorded")
set(description_viewer "Shows what each rank did and when, and what ddpscope found about it.")
list(JOIN description_ddpscope "\n" description_ddpscope)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_DDPSCOPE_PACKAGE_NAME ddpscope)
set(CPACK_DEBIAN_DDPSCOPE_PACKAGE_DEPENDS "libc6 (>= ${libc})")
set(CPACK_DEBIAN_DDPSCOPE_PACKAGE_RECOMMENDS ddpscope-viewer)
set(CPACK_DEBIAN_DDPSCOPE_PACKAGE_SUGGESTS "python3")
set(CPACK_DEBIAN_DDPSCOPE_DESCRIPTION "${summary_ddpscope}\n${description_ddpscope}")
set(CPACK_DEBIAN_VIEWER_PACKAGE_NAME ddpscope-viewer)
set(CPACK_DEBIAN_VIEWER_PACKAGE_DEPENDS "ddpscope (= ${PROJECT_VERSION}), libc6 (>= ${libc})")
set(CPACK_DEBIAN_VIEWER_PACKAGE_RECOMMENDS "libegl1, libgl1, libgl1-mesa-dri, libx11-6")
set(CPACK_DEBIAN_VIEWER_DESCRIPTION "${summary_viewer}\n${description_viewer}")

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT ddpscope)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0 AND LGPL-3.0-or-later AND MIT AND BSD-3-Clause AND BSD-2-Clause AND Zlib AND OFL-1.1")  # NOTICE
set(CPACK_RPM_PACKAGE_GROUP Development/Debuggers)
set(CPACK_RPM_PACKAGE_AUTOREQPROV " no")
# What rpmbuild would do with the files lay_out.py has done.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __os_install_post %{nil}\n%define _build_id_links none\n%define _buildhost none")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/cmake /usr/share/bash-completion
    /usr/share/bash-completion/completions /usr/share/doc /usr/share/licenses /usr/share/man /usr/share/man/man1)
set(CPACK_RPM_DDPSCOPE_PACKAGE_NAME ddpscope)
set(CPACK_RPM_DDPSCOPE_PACKAGE_REQUIRES "glibc >= ${libc}")
set(CPACK_RPM_DDPSCOPE_PACKAGE_SUGGESTS ddpscope-viewer)
set(CPACK_RPM_DDPSCOPE_PACKAGE_SUMMARY "${summary_ddpscope}")
set(CPACK_RPM_DDPSCOPE_PACKAGE_DESCRIPTION "${description_ddpscope}")
set(CPACK_RPM_VIEWER_PACKAGE_NAME ddpscope-viewer)
set(CPACK_RPM_VIEWER_PACKAGE_REQUIRES "ddpscope = ${PROJECT_VERSION}, glibc >= ${libc}")
set(CPACK_RPM_VIEWER_PACKAGE_SUGGESTS "libglvnd-egl, libglvnd-glx, mesa-dri-drivers, libX11")
set(CPACK_RPM_VIEWER_PACKAGE_SUMMARY "${summary_viewer}")
set(CPACK_RPM_VIEWER_PACKAGE_DESCRIPTION "${description_viewer}")
include(CPack)
