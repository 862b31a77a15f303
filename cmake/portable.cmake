# Toolchain file of preset portable: this machine's compiler, and the root file system that packaging/root.sh makes.
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
set(CMAKE_SYSROOT ${source}/.venv/portable-root)
if(NOT EXISTS ${CMAKE_SYSROOT}/complete)
  message(FATAL_ERROR "there is no root file system to build against\nhint: `bash packaging/root.sh` makes it")
endif()

# Without these gcc takes the machine's own libc and C++ headers, silently: it finds them by the place where it is installed.
set(libraries ${CMAKE_SYSROOT}/usr/lib/x86_64-linux-gnu)
set(headers ${CMAKE_SYSROOT}/usr/include)
set(flags "-B${libraries} -L${libraries}")
set(CMAKE_C_FLAGS_INIT ${flags})
set(CMAKE_CXX_FLAGS_INIT
    "${flags} -nostdinc++ -isystem ${headers}/c++/12 -isystem ${headers}/x86_64-linux-gnu/c++/12 -isystem ${headers}/c++/12/backward")

# The C++ library goes into each program and library; where its names are seen, another's would take their place.
set(link_flags "-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL")
# The C++ library asks for threads, which lay apart until glibc 2.34.
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-Wl,--push-state,--no-as-needed -lpthread -Wl,--pop-state")
# NVIDIA's libraries, which are linked for their names alone, want a shared one.
set(CMAKE_EXE_LINKER_FLAGS_INIT "${link_flags} -Wl,--allow-shlib-undefined")
set(CMAKE_SHARED_LINKER_FLAGS_INIT ${link_flags})

# What is found lies there, or is NVIDIA's, or OpenBLAS (cmake/cuda.cmake, cmake/blas.cmake).
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT} ${source}/.venv ${DDPSCOPE_CUDA_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda
    /opt/cuda)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
