// All ranks of a communicator make it together, and NCCL sets no time limit for those that come first. So do
// those of a process group on Gloo, whose limit is half an hour.
#include "collector/detectors/hung_creation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "collector/detectors/hangs.h"
#include "collector/detectors/member_endings.h"
#include "collector/detectors/story.h"
#include "collector/detectors/whereabouts.h"
#include "collector/matching/group_collectives.h"
#include "collector/model/time_order.h"
#include "collector/ordering/communicator_makings.h"

namespace ddpscope::detectors {
namespace {

using matching::Communicator;
using matching::Member;
using trace::Operation;

// PyTorch numbers the groups that a rank makes. Where some ranks alone made one, the next that all make has
// two names, and a name stands for two groups.
struct OtherCount {
  model::EventRef of_waiting, of_missing;  // of that name, and of another size
};

struct HungCreation {
  Hang hang;                          // its waiting members, and for how long
  std::vector<Member> came;           // those, and whose call failed when a peer was gone
  std::vector<std::int32_t> missing;  // ranks of the communicator
  std::vector<Member> absent;         // of the job: those of them that are known, and left a trace
  bool at_work = false;
  std::optional<OtherCount> count{};
};

model::EventRef making_of(const Member& member) { return {member.process, member.made}; }

bool is_group(const CallFacts& facts, model::EventRef making) {
  return matching::makes_process_group(facts.job.record(making));
}

trace::payload::ProcessGroup group_in(const CallFacts& facts, model::EventRef making) {
  return trace::payload_of<trace::payload::ProcessGroup>(facts.job.record(making));
}

// By its own rendezvous: a split says nothing of who is missing.
bool waits_in_creation(const CallFacts& facts, const Member& member) {
  const trace::Record& record = facts.job.record(making_of(member));
  Operation operation = trace::operation_of(record.call);
  if (operation == Operation::kProcessGroup) return record.end == 0;
  if (operation != Operation::kCommunicatorInit) return false;
  ordering::CommunicatorMakings makings(facts.job, member.process);
  return makings.returned_ns(record) == ordering::kNever && !makings.known(member);
}

bool has_rank(const std::vector<Member>& members, std::int32_t rank_in_communicator) {
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.rank_in_communicator == rank_in_communicator;
  });
}

// The members, and those whose call for the same id failed: no communicator came of it, so they are not among
// the members.
std::vector<Member> all_that_came(const CallFacts& facts, const Communicator& communicator) {
  std::vector<Member> came = communicator.members;
  for (std::uint32_t process = 0; process < facts.job.processes.size(); ++process)
    model::for_each(facts.job.processes[process].file, {Operation::kCommunicatorInit},
                    [&](model::EventPlace place, const trace::Record& record) {
                      auto made = trace::payload_of<trace::payload::Communicator>(record);
                      if (made.id != communicator.id || made.size != communicator.size || !made.result ||
                          has_rank(came, made.rank))
                        return;
                      Member failed{};
                      failed.rank_in_communicator = made.rank;
                      failed.rank = facts.job.processes[process].rank;
                      failed.process = process;
                      failed.made = place;
                      came.push_back(failed);
                    });
  return came;
}

std::vector<std::int32_t> missing_of(const Communicator& communicator, const std::vector<Member>& came) {
  std::vector<std::int32_t> missing;
  for (std::int32_t rank = 0; rank < communicator.size; ++rank)
    if (!has_rank(came, rank)) missing.push_back(rank);
  return missing;
}

// Of the job: as all of its ranks belong to it, or as many as are missing do not.
std::vector<std::int32_t> ranks_missing(const CallFacts& facts, const std::vector<Member>& came,
                                        const std::vector<std::int32_t>& missing) {
  std::vector<std::int32_t> others;
  for (std::int32_t rank = 0; rank < facts.job.world_size; ++rank)
    if (std::none_of(came.begin(), came.end(), [&](const Member& member) { return member.rank == rank; }))
      others.push_back(rank);
  return others.size() == missing.size() ? others : std::vector<std::int32_t>{};
}

