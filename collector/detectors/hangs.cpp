// The first collective of each communicator that some host waits for in vain, and the sends and receives that
// are not answered; and who did not make them.
#include "collector/detectors/hangs.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "collector/detectors/at_work.h"
#include "collector/detectors/member_endings.h"
#include "collector/detectors/process_ending.h"
#include "collector/detectors/whereabouts.h"
#include "collector/model/order_statistics.h"
#include "collector/ordering/device_replay.h"

namespace ddpscope::detectors {
namespace {

using matching::CollectiveCall;
using matching::Communicator;
using matching::kNone;
using matching::Member;

constexpr std::int64_t kLongestCommon = 3'600'000'000'000;  // an hour: a p99 beyond it is a damaged time

bool complete(const CallFacts& facts, std::uint32_t call) {
  return facts.device_order.completions[call].wait != kNone;
}

// How long a wait must be to count. Where the job went on waiting until its trace ends, also longer than any
// wait for the same call at the same place was: rank 0 may be at its evaluation, as in every epoch.
void measure_needed_wait(const CallFacts& facts, const Communicator& communicator, Hang& hang) {
  CollectiveCall hung = hang.call(facts);
  std::vector<std::int64_t> waits;
  std::int64_t longest = 0;
  for (const Member& member : communicator.members)
    for (std::uint32_t number : hang.is_message() ? member.point_to_point : member.calls) {
      const matching::CallForm& call = facts.collectives.calls.form(number);
      if (call.signature.operation != hung.signature.operation || !complete(facts, number)) continue;
      std::int64_t wait = facts.device_order.complete_ns(number) - facts.collectives.calls.begin_ns(number);
      waits.push_back(std::min(wait, kLongestCommon));
      if (call.site == hung.site && call.signature == hung.signature)
        longest = std::max(longest, waits.back());
    }
  hang.first_of_its_kind = waits.empty();
  std::int64_t p99 = waits.empty() ? 0 : model::percentiles(waits).p99;
  hang.needed_wait = least_hang(p99, hang.given_up ? 0 : longest);
}

// Members that issued the same call at one ordinal.
struct Party {
  Members members;
  Members waiting;      // of them, those whose host does
  std::size_t odd = 0;  // of them, those that part from their peers somewhere

