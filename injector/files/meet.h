// Descriptors met for the first time: what they are, and their opening announced in the trace.
#pragma once
#include <sys/stat.h>

#include <string_view>

#include "injector/core/hook.h"
#include "injector/files/descriptors.h"

namespace ddpscope::injector {

// fstat without libc: false if the descriptor is not open.
bool state_of(int fd, struct stat* state);
// The same for a name; links are not followed.
bool state_of(int directory, const char* path, struct stat* state);
// Likewise; links are followed. An empty path means the descriptor itself.
bool find_state(int directory, const char* path, struct stat* state);

// What an unknown descriptor is (inherited through exec, passed by another process, opened before anything
// was recorded), remembered in the table. One to three system calls, once a descriptor. As own work only.
Descriptor meet_descriptor(trace::FileWriter& file, int fd);

// Writes that `fd` is this file, under a number of its own, which it returns. As own work only.
std::uint32_t record_descriptor(trace::FileWriter& file, int fd, std::uint64_t device, std::uint64_t inode,
                                int flags, std::string_view path);

// Likewise, if it is an end of a socket or pipe; else it stays unknown.
void meet_inherited_stream(int fd);

// Descriptor that `fd` now is, met if it was unknown.
Descriptor known_descriptor(trace::FileWriter& file, int fd);

// The opening of a regular file, with a record of it in this process's trace (a child after fork announces
// what it inherited at its first use); nullptr if `fd` is none or is left out. As own work only.
Opening* known_opening(trace::FileWriter& file, int fd);

// A new opening or directory that `fd` stands for from now on. nullptr: no place (counted), the descriptor is
// left out. `opened`: a directory's ticks before it was opened, 0 if that is not known.
Opening* add_opening(trace::FileWriter& file, int fd, const struct stat& state, int flags);
Directory* add_directory(trace::FileWriter& file, int fd, const struct stat& state, std::string_view path,
                         std::uint64_t opened);

// Counts what the process has kept of its read-opens: true for the first 10,000 and for files that it has
// written.
bool keep_read_open(const trace::FileWriter& file, std::uint64_t path_hash);
void note_written_name(const trace::FileWriter& file, std::uint64_t path_hash);

}  // namespace ddpscope::injector
