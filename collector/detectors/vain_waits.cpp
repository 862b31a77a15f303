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

// By its watchdog, as a rule.
struct Abort {
  std::int64_t after_ns;  // of waiting
  model::EventRef event;
  bool of_process;  // else of the communicator
};

// The call that aborted the communicator.
std::optional<model::EventRef> find_communicators_abort(const CallFacts& facts, const Member& member) {
  std::optional<model::EventRef> found;
  constexpr trace::OperationSet kAborts{trace::Operation::kCommunicatorAbort,
                                        trace::Operation::kCommunicatorSplit};  // a shrink may abort
  if (member.aborted_ns == ordering::kNever) return found;
  model::for_each_in_time(facts.job.processes[member.process].file, kAborts,
                          [&](model::EventPlace place, const trace::Record& record) {
                            if (facts.job.begin_ns(member.process, record) == member.aborted_ns)
                              found = {member.process, place};
                          });
  return found;
}

// abort(), by which a process ends itself.
std::optional<model::EventRef> find_own_abort(const CallFacts& facts, const Member& member) {
  auto event = find_ending(facts.job, member.process).event;
  bool aborts = event && facts.job.record(*event).call == static_cast<std::uint16_t>(trace::Call::abort);
  return aborts ? event : std::nullopt;
}

std::optional<Abort> find_abort(const CallFacts& facts, const Hang& hang, std::uint32_t m) {
  const ordering::HostWait* wait = wait_of(facts, hang, m);
  const Member& member = member_of(facts, hang, m);
  auto event = find_communicators_abort(facts, member);
  bool of_process = !event;
  if (of_process) event = find_own_abort(facts, member);
  if (!wait || !event) return std::nullopt;
  std::int64_t after_ns = facts.job.begin_ns(*event) - wait->begin_ns;
  return after_ns < 0 ? std::nullopt : std::optional(Abort{after_ns, *event, of_process});
}

}  // namespace

void add_vain_wait(const CallFacts& facts, const Hang& hang, std::uint32_t waiting,
                   findings::Finding& finding) {
  const ordering::HostWait* wait = wait_of(facts, hang, waiting);
  if (!wait) return;
  auto abort = find_abort(facts, hang, waiting);
  bool of_communicator = abort && !abort->of_process;
  finding.evidence.push_back(evidence_of(
      facts.job, wait->event,
      of_communicator ? "waits for it, until the communicator is aborted" : "waits for it, in vain"));
  finding.evidence.back().rank = member_of(facts, hang, waiting).rank;
}

void add_abort(const CallFacts& facts, const Hang& hang, findings::Finding& finding) {
  std::optional<Abort> first;
  const Member* member = nullptr;
  for (std::uint32_t m : hang.waiting) {
    auto abort = find_abort(facts, hang, m);
    if (!abort || (first && first->after_ns <= abort->after_ns)) continue;
    first = abort;
    member = &member_of(facts, hang, m);
  }
  if (!first) return;
  std::string ending = find_ending(facts.job, member->process).sentence;
  std::string detail = fmt::format("after {} of waiting the rank {}", seconds(first->after_ns), ending);
  if (!first->of_process)
    detail = fmt::format("aborts the communicator after {} of waiting{}{}", seconds(first->after_ns),
                         ending.empty() ? "" : "; the rank ", ending);
  finding.evidence.push_back(evidence_of(facts.job, first->event, std::move(detail)));
  finding.evidence.back().rank = member->rank;
}

std::string tell_aborts(const CallFacts& facts, const Hang& hang) {
  struct Aborts {
    const char* how;
    std::vector<std::int32_t> ranks{};
    std::int64_t least_ns = ordering::kNever;
  };
  Aborts of_communicator{"the communicator "}, of_process{"(SIGABRT) "};
  for (std::uint32_t m : hang.waiting) {
    auto abort = find_abort(facts, hang, m);
    if (!abort) continue;
    Aborts& aborts = abort->of_process ? of_process : of_communicator;
    aborts.ranks.push_back(member_of(facts, hang, m).rank);
    aborts.least_ns = std::min(aborts.least_ns, abort->after_ns);
  }
  std::string text;
  for (Aborts* aborts : {&of_communicator, &of_process}) {
    std::sort(aborts->ranks.begin(), aborts->ranks.end());
    if (!aborts->ranks.empty())
      text += fmt::format("; {} aborted {}after {}", list_ranks(aborts->ranks), aborts->how,
                          seconds(aborts->least_ns));
  }
  return text;
}

}  // namespace ddpscope::detectors
