// Operations that NCCL was asked for and that its profiler interface is expected to tell of: from the call to
// the last part of its kernel. One ring for the process: the oldest give way, and whoever still refers to
// them finds nothing.
#pragma once
#include <cstdint>

#include "trace/write/file_writer.h"

namespace ddpscope::injector::profiler {

using OperationRef = std::uint64_t;  // 0: none

struct AskedOperation {
  std::uint64_t called;  // ticks: when its call began
  std::uint64_t buffer;  // 0: not known
  std::uint32_t communicator, sequence;
  std::uint16_t thread;
  std::uint8_t device;
  std::uint8_t function;  // number of its row in calls.def, of those in named_values.def
};

// Belongs to the thread's call from now on, until end_asking(), and is found by find_asked() until that of
// its group.
OperationRef ask_operation(trace::FileWriter& file, const AskedOperation& asked);
void end_asking(bool group_is_open);                            // the call is over
const AskedOperation* asked_operation(OperationRef operation);  // nullptr: it has given way

// Versions before 5 do not say whose an enqueued operation is: by its function and buffers, else the first of
// its function, one that was not found yet.
OperationRef find_asked(std::uint8_t function, const void* send, const void* receive);

// It was enqueued, in so many parts more; 0: their number is not known.
void expect_parts(OperationRef operation, std::uint32_t parts);
// Enqueued in a graph: it may run many times, or never. Counted, where this is who would have timed it.
void mark_captured(OperationRef operation);

// A part of its kernel began, or ended, at this time of the device's clock or (by_device false) the host's.
struct PartTime {
  std::uint64_t time;
  bool by_device;
};
void begin_part(OperationRef operation, PartTime time);
void note_end(OperationRef operation, PartTime time);
// The last part: its time is written down. By whom NCCL tells it, without allocation but for the trace's own.
void end_part(OperationRef operation);

}  // namespace ddpscope::injector::profiler