std::set<std::uint32_t> processes_of(const std::vector<Member>& members) {
  std::set<std::uint32_t> processes;
  for (const Member& member : members) processes.insert(member.process);
  return processes;
}

std::optional<OtherCount> find_other_count(const CallFacts& facts, const HungCreation& found) {
  if (!is_group(facts, making_of(found.came.front()))) return std::nullopt;
  auto size_of = [&](const Member& member) { return group_in(facts, making_of(member)).size; };
  std::set<std::uint32_t> waiting = processes_of(found.came), missing = processes_of(found.absent);
  std::map<std::uint64_t, const Member*> of_waiting;  // by the name's hash
  for (const Communicator& group : facts.collectives.communicators)
    for (const Member& member : group.members)
      if (waiting.contains(member.process)) of_waiting.emplace(group.id, &member);
  for (const Communicator& group : facts.collectives.communicators)
    for (const Member& member : group.members) {
      auto same_name = missing.contains(member.process) ? of_waiting.find(group.id) : of_waiting.end();
      if (same_name != of_waiting.end() && size_of(*same_name->second) != size_of(member))
        return OtherCount{making_of(*same_name->second), making_of(member)};
    }
  return std::nullopt;
}

void measure(const CallFacts& facts, const Communicator& communicator, HungCreation& found) {
  Hang& hang = found.hang;
  hang.needed_wait = least_hang(0, 0);
  hang.given_up = false;
  for (std::uint32_t m : hang.waiting) {
    const Member& member = communicator.members[m];
    hang.longest_wait =
        std::max(hang.longest_wait, end_of(facts, member) - facts.job.begin_ns(making_of(member)));
    hang.given_up = hang.given_up || gave_up(facts, member);
  }
}

std::optional<HungCreation> find_creation(const CallFacts& facts, const ordering::StuckWork& stuck,
                                          std::uint32_t index) {
  const Communicator& communicator = facts.collectives.communicators[index];
  if (communicator.without_trace() == 0) return std::nullopt;
  HungCreation found;
  found.hang.communicator = index;
  for (std::uint32_t m = 0; m < communicator.members.size(); ++m) {
    if (!waits_in_creation(facts, communicator.members[m])) return std::nullopt;
    found.hang.waiting.push_back(m);
  }
  found.came = all_that_came(facts, communicator);
  found.missing = missing_of(communicator, found.came);
  if (found.missing.empty()) return std::nullopt;
  measure(facts, communicator, found);
  for (std::int32_t rank : ranks_missing(facts, found.came, found.missing)) {
    std::int32_t process = facts.job.process_of_rank(rank);
    if (process < 0) continue;
    Member absent{};
    absent.rank_in_communicator = -1;
    absent.rank = rank;
    absent.process = static_cast<std::uint32_t>(process);
    found.at_work = found.at_work || is_at_work(facts, stuck, found.hang, absent);
    found.absent.push_back(absent);
  }
  found.count = find_other_count(facts, found);
  return found;
}

// Of a rank that left no trace, or which of the job's it is not known, nothing shows that it is not on its
// way.
std::int64_t needed_ns(const HungCreation& found) {
  bool unseen = found.absent.size() < found.missing.size();
  return found.hang.needed_wait * (unseen ? kPatience : 1);
}

bool counts(const HungCreation& found) {
  return found.hang.longest_wait >= needed_ns(found) && !found.at_work;
}

