// When a run of file accesses may go on: nothing but file accesses was recorded by its thread since.
#pragma once
#include "injector/core/hook.h"

namespace ddpscope::injector {

// Records of reads, writes, seeks and look-ups that this thread has opened.
extern __thread std::uint32_t file_records __attribute__((tls_model("initial-exec")));

// Changes when the thread records anything else or releases something to another thread. Whatever orders
// threads or ranks is one of the two, so calls with one stamp have one place in the order of events, and one
// record can stand for them.
inline std::uint32_t stamp() { return this_thread.writer.opened() - file_records + this_thread.releases; }

// Opens a record that leaves the stamp as it is. As own work only.
template <class Payload>
trace::OpenRecord open_file_record(trace::FileWriter& file, Call call, trace::Budget budget,
                                   const Payload& payload, std::uint64_t ticks, std::uint32_t stack = 0) {
  trace::OpenRecord record =
      this_thread.writer.open_in(file, call, budget, &payload, sizeof(payload), ticks, stack);
  if (record) ++file_records;
  return record;
}

}  // namespace ddpscope::injector
