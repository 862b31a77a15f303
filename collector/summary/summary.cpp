#include "collector/summary/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "collector/model/order_statistics.h"
#include "collector/patterns/called_steps.h"
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

// What one rank issues, and how long it takes.
class RankMaking {
 public:
  RankMaking(const matching::Collectives& collectives, const patterns::CollectiveTimes& times,
             const RankSteps& rank)
      : collectives_(collectives), times_(times), rank_(rank), steps_(typical_steps(rank)) {
    for (std::size_t s = 0; s < steps_.size(); ++s) add_step(s);
  }

  std::size_t steps() const { return steps_.size(); }

  std::vector<IssuedRow> issued() {
    std::vector<IssuedRow> rows;
    for (auto& [call, kind] : kinds_)
      if (std::uint64_t per_step = model::median(kind.in_step))
        rows.push_back({call, per_step, kind.bytes, {rank_.rank}});
    return rows;
  }

  std::vector<DurationRow> durations() {
    std::vector<std::int64_t> lengths;
    for (const Step& step : steps_) lengths.push_back(step.end_ns - step.begin_ns);
    std::vector<DurationRow> rows = {duration_of("step", lengths)};
    for (auto& [call, kind] : kinds_)
      if (kind.transfers_ns.size() >= kLeastTransfers)
        rows.push_back(duration_of("transfer: " + call, kind.transfers_ns));
    return rows;
  }

 private:
  struct Kind {
    std::uint64_t bytes;
    std::vector<std::uint64_t> in_step;  // how often, by step
    std::vector<std::int64_t> transfers_ns;
  };

  Kind& kind_of(const matching::CallForm& form) {
    Kind*& kind = kind_of_form_[&form];
    if (kind) return *kind;
    kind = &kinds_[name_of(collectives_, form)];
    kind->bytes = matching::bytes_of(form.signature);
    kind->in_step.resize(steps_.size());
    return *kind;
  }

  void add_step(std::size_t number) {
    for (std::uint32_t i = steps_[number].first_entry; i < steps_[number].end_entry; ++i) {
      const StepEntry& entry = rank_.entries[i];
      if (entry.call == matching::kNone) continue;
      const matching::CallForm& form = collectives_.calls.form(entry.call);
      Kind& kind = kind_of(form);
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
  std::unordered_map<const matching::CallForm*, Kind*>
      kind_of_form_;  // steps repeat forms: names are made once
};

// Of all ranks. One that has been several processes counts as the first of which steps are known.
class Making {
 public:
  Making(const matching::Collectives& collectives, const patterns::CollectiveTimes& times)
      : collectives_(collectives), times_(times) {}

  void add(const RankSteps& steps) {
    RankMaking rank(collectives_, times_, steps);
    if (rank.steps() == 0 || !ranks_.insert(steps.rank).second) return;
    if (steps.rank == *ranks_.begin()) steps_ = rank.steps(), durations_ = rank.durations();
    for (IssuedRow& row : rank.issued()) {
      auto [at, is_first] = issued_.try_emplace({row.call, row.per_step}, row);
      if (!is_first) at->second.ranks.push_back(steps.rank);
    }
  }

  void add_to(Summary& summary) {
    summary.ranks_with_steps.assign(ranks_.begin(), ranks_.end());
    summary.steps = steps_;
    summary.durations = std::move(durations_);
    for (auto& [key, row] : issued_) {
      std::sort(row.ranks.begin(), row.ranks.end());
      summary.issued.push_back(std::move(row));
    }
  }

 private:
  const matching::Collectives& collectives_;
  const patterns::CollectiveTimes& times_;
  std::set<std::int32_t> ranks_;
  std::size_t steps_ = 0;
  std::vector<DurationRow> durations_;
  std::map<std::pair<std::string, std::uint64_t>, IssuedRow> issued_;  // by call, and how often it is issued
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
  Making making(collectives, times);
  patterns::for_each_rank_steps(job, collectives, [&](const RankSteps& rank) {
    bool known = !rank.steps.empty() || !rank.unreduced.empty();
    making.add(known ? rank : patterns::find_called_steps(job, collectives, rank.process));
  });
  making.add_to(summary);
  return summary;
}

}  // namespace ddpscope::summary
