// All ranks of a communicator make it together, and NCCL sets no time limit for those that come first.
#include "collector/detectors/hung_creation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "collector/detectors/hangs.h"
#include "collector/detectors/member_endings.h"
#include "collector/detectors/story.h"
#include "collector/detectors/whereabouts.h"
#include "collector/model/time_order.h"
#include "collector/ordering/communicator_makings.h"

namespace ddpscope::detectors {
namespace {

using matching::Communicator;
using matching::Member;

struct HungCreation {
  Hang hang;                          // its waiting members, and for how long
  std::vector<Member> came;           // those, and whose call failed when a peer was gone
  std::vector<std::int32_t> missing;  // ranks of the communicator
  std::vector<Member> absent;         // of the job: those of them that are known, and left a trace
  bool at_work = false;
};

model::EventRef making_of(const Member& member) { return {member.process, member.made}; }

// By its own rendezvous: a split says nothing of who is missing.
bool waits_in_creation(const CallFacts& facts, const Member& member) {
  const trace::Record& record = facts.job.record(making_of(member));
  if (trace::operation_of(record.call) != trace::Operation::kCommunicatorInit) return false;
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
    model::for_each(facts.job.processes[process].file, {trace::Operation::kCommunicatorInit},
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
  return found;
}

// Of a rank that left no trace, or which of the job's it is not known, nothing shows that it is not on its
// way.
bool counts(const HungCreation& found) {
  bool unseen = found.absent.size() < found.missing.size();
  return found.hang.longest_wait >= found.hang.needed_wait * (unseen ? kPatience : 1) && !found.at_work;
}

std::vector<std::int32_t> ranks_of(const std::vector<Member>& members) {
  std::vector<std::int32_t> ranks;
  for (const Member& member : members) ranks.push_back(member.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::string name_missing(const HungCreation& found) {
  if (found.absent.size() == found.missing.size()) return list_ranks(ranks_of(found.absent));
  return list_ranks(found.missing) + " of the communicator";
}

findings::Finding describe(const CallFacts& facts, const HungCreation& found) {
  const Communicator& communicator = facts.collectives.communicators[found.hang.communicator];
  std::vector<std::int32_t> waiting = ranks_of(found.came);
  model::EventRef making = making_of(communicator.members.front());
  std::int64_t begin_ns = facts.job.begin_ns(making);
  std::string place = facts.places.of(making);
  findings::Finding finding;
  finding.slug = "hung-collective";
  finding.ranks = found.absent.empty() ? waiting : ranks_of(found.absent);
  finding.title = fmt::format("{} {} in {}{} for {}, to make a communicator of {} ranks", list_ranks(waiting),
                              verb(waiting, "waits", "wait"), call_and_file(facts.job, making), at(place),
                              name_missing(found), communicator.size);
  constexpr std::size_t kFew = 6;
  for (const Member& member : found.came)
    if (finding.evidence.size() < kFew)
      finding.evidence.push_back(evidence_of(
          facts.job, making_of(member),
          fmt::format("makes a communicator of {} ranks as rank {}, and {}", communicator.size,
                      member.rank_in_communicator,
                      waits_in_creation(facts, member) ? "does not return" : "gets an error in the end")));
  bool stuck = false;
  std::set<std::string> reasons;
  for (const Member& absent : found.absent) {
    Whereabouts where = find_whereabouts(facts.job, facts.collectives, absent, begin_ns);
    if (found.absent.size() == 1) finding.title += "; that never came: " + where.sentence;
    stuck = stuck || where.inside || facts.job.processes[absent.process].header().ended;
    reasons.insert(where.key);
    add_evidence_of(facts.job, where, absent.rank, finding);
  }
  if (found.absent.empty()) finding.title += "; which of the job's ranks that is, is not known";
  finding.confidence = stuck ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.advice =
      "Let every rank that counts as a member create the communicator: look at what the missing ranks do "
      "instead, and check that the number of ranks given to the call is that of the ranks that make it.";
  finding.first_ns = begin_ns;
  finding.last_ns = facts.job.duration_ns;
  std::vector<std::int32_t> all = waiting;
  for (std::int32_t rank : finding.ranks)
    if (!std::count(all.begin(), all.end(), rank)) all.push_back(rank);
  std::sort(all.begin(), all.end());
  finding.place = facts.rounds.place(all, begin_ns, ordering::kNever);
  finding.key = fmt::format("creation {}\n{}", facts.places.whole(making), fmt::join(reasons, "\n"));
  return finding;
}

findings::Coverage describe_doubt(const CallFacts& facts, const HungCreation& found) {
  const Communicator& communicator = facts.collectives.communicators[found.hang.communicator];
  bool waited = found.hang.longest_wait >= found.hang.needed_wait;
  std::string why =
      found.at_work && waited
          ? fmt::format(
                "{} did not come, and {} at work when the job was ended: it is not known whether that hangs",
                name_missing(found), found.missing.size() == 1 ? "was" : "were")
          : fmt::format("the trace ends {} into the wait for {}: too short to tell a hang from a slow rank",
                        seconds(found.hang.longest_wait), name_missing(found));
  return {fmt::format("the creation of communicator {:016x}", communicator.id),
          std::move(why),
          {"hung-collective"}};
}

}  // namespace

void detect_hung_creation(const CallFacts& facts, const ordering::StuckWork& stuck,
                          findings::Outcome& outcome) {
  for (std::uint32_t c = 0; c < facts.collectives.communicators.size(); ++c) {
    auto found = find_creation(facts, stuck, c);
    if (!found) continue;
    if (counts(*found))
      outcome.findings.push_back(describe(facts, *found));
    else
      outcome.coverage.push_back(describe_doubt(facts, *found));
  }
}

}  // namespace ddpscope::detectors
