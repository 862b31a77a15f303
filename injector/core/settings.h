// What a trace says about its process before anything happened in it.
#pragma once
#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// Records the schema, the command line, the environment variables by which launchers tell a process its
// place, and the mounts of network file systems.
void write_settings(trace::FileWriter& file);

}  // namespace ddpscope::injector
