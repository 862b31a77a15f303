// uneven-steps: some ranks have no data left where the others begin another step.
#include "collector/patterns/uneven_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "collector/detectors/detector.h"
#include "collector/detectors/divergence_story.h"
#include "collector/detectors/story.h"
#include "collector/patterns/uneven_traffic.h"

namespace ddpscope::detectors {
namespace {

using patterns::UnevenSteps;

constexpr const char* kAdvice =
    "Let all ranks make the same number of steps: pad or drop what does not divide evenly "
    "(DistributedSampler, drop_last), agree on the smallest number before the epoch, or train inside "
    "DistributedDataParallel's join().";

model::EventRef event_of(const Facts& facts, const UnevenSteps& uneven, std::int32_t rank) {
  const auto& members = facts.collectives.communicators[uneven.divergence->communicator].members;
  for (std::size_t m = 0; m < members.size(); ++m)
    if (members[m].rank == rank) return facts.collectives.calls[uneven.divergence->calls[m]].event;
  return {};
}

findings::Finding tell(const Facts& facts, const UnevenSteps& uneven) {
  model::EventRef done = event_of(facts, uneven, uneven.done.front());
  model::EventRef going_on = event_of(facts, uneven, uneven.going_on.front());
  findings::Finding finding;
  finding.slug = "uneven-steps";
  finding.severity = findings::Severity::kWarning;
  finding.confidence = findings::Confidence::kLikely;
  finding.ranks = uneven.done;
  finding.title = fmt::format(
      "{} {} no data left after {} steps and {} on{}; {} {} step {}{}, which waits for all",
      list_ranks(uneven.done), verb(uneven.done, "has", "have"), uneven.steps,
      verb(uneven.done, "goes", "go"), at(facts.places.of(done, going_on)), list_ranks(uneven.going_on),
      verb(uneven.going_on, "begins", "begin"), uneven.steps + 1, at(facts.places.of(going_on, done)));
  finding.advice = kAdvice;
  finding.evidence = evidence_of(facts, *uneven.divergence);
  finding.place = place_of(facts, *uneven.divergence);
  finding.first_ns = std::min(facts.job.begin_ns(done), facts.job.begin_ns(going_on));
  finding.last_ns = finding.place.to_ns;
  finding.key = fmt::format("{} {}", facts.places.whole(done), facts.places.whole(going_on));
  return finding;
}

// Where a rank stood longest since then, until it was told something; else how it ended.
std::optional<model::EventRef> last_stand(const model::Job& job, const patterns::LastStretch& own) {
  std::int32_t number = job.process_of_rank(own.rank);
  if (number < 0) return std::nullopt;
  auto process = static_cast<std::uint32_t>(number);
  std::optional<model::EventRef> found;
  std::int64_t before_ns = own.from_ns, longest = -1;
  model::for_each_in_time(job.processes[process].file, {trace::Operation::kHandOver, trace::Operation::kExit},
                          [&](model::EventPlace place, const trace::Record& record) {
                            std::int64_t at = job.begin_ns(process, record);
                            if (at <= own.from_ns || record.thread != model::kMainThread) return;
                            std::int64_t stood = at - std::exchange(before_ns, at);
                            bool ends = trace::operation_of(record.call) == trace::Operation::kExit;
                            if (ends ? found.has_value() : !record.stack || stood <= longest) return;
                            longest = std::max(longest, stood);
                            found = {process, place};
                          });
  return found;
}

findings::Finding tell(const Facts& facts, const patterns::UnevenTraffic& uneven) {
  findings::Finding finding;
  finding.slug = "uneven-steps";
  finding.severity = findings::Severity::kError;  // a rank failed
  finding.confidence = findings::Confidence::kLikely;
  finding.last_ns = facts.job.duration_ns;
  finding.first_ns = finding.last_ns;
  std::vector<std::int32_t> going_on, all;
  std::string places[2];
  auto add = [&](const patterns::LastStretch& own, const char* detail, std::string& place) {
    constexpr std::size_t kFew = 12;
    all.push_back(own.rank);
    finding.first_ns = std::min(finding.first_ns, own.from_ns);
    auto stand = last_stand(facts.job, own);
    if (!stand || finding.evidence.size() >= kFew) return;
    finding.evidence.push_back(evidence_of(facts.job, *stand, detail));
    bool ends = trace::operation_of(facts.job.record(*stand).call) == trace::Operation::kExit;
    if (place.empty() && !ends) place = program_place(facts.job, *stand);
  };
  for (const patterns::LastStretch& own : uneven.going_on) {
    going_on.push_back(own.rank);
    add(own, "took data after the last exchange of gradients, and stood here", places[1]);
  }
  for (const patterns::LastStretch& own : uneven.done) {
    finding.ranks.push_back(own.rank);
    add(own, "had no data left after the last exchange of gradients, and went on to here", places[0]);
  }
  const char* next =
      places[0].empty() ? verb(finding.ranks, "ends", "end") : verb(finding.ranks, "goes on", "go on");
  finding.title =
      fmt::format("{} {} no data left and {}{}; {} {} another step{}, which waits for all",
                  list_ranks(finding.ranks), verb(finding.ranks, "has", "have"), next, at(places[0]),
                  list_ranks(going_on), verb(going_on, "begins", "begin"), at(places[1]));
  finding.advice = kAdvice;
  std::sort(all.begin(), all.end());
  finding.place = {all, finding.first_ns, finding.last_ns};
  finding.key = fmt::format("{} {}", findings::key_of_frame(places[0]), findings::key_of_frame(places[1]));
  return finding;
}

void judge_traffic(const Facts& facts, findings::Outcome& outcome) {
  if (!facts.collectives.communicators.empty() || facts.job.ranks().size() < 2) return;
  patterns::UnevenTraffics uneven = patterns::find_uneven_traffic(facts.job, facts.data_parallel);
  for (const patterns::UnevenTraffic& one : uneven.found) outcome.findings.push_back(tell(facts, one));
  if (facts.data_parallel.empty() || !uneven.judged)
    outcome.coverage.push_back({"whether ranks made the same number of steps",
                                "no NCCL communicator was recorded, and neither what they exchange over TCP "
                                "nor what they read shows their steps",
                                {"uneven-steps"},
                                true});
}

}  // namespace

void detect_uneven_steps(const Facts& facts, findings::Outcome& outcome) {
  judge_traffic(facts, outcome);
  for (const UnevenSteps& uneven : facts.uneven_steps.get()) {
    if (uneven.data_seen)
      outcome.findings.push_back(tell(facts, uneven));
    else
      outcome.coverage.push_back(
          {fmt::format("whether {} had data left when they parted from the others", list_ranks(uneven.done)),
           "no loader workers were seen to send them any, and what the ranks read themselves does not show "
           "the end "
           "of a pass",
           {"uneven-steps"}});
  }
}

}  // namespace ddpscope::detectors
