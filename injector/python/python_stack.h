// The Python stack of the calling thread, read without the GIL.
#pragma once
#include <cstdint>

#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// Id of the stack in the file's tables; 0 if this thread runs no Python, or an interpreter whose layout is
// not known (counted as python_stack_off). Must be called inside OwnWork.
std::uint32_t python_stack(trace::FileWriter& file);

// The same, but 0 for a thread without frames of its own: those of the thread that it works for cost a system
// call.
std::uint32_t own_python_stack(trace::FileWriter& file);

// Whether this thread is the one that the process began with.
bool is_main_thread(trace::FileWriter& file);

}  // namespace ddpscope::injector
