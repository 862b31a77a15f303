// no-process-group: several ranks run as one job, but nothing connects them and each trains alone (bugs a3
// and c1 of the catalogue, rule D4). That they are no runs of their own shows in what becomes of their work.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "collector/detectors/detector.h"
#include "collector/detectors/idle_ranks.h"
#include "collector/detectors/kept_work.h"
#include "collector/detectors/story.h"
#include "collector/files/read_items.h"
#include "collector/model/order_statistics.h"
#include "collector/ordering/losses.h"
#include "collector/patterns/connections.h"
#include "collector/patterns/trainings.h"

namespace ddpscope::detectors {
namespace {

using patterns::Parts;
using patterns::Training;

constexpr std::size_t kMaxOfAKind =
    12;  // calls in the evidence: a job of a thousand ranks tells its story with a few
constexpr std::size_t kMaxPartsTold = 4;

struct Apart {
  Parts parts;
  std::vector<Training> trainings;  // of all ranks, ascending
  KeptWork kept;

  // Else it shows only in the samples that they read again and again.
  bool all_update() const {
    return std::all_of(trainings.begin(), trainings.end(), [](const Training& own) { return own.updates; });
  }
  bool one_rank_each() const {
    return std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.size() == 1; });
  }
};

// A communicator of one rank that this rank made.
const model::Membership* own_group(const Facts& facts, const Training& training) {
  std::int32_t process = facts.job.process_of_rank(training.rank);
  if (process < 0) return nullptr;
  for (const model::Membership& member : facts.job.processes[static_cast<std::size_t>(process)].memberships)
    if (member.size == 1 && member.parent == 0) return &member;
  return nullptr;
}

model::EventRef making_of(const Facts& facts, const Training& training, const model::Membership& member) {
  return {static_cast<std::uint32_t>(facts.job.process_of_rank(training.rank)), member.place};
}

// Ranks that a script starts one after the other are jobs of one rank.
bool run_together(const model::Job& job, const std::vector<Training>& trainings) {
  std::int64_t last_start = std::numeric_limits<std::int64_t>::min(), first_end = -last_start - 1;
  for (const Training& training : trainings) {
    std::int32_t process = job.process_of_rank(training.rank);
    if (process < 0) return false;
    last_start = std::max(last_start, job.processes[static_cast<std::size_t>(process)].first_ns);
    first_end = std::min(first_end, training.last_ns);
  }
  return last_start < first_end;
}

// A job that was killed may have been about to make its group: it went through its samples to prepare them.
bool ended_by_themselves(const model::Job& job, const std::vector<Training>& trainings) {
  return std::all_of(trainings.begin(), trainings.end(), [&](const Training& training) {
    std::int32_t process = job.process_of_rank(training.rank);
    return process >= 0 && job.processes[static_cast<std::size_t>(process)].header().ended;
  });
}

// "ranks 0 and 1, ranks 2 and 3"
std::string list_parts(const Parts& parts) {
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), kMaxPartsTold); ++i)
    text += (i ? "; " : "") + list_ranks(parts[i]);
  if (parts.size() > kMaxPartsTold)
    text += fmt::format("; and {} more such sets", parts.size() - kMaxPartsTold);
  return text;
}

std::string describe_work(const Facts& facts, const KeptWork& kept) {
  const files::WrittenFile& save = *kept.saves.front();
  std::string place = at(facts.places.of(save.open));
  if (kept.kind == KeptWork::Kind::kOneSaves)
    return fmt::format("only rank {} saves{}, what the others train is lost", save.rank, place);
  return fmt::format("each saves over what the others have saved{}", place);
}

std::string describe(const Facts& facts, const Apart& apart) {
  std::string who = apart.one_rank_each() ? list_ranks(facts.job.ranks()) + " each train alone"
                                          : list_parts(apart.parts) + ": each set trains alone";
  const model::Membership* group = own_group(facts, apart.trainings.front());
  std::string how = "nothing connects them";
  if (group)
    how = "each makes a communicator of one rank" +
          at(facts.places.of(making_of(facts, apart.trainings.front(), *group)));
  return fmt::format("{}: {}, though the world size is {}; {}", who, how, facts.job.world_size,
                     describe_work(facts, apart.kept));
}

findings::Evidence tell_training(const Facts& facts, const Training& training) {
  if (training.updates)
    return evidence_of(facts.job, training.first,
                       fmt::format("the first of {} updates of its model", training.rounds));
  return evidence_of_read(facts.job, training.first, files::opening_of(facts.job, training.first),
                          fmt::format("its first sample, in {} passes through the data", training.rounds));
}

std::vector<findings::Evidence> tell(const Facts& facts, const Apart& apart) {
  std::vector<findings::Evidence> evidence;
  std::size_t told = std::min(apart.trainings.size(), kMaxOfAKind);
  for (std::size_t i = 0; i < told; ++i)
    if (const model::Membership* group = own_group(facts, apart.trainings[i]))
      evidence.push_back(evidence_of(facts.job, making_of(facts, apart.trainings[i], *group),
                                     "a communicator of which it is the only rank"));
  for (std::size_t i = 0; i < told; ++i) evidence.push_back(tell_training(facts, apart.trainings[i]));
  for (std::size_t i = 0; i < std::min(apart.kept.saves.size(), kMaxOfAKind); ++i) {
    const files::WrittenFile& file = *apart.kept.saves[i];
    evidence.push_back(evidence_of(facts.job, file.open, fmt::format("saves {} bytes", file.bytes)));
    evidence.back().file = file.path;
  }
  return evidence;
}

