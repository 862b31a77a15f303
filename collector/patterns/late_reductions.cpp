// Step by step: what is reduced, behind what, and how long it takes.
#include "collector/patterns/late_reductions.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "collector/model/order_statistics.h"
#include "collector/patterns/behind_kernels.h"
#include "collector/patterns/kernels_done.h"

namespace ddpscope::patterns {
namespace {

using Kind = StepEntry::Kind;

constexpr std::uint64_t kFewKernels = 4;    // one in so many of those before the first reduction
constexpr std::int64_t kFewUnsplit = 10;    // one in so much of the time of transfers
constexpr std::uint64_t kLeastKernels = 3;  // before it: else nothing was computed

// By how much sooner reductions would be over that run beside the backward pass, each from when its gradients
// are ready, than those that run behind it. The pass takes as long for each byte of gradients.
std::int64_t hidden_ns(const std::vector<std::size_t>& order, const LateReductionStep& step,
                       const std::vector<double>& bytes) {
  double all = std::accumulate(bytes.begin(), bytes.end(), 0.0), ready = 0;
  std::int64_t over_ns = 0, behind_ns = step.backward_ns;
  for (std::size_t i : order) {
    ready += bytes[i];
    auto ready_ns = static_cast<std::int64_t>(static_cast<double>(step.backward_ns) * ready / all);
    over_ns = std::max(over_ns, ready_ns) + step.transfer_ns[i];
    behind_ns += step.transfer_ns[i];
  }
  return behind_ns - over_ns;
}

class Finder {
 public:
  Finder(const model::Job& job, const matching::Collectives& collectives, const CollectiveTimes& times,
         std::uint32_t communicator, const RankSteps& rank, const FrameworkSteps& framework)
      : job_(job), collectives_(collectives), times_(times), communicator_(communicator), rank_(rank) {
    for (const FrameworkStep& step : framework.steps)
      for (const BackwardPass& pass : step.passes) passes_.push_back({pass.begin_ns, pass.end_ns});
    for (const matching::Member& member : collectives.communicators[communicator].members)
      if (member.process == rank.process && member.rank == rank.rank)
        among_ = find_among_kernels(job, collectives, member);
  }

  LateReductions find();

 private:
  std::vector<std::uint32_t> reductions_of(const Step& step) const;
  bool goes_on(const std::vector<std::uint32_t>& entries, std::uint64_t before, std::uint64_t between) const;
  bool reduces_late(const Step& step, const std::vector<std::uint32_t>& entries) const;
  std::optional<bool> behind_passes(const Step& step, const std::vector<std::uint32_t>& entries) const;
  struct Transfers {
    std::vector<std::int64_t> ns;  // or kNotSplit
    std::int64_t unsplit_ns = 0;
  };
  std::optional<Transfers> transfers(const std::vector<std::uint32_t>& entries) const;
  LastBatch last_batch(const Step& step, std::uint32_t first) const;
  void estimate(LateReductions& found) const;
  std::int64_t hidden_of(const LateReductionStep& step) const;
  std::int64_t most_of(const LateReductionStep& step) const;
  std::uint64_t count_means(const Step& step, const std::vector<std::uint32_t>& entries) const;
  bool behind_all(std::uint32_t entry) const {
    std::size_t ordinal = collectives_.ordinal_of(rank_.entries[entry].call);
    return ordinal < among_.size() && among_[ordinal].behind_all;
  }
  double bytes_of(std::uint32_t call) const {
    return static_cast<double>(matching::bytes_of(collectives_.calls.signature(call)));
  }
  const DeviceTime* time_of(std::uint32_t entry) const { return times_.of(rank_.entries[entry].call); }

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const CollectiveTimes& times_;
  std::uint32_t communicator_;
  const RankSteps& rank_;
  std::vector<AmongKernels> among_;  // by ordinal
  struct Pass {
    std::int64_t begin_ns, end_ns;
  };
  std::vector<Pass> passes_;  // backward, of PyTorch, ascending
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  std::int64_t reduced_ns_ = kNever;  // end of the last step's reductions
};

std::vector<std::uint32_t> Finder::reductions_of(const Step& step) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
    const StepEntry& entry = rank_.entries[i];
    if (entry.kind != Kind::kReduction) continue;
    const matching::CallForm& call = collectives_.calls.form(entry.call);
    if (call.communicator == communicator_ && matching::bytes_of(call.signature) >= kLeastGradientBytes)
      found.push_back(i);
  }
  return found;
}

