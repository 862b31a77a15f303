// From the reductions of communicators, else from what goes over TCP.
#include "collector/patterns/gradient_traffic.h"

#include <algorithm>
#include <tuple>

#include "collector/patterns/tcp_groups.h"

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

// How many micro-batches of a rank, each from its input to the next, this communicator reduces in, and in how
// many of them before the forward pass can be over. Without records of kernels there are none.
struct MicroBatches {
  std::size_t all = 0;
  std::size_t in_forward = 0;
};

MicroBatches count_micro_batches(const Collectives& collectives, const RankSteps& rank,
                                 std::uint32_t communicator) {
  MicroBatches count;
  std::uint64_t launches = 0, before_first = 0;
  bool reduced = false;
  auto close = [&] {
    count.all += reduced && launches > 0;
    count.in_forward +=
        reduced && static_cast<double>(before_first) < kForwardPart * static_cast<double>(launches);
    launches = 0;
    reduced = false;
  };
  for (const StepEntry& entry : rank.entries) {
    launches += entry.launches_before;
    if (entry.kind == Kind::kInput) {
      close();
    } else if (entry.kind == Kind::kReduction && !reduced &&
               collectives.calls.form(entry.call).communicator == communicator) {
      reduced = true;
      before_first = launches;
    }
  }
  close();
  return count;
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

std::map<std::uint32_t, MicroBatches> count_micro_batches(const model::Job& job,
                                                          const Collectives& collectives,
                                                          const OfCommunicators& groups, std::size_t steps) {
  std::map<std::uint32_t, MicroBatches> sums;
  for_each_rank_steps(
      job, collectives,
      [&](const RankSteps& rank) {
        for (const auto& [communicator, group] : groups) {
          MicroBatches own = count_micro_batches(collectives, rank, communicator);
          sums[communicator].all += own.all;
          sums[communicator].in_forward += own.in_forward;
        }
      },
      steps);
  return sums;
}

// What a communicator carries does not change: a part of a long training tells, if all are used in it.
void leave_out_activations(const model::Job& job, const Collectives& collectives, OfCommunicators& groups) {
  constexpr std::size_t kEnoughSteps = 1000;
  if (groups.empty()) return;
  auto sums = count_micro_batches(job, collectives, groups, kEnoughSteps);
  if (std::any_of(sums.begin(), sums.end(), [](const auto& sum) { return sum.second.all == 0; }))
    sums = count_micro_batches(job, collectives, groups, kAllSteps);
  for (const auto& [communicator, sum] : sums)
    if (sum.in_forward * 2 > sum.all) groups.erase(communicator);
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

Reductions updates_of(const RankSteps& rank) {
  std::vector<std::int64_t> times;
  for (const Step& step : rank.unreduced) times.push_back(step.end_ns);
  std::size_t updates = times.size();
  return {ReductionTimes(std::move(times)), updates};
}

std::vector<DataParallelGroup> find_data_parallel_groups(const model::Job& job,
                                                         const Collectives& collectives,
                                                         const model::Lazy<ReductionHabits>& habits) {
  if (collectives.communicators.empty()) return find_tcp_groups(job);
  auto groups = groups_of_communicators(job, collectives);
  return groups.empty() ? groups_that_started_alike(job, collectives, habits.get()) : std::move(groups);
}

}  // namespace ddpscope::patterns
