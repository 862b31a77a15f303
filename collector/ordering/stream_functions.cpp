// By who made the threads.
#include "collector/ordering/stream_functions.h"

#include <map>

namespace ddpscope::ordering {
namespace {

using trace::Operation;

// The main thread, and all that were seen to be made.
std::set<std::uint16_t> threads_of_program(const trace::TraceFile& file) {
  std::set<std::uint16_t> threads;
  model::for_each(file, {Operation::kThread, Operation::kThreadCreate},
                  [&](model::EventPlace, const trace::Record& record) {
                    if (trace::operation_of(record.call) == Operation::kThreadCreate)
                      threads.insert(static_cast<std::uint16_t>(
                          trace::payload_of<trace::payload::ThreadLife>(record).other));
                    else if (trace::payload_of<trace::payload::Thread>(record).tid ==
                             static_cast<std::uint32_t>(file.header().pid))
                      threads.insert(record.thread);
                  });
  return threads;
}

}  // namespace

std::set<ThreadId> find_stream_function_threads(const model::Job& job, const std::vector<ThreadId>& threads) {
  std::map<std::uint32_t, std::set<std::uint16_t>> of_program;  // by process that enqueues functions
  std::set<ThreadId> found;
  for (ThreadId thread : threads) {
    const trace::TraceFile& file = job.processes[thread.process].file;
    if (file.count({Operation::kHostFunction}) == 0) continue;
    auto [known, fresh] = of_program.try_emplace(thread.process);
    if (fresh) known->second = threads_of_program(file);
    if (!known->second.contains(thread.thread)) found.insert(thread);
  }
  return found;
}

}  // namespace ddpscope::ordering
