// What a trace says about its process before anything happened in it.
#pragma once
#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// Records the schema, the command line, the environment variables by which launchers tell a process its
// place, and the mounts of network file systems.
void write_settings(trace::FileWriter& file);

// Whether this is one of these mounts and shows the same files to other hosts; of what is mounted later
// nobody knows.
bool is_shared_device(std::uint64_t device);

}  // namespace ddpscope::injector
