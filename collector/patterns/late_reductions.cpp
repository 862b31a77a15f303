// Step by step: what is reduced, behind what, and how long it takes.
#include "collector/patterns/late_reductions.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "collector/model/order_statistics.h"
#include "collector/patterns/behind_kernels.h"

namespace ddpscope::patterns {
namespace {

using Kind = StepEntry::Kind;

constexpr std::uint64_t kLeastBytes = 1024;  // losses and metrics are smaller
constexpr std::uint64_t kFewKernels = 4;     // one in so many of those before the first reduction
constexpr std::uint64_t kLeastKernels = 3;   // before it: else nothing was computed

class Finder {
 public:
  Finder(const model::Job& job, const matching::Collectives& collectives, const CollectiveTimes& times,
         std::uint32_t communicator, const RankSteps& rank)
      : collectives_(collectives), times_(times), communicator_(communicator), rank_(rank) {
    for (const matching::Member& member : collectives.communicators[communicator].members)
      if (member.process == rank.process && member.rank == rank.rank)
        among_ = find_among_kernels(job, collectives, member);
  }

  LateReductions find();

 private:
  std::vector<std::uint32_t> reductions_of(const Step& step) const;
  bool reduces_late(const Step& step, const std::vector<std::uint32_t>& entries) const;
  std::optional<std::vector<std::int64_t>> transfers(const std::vector<std::uint32_t>& entries) const;
  std::int64_t backward_ns(const Step& step, std::uint32_t first) const;
  bool behind_all(std::uint32_t entry) const {
    std::size_t ordinal = collectives_.ordinal_of(rank_.entries[entry].call);
    return ordinal < among_.size() && among_[ordinal].behind_all;
  }
  const DeviceTime* time_of(std::uint32_t entry) const { return times_.of(rank_.entries[entry].call); }

  const matching::Collectives& collectives_;
  const CollectiveTimes& times_;
  std::uint32_t communicator_;
  const RankSteps& rank_;
  std::vector<AmongKernels> among_;  // by ordinal
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  std::int64_t reduced_ns_ = kNever;  // end of the last step's reductions
};

std::vector<std::uint32_t> Finder::reductions_of(const Step& step) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
    const StepEntry& entry = rank_.entries[i];
    if (entry.kind != Kind::kReduction) continue;
    const matching::CallForm& call = collectives_.calls.form(entry.call);
    if (call.communicator == communicator_ && matching::bytes_of(call.signature) >= kLeastBytes)
      found.push_back(i);
  }
  return found;
}

bool Finder::reduces_late(const Step& step, const std::vector<std::uint32_t>& entries) const {
  if (entries.size() < 2 || !behind_all(entries.front())) return false;
  std::uint64_t before = 0, between = 0;
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
    bool input = rank_.entries[i].kind == Kind::kInput;
    if (i > entries.front() && input) return false;
    if (i <= entries.front()) before += rank_.entries[i].launches_before;
    if (i < entries.front() && input) before = 0;  // those of the last micro-batch count
    if (i > entries.front() && i <= entries.back()) between += rank_.entries[i].launches_before;
  }
  return before >= kLeastKernels && between * kFewKernels <= before;
}

std::optional<std::vector<std::int64_t>> Finder::transfers(const std::vector<std::uint32_t>& entries) const {
  std::vector<std::int64_t> found;
  for (std::uint32_t entry : entries) {
    auto split = times_.split(communicator_, collectives_.ordinal_of(rank_.entries[entry].call));
    if (!split) return std::nullopt;
    found.push_back(split->transfer_ns);
  }
  return found;
}

std::int64_t Finder::backward_ns(const Step& step, std::uint32_t first) const {
  std::int64_t from_ns = std::max(step.begin_ns, reduced_ns_);
  for (std::uint32_t i = step.first_entry; i < first; ++i)
    if (rank_.entries[i].kind == Kind::kInput) from_ns = std::max(from_ns, rank_.entries[i].begin_ns);
  auto passed = static_cast<double>(time_of(first)->begin_ns - from_ns);
  return static_cast<std::int64_t>(std::max(passed, 0.0) * (1 - kForwardPart));
}

LateReductions Finder::find() {
  LateReductions found{rank_.rank, rank_.process, {}};
  std::vector<std::int64_t> lengths, hidden;
  for (const Step& step : rank_.steps) {
    std::vector<std::uint32_t> entries = reductions_of(step);
    if (entries.empty()) continue;
    if (step.captured) continue;
    auto transfer_ns = transfers(entries);
    if (!transfer_ns) {
      bool timed = std::all_of(entries.begin(), entries.end(), [&](std::uint32_t e) { return time_of(e); });
      ++(timed ? found.unsplit : found.untimed);
      continue;
    }
    std::int64_t end_ns = time_of(entries.back())->end_ns;
    lengths.push_back(
        std::max(step.end_ns - step.begin_ns, reduced_ns_ == kNever ? 0 : end_ns - reduced_ns_));
    hidden.push_back(0);
    if (reduces_late(step, entries)) {
      LateReductionStep late{step, {}, std::move(*transfer_ns), backward_ns(step, entries.front()), 0};
      for (std::uint32_t entry : entries) late.calls.push_back(rank_.entries[entry].call);
      std::int64_t all = std::accumulate(late.transfer_ns.begin(), late.transfer_ns.end(), std::int64_t{0});
      std::int64_t largest = *std::max_element(late.transfer_ns.begin(), late.transfer_ns.end());
      hidden.back() = late.hidden_ns = std::min(all - largest, late.backward_ns);
      found.steps.push_back(std::move(late));
    }
    reduced_ns_ = end_ns;
  }
  found.judged = lengths.size();
  if (lengths.empty()) return found;
  found.step_ns = model::median(lengths);
  found.hidden_ns = model::median(hidden);
  return found;
}

}  // namespace

LateReductions find_late_reductions(const model::Job& job, const matching::Collectives& collectives,
                                    const CollectiveTimes& times, std::uint32_t communicator,
                                    const RankSteps& rank) {
  return Finder(job, collectives, times, communicator, rank).find();
}

}  // namespace ddpscope::patterns
