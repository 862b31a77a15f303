// hung-collective: some ranks wait in a collective for ranks that never come, because they ended, are
// somewhere else, or issued something that does not pair.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/detectors/whereabouts.h"

namespace ddpscope::detectors {
namespace {

using matching::CollectiveCall;
using matching::Communicator;
using matching::kNone;
using matching::Member;

// A job that was killed at its time limit stood in some collective, too. A wait counts once it is longer than
// max(2 s, 10 x p99 of that operation), or if the missing rank had ended before (design, section 2).
constexpr std::int64_t kLongWait = 2'000'000'000;
constexpr std::int64_t kLongestCommon = 3'600'000'000'000;  // an hour: a p99 beyond it is a damaged time

struct Hang {
  std::uint32_t communicator;
  std::size_t ordinal = 0;
  std::vector<std::uint32_t> waiting;  // members whose host waits for the call
  std::vector<std::uint32_t> other;    // members that issued another call in its place
  std::vector<std::uint32_t> absent;   // members that issued no more calls
  bool unknown = false;                // a member's recording lost calls: it may be the missing one
  bool given_up = true;                // by all that wait: the job itself took it for a hang
  std::int64_t longest_wait = 0;

  std::vector<std::uint32_t> at_fault() const {
    std::vector<std::uint32_t> members = other;
    members.insert(members.end(), absent.begin(), absent.end());
    return members.empty() ? waiting : members;
  }
};

bool complete(const Facts& facts, std::uint32_t call) {
  return facts.device_order.completions[call].wait != kNone;
}

// By themselves: a program that is told to end by a signal ends with 128 and the signal's number as a rule.
constexpr std::int32_t kEndedBySignal = 128;

bool failed(const Facts& facts, const Member& member) {
  const trace::FileHeader& header = facts.job.processes[member.process].header();
  return header.ended && header.exit_code > 0 && header.exit_code <= kEndedBySignal;
}

bool gave_up(const Facts& facts, const Member& member) {
  return member.aborted_ns != ordering::kNever || member.error_ns != ordering::kNever ||
         failed(facts, member);
}

// When the host gave up or was last seen.
std::int64_t end_of(const Facts& facts, const Member& member) {
  return std::min({facts.job.processes[member.process].last_ns, member.aborted_ns, member.error_ns});
}

// How long a wait must be to count. Where the job went on waiting until its trace ends, also longer than any
// wait for the same call at the same place was: rank 0 may be at its evaluation, as in every epoch.
std::int64_t needed_wait(const Facts& facts, const Communicator& communicator, const Hang& hang) {
  const CollectiveCall& hung =
      facts.collectives.call_at(communicator.members[hang.waiting.front()], hang.ordinal);
  std::vector<std::int64_t> waits;
  std::int64_t longest = 0;
  for (const Member& member : communicator.members)
    for (std::uint32_t number : member.calls) {
      const CollectiveCall& call = facts.collectives.calls[number];
      if (call.signature.operation != hung.signature.operation || !complete(facts, number)) continue;
      waits.push_back(std::min(facts.device_order.complete_ns(number) - call.begin_ns, kLongestCommon));
      if (call.site == hung.site && call.signature == hung.signature)
        longest = std::max(longest, waits.back());
    }
  if (waits.empty()) return kLongWait;
  auto p99 = waits.begin() + static_cast<std::ptrdiff_t>((waits.size() - 1) * 99 / 100);
  std::nth_element(waits.begin(), p99, waits.end());
  return std::max({kLongWait, 10 * *p99, hang.given_up ? 0 : longest});
}

// Members that issued the same call at one ordinal.
struct Party {
  std::vector<std::uint32_t> members;
  std::vector<std::uint32_t> waiting;  // of them, those whose host does
  std::size_t odd = 0;                 // of them, those that part from their peers somewhere

