// The last signs of life of a process.
#include "collector/detectors/whereabouts.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>

#include "collector/detectors/story.h"

namespace ddpscope::detectors {
namespace {

using matching::Member;
using model::EventRef;
using model::Job;
using model::Process;
using trace::Operation;
using trace::Record;

// A call that takes longer than this while others wait is where the rank is stuck.
constexpr std::int64_t kStuck = 1'000'000'000;

struct Signs {
  std::optional<EventRef> inside;  // the call that has not returned
  std::optional<EventRef> last;
  std::optional<EventRef> traced;
  std::optional<EventRef> exit;
};

Signs find_signs(const Job& job, const matching::Collectives& collectives, const Member& member) {
  std::uint16_t thread =
      member.calls.empty() ? std::uint16_t{1} : collectives.call_at(member, member.calls.size() - 1).thread;
  Signs signs;
  model::for_each_in_time(job.processes[member.process].file,
                          [&](model::EventPlace place, const Record& record) {
                            EventRef event{member.process, place};
                            Operation operation = trace::operation_of(record.call);
                            if (operation == Operation::kExit) signs.exit = event;
                            if (record.thread != thread) return;
                            signs.last = event;
                            if (record.stack) signs.traced = event;
                            if (record.end == 0 && operation != Operation::kExit) signs.inside = event;
                          });
  return signs;
}

// The signal that ended the process, if `ddpscope run` saw it, or whoever awaited it recorded that.
std::optional<int> find_signal(const Job& job, const Process& gone) {
  if (gone.ended_status > 128) return gone.ended_status - 128;
  std::optional<int> signal;
  for (const Process& process : job.processes) {
    if (process.header().pid != gone.header().parent_pid || process.host != gone.host) continue;
    model::for_each(process.file, [&](model::EventPlace, const Record& record) {
      if (trace::operation_of(record.call) != Operation::kWaitChild) return;
      auto awaited = trace::payload_of<trace::payload::Process>(record);
      if (awaited.pid == gone.header().pid && WIFSIGNALED(awaited.status)) signal = WTERMSIG(awaited.status);
    });
  }
  return signal;
}

std::string text_of_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("signal {} (SIG{})", signal, name) : fmt::format("signal {}", signal);
}

std::string name_of(const Job& job, EventRef event) {
  const trace::CallInfo* info = trace::find_call(job.record(event).call);
  return info ? info->symbol : "a call";
}

}  // namespace

Whereabouts find_whereabouts(const Job& job, const matching::Collectives& collectives, const Member& member,
                             std::int64_t waited_from_ns) {
  const Process& process = job.processes[member.process];
  Signs signs = find_signs(job, collectives, member);
  std::int64_t until_ns = std::min(process.last_ns, job.told_ns(member.process));
  if (process.life == model::Life::kStopped)
    return {"it is stopped by a signal", signs.last, signs.traced, true};
  if (signs.inside && until_ns - std::max(job.begin_ns(*signs.inside), waited_from_ns) > kStuck)
    return {fmt::format("it has been inside {} since {}", name_of(job, *signs.inside),
                        seconds(job.begin_ns(*signs.inside))),
            signs.inside, signs.traced, true};
  if (process.header().ended)
    return {fmt::format("{}it ended with exit code {} at {}",
                        until_ns < process.last_ns
                            ? fmt::format("it was sent a signal to end at {}, and ", seconds(until_ns))
                            : "",
                        process.header().exit_code, seconds(process.last_ns)),
            signs.exit ? signs.exit : signs.last, signs.traced};
  if (auto signal = find_signal(job, process))
    return {fmt::format("{} killed it after {}", text_of_signal(*signal), seconds(process.last_ns)),
            signs.last, signs.traced};
  if (!signs.last) return {"nothing is known of it", std::nullopt, std::nullopt};
  if (process.life == model::Life::kRuns)
    return {fmt::format("it runs, its last call is {} at {}; what it does since is not recorded",
                        name_of(job, *signs.last), seconds(job.begin_ns(*signs.last))),
            signs.last, signs.traced};
  if (process.ended_ticks || process.life == model::Life::kGone)
    return {
        fmt::format(
            "its last call is {} at {}; what it did then is not recorded, and it ended without an exit at {}",
            name_of(job, *signs.last), seconds(job.begin_ns(*signs.last)), seconds(process.last_ns)),
        signs.last, signs.traced};
  return {
      fmt::format("its trace stops at {}, its last call is {}: it was killed, or does what is not recorded",
                  seconds(process.last_ns), name_of(job, *signs.last)),
      signs.last, signs.traced};
}

}  // namespace ddpscope::detectors