findings::Order tell_order(const Apart& apart) {
  std::int32_t other = apart.parts[1].front();
  auto of_rank = [&](std::int32_t rank) {
    return *std::find_if(apart.trainings.begin(), apart.trainings.end(),
                         [&](const Training& training) { return training.rank == rank; });
  };
  Training first = of_rank(apart.parts[0].front()), second = of_rank(other);
  return {fmt::format("rank {} begins to train at {}", first.rank, seconds(first.first_ns)),
          fmt::format("rank {} trains for the last time at {}", other, seconds(second.last_ns)),
          {{"communicator of both", "none"},
           {"connection between the two, or with a process that knows both", "none"},
           {"peer outside of the trace that both may know", "none"},
           {"memory that both have mapped", "none"},
           {"file that one writes and the other reads while they train", "none"}}};
}

// The part of each step that is done in vain.
double lost_ms_per_step(const Apart& apart) {
  std::vector<double> steps;
  for (const Training& training : apart.trainings)
    if (training.updates)
      steps.push_back(static_cast<double>(training.last_ns - training.first_ns) * 1e-6 /
                      static_cast<double>(training.rounds - 1));
  if (steps.empty()) return 0;
  return model::median(steps) * (1 - 1 / static_cast<double>(apart.parts.size()));
}

// What the rings have overwritten could have shown a connection that was there before.
bool nothing_overwritten(const Facts& facts) {
  return std::none_of(facts.job.processes.begin(), facts.job.processes.end(),
                      [](const model::Process& process) {
                        return process.file.health(trace::Health::bulk_records_overwritten) > 0;
                      });
}

std::string key_of(const Facts& facts, const Apart& apart) {
  const Training& first = apart.trainings.front();
  const model::Membership* group = own_group(facts, first);
  return fmt::format("{} {} {}",
                     group ? "alone " + facts.places.whole(making_of(facts, first, *group)) : "none",
                     apart.kept.kind == KeptWork::Kind::kOneSaves ? "one saves" : "all save",
                     facts.places.whole(apart.kept.saves.front()->open));
}

void report(const Facts& facts, const Apart& apart, findings::Outcome& outcome) {
  bool certain = apart.all_update() && nothing_overwritten(facts);
  findings::Finding finding;
  finding.slug = "no-process-group";
  finding.severity = certain ? findings::Severity::kError : findings::Severity::kWarning;
  finding.confidence = certain ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.title = describe(facts, apart);
  finding.ranks = facts.job.ranks();
  finding.first_ns = apart.trainings.front().first_ns;
  for (const Training& training : apart.trainings) {
    finding.first_ns = std::min(finding.first_ns, training.first_ns);
    finding.last_ns = std::max(finding.last_ns, training.last_ns);
  }
  finding.cost.ms_per_step = lost_ms_per_step(apart);
  finding.advice =
      "Make the process group on every rank before anything else, with the size that the launcher gives "
      "(init_process_group takes RANK and WORLD_SIZE from the environment), wrap the model after that, and "
      "stop if the group is smaller than WORLD_SIZE. Don't decide by the devices or tasks that a process "
      "sees.";
  finding.evidence = tell(facts, apart);
  finding.order.push_back(tell_order(apart));
  // All that ranks do to each other unknowingly follows from it.
  finding.place = {finding.ranks, std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::int64_t>::max()};
  finding.key = key_of(facts, apart);
  outcome.findings.push_back(std::move(finding));
}

void leave_unjudged(findings::Outcome& outcome, const char* why) {
  outcome.coverage.push_back({"whether the ranks train together", why, {"no-process-group"}, true});
}

}  // namespace

void detect_no_process_group(const Facts& facts, findings::Outcome& outcome) {
  std::vector<std::int32_t> ranks = facts.job.ranks();
  if (ranks.size() < 2 || patterns::parts_by_communicators(facts.job).size() == 1) return;
  if (facts.job.world_size < 2)
    return leave_unjudged(outcome, "nothing says that they were started as one job of several ranks");
  if (std::cmp_not_equal(ranks.size(), facts.job.world_size) || ordering::lost_records(facts.job))
    return leave_unjudged(outcome, "what could connect them may be missing from the trace");
  Apart apart;
  apart.trainings = patterns::find_trainings(facts.job);
  patterns::Connections connections = patterns::find_connections(facts.job, facts.names, apart.trainings);
  if (connections.parts.size() == 1) return;
  if (connections.at_most.size() == 1)
    return leave_unjudged(outcome,
                          "what connects them, if anything does, is not in the trace: peers without one, "
                          "memory or files that they share");
  apart.parts = connections.at_most;
  if (auto idle = find_idle_ranks(facts, apart.trainings); !idle.empty()) {
    outcome.findings.push_back(tell_idle_ranks(facts, apart.trainings, idle));
    return;
  }
  if (apart.trainings.size() < ranks.size() || !run_together(facts.job, apart.trainings))
    return leave_unjudged(outcome, "nothing connects them, and it does not show that each trains");
  if (!apart.all_update() && !ended_by_themselves(facts.job, apart.trainings))
    return leave_unjudged(outcome, "the job was ended before it showed that the ranks make no group");
  apart.kept = find_kept_work(facts, apart.parts, apart.trainings);
  // Who reads everything twice and writes once may measure the reading.
  bool saved = apart.kept.kind != KeptWork::Kind::kUnknown && (apart.all_update() || apart.kept.times > 1);
  if (!saved)
    return leave_unjudged(outcome,
                          "nothing connects them, but each may be a run of its own: no work of theirs was "
                          "seen to be lost");
  report(facts, apart, outcome);
}

}  // namespace ddpscope::detectors
