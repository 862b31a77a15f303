// What a rank does in an optimizer step, as far as calls show it: inputs copied to the device, kernels
// launched, gradients reduced, the optimizer run.
#pragma once
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/device_order.h"
#include "collector/patterns/optimizer_updates.h"
#include "trace/read/table.h"

namespace ddpscope::patterns {

// No gradient is ready before the forward pass is over, which is about a third of the kernels. Reductions
// that start earlier belong to the forward pass: tensor parallelism, synchronised batch normalisation.
constexpr double kForwardPart = 0.3;

// Of a reduction, or of all of a step's: losses, metrics and norms are smaller.
constexpr std::uint64_t kLeastGradientBytes = 1024;

// Stretch of a rank's calls between two runs of the optimizer. Times are those of the host: when calls were
// made.
struct Step {
  std::int64_t begin_ns;                 // the previous optimizer's last launch
  std::int64_t end_ns;                   // this optimizer's last launch
  std::uint32_t first_entry, end_entry;  // into RankSteps::entries
  // Between the last entry and this optimizer's first launch, into RankSteps::kernels.
  std::uint32_t first_kernel = 0, end_kernel = 0;
  Update optimizer = {};  // by which the step's end is known
  bool captured = false;  // graphs were launched: what they hold shows in no call
};

// Launches in a row of one kernel; a captured graph counts as a kernel.
struct KernelRun {
  std::uint64_t kernel;  // what tells it from others in this process
  std::uint32_t count;
  std::uint32_t blocks;  // of a launch; 0 unknown
};

struct StepEntry {
  enum class Kind : std::uint8_t {
    kInput,
    kReduction,
    kOtherCollective,
    kFill,      // device memory is set
    kReadBack,  // the host is given more than a few values
    kPutAside,  // more than a few values are copied within the device
  };
  std::int64_t begin_ns;
  std::uint64_t launches_before;           // kernels since the previous entry, or since the optimizer
  std::uint32_t first_kernel, end_kernel;  // the same, into RankSteps::kernels
  std::uint32_t call;                      // of a collective: index in Collectives::calls; else kNone
  model::EventPlace place;
  Kind kind;
  bool awaited;  // of a collective: the stream of the next kernel was made to wait for it
};

struct RankSteps {
  std::int32_t rank;
  std::uint32_t process;
  bool optimizer_seen = false;
  trace::Table<StepEntry> entries;  // in the order in which they were issued
  trace::Table<KernelRun> kernels;  // likewise, without the optimizer's
  std::vector<Step> steps;          // complete ones, in which gradients were reduced
  std::vector<Step> unreduced;      // likewise, in which they were not
};

// Losses, norms, metrics, flags, scalars and shapes that ranks tell each other have no more.
constexpr std::uint64_t kFewElements = 8;

// A reduction is a floating-point all-reduce, reduce-scatter or reduce of more than a few elements. An
// optimizer is known by its kernels' names or, without such, by the program's own ranges. Steps whose
// launches the ring has overwritten are left out. `room`: steps that are not needed any more, for their
// memory. `most`: of steps that are wanted, the first.
constexpr std::size_t kAllSteps = std::numeric_limits<std::size_t>::max();
RankSteps find_steps(const model::Job& job, const matching::Collectives& collectives, std::uint32_t process,
                     RankSteps room = {}, std::size_t most = kAllSteps);

// Calls visit(RankSteps&) for one rank after the other: its steps are as long as its trace. They may be moved
// away.
template <class Visit>
void for_each_rank_steps(const model::Job& job, const matching::Collectives& collectives, Visit&& visit,
                         std::size_t most = kAllSteps) {
  RankSteps steps;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (job.processes[process].role != model::Role::kRank) continue;
    steps = find_steps(job, collectives, process, std::move(steps), most);
    visit(steps);
  }
}

// See above.
bool is_reduction(const matching::Signature& signature);

}  // namespace ddpscope::patterns