std::vector<std::int32_t> ranks_of(const std::vector<Member>& members) {
  std::vector<std::int32_t> ranks;
  for (const Member& member : members) ranks.push_back(member.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

constexpr const char* kCommunicator = "communicator";

// kCommunicator, or "process group default_pg/0/2/cpu".
std::string name_of(const CallFacts& facts, model::EventRef making) {
  if (!is_group(facts, making)) return kCommunicator;
  return fmt::format("process group {}",
                     facts.job.processes[making.process].file.string(group_in(facts, making).name));
}

std::string name_missing(const HungCreation& found, std::string_view made) {
  if (found.absent.size() == found.missing.size()) return list_ranks(ranks_of(found.absent));
  return fmt::format("{} of the {}", list_ranks(found.missing), made);
}

void add_other_count(const CallFacts& facts, const OtherCount& count, findings::Finding& finding) {
  const char* before = "; ";
  for (model::EventRef making : {count.of_waiting, count.of_missing}) {
    std::int32_t size = group_in(facts, making).size;
    std::string what =
        fmt::format("makes {} of {} rank{}", name_of(facts, making), size, size == 1 ? "" : "s");
    finding.title += fmt::format("{}rank {} {}{}", before, facts.job.processes[making.process].rank, what,
                                 at(facts.places.of(making)));
    finding.evidence.push_back(evidence_of(facts.job, making, what));
    before = ", ";
  }
}

constexpr const char* kAdviceOnCommunicators =
    "Let every rank that counts as a member create the communicator: look at what the missing ranks do "
    "instead, and check that the number of ranks given to the call is that of the ranks that make it.";
constexpr const char* kAdviceOnGroups =
    "Call `torch.distributed.new_group()` on all ranks and in the same order, also on ranks that are not "
    "members, or pass `use_local_synchronization=True`.";

void add_creators(const CallFacts& facts, const HungCreation& found, const std::string& made,
                  findings::Finding& finding) {
  constexpr std::size_t kFew = 6;
  for (const Member& member : found.came)
    if (finding.evidence.size() < kFew)
      finding.evidence.push_back(evidence_of(
          facts.job, making_of(member),
          fmt::format("makes a {} of {} ranks as rank {}, and {}", made,
                      facts.collectives.communicators[found.hang.communicator].size,
                      member.rank_in_communicator,
                      waits_in_creation(facts, member) ? "does not return" : "gets an error in the end")));
}

struct Absence {
  bool stuck = false;  // inside a call, or ended
  std::set<std::string> reasons{};
};

Absence add_absent(const CallFacts& facts, const HungCreation& found, std::int64_t begin_ns,
                   findings::Finding& finding) {
  Absence absence;
  for (const Member& absent : found.absent) {
    Whereabouts where = find_whereabouts(facts.job, facts.collectives, absent, begin_ns);
    if (found.absent.size() == 1) finding.title += "; that never came: " + where.sentence;
    absence.stuck = absence.stuck || where.inside || facts.job.processes[absent.process].header().ended;
    absence.reasons.insert(where.key);
    add_evidence_of(facts.job, where, absent.rank, finding);
  }
  if (found.absent.empty()) finding.title += "; which of the job's ranks that is, is not known";
  return absence;
}

findings::Finding describe(const CallFacts& facts, const HungCreation& found) {
  const Communicator& communicator = facts.collectives.communicators[found.hang.communicator];
  const std::vector<std::int32_t> waiting = ranks_of(found.came), absent = ranks_of(found.absent);
  model::EventRef making = making_of(communicator.members.front());
  const std::string made = name_of(facts, making);
  findings::Finding finding;
  finding.slug = "hung-collective";
  finding.ranks = absent.empty() ? waiting : absent;
  finding.title =
      fmt::format("{} {} in {}{} for {}, to make a {} of {} ranks", list_ranks(waiting),
                  verb(waiting, "waits", "wait"), call_and_file(facts.job, making),
                  at(facts.places.of(making)), name_missing(found, made), made, communicator.size);
  finding.first_ns = facts.job.begin_ns(making);
  finding.last_ns = facts.job.duration_ns;
  add_creators(facts, found, made, finding);
  Absence absence = add_absent(facts, found, finding.first_ns, finding);
  finding.confidence =
      absence.stuck || found.count ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  if (found.count) {
    add_other_count(facts, *found.count, finding);
    if (waiting.size() < absent.size()) finding.ranks = waiting;  // they are odd that count unlike most
  }
  finding.advice = made == kCommunicator ? kAdviceOnCommunicators : kAdviceOnGroups;
  std::vector<std::int32_t> all;
  std::ranges::set_union(waiting, absent, std::back_inserter(all));
  finding.place = facts.rounds.place(all, finding.first_ns, ordering::kNever);
  finding.key = fmt::format("creation {}\n{}", facts.places.whole(making), fmt::join(absence.reasons, "\n"));
  return finding;
}

// Who waits here is missing there, as they count otherwise.
bool is_other_side(const HungCreation& found, const HungCreation& other) {
  return other.count && std::ranges::any_of(found.came, [&](const Member& member) {
           return std::ranges::count(other.absent, member.process, &Member::process) > 0;
         });
}

findings::Coverage describe_doubt(const CallFacts& facts, const HungCreation& found) {
  const Communicator& communicator = facts.collectives.communicators[found.hang.communicator];
  bool waited = found.hang.longest_wait >= found.hang.needed_wait;
  const std::string made = name_of(facts, making_of(communicator.members.front()));
  std::string why =
      found.at_work && waited
          ? fmt::format(
                "{} did not come, and {} at work when the job was ended: it is not known whether that hangs",
                name_missing(found, made), found.missing.size() == 1 ? "was" : "were")
          : fmt::format("the trace ends {} into the wait for {}: too short to tell a hang from a slow rank",
                        seconds(found.hang.longest_wait), name_missing(found, made));
  return {made == kCommunicator ? fmt::format("the creation of communicator {:016x}", communicator.id)
                                : "the creation of " + made,
          std::move(why),
          {"hung-collective"}};
}

std::vector<HungCreation> find_creations(const CallFacts& facts, const ordering::StuckWork& stuck) {
  std::vector<HungCreation> all;
  for (std::uint32_t c = 0; c < facts.collectives.communicators.size(); ++c) {
    auto found = find_creation(facts, stuck, c);
    auto other_side_of = [&](const HungCreation& other) {
      return counts(other) && is_other_side(*found, other);
    };
    if (found && std::ranges::none_of(all, other_side_of)) all.push_back(std::move(*found));
  }
  return all;
}

// Who makes a group of the name that ranks count otherwise meets whose key is in the store already: some are
// let through, and some wait for what never comes.
std::set<std::uint32_t> waiting_for_name(const CallFacts& facts, const OtherCount& count) {
  std::uint64_t name = group_in(facts, count.of_missing).id;
  std::set<std::uint32_t> processes;
  for (const Communicator& group : facts.collectives.communicators)
    for (const Member& member : group.members)
      if (is_group(facts, making_of(member)) && group_in(facts, making_of(member)).id == name &&
          waits_in_creation(facts, member))
        processes.insert(member.process);
  return processes;
}

std::map<std::int32_t, std::uint32_t> by_rank(const std::vector<Member>& members) {
  std::map<std::int32_t, std::uint32_t> processes;
  for (const Member& member : members) processes.emplace(member.rank, member.process);
  return processes;
}

}  // namespace

std::vector<OpenWait> find_open_creations(const CallFacts& facts, const ordering::StuckWork& stuck) {
  std::vector<OpenWait> open;
  for (const HungCreation& found : find_creations(facts, stuck))
    open.push_back({describe(facts, found), by_rank(found.came), by_rank(found.absent),
                    found.hang.longest_wait, needed_ns(found)});
  return open;
}

std::set<std::uint32_t> detect_hung_creation(const CallFacts& facts, const ordering::StuckWork& stuck,
                                             findings::Outcome& outcome) {
  std::set<std::uint32_t> held;
  for (const HungCreation& found : find_creations(facts, stuck)) {
    if (!counts(found)) {
      outcome.coverage.push_back(describe_doubt(facts, found));
      continue;
    }
    outcome.findings.push_back(describe(facts, found));
    held.merge(processes_of(found.came));
    if (found.count) held.merge(waiting_for_name(facts, *found.count));
  }
  return held;
}

}  // namespace ddpscope::detectors
