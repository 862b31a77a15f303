// Exit codes, and the last thing that a thread did for the job.
#include "collector/patterns/fatal_failures.h"

#include <fcntl.h>

#include <algorithm>
#include <limits>

namespace ddpscope::patterns {
namespace {

using trace::Operation;

bool is_progress(const trace::Record& record) {
  const trace::CallInfo* info = trace::find_call(record.call);
  if (!info) return false;
  Operation operation = trace::operation_of(record.call);
  if (info->payload == trace::PayloadKind::kCollective || operation == Operation::kStreamSend) return true;
  if (operation != Operation::kOpen || info->payload != trace::PayloadKind::kFileOpen) return false;
  auto opening = trace::payload_of<trace::payload::FileOpen>(record);
  return !opening.error && opening.flags & O_CREAT;
}

}  // namespace

bool FatalFailures::ended(const files::FileEvent& failed) {
  std::uint32_t process = failed.event.process;
  const trace::FileHeader& header = job_.processes[process].header();
  bool by_itself = header.ended && header.exit_code != 0 && failed.end_ns < job_.told_ns(process);
  return by_itself && last_progress_ns(process, failed.thread) < failed.begin_ns;
}

std::int64_t FatalFailures::last_progress_ns(std::uint32_t process, std::uint16_t thread) {
  auto known = progress_.find({process, thread});
  if (known != progress_.end()) return known->second;
  std::int64_t& last_ns = progress_[{process, thread}];
  last_ns = std::numeric_limits<std::int64_t>::min();
  model::for_each(job_.processes[process].file, [&](model::EventPlace place, const trace::Record& record) {
    if (record.thread == thread && is_progress(record))
      last_ns = std::max(last_ns, job_.begin_ns({process, place}));
  });
  return last_ns;
}

}  // namespace ddpscope::patterns
