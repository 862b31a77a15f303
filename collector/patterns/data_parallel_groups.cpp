// From the reductions of communicators, else from PyTorch's calls.
#include "collector/patterns/data_parallel_groups.h"

#include <algorithm>
#include <tuple>

#include "collector/patterns/framework_groups.h"

namespace ddpscope::patterns {
namespace {

using matching::Collectives;
using matching::Communicator;
using matching::Member;
using Kind = StepEntry::Kind;

constexpr std::size_t kLeastRounds = 3;

// A set of buckets has at least one of its own size (the last is what is left over), and that one comes once
// a round; sizes that come less often are those before PyTorch arranges its buckets anew.
std::size_t count_rounds(const Collectives& collectives, const Member& member) {
  std::map<std::tuple<trace::Operation, std::uint8_t, std::uint64_t>, std::size_t> times;
  for (std::uint32_t call : member.calls) {
    const matching::Signature& signature = collectives.calls.signature(call);
    if (is_reduction(signature)) ++times[{signature.operation, signature.datatype, signature.count}];
  }
  std::size_t rounds = 0;
  for (const auto& [signature, count] : times)
    if (count >= kLeastRounds) rounds = rounds ? std::min(rounds, count) : count;
  return rounds;
}

Reductions reductions_of(const Collectives& collectives, const Member& member) {
  matching::Numbers reductions;
  for (std::uint32_t call : member.calls)
    if (is_reduction(collectives.calls.signature(call))) reductions.push_back(call);
  return {ReductionTimes(collectives.calls, std::move(reductions)), count_rounds(collectives, member)};
}

// How many micro-batches, each from its input to the next, a communicator reduces in, and in how many of them
// before the forward pass can be over. Without records of kernels there are none.
struct MicroBatches {
  std::size_t all = 0;
  std::size_t in_forward = 0;

  void operator+=(const MicroBatches& other) { all += other.all, in_forward += other.in_forward; }
};

// Losses and metrics are reduced before the backward pass, too, where the program reads them then: what is as
// small tells only if there is nothing larger.
struct TimesOfReductions {
  MicroBatches large, any;

  bool carries_activations() const {
    const MicroBatches& telling = large.all ? large : any;
    return telling.in_forward * 2 > telling.all;
  }
};

class MicroBatchCounter {
 public:
  explicit MicroBatchCounter(std::uint64_t least_bytes) : least_bytes_(least_bytes) {}

  void launch(std::uint64_t kernels) { launches_ += kernels; }
  void reduce(const matching::Signature& signature) {
    if (reduced_ || matching::bytes_of(signature) < least_bytes_) return;
    reduced_ = true;
    before_first_ = launches_;
  }
  void close() {
    count_.all += reduced_ && launches_ > 0;
    count_.in_forward +=
        reduced_ && static_cast<double>(before_first_) < kForwardPart * static_cast<double>(launches_);
    launches_ = 0;
    reduced_ = false;
  }
  const MicroBatches& count() const { return count_; }

