// Which ranks train one model together, and when each exchanges gradients.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/model/lazy.h"
#include "collector/patterns/framework_steps.h"
#include "collector/patterns/reduction_habits.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {

// When a rank's reductions were issued, ascending.
class ReductionTimes {
 public:
  ReductionTimes() = default;
  explicit ReductionTimes(std::vector<std::int64_t> times) : times_(std::move(times)) {}
  ReductionTimes(const matching::CallTable& calls, matching::Numbers reductions)  // calls has to outlive it
      : calls_(&calls), reductions_(std::move(reductions)) {}

  std::size_t size() const { return calls_ ? reductions_.size() : times_.size(); }
  std::size_t count_before(std::int64_t ns) const;
  std::vector<std::int64_t> all() const;  // 8 bytes each, for a rank at a time

 private:
  const matching::CallTable* calls_ = nullptr;
  matching::Numbers reductions_;     // of calls_
  std::vector<std::int64_t> times_;  // without calls_
};

// Of one rank.
struct Reductions {
  ReductionTimes times;
  std::size_t rounds = 0;  // how often the whole gradient was reduced; 0 unknown
};

struct DataParallelGroup {
  enum class KnownBy : std::uint8_t {
    kReductions,
    kStart,    // the ranks started alike; times are those of the optimizer
    kNothing,  // it is all that train (training_world.h); likewise
  };
  std::map<std::int32_t, Reductions> of_rank;
  KnownBy known_by = KnownBy::kReductions;
  std::uint32_t communicator = matching::kNone;
  bool by_framework = false;        // PyTorch's calls name it (framework_groups.h)
  std::uint64_t process_group = 0;  // its id, if it reduces on one
};

// That reduce again and again, whatever: gradients, or activations.
std::set<std::uint32_t> communicators_that_reduce(const matching::Collectives& collectives);

// When a rank's optimizer ran without a reduction, in place of reductions.
Reductions updates_at(std::vector<std::int64_t> times);
Reductions updates_of(const RankSteps& rank);

// With NCCL: the members of each communicator that carries gradients. Communicators that reduce during the
// forward pass are left out: they carry activations, and their ranks are given the same samples on purpose
// (tensor parallelism). If by that none carries any: those whose ranks reduce gradients by PyTorch's calls,
// where inputs that are made on the device hide the forward pass. If there is none of these either: ranks to
// which one model was handed out and that change it again and again, each for itself (missing-gradient-sync).
// Without NCCL: those that PyTorch's calls show (framework_groups.h).
std::vector<DataParallelGroup> find_data_parallel_groups(
    const model::Job& job, const matching::Collectives& collectives,
    const model::Lazy<ReductionHabits>& habits, const model::Lazy<std::vector<FrameworkSteps>>& steps);

}  // namespace ddpscope::patterns
