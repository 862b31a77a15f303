// The stack of the calling thread, as an id in the trace's stack table.
#pragma once
#include <cstdint>

#include "trace/calls.h"
#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// The Python frames if this thread runs Python code whose layout is known (python/), else the native return
// addresses, as far as frame pointers lead. 0: nothing found. Must be called inside OwnWork.
std::uint32_t current_stack(trace::FileWriter& file);

// The same by the unwinder, where the guest has one: through code without frame pointers (libstdc++, whatever
// was built for release), but in microseconds. For rare calls.
std::uint32_t unwound_stack(trace::FileWriter& file);

// The Python frames alone: cheap enough for calls that may come from several places of a program. 0: no
// Python.
std::uint32_t python_place(trace::FileWriter& file);

// Likewise, and not those of a thread that waits for this one: for calls that a library's own threads make.
std::uint32_t own_python_place(trace::FileWriter& file);

// Where the guest called the hook that is running.
std::uintptr_t call_site();

// Whether this is the first call of its kind from this call site: the one whose stack is worth its room.
bool is_first(trace::FileWriter& file, trace::Call call, std::uint64_t kind);

}  // namespace ddpscope::injector
