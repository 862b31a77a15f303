// One pass over a process each.
#include "collector/live/moments.h"

#include "collector/model/enclosing_calls.h"

namespace ddpscope::live {

using model::EventRef;
using model::Job;
using trace::Operation;
using trace::Record;

Moment find_moment(const Job& job, std::uint32_t process, std::int64_t at_ns) {
  Moment found;
  model::for_each_in_time(job.processes[process].file, [&](model::EventPlace place, const Record& record) {
    if (record.thread != model::kMainThread || trace::operation_of(record.call) == Operation::kSetting)
      return;
    EventRef event{process, place};
    bool printed = trace::operation_of(record.call) == Operation::kTraceback;
    if (job.begin_ns(process, record) > at_ns) {
      if (printed && !found.traceback) found.traceback = event;
      return;
    }
    if (printed || trace::operation_of(record.call) == Operation::kExit) return;
    if (record.stack) found.traced = event;
    bool open = record.end == 0 || job.time_ns(process, record.end) > at_ns;
    if (open && model::kEnclosingCalls.has(trace::operation_of(record.call))) return;
    found.last = event;
    if (open) found.inside = event;
  });
  return found;
}

std::optional<std::uint16_t> woken_by(const Job& job, std::uint32_t process, std::int64_t at_ns) {
  std::optional<std::uint16_t> by;
  bool over = false;
  model::for_each_in_time(job.processes[process].file, [&](model::EventPlace, const Record& record) {
    if (over || record.thread != model::kMainThread || job.begin_ns(process, record) <= at_ns) return;
    over = true;
    if (trace::operation_of(record.call) == Operation::kHandOver)
      by = trace::payload_of<trace::payload::HandOver>(record).from_thread;
  });
  return by;
}

bool left_well(const model::Process& process) {
  return process.header().ended && process.header().exit_code == 0;
}

End find_end(const Job& job) {
  constexpr std::int64_t kReaction = 200'000'000;
  End end{job.duration_ns, false};
  auto take = [&](std::int64_t at_ns, bool told) {
    if (at_ns < end.at_ns) end = {at_ns, told};
  };
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    if (job.processes[i].role != model::Role::kRank) continue;
    take(job.told_ns(i), true);
    if (job.processes[i].has_ended()) take(job.processes[i].last_ns, false);
  }
  if (end.told) end.at_ns -= kReaction;
  return end;
}

}  // namespace ddpscope::live
