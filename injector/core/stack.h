// The stack of the calling thread, as an id in the trace's stack table.
#pragma once
#include <cstdint>

#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// The Python frames if this thread runs Python code whose layout is known (python/), else the native return
// addresses, as far as frame pointers lead. 0: nothing found. Must be called inside OwnWork.
std::uint32_t current_stack(trace::FileWriter& file);

}  // namespace ddpscope::injector
