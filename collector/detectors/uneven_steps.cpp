// uneven-steps: some ranks have no data left where the others begin another step.
#include "collector/patterns/uneven_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "collector/detectors/detector.h"
#include "collector/detectors/divergence_story.h"
#include "collector/detectors/story.h"
#include "collector/patterns/uneven_passes.h"

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

// Some ranks at one call, and others at another.
struct Side {
  std::vector<std::int32_t> ranks;  // ascending
  model::EventRef event;            // of the first
};

findings::Finding begin_finding(const Facts& facts, const Side& done, const Side& going_on,
                                std::size_t steps) {
  findings::Finding finding;
  finding.slug = "uneven-steps";
  finding.confidence = findings::Confidence::kLikely;
  finding.ranks = done.ranks;
  finding.title = fmt::format(
      "{} {} no data left after {} steps and {} on{}; {} {} step {}{}, which waits for all",
      list_ranks(done.ranks), verb(done.ranks, "has", "have"), steps, verb(done.ranks, "goes", "go"),
      at(facts.places.of(done.event, going_on.event)), list_ranks(going_on.ranks),
      verb(going_on.ranks, "begins", "begin"), steps + 1, at(facts.places.of(going_on.event, done.event)));
  finding.advice = kAdvice;
  finding.key = fmt::format("{} {}", facts.places.whole(done.event), facts.places.whole(going_on.event));
  return finding;
}

findings::Finding tell(const Facts& facts, const UnevenSteps& uneven) {
  model::EventRef done = event_of(facts, uneven, uneven.done.front());
  model::EventRef going_on = event_of(facts, uneven, uneven.going_on.front());
  findings::Finding finding =
      begin_finding(facts, {uneven.done, done}, {uneven.going_on, going_on}, uneven.steps);
  finding.severity = findings::Severity::kWarning;
  finding.evidence = evidence_of(facts, *uneven.divergence);
  finding.place = place_of(facts, *uneven.divergence);
  finding.first_ns = std::min(facts.job.begin_ns(done), facts.job.begin_ns(going_on));
  finding.last_ns = finding.place.to_ns;
  return finding;
}

Side side_of(const std::vector<patterns::Parting>& partings) {
  Side side{{}, partings.front().event};
  for (const patterns::Parting& own : partings) side.ranks.push_back(own.stretch.rank);
  return side;
}

findings::Finding tell(const Facts& facts, const patterns::UnevenPasses& uneven) {
  Side done = side_of(uneven.done), going_on = side_of(uneven.going_on);
  findings::Finding finding = begin_finding(facts, done, going_on, uneven.steps);
  finding.severity = findings::Severity::kError;  // a pass failed
  finding.last_ns = facts.job.duration_ns;
  finding.first_ns = finding.last_ns;
  auto add = [&](const std::vector<patterns::Parting>& partings, const char* detail) {
    constexpr std::size_t kFew = 12;
    for (const patterns::Parting& own : partings) {
      finding.first_ns = std::min(finding.first_ns, own.stretch.from_ns);
      if (finding.evidence.size() < kFew)
        finding.evidence.push_back(evidence_of(facts.job, own.event, detail));
    }
  };
  add(uneven.going_on, "begins another backward pass, which did not come to a good end");
  add(uneven.done, "had no data left after its last step, and went on to here");
  std::vector<std::int32_t> all;
  std::ranges::merge(done.ranks, going_on.ranks, std::back_inserter(all));
  finding.place = {all, finding.first_ns, finding.last_ns};
  return finding;
}

void leave_open(const std::vector<std::int32_t>& done, findings::Outcome& outcome) {
  outcome.coverage.push_back(
      {fmt::format("whether {} had data left when they parted from the others", list_ranks(done)),
       "no loader workers were seen to send them any, and what the ranks read themselves does not show "
       "the end "
       "of a pass",
       {"uneven-steps"}});
}

void judge_passes(const Facts& facts, findings::Outcome& outcome) {
  for (const patterns::UnevenPasses& uneven :
       patterns::find_uneven_passes(facts.job, facts.framework_steps.get(), facts.data_parallel))
    if (uneven.data_seen)
      outcome.findings.push_back(tell(facts, uneven));
    else
      leave_open(side_of(uneven.done).ranks, outcome);
}

// Whose steps nothing shows.
void tell_unseen(const Facts& facts, findings::Outcome& outcome) {
  bool seen = !facts.collectives.communicators.empty() || !facts.data_parallel.empty();
  if (seen || facts.job.ranks().size() < 2) return;
  outcome.coverage.push_back({"whether ranks made the same number of steps",
                              "neither a communicator of NCCL nor steps of PyTorch whose gradients ranks "
                              "reduce were recorded",
                              {"uneven-steps"},
                              true});
}

}  // namespace

void detect_uneven_steps(const Facts& facts, findings::Outcome& outcome) {
  judge_passes(facts, outcome);
  tell_unseen(facts, outcome);
  for (const UnevenSteps& uneven : facts.uneven_steps.get()) {
    if (uneven.data_seen)
      outcome.findings.push_back(tell(facts, uneven));
    else
      leave_open(uneven.done, outcome);
  }
}

}  // namespace ddpscope::detectors