  bool operator<(const Party& other) const {
    return std::tuple(!waiting.empty(), members.size(), other.odd) <
           std::tuple(!other.waiting.empty(), other.members.size(), odd);
  }
};

bool is_odd(const CallFacts& facts, std::uint32_t communicator, std::uint32_t member) {
  const auto& all = facts.divergences.divergences;
  return std::any_of(all.begin(), all.end(), [&](const matching::Divergence& divergence) {
    return divergence.communicator == communicator && divergence.is_odd(member);
  });
}

std::vector<Party> find_parties(const CallFacts& facts, std::uint32_t index, std::size_t ordinal) {
  const Communicator& communicator = facts.collectives.communicators[index];
  std::vector<Party> parties;
  for (std::uint32_t m = 0; m < communicator.members.size(); ++m) {
    const Member& member = communicator.members[m];
    if (member.incomplete || ordinal >= member.calls.size()) continue;
    CollectiveCall call = facts.collectives.call_at(member, ordinal);
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

// Came no further because its host waits for its last call, which a peer has seen complete: somebody's part
// of that is missing. It may be at fault all the same, by what it enqueued behind that call, or if it is
// stopped or lost.
bool is_held(const CallFacts& facts, const Communicator& communicator, const Members& lost, std::uint32_t m) {
  if (std::count(lost.begin(), lost.end(), m) > 0) return false;
  const Member& member = communicator.members[m];
  std::size_t last = member.calls.size();
  if (cannot_go_on(facts.job.processes[member.process]) || last-- == 0 ||
      complete(facts, member.calls[last]) ||
      facts.device_order.completions[member.calls[last]].blocked == kNone)
    return false;
  return std::any_of(communicator.members.begin(), communicator.members.end(), [&](const Member& peer) {
    return !peer.incomplete && last < peer.calls.size() && complete(facts, peer.calls[last]);
  });
}

Members find_absent(const Communicator& communicator, std::size_t ordinal) {
  Members absent;
  for (std::uint32_t m = 0; m < communicator.members.size(); ++m)
    if (!communicator.members[m].incomplete && ordinal >= communicator.members[m].calls.size())
      absent.push_back(m);
  return absent;
}

bool all_held(const CallFacts& facts, const Communicator& communicator, const Members& lost,
              const Members& absent) {
  return std::all_of(absent.begin(), absent.end(),
                     [&](std::uint32_t m) { return is_held(facts, communicator, lost, m); });
}

// Some member left no trace, and of the others only those did not come that are held: by that one, perhaps.
bool held_by_unseen(const CallFacts& facts, const Communicator& communicator, std::size_t ordinal) {
  Members absent = find_absent(communicator, ordinal);
  return communicator.without_trace() > 0 && !absent.empty() && all_held(facts, communicator, {}, absent);
}

// What some host waits for in vain: a wait covers all that was enqueued before, most of which has completed,
// though nobody saw it. What stands in the way is the first call that not all members issued, or that stands
// behind such a one of another communicator; else any.
std::optional<std::size_t> find_ordinal(const CallFacts& facts, const ordering::StuckWork& stuck,
                                        std::uint32_t index) {
  const Communicator& communicator = facts.collectives.communicators[index];
  std::optional<std::size_t> first, last;
  for (const Member& member : communicator.members)
    for (std::size_t k = member.incomplete ? 0 : member.calls.size();
         k-- > 0 && !complete(facts, member.calls[k]);)
      if (facts.device_order.completions[member.calls[k]].blocked != kNone) {
        first = std::min(first.value_or(k), k);
        last = std::max(last.value_or(k), k);
      }
  for (std::size_t k = first.value_or(1); k <= last.value_or(0); ++k) {
    std::vector<Party> parties = find_parties(facts, index, k);
    const Party& party = parties.front();
    if (parties.size() > 1) return k;
    // Who issued it has seen it complete: a root does not wait for those that receive.
    if (party.waiting.empty()) continue;
    bool all = party.members.size() == communicator.members.size();
    if (all ? !stuck.can_complete(communicator.members[party.waiting.front()].calls[k])
            : !held_by_unseen(facts, communicator, k))
      return k;
  }
  return first;
}

// Its turn came and nobody is known to be missing: what those wait for whose wait covers something else that
// cannot complete is that.
void excuse_covered(const CallFacts& facts, const ordering::StuckWork& stuck, Hang& hang) {
  if (!hang.missing().empty()) return;
  auto unknown = hang.all_issued(facts) ? ordering::Unknown::kMissing : ordering::Unknown::kCame;
  std::erase_if(hang.waiting, [&](std::uint32_t m) {
    std::uint32_t call = hang.issued(facts, m);
    return stuck.can_complete(call) &&
           stuck.covers_stuck(facts.device_order.completions[call].blocked, unknown);
  });
}

std::optional<Hang> find_hang(const CallFacts& facts, const LostRanks& lost, const ordering::StuckWork& stuck,
                              std::uint32_t index) {
  const Communicator& communicator = facts.collectives.communicators[index];
  auto ordinal = find_ordinal(facts, stuck, index);
  if (!ordinal) return std::nullopt;
  std::vector<Party> parties = find_parties(facts, index, *ordinal);
  auto right = std::max_element(parties.begin(), parties.end());
  Hang hang{index, *ordinal, right->waiting};
  for (std::uint32_t m = 0; m < communicator.members.size(); ++m) {
    const Member& member = communicator.members[m];
    if (member.incomplete)
      hang.unknown = true;
    else if (*ordinal < member.calls.size() &&
             std::count(right->members.begin(), right->members.end(), m) == 0)
      hang.other.push_back(m);
  }
  hang.absent = find_absent(communicator, *ordinal);
  hang.lost = lost_members(communicator, lost);
  if (!all_held(facts, communicator, hang.lost, hang.absent))
    std::erase_if(hang.absent, [&](std::uint32_t m) { return is_held(facts, communicator, hang.lost, m); });
  excuse_covered(facts, stuck, hang);
  return hang;
}

// The host waits for it: one that stands in the way of another thread's or stream's work only is left out.
std::optional<Hang> find_message_hang(const CallFacts& facts, const LostRanks& lost,
                                      const ordering::StuckWork& stuck, std::uint32_t message) {
  const ordering::Completion& completion = facts.device_order.completions[message];
  if (completion.blocked == kNone) return std::nullopt;
  const matching::CallForm& call = facts.collectives.calls.form(message);
  const auto& members = facts.collectives.communicators[call.communicator].members;
  std::uint32_t peer = 0;
  while (peer < members.size() && members[peer].rank_in_communicator != call.peer) ++peer;
  if (peer == members.size()) return std::nullopt;
  Hang hang{call.communicator, 0, {call.member}};
  hang.message = message;
  hang.lost = lost_members(facts.collectives.communicators[call.communicator], lost);
  hang.answer = stuck.answer(message);
  (hang.answer == kNone ? hang.absent : hang.behind).push_back(peer);
  return hang;
}

// When the last member issued it; 0 if some did not, and their peers wait for them.
std::int64_t last_came_ns(const CallFacts& facts, const Hang& hang) {
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  if (!hang.missing().empty()) return 0;
  std::int64_t last_ns = 0;
  for (std::uint32_t m = 0; m < members.size(); ++m)
    if (std::uint32_t call = hang.issued(facts, m); call != kNone)
      last_ns = std::max(last_ns, facts.collectives.calls.begin_ns(call));
  return last_ns;
}

// Who gave up took the wait for the last one for a hang, too.
void measure_waits(const CallFacts& facts, Hang& hang) {
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  hang.given_up = std::all_of(hang.waiting.begin(), hang.waiting.end(),
                              [&](std::uint32_t m) { return gave_up(facts, members[m]); });
  std::int64_t came_ns = hang.given_up ? 0 : last_came_ns(facts, hang);
  for (std::uint32_t m : hang.waiting) {
    std::uint32_t blocked = facts.device_order.completions[hang.issued(facts, m)].blocked;
    std::int64_t begin_ns = std::max(facts.device_order.waits[blocked].begin_ns, came_ns);
    hang.longest_wait = std::max(hang.longest_wait, end_of(facts, members[m]) - begin_ns);
  }
}

// By itself, before anybody ended the job.
bool left(const CallFacts& facts, const Hang& hang, const Member& absent, std::int64_t ended_ns) {
  const model::Process& process = facts.job.processes[absent.process];
  if (!process.header().ended && !process.ended_ticks) return false;
  bool told = process.last_ns >= facts.job.told_ns(absent.process);
  bool others_told = std::any_of(hang.waiting.begin(), hang.waiting.end(), [&](std::uint32_t m) {
    const Member& peer = facts.collectives.communicators[hang.communicator].members[m];
    return facts.job.told_ns(peer.process) < ordering::kNever;
  });
  return !told && (others_told || ended_ns - process.last_ns >= kKilledTogether);
}

// A host that waits for its device computes nothing, however busy it is: CUDA may spin. Without a call that
// cannot complete in the way the device may be at a long evaluation.
enum class Device : std::uint8_t { kNotAwaited, kMayWork, kStuck };
Device awaited_device(const CallFacts& facts, const ordering::StuckWork& stuck, std::uint32_t process,
                      const Threads& threads, std::int64_t at_ns) {
  auto call = device_wait(facts.job, process, threads, at_ns);
  if (!call) return Device::kNotAwaited;
  const auto& waits = facts.device_order.waits;
  for (std::uint32_t w = 0; w < waits.size(); ++w)
    if (waits[w].event.process == process && waits[w].event.place == *call &&
        stuck.covers_stuck(w, ordering::Unknown::kCame))
      return Device::kStuck;
  return Device::kMayWork;
}

// Of the ranks that neither wait here nor by MPI. A message may be what a missing rank waits for, and which
// of them it comes from is not followed.
bool others_work(const CallFacts& facts, const Hang& hang, const Member& absent, std::int64_t at_ns) {
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  auto waits_here = [&](std::uint32_t process) {
    return std::ranges::any_of(hang.waiting, [&](std::uint32_t m) { return members[m].process == process; });
  };
  for (std::int32_t rank : facts.job.ranks()) {
    std::int32_t found = facts.job.process_of_rank(rank);
    auto process = static_cast<std::uint32_t>(found);
    if (found < 0 || process == absent.process || waits_here(process)) continue;
    if (!waits_by_mpi(facts.job, process, {}, at_ns) &&
        computed(facts.job, process, at_ns - hang.longest_wait, at_ns))
      return true;
  }
  return false;
}

bool computes(const CallFacts& facts, const Hang& hang, const Member& absent, const Threads& threads,
              std::int64_t at_ns) {
  if (waits_by_mpi(facts.job, absent.process, threads, at_ns)) return others_work(facts, hang, absent, at_ns);
  return computed(facts.job, absent.process, at_ns - hang.longest_wait, at_ns);
}

}  // namespace

// Who has destroyed the communicator comes no more, whatever it is at.
bool is_at_work(const CallFacts& facts, const ordering::StuckWork& stuck, const Hang& hang,
                const Member& absent) {
  if (find_leaving(facts.job, absent)) return false;
  std::int64_t ended_ns = 0;
  for (std::uint32_t m : hang.waiting)
    ended_ns =
        std::max(ended_ns, end_of(facts, facts.collectives.communicators[hang.communicator].members[m]));
  std::uint32_t process = absent.process;
  if (left(facts, hang, absent, ended_ns) || cannot_go_on(facts.job.processes[process])) return false;
  ended_ns = std::min(ended_ns, facts.job.told_ns(process));
  Threads threads = issuing_threads(facts.collectives, absent);
  std::int64_t acted_ns = last_act_ns(facts.job, process, threads, OpenRun::kMayHaveJustActed, ended_ns);
  if (ended_ns - acted_ns < kLongWait) return true;
  Saving saves = saving(facts.job, process, ended_ns);
  Device device = awaited_device(facts, stuck, process, threads, ended_ns);
  bool works = saves == Saving::kMoves ||
               (device == Device::kNotAwaited && computes(facts, hang, absent, threads, ended_ns));
  if (hang.longest_wait >= (works ? kPatienceWithWork : kPatience) * hang.needed_wait) return false;
  std::string_view inside = seen_inside(facts.job, process, ended_ns);
  bool on_descriptor = inside.empty() || awaits_a_peer(inside);
  return works || saves == Saving::kInside || device == Device::kMayWork ||
         awaits_own(facts.job, process, threads, on_descriptor, ended_ns) ||
         (on_descriptor && spoke_with_an_outsider(facts.job, process, threads, ended_ns)) ||
         sleeps(facts.job, process, threads, inside, acted_ns, ended_ns);
}

namespace {

// All came to the first call of its kind, and nothing is known of a failure: it makes connections, for which
// NCCL has no time limit of its own.
bool connects(const CallFacts& facts, const Communicator& communicator, const Hang& hang) {
  return hang.first_of_its_kind && hang.all_issued(facts) && !hang.given_up && hang.cut.empty() &&
         std::none_of(communicator.members.begin(), communicator.members.end(), [&](const Member& member) {
           return cannot_go_on(facts.job.processes[member.process]);
         });
}

// Of those that are missing, or where all have come wait: their host waits for the device, and that, perhaps,
// for a peer's signal. Signals that were issued behind the call may stand behind it.
std::optional<OwedSignals> find_owed_signals(const CallFacts& facts, const Hang& hang) {
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  std::int64_t issued_ns = hang.call(facts).begin_ns;
  for (std::uint32_t m : hang.all_issued(facts) ? hang.waiting : hang.absent) {
    auto owed = find_owed_signals(facts, members[m].process, issued_ns);
    if (owed && device_wait(facts.job, members[m].process, issuing_threads(facts.collectives, members[m])))
      return owed;
  }
  return std::nullopt;
}

void judge(const CallFacts& facts, const LostRanks& lost, const ordering::StuckWork& stuck, Hang& hang) {
  const Communicator& communicator = facts.collectives.communicators[hang.communicator];
  find_cut(facts, hang);
  measure_waits(facts, hang);
  measure_needed_wait(facts, communicator, hang);
  excuse_followers(facts, lost, hang);
  hang.gone = std::any_of(hang.absent.begin(), hang.absent.end(), [&](std::uint32_t m) {
    const Member& member = communicator.members[m];
    return ended_before(facts, hang, m) ||
           (find_leaving(facts.job, member) && left_by_itself(facts, communicator, member));
  });
  bool may_have_come = hang.unknown && hang.absent.empty() && hang.other.empty();
  bool may_come = connects(facts, communicator, hang) || (!hang.given_up && hang.misses_only_unseen(facts));
  // Who gave up because of ranks that were lost was right, however short that wait is beside the others of
  // the job.
  bool long_enough = hang.longest_wait >= hang.needed_wait * (may_come ? kPatience : 1) ||
                     (hang.given_up && !hang.lost.empty());
  bool from_outside = !hang.gone && !hang.given_up && hang.other.empty() && !hang.absent.empty();
  hang.at_work = long_enough && from_outside &&
                 std::all_of(hang.absent.begin(), hang.absent.end(), [&](std::uint32_t m) {
                   return is_at_work(facts, stuck, hang, communicator.members[m]);
                 });
  bool nobody_waits =
      std::all_of(hang.waiting.begin(), hang.waiting.end(), [&](std::uint32_t m) { return hang.is_lost(m); });
  if (!hang.gone) hang.owed_signals = find_owed_signals(facts, hang);
  hang.counts = !may_have_come && !nobody_waits && !hang.followed && !hang.owed_signals &&
                (hang.gone || (long_enough && !hang.at_work));
}

}  // namespace

std::uint32_t Hang::issued(const CallFacts& facts, std::uint32_t member) const {
  if (is_message()) return member == waiting.front() ? message : answer;
  const matching::Numbers& calls = facts.collectives.communicators[communicator].members[member].calls;
  return ordinal < calls.size() ? calls[ordinal] : kNone;
}

CollectiveCall Hang::call(const CallFacts& facts) const {
  return facts.collectives.calls[issued(facts, waiting.front())];
}

bool Hang::is_lost(std::uint32_t member) const {
  return std::find(lost.begin(), lost.end(), member) != lost.end();
}

Members Hang::missing() const {
  Members members = other;
  members.insert(members.end(), absent.begin(), absent.end());
  members.insert(members.end(), behind.begin(), behind.end());
  return members;
}

bool Hang::all_issued(const CallFacts& facts) const {
  return !is_message() && !unknown && missing().empty() && held_up.empty() &&
         facts.collectives.communicators[communicator].without_trace() == 0;
}

bool Hang::misses_only_unseen(const CallFacts& facts) const {
  return !is_message() && missing().empty() && cut.empty() &&
         facts.collectives.communicators[communicator].without_trace() > 0;
}

bool Hang::misses_only(const CallFacts& facts, const std::set<std::uint32_t>& processes) const {
  const auto& members = facts.collectives.communicators[communicator].members;
  Members missed = missing();
  return !missed.empty() &&
         std::ranges::all_of(missed, [&](auto m) { return processes.contains(members[m].process); });
}

std::vector<Hang> find_hangs(const CallFacts& facts, const ordering::StuckWork& stuck) {
  std::vector<Hang> hangs;
  LostRanks lost = find_lost(facts);
  for (std::uint32_t c = 0; c < facts.collectives.communicators.size(); ++c) {
    auto hang = find_hang(facts, lost, stuck, c);
    if (!hang || hang->waiting.empty()) continue;
    hangs.push_back(std::move(*hang));
  }
  for (std::uint32_t message : stuck.messages())
    if (auto hang = find_message_hang(facts, lost, stuck, message)) hangs.push_back(std::move(*hang));
  for (Hang& hang : hangs) judge(facts, lost, stuck, hang);
  return hangs;
}

}  // namespace ddpscope::detectors
