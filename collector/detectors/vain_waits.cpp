// A wait of the host that returns behind an abort has not seen its collective complete (device_order.h).
#include "collector/detectors/vain_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "collector/detectors/process_ending.h"
#include "collector/detectors/story.h"

namespace ddpscope::detectors {
namespace {

using matching::Member;

const Member& member_of(const CallFacts& facts, const Hang& hang, std::uint32_t m) {
  return facts.collectives.communicators[hang.communicator].members[m];
}

const ordering::HostWait* wait_of(const CallFacts& facts, const Hang& hang, std::uint32_t m) {
  std::uint32_t wait = facts.device_order.completions[hang.issued(facts, m)].blocked;
  return wait == matching::kNone ? nullptr : &facts.device_order.waits[wait];
}

// After how much waiting; nothing if it was not.
std::optional<std::int64_t> aborted_after_ns(const CallFacts& facts, const Hang& hang, std::uint32_t m) {
  const ordering::HostWait* wait = wait_of(facts, hang, m);
  const Member& member = member_of(facts, hang, m);
  if (!wait || member.aborted_ns == ordering::kNever || member.aborted_ns < wait->begin_ns)
    return std::nullopt;
  return member.aborted_ns - wait->begin_ns;
}

// The call that aborted it.
std::optional<model::EventRef> find_abort(const CallFacts& facts, const Member& member) {
  std::optional<model::EventRef> found;
  constexpr trace::OperationSet kAborts{trace::Operation::kCommunicatorAbort,
                                        trace::Operation::kCommunicatorSplit};  // a shrink may abort
  model::for_each_in_time(facts.job.processes[member.process].file, kAborts,
                          [&](model::EventPlace place, const trace::Record& record) {
                            if (facts.job.begin_ns(member.process, record) == member.aborted_ns)
                              found = {member.process, place};
                          });
  return found;
}

}  // namespace

void add_vain_wait(const CallFacts& facts, const Hang& hang, std::uint32_t waiting,
                   findings::Finding& finding) {
  const Member& member = member_of(facts, hang, waiting);
  const ordering::HostWait* wait = wait_of(facts, hang, waiting);
  if (!wait) return;
  auto add = [&](model::EventRef event, std::string detail) {
    finding.evidence.push_back(evidence_of(facts.job, event, std::move(detail)));
    finding.evidence.back().rank = member.rank;
  };
  auto aborted_ns = aborted_after_ns(facts, hang, waiting);
  add(wait->event, aborted_ns ? "waits for it, until the communicator is aborted" : "waits for it, in vain");
  if (!aborted_ns) return;
  auto abort = find_abort(facts, member);
  if (!abort) return;
  std::string ending = find_ending(facts.job, member.process).sentence;
  add(*abort, fmt::format("aborts the communicator after {} of waiting{}{}", seconds(*aborted_ns),
                          ending.empty() ? "" : "; the rank ", ending));
}

std::string tell_aborts(const CallFacts& facts, const Hang& hang) {
  std::vector<std::int32_t> ranks;
  std::int64_t least_ns = ordering::kNever;
  for (std::uint32_t m : hang.waiting) {
    auto after_ns = aborted_after_ns(facts, hang, m);
    if (!after_ns) continue;
    ranks.push_back(member_of(facts, hang, m).rank);
    least_ns = std::min(least_ns, *after_ns);
  }
  if (ranks.empty()) return "";
  std::sort(ranks.begin(), ranks.end());
  return fmt::format("; {} aborted the communicator after {}", list_ranks(ranks), seconds(least_ns));
}

}  // namespace ddpscope::detectors