 private:
  std::uint64_t least_bytes_, launches_ = 0, before_first_ = 0;
  bool reduced_ = false;
  MicroBatches count_;
};

void add_micro_batches(const Collectives& collectives, const RankSteps& rank, std::uint32_t communicator,
                       TimesOfReductions& times) {
  MicroBatchCounter large(kLeastGradientBytes), any(0);
  for (const StepEntry& entry : rank.entries)
    for (MicroBatchCounter* counter : {&large, &any}) {
      counter->launch(entry.launches_before);
      if (entry.kind == Kind::kInput) counter->close();
      if (entry.kind != Kind::kReduction) continue;
      const matching::CallForm& call = collectives.calls.form(entry.call);
      if (call.communicator == communicator) counter->reduce(call.signature);
    }
  large.close(), any.close();
  times.large += large.count(), times.any += any.count();
}

using OfCommunicators = std::map<std::uint32_t, DataParallelGroup>;

OfCommunicators groups_that_reduce(const Collectives& collectives) {
  OfCommunicators groups;
  for (std::uint32_t c = 0; c < collectives.communicators.size(); ++c) {
    DataParallelGroup group;
    for (const Member& member : collectives.communicators[c].members)
      if (Reductions reductions = reductions_of(collectives, member); reductions.rounds >= kLeastRounds)
        group.of_rank[member.rank] = std::move(reductions);
    if (group.of_rank.size() >= 2) groups.emplace(c, std::move(group));
  }
  return groups;
}

std::map<std::uint32_t, TimesOfReductions> times_of_reductions(const model::Job& job,
                                                               const Collectives& collectives,
                                                               const OfCommunicators& groups,
                                                               std::size_t steps) {
  std::map<std::uint32_t, TimesOfReductions> times;
  for_each_rank_steps(
      job, collectives,
      [&](const RankSteps& rank) {
        for (const auto& [communicator, group] : groups)
          add_micro_batches(collectives, rank, communicator, times[communicator]);
      },
      steps);
  return times;
}

// What a communicator carries does not change: a part of a long training tells, if all are used in it.
void leave_out_activations(const model::Job& job, const Collectives& collectives, OfCommunicators& groups) {
  constexpr std::size_t kEnoughSteps = 1000;
  if (groups.empty()) return;
  auto times = times_of_reductions(job, collectives, groups, kEnoughSteps);
  if (std::any_of(times.begin(), times.end(), [](const auto& of) { return of.second.any.all == 0; }))
    times = times_of_reductions(job, collectives, groups, kAllSteps);
  for (const auto& [communicator, of] : times)
    if (of.carries_activations()) groups.erase(communicator);
}

std::vector<DataParallelGroup> groups_of_communicators(const model::Job& job,
                                                       const Collectives& collectives) {
  OfCommunicators groups = groups_that_reduce(collectives);
  leave_out_activations(job, collectives, groups);
  std::vector<DataParallelGroup> result;
  for (auto& [communicator, group] : groups) {
    group.communicator = communicator;
    result.push_back(std::move(group));
  }
  return result;
}

// Of those that reduce, the communicators on whose ranks PyTorch's calls reduce gradients: behind a backward
// pass, or by a reducer. Where several communicators have the same ranks it is not known which of them it is.
std::vector<DataParallelGroup> groups_that_pytorch_names(const model::Job& job,
                                                         const Collectives& collectives,
                                                         const std::vector<FrameworkSteps>& steps) {
  auto ranks_of = [](const DataParallelGroup& group) {
    std::set<std::int32_t> ranks;
    for (const auto& [rank, reductions] : group.of_rank) ranks.insert(rank);
    return ranks;
  };
  std::set<std::set<std::int32_t>> named;
  for (const DataParallelGroup& group : find_framework_groups(job, steps))
    if (group.known_by == DataParallelGroup::KnownBy::kReductions) named.insert(ranks_of(group));
  if (named.empty()) return {};
  std::map<std::set<std::int32_t>, std::vector<DataParallelGroup>> reducing;
  for (auto& [communicator, group] : groups_that_reduce(collectives)) {
    group.communicator = communicator;
    std::set<std::int32_t> ranks = ranks_of(group);
    if (named.contains(ranks)) reducing[std::move(ranks)].push_back(std::move(group));
  }
  std::vector<DataParallelGroup> groups;
  for (auto& [ranks, of_these] : reducing)
    if (of_these.size() == 1) groups.push_back(std::move(of_these.front()));
  return groups;
}

std::vector<DataParallelGroup> groups_that_started_alike(const model::Job& job,
                                                         const Collectives& collectives,
                                                         const ReductionHabits& habits) {
  std::vector<DataParallelGroup> groups;
  for (const UnsynchronisedGroup& found : habits.never) {
    if (found.doubt()) continue;
    DataParallelGroup group{{}, DataParallelGroup::KnownBy::kStart};
    for (const UnsynchronisedRank& one : found.ranks)
      group.of_rank[one.rank] = updates_of(find_steps(job, collectives, one.process));
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

std::size_t ReductionTimes::count_before(std::int64_t ns) const {
  if (calls_) return reductions_.count_first([&](std::uint32_t call) { return calls_->begin_ns(call) < ns; });
  return static_cast<std::size_t>(std::lower_bound(times_.begin(), times_.end(), ns) - times_.begin());
}

std::vector<std::int64_t> ReductionTimes::all() const {
  if (!calls_) return times_;
  std::vector<std::int64_t> times;
  times.reserve(reductions_.size());
  for (std::uint32_t call : reductions_) times.push_back(calls_->begin_ns(call));
  return times;
}

std::set<std::uint32_t> communicators_that_reduce(const Collectives& collectives) {
  std::set<std::uint32_t> found;
  for (const auto& [communicator, group] : groups_that_reduce(collectives)) found.insert(communicator);
  return found;
}

Reductions updates_at(std::vector<std::int64_t> times) {
  std::size_t updates = times.size();
  return {ReductionTimes(std::move(times)), updates};
}

Reductions updates_of(const RankSteps& rank) {
  std::vector<std::int64_t> times;
  for (const Step& step : rank.unreduced) times.push_back(step.end_ns);
  return updates_at(std::move(times));
}

std::vector<DataParallelGroup> find_data_parallel_groups(
    const model::Job& job, const Collectives& collectives, const model::Lazy<ReductionHabits>& habits,
    const model::Lazy<std::vector<FrameworkSteps>>& steps) {
  if (collectives.communicators.empty()) return find_framework_groups(job, steps.get());
  auto groups = groups_of_communicators(job, collectives);
  if (groups.empty()) groups = groups_that_pytorch_names(job, collectives, steps.get());
  return groups.empty() ? groups_that_started_alike(job, collectives, habits.get()) : std::move(groups);
}

}  // namespace ddpscope::patterns
