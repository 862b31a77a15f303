// exposed-communication: gradients are reduced when the backward pass is over, which could have hidden most
// of it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/detectors/unjudged_ranks.h"
#include "collector/detectors/unseen_steps.h"
#include "collector/patterns/collective_times.h"
#include "collector/patterns/late_reductions.h"

namespace ddpscope::detectors {
namespace {

using patterns::LateReductions;
using patterns::LateReductionStep;

constexpr const char* kSlug = "exposed-communication";
// Design, section 2: of a step.
constexpr std::int64_t kLeastPercent = 5, kLeastNs = 1'000'000;
constexpr std::size_t kLeastSteps = 10;
constexpr std::size_t kMostBuckets = 8;  // in the evidence

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

bool reduces_late(const LateReductions& rank) {
  return rank.judged >= kLeastSteps && rank.steps.size() * 4 >= rank.judged * 3;
}

bool counts(const LateReductions& rank) {
  return rank.hidden_ns >= kLeastNs && rank.hidden_ns * 100 >= rank.step_ns * kLeastPercent;
}

// The step that is nearest to the median.
const LateReductionStep& example_of(const LateReductions& rank) {
  return *std::min_element(
      rank.steps.begin(), rank.steps.end(), [&](const LateReductionStep& a, const LateReductionStep& b) {
        return std::abs(a.hidden_ns - rank.hidden_ns) < std::abs(b.hidden_ns - rank.hidden_ns);
      });
}

void tell_buckets(const Facts& facts, const LateReductions& rank, findings::Finding& finding) {
  const LateReductionStep& step = example_of(rank);
  std::size_t shown = std::min(step.calls.size(), kMostBuckets);
  for (std::size_t i = 0; i < shown; ++i) {
    matching::CollectiveCall call = facts.collectives.calls[step.calls[i]];
    std::string behind = i == 0 ? ": it runs behind the last kernel of the backward pass" : "";
    std::string transfer = step.transfer_ns[i] == LateReductionStep::kNotSplit
                               ? "short, and how much of it was waiting is not known"
                               : fmt::format("{:.3f} ms of transfer", milliseconds(step.transfer_ns[i]));
    finding.evidence.push_back(
        evidence_of(facts.job, facts.collectives, call,
                    fmt::format("reduction {} of {} in this step, {}: {}{}", i + 1, step.calls.size(),
                                matching::to_text(call.signature), transfer, behind)));
  }
  finding.evidence.push_back(evidence_of_update(facts.job, rank.process, step.step.optimizer));
}

findings::Finding finding_of(const Facts& facts, const std::vector<LateReductions>& ranks) {
  const LateReductions& worst = *std::max_element(
      ranks.begin(), ranks.end(),
      [](const LateReductions& a, const LateReductions& b) { return a.hidden_ns < b.hidden_ns; });
  const LateReductionStep& step = example_of(worst);
  findings::Finding finding;
  finding.slug = kSlug;
  finding.severity = findings::Severity::kInfo;
  finding.confidence = findings::Confidence::kLikely;
  for (const LateReductions& rank : ranks) finding.ranks.push_back(rank.rank);
  std::sort(finding.ranks.begin(), finding.ranks.end());
  std::int64_t transfer = 0;
  for (std::int64_t ns : step.transfer_ns) transfer += ns;
  finding.title = fmt::format(
      "{} {} gradients only when the backward pass is over, in {} of {} steps: of {:.3f} ms of transfer in "
      "{} reductions it could hide about {:.1f} ms of a step's {:.3f} ms ({:.0f} %), by an estimate of when "
      "each is ready, and at most {:.1f} ms",
      list_ranks(finding.ranks), verb(finding.ranks, "reduces", "reduce"), worst.steps.size(), worst.judged,
      milliseconds(transfer), step.calls.size(), milliseconds(worst.hidden_ns), milliseconds(worst.step_ns),
      100.0 * static_cast<double>(worst.hidden_ns) /
          static_cast<double>(std::max<std::int64_t>(worst.step_ns, 1)),
      milliseconds(worst.most_ns));
  finding.count = worst.steps.size();
  finding.first_ns = facts.collectives.calls.begin_ns(worst.steps.front().calls.front());
  finding.last_ns = worst.steps.back().step.end_ns;
  finding.cost.ms_per_step = milliseconds(worst.hidden_ns);
  finding.advice =
      "Reduce each bucket of gradients as soon as the backward pass has filled it, on a stream of its own: "
      "DistributedDataParallel does (backward hooks; bucket_cap_mb sets the size). By hand: "
      "register_post_accumulate_grad_hook and all_reduce(async_op=True), and wait before the optimizer.";
  finding.place = {finding.ranks, finding.first_ns, finding.last_ns};
  finding.key = facts.places.whole(facts.collectives.calls[step.calls.front()].event);
  tell_buckets(facts, worst, finding);
  return finding;
}

// Why most steps of a rank could not be judged; nullptr: they were.
const char* doubt_of(const LateReductions& rank) {
  if (rank.judged >= kLeastSteps || rank.untimed + rank.unsplit < kLeastSteps) return nullptr;
  return rank.untimed >= rank.unsplit
             ? "no device times of most of their reductions were recorded"
             : "it is not known how much of their reductions' time was waiting for other ranks: not all "
               "members were timed, or their ends lie too far apart";
}

}  // namespace

void detect_exposed_communication(const Facts& facts, findings::Outcome& outcome) {
  std::map<std::uint32_t, std::vector<LateReductions>> found;  // by communicator
  UnjudgedRanks doubts;
  bool any_known = std::any_of(
      facts.data_parallel.begin(), facts.data_parallel.end(),
      [](const patterns::DataParallelGroup& group) { return group.communicator != matching::kNone; });
  patterns::for_each_rank_steps(facts.job, facts.collectives, [&](patterns::RankSteps& steps) {
    if (!any_known && steps.steps.size() >= kLeastSteps)
      doubts.add("it is not known that what they reduce are gradients", steps.rank);
    for (const patterns::DataParallelGroup& group : facts.data_parallel) {
      if (group.communicator == matching::kNone || !group.of_rank.contains(steps.rank)) continue;
      LateReductions rank = patterns::find_late_reductions(facts.job, facts.collectives,
                                                           facts.collective_times.get(), group.communicator,
                                                           steps, facts.framework_steps.get()[steps.process]);
      if (const char* why = doubt_of(rank)) doubts.add(why, steps.rank);
      if (reduces_late(rank)) found[group.communicator].push_back(std::move(rank));
    }
  });
  // All of a group do the same: who of them is just below the limit is named, too.
  for (const auto& [communicator, ranks] : found)
    if (std::any_of(ranks.begin(), ranks.end(), counts)) outcome.findings.push_back(finding_of(facts, ranks));
  doubts.tell("what hides the communication of {}", kSlug, false, outcome);
  tell_unseen_steps(facts, kSlug, outcome);
}

}  // namespace ddpscope::detectors