// Whether the host made the reductions between the end of a step's last backward pass and the optimizer.
// Nothing: no pass of PyTorch before them is known.
std::optional<bool> Finder::behind_passes(const Step& step, const std::vector<std::uint32_t>& entries) const {
  auto next = std::upper_bound(passes_.begin(), passes_.end(), rank_.entries[entries.front()].begin_ns,
                               [](std::int64_t ns, const Pass& pass) { return ns < pass.begin_ns; });
  if (next == passes_.begin() || std::prev(next)->begin_ns < step.begin_ns) return std::nullopt;
  return std::prev(next)->end_ns <= rank_.entries[entries.front()].begin_ns &&
         (next == passes_.end() || next->begin_ns > rank_.entries[entries.back()].begin_ns);
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
  if (auto behind = behind_passes(step, entries)) return *behind;
  between -= count_means(step, entries);
  return before >= kLeastKernels && between * kFewKernels <= before && !goes_on(entries, before, between);
}

// How many of those between them turn sums into means: one behind each reduction but the last, the same each
// time, that does not run before. No part of the backward pass does.
std::uint64_t Finder::count_means(const Step& step, const std::vector<std::uint32_t>& entries) const {
  auto run_of = [&](std::uint32_t from, std::uint32_t to) -> const KernelRun* {
    const KernelRun* only = nullptr;
    for (std::uint32_t i = from; i <= to; ++i)
      for (std::uint32_t k = rank_.entries[i].first_kernel; k < rank_.entries[i].end_kernel; ++k) {
        if (only || rank_.kernels[k].count != 1) return nullptr;
        only = &rank_.kernels[k];
      }
    return only;
  };
  const KernelRun* mean = run_of(entries[0] + 1, entries[1]);
  for (std::size_t i = 2; i < entries.size() && mean; ++i) {
    const KernelRun* next = run_of(entries[i - 1] + 1, entries[i]);
    if (!next || next->kernel != mean->kernel) return 0;
  }
  if (!mean) return 0;
  for (std::uint32_t i = step.first_entry; i <= entries.front(); ++i)
    for (std::uint32_t k = rank_.entries[i].first_kernel; k < rank_.entries[i].end_kernel; ++k)
      if (rank_.kernels[k].kernel == mean->kernel) return 0;
  return entries.size() - 1;
}

// Whether the backward pass goes on behind the first reduction, as it does where that is of a bucket which is
// full: launches at least half the kernels that the gradients left would take, if all took as many.
bool Finder::goes_on(const std::vector<std::uint32_t>& entries, std::uint64_t before,
                     std::uint64_t between) const {
  double all = 0;
  for (std::uint32_t entry : entries) all += bytes_of(rank_.entries[entry].call);
  double left = 1 - bytes_of(rank_.entries[entries.front()].call) / all;
  double backward = static_cast<double>(before + between) * (1 - kForwardPart);
  return static_cast<double>(between) * 2 >= backward * left;
}

// Nothing where not enough of them were timed (late_reductions.h).
std::optional<Finder::Transfers> Finder::transfers(const std::vector<std::uint32_t>& entries) const {
  Transfers found;
  std::int64_t known_ns = 0;
  for (std::uint32_t entry : entries) {
    std::size_t ordinal = collectives_.ordinal_of(rank_.entries[entry].call);
    auto shortest_ns = times_.shortest_ns(communicator_, ordinal);
    if (!shortest_ns) return std::nullopt;
    auto split = times_.split(communicator_, ordinal);
    found.ns.push_back(split ? split->transfer_ns : LateReductionStep::kNotSplit);
    known_ns += found.ns.back();
    if (!split) found.unsplit_ns += *shortest_ns;
  }
  if (found.unsplit_ns * kFewUnsplit > known_ns) return std::nullopt;
  return found;
}

// Where hosts run ahead the inputs of all micro-batches are copied at once. So the last one's part of the
// time is no more than its part of the kernels.
LastBatch Finder::last_batch(const Step& step, std::uint32_t first) const {
  std::int64_t launched_ns = step.begin_ns;
  double launches = 0, latest = 0;  // of the last micro-batch
  for (std::uint32_t i = step.first_entry; i <= first; ++i) {
    launches += static_cast<double>(rank_.entries[i].launches_before);
    latest += static_cast<double>(rank_.entries[i].launches_before);
    if (i == first || rank_.entries[i].kind != Kind::kInput) continue;
    launched_ns = rank_.entries[i].begin_ns;
    latest = 0;
  }
  return {std::max(step.begin_ns, reduced_ns_), time_of(first)->begin_ns, launched_ns, latest / launches};
}