  bool operator<(const Party& other) const {
    return std::tuple(!waiting.empty(), members.size(), other.odd) <
           std::tuple(!other.waiting.empty(), other.members.size(), odd);
  }
};

bool is_odd(const Facts& facts, std::uint32_t communicator, std::uint32_t member) {
  const auto& all = facts.divergences.divergences;
  return std::any_of(all.begin(), all.end(), [&](const matching::Divergence& divergence) {
    return divergence.communicator == communicator &&
           std::count(divergence.odd.begin(), divergence.odd.end(), member) > 0;
  });
}

std::vector<Party> find_parties(const Facts& facts, std::uint32_t index, std::size_t ordinal) {
  const Communicator& communicator = facts.collectives.communicators[index];
  std::vector<Party> parties;
  for (std::uint32_t m = 0; m < communicator.members.size(); ++m) {
    const Member& member = communicator.members[m];
    if (member.incomplete || ordinal >= member.calls.size()) continue;
    const CollectiveCall& call = facts.collectives.call_at(member, ordinal);
    auto party = std::find_if(parties.begin(), parties.end(), [&](const Party& known) {
      const Member& first = communicator.members[known.members.front()];
      return facts.collectives.call_at(first, ordinal).signature == call.signature;
    });
    if (party == parties.end()) party = parties.insert(parties.end(), Party{});
    const ordering::Completion& completion = facts.device_order.completions[member.calls[ordinal]];
    party->members.push_back(m);
    if (completion.wait == kNone && completion.blocked != kNone) party->waiting.push_back(m);
    party->odd += is_odd(facts, index, m);
  }
  return parties;
}

// What some host waits for in vain: a wait covers all that was enqueued before, most of which has completed,
// though nobody saw it. What stands in the way is the first call that not all members issued; else any.
std::optional<std::size_t> find_ordinal(const Facts& facts, std::uint32_t index) {
  const Communicator& communicator = facts.collectives.communicators[index];
  std::optional<std::size_t> first, last;
  for (const Member& member : communicator.members)
    for (std::size_t k = member.incomplete ? 0 : member.calls.size();
         k-- > 0 && !complete(facts, member.calls[k]);)
      if (facts.device_order.completions[member.calls[k]].blocked != kNone) {
        first = std::min(first.value_or(k), k);
        last = std::max(last.value_or(k), k);
      }
  for (std::size_t k = first.value_or(1); k <= last.value_or(0); ++k)
    if (find_parties(facts, index, k).front().members.size() < communicator.members.size()) return k;
  return first;
}

std::optional<Hang> find_hang(const Facts& facts, std::uint32_t index) {
  const Communicator& communicator = facts.collectives.communicators[index];
  auto ordinal = find_ordinal(facts, index);
  if (!ordinal) return std::nullopt;
  std::vector<Party> parties = find_parties(facts, index, *ordinal);
  auto right = std::max_element(parties.begin(), parties.end());
  Hang hang{index, *ordinal, right->waiting, {}, {}};
  for (std::uint32_t m = 0; m < communicator.members.size(); ++m) {
    const Member& member = communicator.members[m];
    if (member.incomplete)
      hang.unknown = true;
    else if (*ordinal >= member.calls.size())
      hang.absent.push_back(m);
    else if (std::count(right->members.begin(), right->members.end(), m) == 0)
      hang.other.push_back(m);
  }
  for (std::uint32_t m : hang.waiting) {
    const Member& member = communicator.members[m];
    std::uint32_t blocked = facts.device_order.completions[member.calls[*ordinal]].blocked;
    hang.given_up = hang.given_up && gave_up(facts, member);
    hang.longest_wait =
        std::max(hang.longest_wait, end_of(facts, member) - facts.device_order.waits[blocked].begin_ns);
  }
  return hang;
}

// Who kills a job kills one rank after the other: within this time of the first the last may still notice.
constexpr std::int64_t kKilledTogether = 1'000'000'000;

// Noticed that a rank was gone, and then ended by itself or went on: it was not killed with that rank.
bool outlasted(const Facts& facts, const Member& peer, const model::Process& gone) {
  bool went_on = facts.job.processes[peer.process].last_ns - gone.last_ns >= kKilledTogether;
  return gave_up(facts, peer) && (failed(facts, peer) || went_on);
}

// A rank ended while its peers went on: its exit was seen before theirs, and it was no signal that all may
// have been sent; or its trace just stops while every peer noticed that it was gone.
bool ended_before(const Facts& facts, const Communicator& communicator, std::uint32_t absent) {
  const Member& gone = communicator.members[absent];
  const model::Process& process = facts.job.processes[gone.process];
  bool all_noticed = true, outlived = false;
  for (std::uint32_t m = 0; m < communicator.members.size(); ++m) {
    if (m == absent) continue;
    const Member& peer = communicator.members[m];
    all_noticed = all_noticed && outlasted(facts, peer, process);
    outlived = outlived || facts.job.processes[peer.process].last_ns > process.last_ns;
  }
  const trace::FileHeader& header = process.header();
  bool by_itself = header.ended && header.exit_code <= kEndedBySignal;
  return outlived && (by_itself || all_noticed);
}

std::vector<std::int32_t> ranks_of(const Communicator& communicator,
                                   const std::vector<std::uint32_t>& members) {
  std::vector<std::int32_t> ranks;
  for (std::uint32_t m : members) ranks.push_back(communicator.members[m].rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Whereabouts whereabouts_of(const Facts& facts, const Hang& hang, std::uint32_t absent) {
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  std::int64_t waited_from =
      facts.collectives.call_at(communicator.members[hang.waiting.front()], hang.ordinal).begin_ns;
  return find_whereabouts(facts.job, facts.collectives, communicator.members[absent], waited_from);
}

bool stuck(const Facts& facts, const Hang& hang) {
  return std::any_of(hang.absent.begin(), hang.absent.end(),
                     [&](std::uint32_t m) { return whereabouts_of(facts, hang, m).inside; });
}

void add_whereabouts(const Facts& facts, const Hang& hang, std::uint32_t absent, findings::Finding& finding) {
  Whereabouts found = whereabouts_of(facts, hang, absent);
  auto add = [&](model::EventRef event, std::string detail) {
    finding.evidence.push_back(evidence_of(facts.job, event, std::move(detail)));
    finding.evidence.back().rank = facts.collectives.communicators[hang.communicator].members[absent].rank;
  };
  if (!found.event) return;
  if (facts.job.record(*found.event).stack == 0 && found.traced)
    add(*found.traced, "the last call of the missing rank whose place in the program is known");
  add(*found.event, "never came: " + found.sentence);
}

void add_evidence(const Facts& facts, const Hang& hang, findings::Finding& finding) {
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  constexpr std::size_t kFew = 6;
  for (std::uint32_t m : hang.waiting) {
    if (finding.evidence.size() >= kFew) break;
    const CollectiveCall& call = facts.collectives.call_at(communicator.members[m], hang.ordinal);
    finding.evidence.push_back(
        evidence_of(facts.job, facts.collectives, call, matching::to_text(call.signature) + ", issued"));
    std::uint32_t wait = facts.device_order.completions[communicator.members[m].calls[hang.ordinal]].blocked;
    findings::Evidence waits =
        evidence_of(facts.job, facts.device_order.waits[wait].event, "waits for it, in vain");
    waits.rank = communicator.members[m].rank;
    finding.evidence.push_back(std::move(waits));
  }
  for (std::uint32_t m : hang.other) {
    const CollectiveCall& call = facts.collectives.call_at(communicator.members[m], hang.ordinal);
    finding.evidence.push_back(evidence_of(facts.job, facts.collectives, call,
                                           matching::to_text(call.signature) + ", issued in its place"));
  }
  for (std::uint32_t m : hang.absent) add_whereabouts(facts, hang, m, finding);
}

// A call left out or made once more before: all that follow are paired with a neighbour.
std::string tell_shift(const Facts& facts, const Hang& hang) {
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  for (const matching::Divergence& divergence : facts.divergences.divergences) {
    bool missing = divergence.kind == matching::DivergenceKind::kMissing;
    bool shifts = missing || divergence.kind == matching::DivergenceKind::kSurplus;
    std::uint32_t number = missing ? divergence.expected : divergence.actual;
    if (divergence.communicator != hang.communicator || !shifts || !divergence.decided) continue;
    const CollectiveCall& call = facts.collectives.calls[number];
    if (call.ordinal >= hang.ordinal) continue;
    std::vector<std::int32_t> odd;
    for (std::uint32_t m : divergence.odd) odd.push_back(members[m].rank);
    std::sort(odd.begin(), odd.end());
    return fmt::format("; before, {} {} the {}{}", list_ranks(odd),
                       missing ? "left out" : "issued once more than the others",
                       matching::to_text(call.signature), at(facts.places.of(call.event)));
  }
  return "";
}

std::string title_of(const Facts& facts, const Hang& hang, const CollectiveCall& call) {
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  std::vector<std::int32_t> waiting = ranks_of(communicator, hang.waiting),
                            other = ranks_of(communicator, hang.other),
                            absent = ranks_of(communicator, hang.absent);
  std::string title = fmt::format("{} {} for the {}{}", list_ranks(waiting), verb(waiting, "waits", "wait"),
                                  matching::to_text(call.signature), at(facts.places.of(call.event)));
  if (!other.empty()) {
    const Member& member = communicator.members[hang.other.front()];
    const CollectiveCall& instead = facts.collectives.call_at(member, hang.ordinal);
    title +=
        fmt::format("; {} issued the {}{} in its place", list_ranks(other),
                    matching::to_text(instead.signature), at(facts.places.of(instead.event, call.event)));
  }
  if (!absent.empty())
    title += fmt::format(
        "; {} never came{}", list_ranks(absent),
        absent.size() == 1 ? ": " + whereabouts_of(facts, hang, hang.absent.front()).sentence : "");
  auto unseen = static_cast<std::size_t>(communicator.size) - communicator.members.size();
  if (other.empty() && absent.empty())
    title += unseen ? fmt::format("; {} of its ranks left no trace", unseen)
                    : ": every rank issued it, but it never completes";
  return title + tell_shift(facts, hang);
}

// `certain`: the job itself gave up, or the missing rank had ended or is inside a call. A rank of a job that
// is ended from outside may just have been slow.
void tell(const Facts& facts, const Hang& hang, bool certain, findings::Outcome& outcome) {
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  const CollectiveCall& call =
      facts.collectives.call_at(communicator.members[hang.waiting.front()], hang.ordinal);
  findings::Finding finding;
  finding.slug = "hung-collective";
  finding.confidence = certain ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.ranks = ranks_of(communicator, hang.at_fault());
  finding.title = title_of(facts, hang, call);
  finding.advice =
      "Look at what the missing ranks do instead: an exception, an exit or a wait of their own. Let a "
      "failure on one rank end "
      "all, and check that every rank reaches this call equally often.";
  add_evidence(facts, hang, finding);
  std::vector<std::int32_t> all;
  for (const Member& member : communicator.members) all.push_back(member.rank);
  std::sort(all.begin(), all.end());
  finding.first_ns = call.begin_ns;
  finding.last_ns = facts.job.duration_ns;
  finding.place = facts.rounds.place(all, call.begin_ns, ordering::kNever);
  finding.key = fmt::format("{} {}", matching::to_text(call.signature), facts.places.whole(call.event));
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void detect_hung_collective(const Facts& facts, findings::Outcome& outcome) {
  for (std::uint32_t c = 0; c < facts.collectives.communicators.size(); ++c) {
    auto hang = find_hang(facts, c);
    if (!hang || hang->waiting.empty()) continue;
    const Communicator& communicator = facts.collectives.communicators[c];
    bool gone = std::any_of(hang->absent.begin(), hang->absent.end(),
                            [&](std::uint32_t m) { return ended_before(facts, communicator, m); });
    bool lost = hang->unknown && hang->absent.empty() && hang->other.empty();
    if (!lost && (gone || hang->longest_wait >= needed_wait(facts, communicator, *hang))) {
      tell(facts, *hang, gone || hang->given_up || stuck(facts, *hang), outcome);
      continue;
    }
    const CollectiveCall& call =
        facts.collectives.call_at(communicator.members[hang->waiting.front()], hang->ordinal);
    outcome.coverage.push_back(
        {fmt::format("the last {} of communicator {:016x}", matching::to_text(call.signature),
                     communicator.id),
         lost ? "some rank's recording lost calls: whether it made this one is not known"
              : fmt::format(
                    "the trace ends {} into the wait for it: too short to tell a hang from a slow rank",
                    seconds(hang->longest_wait)),
         {"hung-collective"}});
  }
}

}  // namespace ddpscope::detectors
