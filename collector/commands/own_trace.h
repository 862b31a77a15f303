// A trace file of `run` itself, of what it sees of its job.
#pragma once
#include <filesystem>
#include <memory>

#include "trace/write/clock.h"
#include "trace/write/thread_writer.h"

namespace ddpscope::commands {

// With its schema written. Nothing if there is no room for it, or somebody has removed the folder.
std::unique_ptr<trace::FileWriter> open_own_trace(const std::filesystem::path& folder,
                                                  const trace::Clock& clock, trace::ThreadWriter& writer);

}  // namespace ddpscope::commands