// The host may have copied the input long before its kernels ran, and they may have waited for it.
std::int64_t passed_ns(const LastBatch& batch, const std::vector<TimedKernel>& kernels) {
  auto first =
      std::upper_bound(kernels.begin(), kernels.end(), batch.launched_ns,
                       [](std::int64_t ns, const TimedKernel& kernel) { return ns < kernel.launched_ns; });
  if (first != kernels.end() && first->begin_ns < batch.over_ns)
    return batch.over_ns - std::max(first->begin_ns, batch.begin_ns);
  auto part = static_cast<double>(batch.over_ns - batch.begin_ns) * batch.part;
  return std::min(batch.over_ns - std::max(batch.begin_ns, batch.launched_ns),
                  static_cast<std::int64_t>(part));
}

void Finder::estimate(LateReductions& found) const {
  if (found.steps.empty()) return;
  std::vector<TimedKernel> kernels = find_timed_kernels(job_, rank_.process);
  for (LateReductionStep& step : found.steps) {
    auto passed = static_cast<double>(std::max<std::int64_t>(passed_ns(step.batch, kernels), 0));
    step.backward_ns = static_cast<std::int64_t>(passed * (1 - kForwardPart));
    step.hidden_ns = hidden_of(step);
    step.most_ns = std::max(most_of(step), step.hidden_ns);
  }
}

std::int64_t Finder::most_of(const LateReductionStep& step) const {
  std::int64_t all = std::accumulate(step.transfer_ns.begin(), step.transfer_ns.end(), std::int64_t{0});
  std::int64_t smallest = *std::min_element(step.transfer_ns.begin(), step.transfer_ns.end());
  return std::min(all + step.unsplit_ns - smallest, step.batch.over_ns - step.batch.begin_ns);
}

// Buckets are reduced in the order in which they are filled or, by hand, in that of the parameters. And the
// largest may be the one that is filled last.
std::int64_t Finder::hidden_of(const LateReductionStep& step) const {
  std::vector<double> bytes;
  for (std::uint32_t call : step.calls) bytes.push_back(bytes_of(call));
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::int64_t all = std::accumulate(step.transfer_ns.begin(), step.transfer_ns.end(), std::int64_t{0});
  std::int64_t largest = *std::max_element(step.transfer_ns.begin(), step.transfer_ns.end());
  std::int64_t in_order = hidden_ns(order, step, bytes);
  std::reverse(order.begin(), order.end());
  return std::min({all - largest, in_order, hidden_ns(order, step, bytes)});
}

LateReductions Finder::find() {
  LateReductions found{rank_.rank, rank_.process, {}};
  std::vector<std::int64_t> lengths;
  for (const Step& step : rank_.steps) {
    std::vector<std::uint32_t> entries = reductions_of(step);
    if (entries.empty()) continue;
    if (step.captured) continue;
    auto times = transfers(entries);
    if (!times) {
      bool timed = std::all_of(entries.begin(), entries.end(), [&](std::uint32_t e) { return time_of(e); });
      ++(timed ? found.unsplit : found.untimed);
      continue;
    }
    std::int64_t end_ns = time_of(entries.back())->end_ns;
    lengths.push_back(
        std::max(step.end_ns - step.begin_ns, reduced_ns_ == kNever ? 0 : end_ns - reduced_ns_));
    if (reduces_late(step, entries)) {
      LateReductionStep late{
          step, {}, std::move(times->ns), times->unsplit_ns, last_batch(step, entries.front())};
      for (std::uint32_t entry : entries) late.calls.push_back(rank_.entries[entry].call);
      found.steps.push_back(std::move(late));
    }
    reduced_ns_ = end_ns;
  }
  found.judged = lengths.size();
  if (lengths.empty()) return found;
  found.step_ns = model::median(lengths);
  estimate(found);
  std::vector<std::int64_t> hidden(found.judged - found.steps.size()), most = hidden;
  for (const LateReductionStep& step : found.steps) {
    hidden.push_back(step.hidden_ns);
    most.push_back(step.most_ns);
  }
  found.hidden_ns = model::median(hidden);
  found.most_ns = model::median(most);
  return found;
}

}  // namespace

LateReductions find_late_reductions(const model::Job& job, const matching::Collectives& collectives,
                                    const CollectiveTimes& times, std::uint32_t communicator,
                                    const RankSteps& rank, const FrameworkSteps& framework) {
  return Finder(job, collectives, times, communicator, rank, framework).find();
}

}  // namespace ddpscope::patterns
