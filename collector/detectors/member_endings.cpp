// What the traces, and those who watched the processes, say of the members' ends, and what followed from
// whose.
#include "collector/detectors/member_endings.h"

#include <signal.h>

#include <algorithm>

#include "collector/detectors/process_ending.h"
#include "collector/detectors/whereabouts.h"

namespace ddpscope::detectors {
namespace {

using matching::Communicator;
using matching::kNone;
using matching::Member;

bool contains(const Members& members, std::uint32_t m) {
  return std::find(members.begin(), members.end(), m) != members.end();
}

const Communicator& communicator_of(const CallFacts& facts, const Hang& hang) {
  return facts.collectives.communicators[hang.communicator];
}

std::int64_t lived_longer(const CallFacts& facts, const Member& peer, const Member& gone) {
  return facts.job.processes[peer.process].last_ns - facts.job.processes[gone.process].last_ns -
         facts.job.clock_error_between(peer.process, gone.process);
}

// When a communicator first told the process that others were gone, or the process gave one up; kNever.
std::int64_t noticed_ns(const CallFacts& facts, std::uint32_t process) {
  std::int64_t ns = ordering::kNever;
  for (const Communicator& communicator : facts.collectives.communicators)
    for (const Member& member : communicator.members)
      if (member.process == process) ns = std::min({ns, member.aborted_ns, member.error_ns});
  return ns < facts.job.told_ns(process) ? ns : ordering::kNever;
}

// Noticed that a rank was gone, and then ended by itself or went on: it was not killed with that rank.
bool outlasted(const CallFacts& facts, const Member& peer, const Member& gone) {
  return gave_up(facts, peer) && (failed(facts, peer) || lived_longer(facts, peer, gone) >= kKilledTogether);
}

// What it noticed, or failed of, was not before that.
bool gave_up_after(const CallFacts& facts, const Member& peer, const Member& gone) {
  const model::Process& process = facts.job.processes[peer.process];
  std::int64_t gone_ns = facts.job.processes[gone.process].last_ns;
  std::int64_t gave_up_ns = std::min({peer.aborted_ns, peer.error_ns, process.last_ns});
  return process.last_ns > gone_ns &&
         gave_up_ns + facts.job.clock_error_between(peer.process, gone.process) >= gone_ns;
}

// As a launcher ends the ranks that are left when one of them has given up.
bool told_long_after(const CallFacts& facts, const Member& peer, const Member& gone) {
  std::int64_t told_ns = facts.job.told_ns(peer.process);
  return told_ns < ordering::kNever && told_ns - facts.job.processes[gone.process].last_ns -
                                               facts.job.clock_error_between(peer.process, gone.process) >=
                                           kLongWait;
}

// By its own time limit, or by whoever ends jobs.
bool is_no_loss(int signal) { return signal == SIGABRT || signal == SIGALRM || is_for_ending_jobs(signal); }

// Its records stop, by no doing of its own or of the job's, and it had noticed nothing of others. Of one that
// waits in silence the last record says little: whoever was sent a signal, and not seen to end before, ended
// of that.
bool is_cut_short(const CallFacts& facts, const Member& member) {
  const model::Process& process = facts.job.processes[member.process];
  std::int64_t told_ns = facts.job.told_ns(member.process);
  bool told = told_ns < ordering::kNever && (!process.ended_ticks || process.last_ns >= told_ns);
  if (process.header().ended || process.life == model::Life::kRuns || process.life == model::Life::kStopped ||
      told || noticed_ns(facts, member.process) < ordering::kNever)
    return false;
  auto signal = find_signal(facts.job, process);
  return !signal || !is_no_loss(*signal);
}

// The last that is known of it: `run` looks where a rank is that waits and leaves no record.
std::int64_t last_seen_ns(const CallFacts& facts, std::uint32_t process) {
  const model::Process& seen = facts.job.processes[process];
  return seen.sightings.empty()
             ? seen.last_ns
             : std::max(seen.last_ns, facts.job.time_ns(process, seen.sightings.back().last_ticks));
}

// A time limit of its own ends each rank with the code that is meant for that (1 is what failures end with),
// and none of them by what it noticed of the others.
bool ended_alike(const CallFacts& facts, const Member& peer, const model::Process& gone) {
  const model::Process& process = facts.job.processes[peer.process];
  bool noticed = std::min(peer.aborted_ns, peer.error_ns) < ordering::kNever;
  return !noticed && failed(facts, peer) && process.header().exit_code > 1 &&
         process.header().exit_code == gone.header().exit_code &&
         process.last_ns - gone.last_ns < kKilledTogether;
}

// As one communicator shows it.
Members find_lost_of(const CallFacts& facts, const Communicator& communicator) {
  const auto& members = communicator.members;
  Members lost, left;
  for (std::uint32_t m = 0; m < members.size(); ++m)
    (is_cut_short(facts, members[m]) ? lost : left).push_back(m);
  if (std::none_of(left.begin(), left.end(), [&](std::uint32_t m) { return gave_up(facts, members[m]); }))
    return {};
  // Who kills a job rank by rank leaves the last ones time to fail, but not many.
  bool most = lost.size() > left.size();
  for (std::uint32_t m : lost)
    for (std::uint32_t peer : left) {
      bool long_after = told_long_after(facts, members[peer], members[m]);
      if (!long_after &&
          (!outlasted(facts, members[peer], members[m]) || !gave_up_after(facts, members[peer], members[m])))
        return {};
      if (most && lived_longer(facts, members[peer], members[m]) < kKilledTogether) return {};
    }
  return lost;
}

// Others had waited for that call for so long that it hung already when the member was lost.
bool was_lost_later(const CallFacts& facts, const Hang& hang, std::uint32_t lost) {
  std::uint32_t call = hang.is_message() ? kNone : hang.issued(facts, lost);
  std::uint32_t wait = call == kNone ? kNone : facts.device_order.completions[call].blocked;
  if (wait == kNone) return false;
  std::uint32_t process = communicator_of(facts, hang).members[lost].process;
  return last_seen_ns(facts, process) - facts.device_order.waits[wait].begin_ns >= hang.needed_wait;
}

// Processes whose ends may be the reason for which that absent member came no more: those lost in any
// communicator that it is in, and absent ones that failed before anybody told them anything.
std::vector<std::uint32_t> find_reasons(const CallFacts& facts, const LostRanks& lost, const Hang& hang,
                                        std::uint32_t absent) {
  const Communicator& own = communicator_of(facts, hang);
  std::uint32_t process = own.members[absent].process;
  std::vector<std::uint32_t> reasons;
  for (const Communicator& communicator : facts.collectives.communicators) {
    auto is_it = [&](const Member& member) { return member.process == process; };
    if (std::none_of(communicator.members.begin(), communicator.members.end(), is_it)) continue;
    for (std::uint32_t m : lost_members(communicator, lost))
      if (&communicator != &own || !was_lost_later(facts, hang, m))
        reasons.push_back(communicator.members[m].process);
  }
  for (std::uint32_t m : hang.absent) {
    const Member& peer = own.members[m];
    if (m != absent && failed(facts, peer) && noticed_ns(facts, peer.process) == ordering::kNever &&
        !waits_since_ns(facts, peer))
      reasons.push_back(peer.process);
  }
  return reasons;
}

// It waits in a call that all have issued, or was told of an end shortly after it had last done something.
bool follows(const CallFacts& facts, const LostRanks& lost, const Hang& hang, std::uint32_t absent) {
  const Member& member = communicator_of(facts, hang).members[absent];
  auto waits_ns = waits_since_ns(facts, member);
  std::int64_t told_ns = noticed_ns(facts, member.process);
  bool on_its_way =
      told_ns < ordering::kNever &&
      told_ns - last_act_ns(facts.job, member.process, issuing_threads(facts.collectives, member),
                            OpenRun::kMayHaveJustActed, told_ns) <
          kLongWait;
  if (!waits_ns && !on_its_way) return false;
  auto reasons = find_reasons(facts, lost, hang, absent);
  return std::any_of(reasons.begin(), reasons.end(), [&](std::uint32_t reason) {
    std::int64_t gone_ns =
        last_seen_ns(facts, reason) - facts.job.clock_error_between(member.process, reason);
    if (on_its_way && gone_ns < told_ns) return true;
    // One that waits in silence, and of which no end is recorded, may have lived on after its last record.
    const model::Process& process = facts.job.processes[member.process];
    bool lived_on = !process.header().ended || gone_ns < process.last_ns;
    return waits_ns && lived_on && gone_ns < *waits_ns + hang.needed_wait;
  });
}

}  // namespace

bool failed(const CallFacts& facts, const Member& member) {
  const model::Process& process = facts.job.processes[member.process];
  const trace::FileHeader& header = process.header();
  bool by_itself = header.ended && process.last_ns < facts.job.told_ns(member.process);
  return by_itself && header.exit_code > 0 && header.exit_code <= kEndedBySignal;
}

bool cannot_go_on(const model::Process& process) {
  return process.life == model::Life::kStopped || process.life == model::Life::kGone;
}

bool gave_up(const CallFacts& facts, const Member& member) {
  return std::min(member.aborted_ns, member.error_ns) < facts.job.told_ns(member.process) ||
         failed(facts, member);
}

std::optional<model::EventRef> find_leaving(const model::Job& job, const Member& member) {
  std::optional<model::EventRef> leaving;
  model::for_each_in_time(job.processes[member.process].file, {trace::Operation::kCommunicatorEnd},
                          [&](model::EventPlace place, const trace::Record& record) {
                            auto call = trace::payload_of<trace::payload::CommunicatorCall>(record);
                            if (!leaving && call.communicator == member.number && member.number != 0)
                              leaving = model::EventRef{member.process, place};
                          });
  return leaving;
}

std::int64_t disturbed_ns(const CallFacts& facts, const Member& member) {
  const model::Process& process = facts.job.processes[member.process];
  std::int64_t ns = std::min({member.aborted_ns, member.error_ns, facts.job.told_ns(member.process)});
  return process.ended_well() ? ns : std::min(ns, process.last_ns);
}

namespace {

// When a member's part in the communicator came to a good end: it destroyed it, or its process ended.
std::optional<std::int64_t> left_ns(const CallFacts& facts, const Member& member) {
  if (auto leaving = find_leaving(facts.job, member)) return facts.job.begin_ns(*leaving);
  const model::Process& process = facts.job.processes[member.process];
  return process.ended_well() ? std::optional(process.last_ns) : std::nullopt;
}

}  // namespace

bool left_by_itself(const CallFacts& facts, const Communicator& communicator, const Member& member) {
  auto left = left_ns(facts, member);
  return left && std::ranges::all_of(communicator.members, [&](const Member& other) {
           bool own = &other == &member;
           std::int64_t error_ns = own ? 0 : facts.job.clock_error_between(member.process, other.process);
           return *left < disturbed_ns(facts, other) - error_ns;
         });
}

std::int64_t end_of(const CallFacts& facts, const Member& member) {
  return std::min(facts.job.processes[member.process].last_ns, disturbed_ns(facts, member));
}

std::optional<std::int64_t> waits_since_ns(const CallFacts& facts, const Member& member) {
  if (cannot_go_on(facts.job.processes[member.process])) return std::nullopt;
  for (std::size_t k = member.calls.size(); k-- > 0;) {
    const ordering::Completion& completion = facts.device_order.completions[member.calls[k]];
    if (completion.wait != kNone) break;
    if (completion.blocked != kNone) return facts.device_order.waits[completion.blocked].begin_ns;
  }
  return std::nullopt;
}

LostRanks find_lost(const CallFacts& facts) {
  LostRanks lost;
  for (const Communicator& communicator : facts.collectives.communicators)
    for (std::uint32_t m : find_lost_of(facts, communicator))
      lost.emplace(communicator.members[m].rank, communicator.members[m].process);
  return lost;
}

Members lost_members(const Communicator& communicator, const LostRanks& lost) {
  Members members;
  for (std::uint32_t m = 0; m < communicator.members.size() && !lost.empty(); ++m) {
    auto rank = lost.find(communicator.members[m].rank);
    if (rank != lost.end() && rank->second == communicator.members[m].process) members.push_back(m);
  }
  return members;
}

// A failure shows by its code, unless the rank had been told to end. One that ends without an error may have
// been told so by a signal that nobody saw; then, or if its trace just stops, every peer must have noticed
// that it was gone.
bool ended_before(const CallFacts& facts, const Hang& hang, std::uint32_t absent) {
  if (hang.is_lost(absent)) return true;
  const Communicator& communicator = communicator_of(facts, hang);
  const Member& gone = communicator.members[absent];
  const model::Process& process = facts.job.processes[gone.process];
  bool all_noticed = process.last_ns < facts.job.told_ns(gone.process), outlived = false, all_alike = true;
  for (std::uint32_t m = 0; m < communicator.members.size(); ++m) {
    if (m == absent || hang.is_lost(m)) continue;
    const Member& peer = communicator.members[m];
    all_noticed = all_noticed && outlasted(facts, peer, gone);
    all_alike = all_alike && ended_alike(facts, peer, process);
    outlived = outlived || facts.job.processes[peer.process].last_ns > process.last_ns;
  }
  return outlived && !all_alike && (failed(facts, gone) || all_noticed);
}

// A trace that just stops tells no end, its rank may wait in silence: others must have lived much longer, or
// some of those that were lost with it never came.
void find_cut(const CallFacts& facts, Hang& hang) {
  if (hang.is_message()) return;
  const auto& members = communicator_of(facts, hang).members;
  auto all_outlived = [&](std::uint32_t gone) {
    for (std::uint32_t m = 0; m < members.size(); ++m)
      if (!hang.is_lost(m) && lived_longer(facts, members[m], members[gone]) < kLongWait) return false;
    return true;
  };
  bool beside_absent =
      std::any_of(hang.absent.begin(), hang.absent.end(), [&](std::uint32_t m) { return hang.is_lost(m); });
  for (std::uint32_t m : hang.lost) {
    if (hang.issued(facts, m) == kNone || contains(hang.other, m)) continue;
    bool seen = facts.job.processes[members[m].process].ended_ticks != 0;
    if (seen || beside_absent || all_outlived(m)) hang.cut.push_back(m);
  }
  auto is_cut = [&](std::uint32_t m) { return contains(hang.cut, m); };
  if (std::all_of(hang.waiting.begin(), hang.waiting.end(), is_cut)) hang.cut.clear();
  std::erase_if(hang.waiting, is_cut);
}

void excuse_followers(const CallFacts& facts, const LostRanks& lost, Hang& hang) {
  Members followers, rest;
  for (std::uint32_t m : hang.absent)
    (!hang.is_lost(m) && follows(facts, lost, hang, m) ? followers : rest).push_back(m);
  hang.followed =
      !followers.empty() && rest.empty() && hang.other.empty() && hang.behind.empty() && hang.cut.empty();
  if (hang.followed) return;
  hang.absent = std::move(rest);
  hang.held_up = std::move(followers);
  // Somebody who lives never came: who waited for it for long, and was lost then, only waited.
  if (std::all_of(hang.absent.begin(), hang.absent.end(), [&](std::uint32_t m) { return hang.is_lost(m); }))
    return;
  for (std::uint32_t m : Members(hang.cut))
    if (was_lost_later(facts, hang, m)) {
      std::erase(hang.cut, m);
      hang.waiting.push_back(m);
    }
  std::sort(hang.waiting.begin(), hang.waiting.end());
}

}  // namespace ddpscope::detectors
