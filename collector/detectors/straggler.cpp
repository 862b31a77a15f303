// straggler: the same rank keeps all others waiting, step after step, and why.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "collector/detectors/detector.h"
#include "collector/detectors/late_causes.h"
#include "collector/detectors/story.h"
#include "collector/detectors/unjudged_ranks.h"
#include "collector/model/device_work.h"
#include "collector/patterns/collective_times.h"
#include "collector/patterns/late_ranks.h"
#include "collector/patterns/lost_of_job.h"

namespace ddpscope::detectors {
namespace {

using patterns::KnownBy;
using patterns::LateRanks;
using patterns::LateTurn;

constexpr const char* kSlug = "straggler";
constexpr std::size_t kMostPeers = 4;  // in the evidence

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

const matching::Member& member_of(const Facts& facts, const LateRanks& late, std::uint32_t member) {
  return facts.collectives.communicators[late.communicator].members[member];
}

std::vector<std::int32_t> ranks_of(const Facts& facts, const LateRanks& late, bool that_are_late) {
  std::vector<std::int32_t> ranks;
  const auto& members = facts.collectives.communicators[late.communicator].members;
  for (std::uint32_t m = 0; m < members.size(); ++m)
    if (std::binary_search(late.members.begin(), late.members.end(), m) == that_are_late)
      ranks.push_back(members[m].rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// To the collective in which the others wait.
std::int64_t came_ns(const Facts& facts, const LateRanks& late, const LateTurn& turn, std::uint32_t member) {
  std::uint32_t call = member_of(facts, late, member).calls[turn.ordinal];
  return late.known_by == KnownBy::kDevices ? facts.collective_times.get().of(call)->begin_ns
                                            : facts.collectives.calls.begin_ns(call);
}

double percent_of(std::int64_t part_ns, const LateRanks& late) {
  return 100.0 * static_cast<double>(part_ns) / static_cast<double>(late.turn_ns);
}

bool counts_by(std::int64_t part_ns, const LateRanks& late) {
  return part_ns * 100 >= late.turn_ns * patterns::kLeastPercent;
}

// A tenth or more is open.
bool is_bound(const LateRanks& late) { return late.most_ns > late.lost_ns + late.lost_ns / 10; }

std::string what_is_lost(const LateRanks& late) {
  std::string lost = fmt::format("{:.3f} ms of {:.3f} ms ({:.0f} %)", milliseconds(late.lost_ns),
                                 milliseconds(late.turn_ns), percent_of(late.lost_ns, late));
  if (!is_bound(late)) return lost;
  return fmt::format("at least {} and at most {:.3f} ms", lost, milliseconds(late.most_ns));
}

std::string what_it_does(const LateStory& story) {
  auto times = [&] {
    return fmt::format("{:.3f} ms a step, where one that is in time takes {:.3f} ms",
                       milliseconds(story.late_ns), milliseconds(story.typical_ns));
  };
  switch (story.cause) {
    case LateCause::kInput:
      return "it waits for its input, " + times();
    case LateCause::kFiles:
      return "it is inside calls on files, " + times();
    case LateCause::kCompute:
      if (!story.explained()) return "its device is late though its host is not";
      return "its device computes, " + times();
    case LateCause::kUnknown:
      return "whether its host or its device is slow does not show";
    case LateCause::kHost:
      break;
  }
  return "its host is late, and no call of it says why";
}

const char* advice_for(LateCause cause) {
  switch (cause) {
    case LateCause::kInput:
      return "Give this rank's loader more workers or prefetch more, and see what its workers do that "
             "others' "
             "do not: longer samples, a slower disk, fewer processors (cgroup, affinity).";
    case LateCause::kFiles:
      return "See which files these are: move them to a faster or a local disk, read them in loader workers "
             "ahead of time, write logs and metrics in another thread or less often.";
    case LateCause::kCompute:
      return "Compare its device with the others': clocks and temperature (nvidia-smi -q -d "
             "CLOCK,PERFORMANCE), "
             "another process on it, larger batches or longer sequences, more layers.";
    case LateCause::kUnknown:
      return "Have its kernels timed (--gpu-timing cupti), or compare both with the others': clocks and "
             "temperature of its device, what its host does between steps.";
    case LateCause::kHost:
      break;
  }
  return "Compare what its host does between steps with the others': logging, evaluation or metrics on this "
         "rank alone, garbage collection, fewer or slower processors (affinity, NUMA, power).";
}

const char* key_of(LateCause cause) {
  constexpr const char* kKeys[] = {"input", "files", "compute", "host", "unknown"};
  return kKeys[static_cast<std::size_t>(cause)];
}

void tell_peers(const Facts& facts, const LateRanks& late, const LateTurn& turn, findings::Finding& finding) {
  const auto& members = facts.collectives.communicators[late.communicator].members;
  std::size_t told = 0;
  for (std::uint32_t m = 0; m < members.size() && told < kMostPeers; ++m) {
    if (std::binary_search(late.members.begin(), late.members.end(), m)) continue;
    auto call = facts.collectives.call_at(members[m], turn.ordinal);
    finding.evidence.push_back(evidence_of(
        facts.job, facts.collectives, call,
        fmt::format("{}: {} for it at {}", to_text(call.signature),
                    late.known_by == KnownBy::kDevices ? "its device is ready" : "its host is there",
                    seconds(came_ns(facts, late, turn, m)))));
    ++told;
  }
}

void tell_evidence(const Facts& facts, const LateRanks& late, const LateStory& story,
                   findings::Finding& finding) {
  const LateTurn& turn = late.turns[story.turn];
  std::uint32_t first = late.members.front();
  if (story.longest.place != model::kNoCall) {
    const trace::Record record = facts.job.record(story.longest);
    finding.evidence.push_back(
        evidence_of(facts.job, story.longest,
                    fmt::format("until {}", seconds(facts.job.end_ns(story.longest.process, record)))));
  }
  tell_peers(facts, late, turn, finding);
  auto call = facts.collectives.call_at(member_of(facts, late, first), turn.ordinal);
  finding.evidence.push_back(evidence_of(
      facts.job, facts.collectives, call,
      fmt::format("{}: comes at {}, {:.3f} ms after the last of the others", to_text(call.signature),
                  seconds(came_ns(facts, late, turn, first)), milliseconds(turn.waited_ns))));
}

findings::Finding finding_of(const Facts& facts, const LateRanks& late) {
  LateStory story = explain_lateness(facts, late);
  std::vector<std::int32_t> ranks = ranks_of(facts, late, true), others = ranks_of(facts, late, false);
  findings::Finding finding;
  finding.slug = kSlug;
  finding.severity = findings::Severity::kWarning;
  // By calls it is not seen that devices have as much to do.
  finding.confidence = late.waits_known && late.known_by != KnownBy::kCalls ? findings::Confidence::kCertain
                                                                            : findings::Confidence::kLikely;
  finding.title =
      fmt::format("{} {} for {} in {} of {} steps, {}: {}", list_ranks(others), verb(others, "waits", "wait"),
                  list_ranks(ranks), late.turns.size(), late.judged, what_is_lost(late), what_it_does(story));
  finding.ranks = ranks;
  finding.count = late.turns.size();
  finding.first_ns = late.turns.front().windows[late.members.front()].from_ns;
  finding.last_ns = late.turns.back().windows[late.members.front()].came_ns;
  finding.cost.ms_per_step = milliseconds(late.lost_ns);
  finding.advice = advice_for(story.cause);
  finding.place = {ranks, finding.first_ns, finding.last_ns};
  finding.place.ranks.insert(finding.place.ranks.end(), others.begin(), others.end());
  std::sort(finding.place.ranks.begin(), finding.place.ranks.end());
  auto call =
      facts.collectives.call_at(member_of(facts, late, late.members.front()), late.turns[story.turn].ordinal);
  finding.key = fmt::format("{} {}\n{}", key_of(story.cause), findings::key_of_frame(story.place),
                            facts.places.whole(call.event));
  tell_evidence(facts, late, story, finding);
  return finding;
}

// Why lateness that counts may come of a machine with too few processors; empty: nothing speaks for that.
std::string doubt_of(const Facts& facts, const LateRanks& late) {
  if (late.processors_short) return patterns::kProcessorsShort;
  if (late.waits_known) return {};
  const model::Process& first = facts.job.processes[member_of(facts, late, late.members.front()).process];
  if (first.ended_ticks)  // it was watched, and over before `ddpscope run` had looked twice
    return "the job was too short to see how long its processes waited for processors";
  if (!explain_lateness(facts, late).explained())
    return "nobody saw how long its processes waited for processors, and no call or kernel says why it is "
           "late";
  return {};
}

// Why it is not known whether they are late enough.
std::string bounds_of(const Facts& facts, const LateRanks& late) {
  return fmt::format(
      "others wait for {} in each step, but how much of that is lost does not show, {:.1f} to {:.1f} % of a "
      "step: they may have computed meanwhile (the times of kernels may tell: --gpu-timing cupti)",
      list_ranks(ranks_of(facts, late, true)), percent_of(late.lost_ns, late),
      percent_of(late.most_ns, late));
}

// The same ranks in several communicators lose once: in each at least this, in none more than the most, as
// what is late in one may not show in another.
struct Candidate {
  LateRanks late;                              // in which most is lost, at least
  bool certain;                                // late by what is lost at least, not only at most
  std::set<std::uint32_t> communicators = {};  // all of these
};
using Candidates = std::map<std::vector<std::int32_t>, Candidate>;  // by the late ranks

void add_candidate(const Facts& facts, LateRanks late, bool certain, Candidates& known) {
  if (!counts_by(late.most_ns, late)) return;
  auto [found, fresh] = known.try_emplace(ranks_of(facts, late, true), Candidate{late, certain});
  Candidate& candidate = found->second;
  candidate.communicators.insert(late.communicator);
  std::int64_t most_ns = std::max(late.most_ns, candidate.late.most_ns);
  if (std::pair(certain, late.lost_ns) > std::pair(candidate.certain, candidate.late.lost_ns)) {
    candidate.late = std::move(late);
    candidate.certain = certain;
  }
  candidate.late.most_ns = most_ns;
}

// Communicators that the ranks train by; where that is not known, that reduce.
std::set<std::uint32_t> training_communicators(const Facts& facts) {
  std::set<std::uint32_t> found;
  for (const patterns::DataParallelGroup& group : facts.data_parallel) found.insert(group.communicator);
  return found.empty() ? patterns::communicators_that_reduce(facts.collectives) : found;
}

// False: late in its communicator, but perhaps not for the job.
bool is_late_for_job(const Facts& facts, LateRanks& late) {
  bool is_late = true;
  for (const patterns::DataParallelGroup& group : facts.data_parallel) {
    if (!counts_by(late.most_ns, late)) return false;
    if (group.communicator == matching::kNone || group.communicator == late.communicator) continue;
    auto waits = patterns::find_waits_for_members(facts.job, facts.collectives, facts.device_order,
                                                  facts.collective_times.get(), facts.framework_steps,
                                                  group.communicator, late);
    if (!waits.empty()) is_late = patterns::bound_by(waits, late) && is_late;
  }
  return is_late;
}

void add_candidates(const Facts& facts, patterns::LateRanksFound& found, Candidates& known) {
  if (found.late) {
    bool certain = is_late_for_job(facts, *found.late);
    if (certain || is_bound(*found.late)) add_candidate(facts, std::move(*found.late), certain, known);
  }
  if (found.perhaps) {
    is_late_for_job(facts, *found.perhaps);
    add_candidate(facts, std::move(*found.perhaps), false, known);
  }
}

void add_doubt(const Facts& facts, std::uint32_t communicator, const std::string& why,
               UnjudgedRanks& doubts) {
  if (why.empty()) return;
  for (const matching::Member& member : facts.collectives.communicators[communicator].members)
    doubts.add(why, member.rank);
}

// What is not explained by ranks that are told.
std::int64_t open_ns(const Candidate& candidate, const std::vector<const LateRanks*>& told) {
  std::int64_t explained_ns = 0;
  const std::vector<std::uint32_t>& members = candidate.late.members;
  for (const LateRanks* late : told)
    if (late->communicator == candidate.late.communicator &&
        std::includes(members.begin(), members.end(), late->members.begin(), late->members.end()))
      explained_ns = std::max(explained_ns, late->most_ns);
  return candidate.late.most_ns - explained_ns;
}

void judge_candidates(const Facts& facts, const Candidates& candidates, UnjudgedRanks& doubts,
                      findings::Outcome& outcome) {
  std::vector<const LateRanks*> told;
  auto doubt = [&](const Candidate& candidate, const std::string& why) {
    for (std::uint32_t communicator : candidate.communicators) add_doubt(facts, communicator, why, doubts);
  };
  auto counts = [](const Candidate& candidate) {
    return candidate.certain && counts_by(candidate.late.lost_ns, candidate.late);
  };
  for (const auto& [ranks, candidate] : candidates) {
    if (!counts(candidate)) continue;
    told.push_back(&candidate.late);
    std::string why = doubt_of(facts, candidate.late);
    if (why.empty())
      outcome.findings.push_back(finding_of(facts, candidate.late));
    else
      doubt(candidate, why);
  }
  for (const auto& [ranks, candidate] : candidates)
    if (!counts(candidate) && !candidate.late.processors_short &&
        counts_by(open_ns(candidate, told), candidate.late))
      doubt(candidate, bounds_of(facts, candidate.late));
}

}  // namespace

void detect_straggler(const Facts& facts, findings::Outcome& outcome) {
  Candidates candidates;
  std::set<std::uint32_t> training = training_communicators(facts);
  UnjudgedRanks doubts, too_short;
  bool any_long = false;  // enough: a job has further communicators that it seldom uses
  for (std::uint32_t c = 0; c < facts.collectives.communicators.size(); ++c) {
    auto judged = patterns::find_late_ranks(facts.job, facts.collectives, facts.device_order,
                                            facts.collective_times.get(), facts.framework_steps, c);
    add_candidates(facts, judged, candidates);
    add_doubt(facts, c, judged.doubt, doubts);
    if (training.contains(c)) add_doubt(facts, c, judged.too_few_turns, too_short);
    any_long = any_long || (training.contains(c) && judged.too_few_turns.empty());
  }
  judge_candidates(facts, candidates, doubts, outcome);
  constexpr const char* kWhat = "who of {} keeps the others waiting";
  doubts.tell(kWhat, kSlug, false, outcome);
  if (!any_long) too_short.tell(kWhat, kSlug, true, outcome);
}

}  // namespace ddpscope::detectors
