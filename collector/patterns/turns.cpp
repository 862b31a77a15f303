// A collective belongs to the step whose optimizer comes next.
#include "collector/patterns/turns.h"

#include <algorithm>

#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {
namespace {

std::vector<std::int64_t> step_ends(const model::Job& job, const matching::Collectives& collectives,
                                    std::uint32_t process) {
  RankSteps rank = find_steps(job, collectives, process);
  std::vector<std::int64_t> ends;
  for (const auto* steps : {&rank.steps, &rank.unreduced})
    for (const Step& step : *steps) ends.push_back(step.end_ns);
  std::sort(ends.begin(), ends.end());
  return ends;
}

// Calls turn_of(ordinal) for each collective of the member; those of equal value are a turn.
template <class TurnOf>
std::vector<Turn> cut(const matching::Member& member, TurnOf&& turn_of) {
  std::vector<Turn> turns;
  std::int64_t last = -1;
  for (std::uint32_t k = 0; k < member.calls.size(); ++k) {
    std::int64_t turn = turn_of(k);
    if (turn < 0) break;
    if (turn != last || turns.empty()) turns.push_back({k, k});
    turns.back().end = k + 1;
    last = turn;
  }
  return turns;
}

// Without the ends of any steps a turn ends with a wait of the host.
std::vector<Turn> cut(const matching::Member& member, const matching::Collectives& collectives,
                      const ordering::DeviceOrder& waits, const std::vector<std::int64_t>& ends) {
  if (!ends.empty())
    return cut(member, [&](std::uint32_t k) -> std::int64_t {
      auto next = std::lower_bound(ends.begin(), ends.end(), collectives.begin_ns_at(member, k));
      return next == ends.end() ? -1 : next - ends.begin();
    });
  return cut(member, [&](std::uint32_t k) -> std::int64_t {
    std::uint32_t wait = waits.completions[member.calls[k]].wait;
    return wait == matching::kNone ? -1 : std::int64_t{wait};
  });
}

}  // namespace

std::vector<Turn> find_turns(const model::Job& job, const matching::Collectives& collectives,
                             const ordering::DeviceOrder& device_order, std::uint32_t communicator) {
  const auto& members = collectives.communicators[communicator].members;
  if (members.empty()) return {};
  const matching::Member& member = members.front();
  return cut(member, collectives, device_order, step_ends(job, collectives, member.process));
}

std::vector<Turn> find_host_turns(const std::vector<FrameworkSteps>& steps,
                                  const matching::Collectives& groups, const ordering::DeviceOrder& waits,
                                  std::uint32_t group) {
  const auto& members = groups.communicators[group].members;
  if (members.empty()) return {};
  const matching::Member& member = members.front();
  std::vector<std::int64_t> ends;
  for (const FrameworkStep& step : steps[member.process].steps) ends.push_back(step.end_ns);
  return cut(member, groups, waits, ends);
}

}  // namespace ddpscope::patterns
