// hung-collective: some ranks wait in a collective for ranks that never come, because they ended, are
// somewhere else, or issued something that does not pair. One finding for each reason: who is missing only
// because it waits elsewhere is a victim.
#include "collector/detectors/hung_collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "collector/detectors/detector.h"
#include "collector/detectors/hang_circle.h"
#include "collector/detectors/hung_creation.h"
#include "collector/detectors/member_endings.h"
#include "collector/detectors/process_ending.h"
#include "collector/detectors/story.h"
#include "collector/detectors/vain_waits.h"
#include "collector/detectors/whereabouts.h"

namespace ddpscope::detectors {
namespace {

using matching::CollectiveCall;
using matching::Communicator;
using matching::Member;

// Without those that are missing because they wait elsewhere.
Hang blame(const Hang& hang, const Members& victims) {
  Hang blamed = hang;
  auto is_victim = [&](std::uint32_t m) { return std::count(victims.begin(), victims.end(), m) > 0; };
  for (Members* members : {&blamed.other, &blamed.absent, &blamed.behind}) std::erase_if(*members, is_victim);
  return blamed;
}

LostRanks lost_of(const CallFacts& facts, const Hang& hang, const Members& members) {
  LostRanks lost;
  for (std::uint32_t m : members) {
    const Member& member = facts.collectives.communicators[hang.communicator].members[m];
    if (hang.is_lost(m)) lost.emplace(member.rank, member.process);
  }
  return lost;
}

std::vector<std::int32_t> numbers_of(const LostRanks& lost) {
  std::vector<std::int32_t> ranks;
  for (const auto& [rank, process] : lost) ranks.push_back(rank);
  return ranks;
}

// "ranks 2 and 3 (host1)": the machine is where to look.
std::string list_with_hosts(const model::Job& job, const LostRanks& lost) {
  std::set<std::string> hosts;
  for (const auto& [rank, process] : lost) hosts.insert(job.hosts[job.processes[process].host].name);
  return fmt::format("{}{}", list_ranks(numbers_of(lost)),
                     job.hosts.size() > 1 ? fmt::format(" ({})", fmt::join(hosts, ", ")) : "");
}

// "their traces stop, at 3.210 s: how they ended is not known", "signal 9 (SIGKILL) killed them, by 3.210 s"
std::string tell_loss(const model::Job& job, const LostRanks& lost) {
  std::set<std::optional<int>> signals;
  std::int64_t last_ns = 0;
  for (const auto& [rank, process] : lost) {
    signals.insert(find_signal(job, job.processes[process]));
    last_ns = std::max(last_ns, job.processes[process].last_ns);
  }
  bool one = lost.size() == 1;
  if (signals.size() == 1 && *signals.begin())
    return fmt::format("{} killed {}, by {}", text_of_signal(**signals.begin()), one ? "it" : "them",
                       seconds(last_ns));
  return fmt::format("{}, at {}: how {} ended is not known", one ? "its trace stops" : "their traces stop",
                     seconds(last_ns),
                     one                   ? "it"
                     : signals.size() == 1 ? "they"
                                           : "all of them");
}

Whereabouts behind_leaving(const CallFacts& facts, model::EventRef leaving, Whereabouts found) {
  std::string place = program_place(facts.job, leaving);
  found.sentence =
      fmt::format("it left the communicator by {} at {}{}; {}", call_and_file(facts.job, leaving),
                  seconds(facts.job.begin_ns(leaving)), at(place), found.sentence);
  found.key = "left the communicator " + findings::key_of_frame(place);
  return found;
}

// Of a lost one that waited itself, its end is what counts.
Whereabouts whereabouts_of(const CallFacts& facts, const Hang& hang, std::uint32_t absent) {
  const Member& member = facts.collectives.communicators[hang.communicator].members[absent];
  Whereabouts found = find_whereabouts(facts.job, facts.collectives, member, hang.call(facts).begin_ns);
  auto leaving = find_leaving(facts.job, member);
  if (leaving && !hang.is_lost(absent)) return behind_leaving(facts, *leaving, std::move(found));
  if (!found.inside || !hang.is_lost(absent) || !waits_since_ns(facts, member)) return found;
  return {tell_loss(facts.job, lost_of(facts, hang, {absent})), found.event, found.traced, false, "gone"};
}

// Inside a call, or past the end of the communicator.
bool comes_no_more(const CallFacts& facts, const Hang& hang, std::uint32_t absent) {
  return find_leaving(facts.job, facts.collectives.communicators[hang.communicator].members[absent]) ||
         whereabouts_of(facts, hang, absent).inside;
}

bool stuck(const CallFacts& facts, const Hang& hang) {
  return std::any_of(hang.absent.begin(), hang.absent.end(),
                     [&](std::uint32_t m) { return comes_no_more(facts, hang, m); });
}

// Its program came to its end, without an error, and never to this call.
bool left_early(const CallFacts& facts, const Hang& hang, std::uint32_t absent) {
  const Member& member = facts.collectives.communicators[hang.communicator].members[absent];
  return !hang.is_message() && facts.job.processes[member.process].ended_well();
}

std::optional<CollectiveCall> last_issued(const CallFacts& facts, const Member& member) {
  if (member.calls.empty()) return std::nullopt;
  return facts.collectives.calls[member.calls.back()];
}

// "never issued it, #2 of the communicator's collectives: its last was the all-reduce of 1 float32
// (sum) at train.py:80 log, at 1.250 s"; where the first calls are not known there are no numbers.
std::string tell_left_out(const CallFacts& facts, const Hang& hang, std::uint32_t absent) {
  const Member& member = facts.collectives.communicators[hang.communicator].members[absent];
  std::string told = "never issued it";
  if (!facts.job.processes[hang.call(facts).event.process].file.left_out_calls())
    told += fmt::format(", #{} of the communicator's collectives", hang.ordinal);  // as in the viewer
  auto last = last_issued(facts, member);
  return last ? fmt::format("{}: its last was the {}{}, at {}", told, matching::to_text(last->signature),
                            at(facts.places.of(*last)), seconds(last->begin_ns))
              : told + " nor any other";
}

void add_evidence(const CallFacts& facts, const Hang& hang, findings::Finding& finding) {
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  constexpr std::size_t kFew = 6;
  for (std::uint32_t m : hang.waiting) {
    if (finding.evidence.size() >= kFew) break;
    std::uint32_t number = hang.issued(facts, m);
    CollectiveCall call = facts.collectives.calls[number];
    finding.evidence.push_back(
        evidence_of(facts.job, facts.collectives, call, matching::to_text(call.signature) + ", issued"));
    add_vain_wait(facts, hang, m, finding);
  }
  add_abort(facts, hang, finding);
  for (std::uint32_t m : hang.other) {
    CollectiveCall call = facts.collectives.call_at(communicator.members[m], hang.ordinal);
    finding.evidence.push_back(evidence_of(facts.job, facts.collectives, call,
                                           matching::to_text(call.signature) + ", issued in its place"));
  }
  for (std::uint32_t m : hang.cut) {
    CollectiveCall call = facts.collectives.call_at(communicator.members[m], hang.ordinal);
    finding.evidence.push_back(
        evidence_of(facts.job, facts.collectives, call,
                    "issued, and then " + tell_loss(facts.job, lost_of(facts, hang, {m}))));
  }
  for (std::uint32_t m : hang.absent) {
    auto last = last_issued(facts, communicator.members[m]);
    if (last && left_early(facts, hang, m))
      finding.evidence.push_back(
          evidence_of(facts.job, facts.collectives, *last,
                      matching::to_text(last->signature) + ", the last collective of the missing rank"));
    add_evidence_of(facts.job, whereabouts_of(facts, hang, m), communicator.members[m].rank, finding);
  }
}

std::string tell_absent(const CallFacts& facts, const Hang& hang) {
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  if (hang.absent.size() == 1) {
    std::uint32_t absent = hang.absent.front();
    bool left = left_early(facts, hang, absent);
    return fmt::format("; {} {}{}{}", list_ranks(ranks_of(communicator, hang.absent)),
                       left ? tell_left_out(facts, hang, absent) : "never came", left ? "; " : ": ",
                       whereabouts_of(facts, hang, absent).sentence);
  }
  Members others = hang.absent;
  std::erase_if(others, [&](std::uint32_t m) { return hang.is_lost(m); });
  LostRanks lost = lost_of(facts, hang, hang.absent);
  std::string told;
  if (!others.empty()) told += fmt::format("; {} never came", list_ranks(ranks_of(communicator, others)));
  if (!lost.empty())
    told += fmt::format("; {} never came: {}", list_with_hosts(facts.job, lost), tell_loss(facts.job, lost));
  return told;
}

// "; ranks 2 and 3 (host1) issued it, and then their traces stop, at 3.210 s: ..."
std::string tell_cut(const CallFacts& facts, const Hang& hang) {
  if (hang.cut.empty()) return "";
  LostRanks lost = lost_of(facts, hang, hang.cut);
  return fmt::format("; {} issued it, and then {}", list_with_hosts(facts.job, lost),
                     tell_loss(facts.job, lost));
}

// Those that were lost at other places; all are named together.
void add_lost(const CallFacts& facts, findings::Finding& finding) {
  LostRanks elsewhere = find_lost(facts);
  std::erase_if(elsewhere, [&](const auto& lost) {
    return std::count(finding.ranks.begin(), finding.ranks.end(), lost.first) > 0;
  });
  if (elsewhere.empty()) return;
  std::vector<std::int32_t> ranks = numbers_of(elsewhere);
  finding.title += fmt::format("; {} {} lost with {}: {}", list_with_hosts(facts.job, elsewhere),
                               verb(ranks, "was", "were"), verb(finding.ranks, "it", "them"),
                               tell_loss(facts.job, elsewhere));
  finding.ranks.insert(finding.ranks.end(), ranks.begin(), ranks.end());
  std::sort(finding.ranks.begin(), finding.ranks.end());
}

// A call left out or made once more before: all that follow are paired with a neighbour.
struct Shift {
  Members odd;
  CollectiveCall call;
  const char* what;
};

std::optional<Shift> find_shift(const CallFacts& facts, const Hang& hang) {
  if (hang.is_message()) return std::nullopt;
  for (const matching::Divergence& divergence : facts.divergences.divergences) {
    bool missing = divergence.kind == matching::DivergenceKind::kMissing;
    bool shifts = missing || divergence.kind == matching::DivergenceKind::kSurplus;
    std::uint32_t number = missing ? divergence.expected : divergence.actual;
    if (divergence.communicator != hang.communicator || !shifts || !divergence.decided) continue;
    if (facts.collectives.ordinal_of(number) >= hang.ordinal) continue;
    return Shift{divergence.odd, facts.collectives.calls[number],
                 missing ? "left out" : "issued once more than the others"};
  }
  return std::nullopt;
}

std::string tell_shift(const CallFacts& facts, const Hang& hang) {
  auto shift = find_shift(facts, hang);
  if (!shift) return "";
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  return fmt::format("; before, {} {} the {}{}", list_ranks(ranks_of(communicator, shift->odd)), shift->what,
                     matching::to_text(shift->call.signature), at(facts.places.of(shift->call)));
}

std::string key_of(const CallFacts& facts, const CollectiveCall& call) {
  return fmt::format("{} {}", matching::to_text(call.signature), facts.places.whole(call.called));
}

// The call that hangs, and how those that are missing came not to make it: in whatever order they are found.
std::string key_of(const CallFacts& facts, const Hang& hang) {
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  std::set<std::string> reasons;
  for (std::uint32_t m : hang.other)
    reasons.insert("instead " +
                   key_of(facts, facts.collectives.call_at(communicator.members[m], hang.ordinal)));
  for (std::uint32_t m : hang.absent) reasons.insert("absent " + whereabouts_of(facts, hang, m).key);
  if (!hang.behind.empty()) reasons.insert("behind");
  if (!hang.cut.empty()) reasons.insert("cut");
  if (auto shift = find_shift(facts, hang))
    reasons.insert(fmt::format("{} {}", shift->what, key_of(facts, shift->call)));
  return fmt::format("{}\n{}", key_of(facts, hang.call(facts)), fmt::join(reasons, "\n"));
}

std::string title_of(const CallFacts& facts, const Hang& hang, const Members& victims) {
  CollectiveCall call = hang.call(facts);
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  std::vector<std::int32_t> waiting = ranks_of(communicator, hang.waiting),
                            other = ranks_of(communicator, hang.other);
  std::string title = fmt::format("{} {} for the {}{}", list_ranks(waiting), verb(waiting, "waits", "wait"),
                                  matching::to_text(call.signature), at(facts.places.of(call)));
  if (!other.empty()) {
    const Member& member = communicator.members[hang.other.front()];
    CollectiveCall instead = facts.collectives.call_at(member, hang.ordinal);
    title += fmt::format("; {} issued the {}{} in its place", list_ranks(other),
                         matching::to_text(instead.signature), at(facts.places.of(instead, call)));
  }
  if (!hang.absent.empty()) title += tell_absent(facts, hang);
  title += tell_cut(facts, hang);
  std::size_t unseen = communicator.without_trace();
  if (!victims.empty()) {
    std::vector<std::int32_t> held = ranks_of(communicator, victims);
    title += fmt::format("; {} {} elsewhere", list_ranks(held), verb(held, "waits", "wait"));
  } else if (other.empty() && hang.absent.empty() && hang.cut.empty()) {
    title += unseen         ? fmt::format("; {} of its ranks left no trace", unseen)
             : hang.unknown ? "; some rank's recording lost calls: whether it made this one is not known"
                            : ": every rank issued it, but it never completes";
  }
  return title + tell_shift(facts, hang) + tell_aborts(facts, hang);
}

// The same root holds these up.
void add_others(const CallFacts& facts, const std::vector<Hang>& hangs, const HangCause& cause,
                findings::Finding& finding) {
  constexpr std::size_t kFew = 4;
  for (std::size_t i = 0; i < std::min(cause.others.size(), kFew); ++i) {
    CollectiveCall call = hangs[cause.others[i]].call(facts);
    finding.evidence.push_back(evidence_of(facts.job, facts.collectives, call,
                                           matching::to_text(call.signature) + ", held up by that"));
  }
}

std::vector<std::int32_t> ranks_at_fault(const Communicator& communicator, const Hang& hang) {
  Members missing = hang.missing();
  missing.insert(missing.end(), hang.cut.begin(), hang.cut.end());
  return ranks_of(communicator, missing.empty() ? hang.waiting : missing);
}

// Who was lost did nothing that its program could do otherwise.
bool all_lost(const Hang& hang) {
  Members missing = hang.missing();
  return missing.size() + hang.cut.size() > 0 &&
         std::all_of(missing.begin(), missing.end(), [&](std::uint32_t m) { return hang.is_lost(m); });
}

// Certain: the job itself gave up, or the missing rank had ended or is inside a call. A rank of a job that is
// ended from outside may just have been slow; and of ranks that left no trace nobody knows what they did.
findings::Finding tell(const CallFacts& facts, const std::vector<Hang>& hangs, const HangCause& cause,
                       const Members& victims) {
  Hang hang = blame(hangs[cause.chain.front()], victims);
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  CollectiveCall call = hang.call(facts);
  bool certain = hang.gone || (hang.given_up && !hang.misses_only_unseen(facts)) || stuck(facts, hang);
  findings::Finding finding;
  finding.slug = "hung-collective";
  finding.confidence = certain ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.ranks = ranks_at_fault(communicator, hang);
  finding.title = title_of(facts, hang, victims);
  if (all_lost(hang)) add_lost(facts, finding);
  finding.advice =
      all_lost(hang)
          ? "Look at the machine of the ranks that were lost: its power, its memory, the kernel's log."
          : kAdviceOnMissingRanks;
  add_evidence(facts, hang, finding);
  add_captured(facts, call, finding);
  if (!hang.other.empty() && !hang.is_message())
    add_captured(facts, facts.collectives.call_at(communicator.members[hang.other.front()], hang.ordinal),
                 finding);
  add_others(facts, hangs, cause, finding);
  std::vector<std::int32_t> all;
  for (const Member& member : communicator.members) all.push_back(member.rank);
  std::sort(all.begin(), all.end());
  finding.first_ns = call.begin_ns;
  finding.last_ns = facts.job.duration_ns;
  finding.place = facts.rounds.place(all, call.begin_ns, ordering::kNever);
  finding.key = key_of(facts, hang);
  return finding;
}

std::string tell_owed(const OwedSignals& owed) {
  if (owed.waiting == owed.peer)
    return fmt::format(
        "rank {} may wait for signals (ncclWaitSignal), and how many of which rank is not known",
        owed.waiting);
  return fmt::format(
      "rank {} waits for {} signals of rank {} in all (ncclWaitSignal), which had issued {} by then: "
      "whether it would have issued more is not known",
      owed.waiting, owed.awaited, owed.peer, owed.sent);
}

findings::Coverage too_short(const CallFacts& facts, const Hang& hang) {
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  std::vector<std::int32_t> absent = ranks_of(communicator, hang.absent);
  bool lost = hang.unknown && hang.absent.empty() && hang.other.empty();
  return {
      fmt::format("the last {} of communicator {:016x}", matching::to_text(hang.call(facts).signature),
                  communicator.id),
      hang.owed_signals ? tell_owed(*hang.owed_signals)
      : lost ? "some rank's recording lost calls, or launched graphs of which is not known what they hold: "
               "whether it made this one is not known"
      : hang.behind_unawaited
          ? "on some rank it stands behind another call that not all ranks issued, and for which no host "
            "waits: what holds that up is not known"
      : hang.followed
          ? fmt::format("{} came no more because other ranks had ended: nobody is known to be missing by its "
                        "own doing",
                        list_ranks(absent))
      : hang.at_work && !hang.absent.empty()
          ? fmt::format("{} {} at work when the job was ended: it is not known whether that hangs",
                        list_ranks(absent), verb(absent, "was", "were"))
          : fmt::format("the trace ends {} into the wait for it: too short to tell a hang from a slow rank",
                        seconds(hang.longest_wait)),
      {"hung-collective"}};
}

}  // namespace

findings::Finding tell_hang(const CallFacts& facts, const std::vector<Hang>& hangs, const HangCauses& found,
                            const HangCause& cause) {
  return cause.is_circle() ? tell_circle(facts, hangs, cause)
                           : tell(facts, hangs, cause, found.victims[cause.chain.front()]);
}

void detect_hung_calls(const CallFacts& facts, const ordering::StuckWork& stuck, findings::Outcome& outcome,
                       const std::set<std::uint32_t>& held) {
  std::vector<Hang> hangs = find_hangs(facts, stuck);
  std::erase_if(hangs, [&](const Hang& hang) { return hang.misses_only(facts, held); });
  HangCauses found = find_causes(facts, stuck, hangs);
  for (const HangCause& cause : found.causes) {
    std::size_t root = cause.chain.front();
    auto counts = [&](std::size_t hang) { return hangs[hang].counts; };
    if (std::any_of(cause.chain.begin(), cause.chain.end(), counts))
      outcome.findings.push_back(tell_hang(facts, hangs, found, cause));
    else
      outcome.coverage.push_back(too_short(facts, hangs[root]));
  }
}

void detect_hung_collective(const Facts& facts, findings::Outcome& outcome) {
  ordering::StuckWork stuck(facts.job, facts.collectives, facts.device_order);
  detect_hung_creation(facts, stuck, outcome);
  detect_hung_calls(facts, stuck, outcome);
}

}  // namespace ddpscope::detectors
