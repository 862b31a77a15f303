// Which threads of a process recorded anything.
#pragma once
#include <cstdint>
#include <set>

#include "collector/model/job.h"

namespace ddpscope::ordering {

inline std::set<std::uint16_t> threads_of(const model::Process& process) {
  std::set<std::uint16_t> threads;
  for (const trace::RecordSpan& span : process.file.records()) threads.insert(span.thread);
  return threads;
}

}  // namespace ddpscope::ordering
