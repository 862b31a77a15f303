// uneven-steps: some ranks have no data left where the others begin another step.
#include "collector/patterns/uneven_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/detector.h"
#include "collector/detectors/divergence_story.h"

namespace ddpscope::detectors {
namespace {

using patterns::UnevenSteps;

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
  finding.advice =
      "Let all ranks make the same number of steps: pad or drop what does not divide evenly "
      "(DistributedSampler, "
      "drop_last), agree on the smallest number before the epoch, or train inside DistributedDataParallel's "
      "join().";
  finding.evidence = evidence_of(facts, *uneven.divergence);
  finding.place = place_of(facts, *uneven.divergence);
  finding.first_ns = std::min(facts.job.begin_ns(done), facts.job.begin_ns(going_on));
  finding.last_ns = finding.place.to_ns;
  finding.key = fmt::format("{} {}", facts.places.whole(done), facts.places.whole(going_on));
  return finding;
}

}  // namespace

void detect_uneven_steps(const Facts& facts, findings::Outcome& outcome) {
  for (const UnevenSteps& uneven :
       patterns::find_uneven_steps(facts.job, facts.collectives, facts.divergences, facts.data_parallel)) {
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
