# glibc declares paths and buffers as never null. A guest that passes null is to be told EFAULT: the checks stay.
target_compile_options(ddpscope_injector PRIVATE -fno-delete-null-pointer-checks -Wno-nonnull-compare -U_FORTIFY_SOURCE)
target_sources(ddpscope_injector PRIVATE
  files/attempts.cpp files/content_call.cpp files/content_hooks.cpp files/created_name.cpp files/descriptor_call.cpp
  files/descriptor_hooks.cpp files/descriptors.cpp files/digests.cpp files/directory_call.cpp files/directory_hooks.cpp
  files/io.cpp files/libc.cpp files/lock_call.cpp files/lock_hooks.cpp files/lookup_call.cpp files/meet.cpp
  files/name_call.cpp files/name_hooks.cpp files/open_call.cpp files/open_hooks.cpp files/passed_looks.cpp files/paths.cpp
  files/read_hooks.cpp files/stat_hooks.cpp files/stream_call.cpp files/stdio_open_hooks.cpp
  files/stdio_hooks.cpp files/shared_memory_hooks.cpp files/syscall_hook.cpp files/temporary_hooks.cpp files/text_hooks.cpp files/told_names.cpp
  files/transfer_call.cpp files/transfer_hooks.cpp
  files/write_hooks.cpp)
