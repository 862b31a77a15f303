// Rank by rank: does its last step have a beginning of another one behind it, or a way out?
#include "collector/patterns/uneven_passes.h"

#include <optional>
#include <utility>

namespace ddpscope::patterns {
namespace {

using model::EventPlace;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

// What a rank does after its last step, apart from backward passes.
struct Leaving {
  // The call on a process group with which it gives up, else the last one; else its exit.
  std::optional<model::EventRef> last;
  bool gives_up = false;   // a group is destroyed, or a call on one did not end well
  bool traceback = false;  // before that
};

bool failed(const Record& record, std::uint8_t result) { return !record.end || result; }

Leaving find_leaving(const model::Job& job, std::uint32_t process, std::int64_t since_ns) {
  constexpr trace::OperationSet kCalls{Operation::kGroupCollective,
                                       Operation::kGroupBarrier,
                                       Operation::kGroupPointToPoint,
                                       Operation::kGroupWait,
                                       Operation::kProcessGroupEnd,
                                       Operation::kTraceback,
                                       Operation::kExit};
  Leaving leaving;
  model::for_each_in_time(job.processes[process].file, kCalls, [&](EventPlace place, const Record& record) {
    if (leaving.gives_up || job.begin_ns(process, record) <= since_ns) return;
    switch (trace::operation_of(record.call)) {
      case Operation::kTraceback:
        leaving.traceback = true;
        return;
      case Operation::kExit:
        if (!leaving.last) leaving.last = {process, place};
        return;
      case Operation::kGroupWait:
        leaving.gives_up = failed(record, trace::payload_of<payload::GroupWork>(record).result);
        return;  // the call that it waits for came before
      case Operation::kProcessGroupEnd:
        leaving.gives_up = true;
        break;
      default:
        leaving.gives_up = failed(record, trace::payload_of<payload::GroupCollective>(record).result);
    }
    leaving.last = {process, place};
  });
  return leaving;
}

LastStretch stretch_of(const FrameworkSteps& own, std::int32_t rank, std::int64_t until_ns) {
  LastStretch stretch{rank, own.steps.back().end_ns, until_ns, {}};
  for (const FrameworkStep& step : own.steps) stretch.steps_ns.push_back(step.end_ns);
  return stretch;
}

std::optional<Parting> find_done(const model::Job& job, std::uint32_t process, std::int32_t rank,
                                 const FrameworkSteps& own) {
  Leaving leaving = find_leaving(job, process, own.steps.back().end_ns);
  if (leaving.traceback || !leaving.last || !(job.processes[process].ended_well() || leaving.gives_up))
    return std::nullopt;
  return Parting{stretch_of(own, rank, job.begin_ns(*leaving.last)), *leaving.last};
}

// nullopt: ranks differ in steps, or one does something else.
std::optional<UnevenPasses> judge(const model::Job& job, const std::vector<FrameworkSteps>& steps,
                                  const DataParallelGroup& group) {
  UnevenPasses found;
  for (const auto& [rank, reductions] : group.of_rank) {
    auto process = static_cast<std::uint32_t>(job.process_of_rank(rank));
    const FrameworkSteps& own = steps[process];
    if (own.steps.empty() || (found.steps && own.steps.size() != found.steps)) return std::nullopt;
    found.steps = own.steps.size();
    if (own.broken) {
      found.going_on.push_back({stretch_of(own, rank, own.broken->begin_ns), own.broken->event});
    } else if (auto done = find_done(job, process, rank, own)) {
      found.done.push_back(std::move(*done));
    } else {
      return std::nullopt;
    }
  }
  if (found.done.empty() || found.going_on.empty()) return std::nullopt;
  std::vector<LastStretch> done, going_on;
  for (const Parting& one : found.done) done.push_back(one.stretch);
  for (const Parting& one : found.going_on) going_on.push_back(one.stretch);
  Data data = find_data_left(job, done, going_on);
  if (data == Data::kLeft) return std::nullopt;
  found.data_seen = data == Data::kUsedUp;
  return found;
}

}  // namespace

std::vector<UnevenPasses> find_uneven_passes(const model::Job& job, const std::vector<FrameworkSteps>& steps,
                                             const std::vector<DataParallelGroup>& groups) {
  std::vector<UnevenPasses> result;
  for (const DataParallelGroup& group : groups)
    if (group.by_framework)
      if (auto found = judge(job, steps, group)) result.push_back(std::move(*found));
  return result;
}

}  // namespace ddpscope::patterns
