// Which ranks train one model together, and when each exchanges gradients.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/model/lazy.h"
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

// More than a message of a store or a heartbeat, over TCP; a run of calls is one.
struct Transfer {
  std::int64_t at_ns, until_ns;
  std::uint64_t bytes;
};
struct Traffic {
  std::vector<Transfer> sent, received;              // in the order of time
  std::uint64_t bytes_sent = 0, bytes_received = 0;  // in all, messages too, on sockets that carry such
  std::int64_t last_sent_ns = 0;                     // likewise: when something was sent last
  // The first close of a connection to another rank, if none was lost before; and when that was.
  std::optional<model::EventRef> given_up;
  std::int64_t given_up_ns = 0;
};

struct DataParallelGroup {
  enum class KnownBy : std::uint8_t {
    kTraffic,  // reductions, or what goes over TCP
    kStart,    // the ranks started alike; times are those of the optimizer
    kNothing,  // it is all that train (training_world.h); likewise
  };
  std::map<std::int32_t, Reductions> of_rank;
  KnownBy known_by = KnownBy::kTraffic;
  std::map<std::int32_t, Traffic> traffic =
      {};  // of a group found by what goes over TCP; replicas.h judges it
  std::uint32_t communicator = matching::kNone;
};

// That reduce again and again, whatever: gradients, or activations.
std::set<std::uint32_t> communicators_that_reduce(const matching::Collectives& collectives);

// When a rank's optimizer ran without a reduction, in place of reductions.
Reductions updates_of(const RankSteps& rank);

// With NCCL: the members of each communicator that carries gradients. Communicators that reduce during the
// forward pass are left out: they carry activations, and their ranks are given the same samples on purpose
// (tensor parallelism). If none carries any: ranks to which one model was handed out and that change it again
// and again, each for itself (missing-gradient-sync). Without NCCL: ranks that exchange
// more than messages of a store or a heartbeat over TCP (Gloo, MPI), by their connections (tcp_groups.h).
std::vector<DataParallelGroup> find_data_parallel_groups(const model::Job& job,
                                                         const matching::Collectives& collectives,
                                                         const model::Lazy<ReductionHabits>& habits);

}  // namespace ddpscope::patterns
