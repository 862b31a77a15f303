#include "collector/summary/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "collector/model/order_statistics.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::summary {
namespace {

constexpr std::size_t kLeastTransfers = 8;  // fewer say nothing of a spread

using patterns::RankSteps;
using patterns::Step;
using patterns::StepEntry;

std::string name_of(const matching::Collectives& collectives, const matching::CallForm& form) {
  std::int32_t ranks = collectives.communicators[form.communicator].size;
  return fmt::format("{} among {} rank{}", matching::to_text(form.signature), ranks, ranks == 1 ? "" : "s");
}

// In the order of time, without the first.
std::vector<Step> typical_steps(const RankSteps& rank) {
  std::vector<Step> steps = rank.steps;
  steps.insert(steps.end(), rank.unreduced.begin(), rank.unreduced.end());
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.begin_ns < b.begin_ns; });
  if (!steps.empty()) steps.erase(steps.begin());
  return steps;
}

DurationRow duration_of(std::string what, std::vector<std::int64_t>& samples_ns) {
  model::Percentiles<std::int64_t> ns = model::percentiles(samples_ns);
  auto ms = [](std::int64_t of) { return static_cast<double>(of) * 1e-6; };
  return {std::move(what), samples_ns.size(), ms(ns.p50), ms(ns.p95)};
}

class Making {
 public:
  Making(const matching::Collectives& collectives, const patterns::CollectiveTimes& times,
         const RankSteps& rank)
      : collectives_(collectives), times_(times), rank_(rank), steps_(typical_steps(rank)) {}

  void add_to(Summary& summary) {
    summary.steps = steps_.size();
    if (steps_.empty()) return;
    for (std::size_t s = 0; s < steps_.size(); ++s) add_step(s);
    for (auto& [call, kind] : kinds_) {
      std::uint64_t per_step = model::median(kind.in_step);
      if (per_step > 0) summary.issued.push_back({call, per_step, kind.bytes});
    }
    std::vector<std::int64_t> lengths;
    for (const Step& step : steps_) lengths.push_back(step.end_ns - step.begin_ns);
    summary.durations.push_back(duration_of("step", lengths));
    for (auto& [call, kind] : kinds_)
      if (kind.transfers_ns.size() >= kLeastTransfers)
        summary.durations.push_back(duration_of("transfer: " + call, kind.transfers_ns));
  }

 private:
  struct Kind {
    std::uint64_t bytes;
    std::vector<std::uint64_t> in_step;  // how often, by step
    std::vector<std::int64_t> transfers_ns;
  };

  void add_step(std::size_t number) {
    for (std::uint32_t i = steps_[number].first_entry; i < steps_[number].end_entry; ++i) {
      const StepEntry& entry = rank_.entries[i];
      if (entry.call == matching::kNone) continue;
      const matching::CallForm& form = collectives_.calls.form(entry.call);
      Kind& kind = kinds_[name_of(collectives_, form)];
      kind.bytes = matching::bytes_of(form.signature);
      kind.in_step.resize(steps_.size());
      ++kind.in_step[number];
      if (auto split = times_.split(form.communicator, collectives_.ordinal_of(entry.call)))
        kind.transfers_ns.push_back(split->transfer_ns);
    }
  }

  const matching::Collectives& collectives_;
  const patterns::CollectiveTimes& times_;
  const RankSteps& rank_;
  std::vector<Step> steps_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace

Summary summarise(const model::Job& job, const matching::Collectives& collectives,
                  const patterns::CollectiveTimes& times, const findings::Outcome& outcome) {
  Summary summary;
  summary.version = DDPSCOPE_VERSION;
  summary.ranks = job.ranks().size();
  for (const findings::Finding& finding : outcome.findings)
    summary.findings.push_back(
        {finding.id, finding.slug, findings::name_of(finding.severity), finding.title});
  for (const findings::Coverage& entry : outcome.coverage)
    if (entry.entirely)
      summary.unjudged.insert(summary.unjudged.end(), entry.unjudged.begin(), entry.unjudged.end());
  std::sort(summary.unjudged.begin(), summary.unjudged.end());
  summary.unjudged.erase(std::unique(summary.unjudged.begin(), summary.unjudged.end()),
                         summary.unjudged.end());
  std::optional<std::uint32_t> lowest;
  for (std::uint32_t p = 0; p < job.processes.size(); ++p)
    if (job.processes[p].role == model::Role::kRank &&
        (!lowest || job.processes[p].rank < job.processes[*lowest].rank))
      lowest = p;
  if (!lowest) return summary;
  RankSteps rank = patterns::find_steps(job, collectives, *lowest);
  Making(collectives, times, rank).add_to(summary);
  return summary;
}

}  // namespace ddpscope::summary
