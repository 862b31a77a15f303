// Calls that are newer than the headers of the oldest system that this is compiled on: Linux 5.9 to 5.11.
#pragma once
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1u << 2)
#endif

extern "C" int close_range(unsigned first, unsigned last, int flags) noexcept;
