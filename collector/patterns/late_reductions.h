// Steps that reduce their gradients only when the backward pass is over, though most of them were ready
// before.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/patterns/collective_times.h"
#include "collector/patterns/framework_steps.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {

// Of a step: from the end of the last step's reductions until the first reduction; from when the host copied
// the input of the last micro-batch and launched its kernels, and which part of all kernels these are.
struct LastBatch {
  std::int64_t begin_ns, over_ns;
  std::int64_t launched_ns;
  double part;
};

struct LateReductionStep {
  // Of a reduction whose time does not show how much of it was waiting: it counts as none. A step in which
  // such ones take more than a tenth of what the others transfer is not judged.
  static constexpr std::int64_t kNotSplit = 0;

  Step step;
  std::vector<std::uint32_t> calls;       // the reductions, into Collectives::calls
  std::vector<std::int64_t> transfer_ns;  // of each, without waiting for members; kNotSplit
  std::int64_t unsplit_ns = 0;            // shortest times of those that are kNotSplit
  LastBatch batch;
  std::int64_t backward_ns = 0;  // how long the backward pass is, by estimate
  std::int64_t hidden_ns = 0;    // what would be hidden beside it, likewise
  std::int64_t most_ns = 0;      // at most
};

struct LateReductions {
  std::int32_t rank;
  std::uint32_t process;
  std::vector<LateReductionStep> steps;  // that reduce so
  std::size_t judged = 0;                // steps all of whose reductions were timed
  // Other steps without graphs: a reduction of theirs has no time on the device, or it is not known how much
  // of their times was waiting.
  std::size_t untimed = 0, unsplit = 0;
  // Median of those judged: from one step's last reduction to the next one's on the device, or between the
  // host's updates if that is longer: a host that runs ahead launches in no time.
  std::int64_t step_ns = 0;
  std::int64_t hidden_ns = 0;  // likewise, 0 for a step that does not reduce so
  std::int64_t most_ns = 0;    // likewise
};

// Of one member of a communicator that carries gradients; `framework`: of its process. A step reduces late if
// - it has two reductions or more, of 1 KiB or more;
// - the first runs behind every kernel that was launched before it, the backward pass among them
//   (behind_kernels.h): so nothing of that can hide them;
// - from there to the last reduction the host launches few kernels, at most a quarter of those before: what
//   scales, packs or copies gradients, and less than half of what the gradients left would take of the
//   backward pass: a bucket that is full shortly before its end is no such case. Where PyTorch's calls show
//   the step's backward passes they are taken instead of these numbers: the last one has ended before the
//   first reduction, and none begins before the last;
// - between them no further input is copied: another micro-batch would follow.
// The gradients of all buckets but one were ready before the end of the backward pass, most of them long
// before. What would be hidden: what would be saved if each were reduced as soon as the backward pass of the
// last micro-batch had filled it, with the same transfers one after the other, and all but the largest. When
// a bucket is filled no trace tells, so this is an estimate: the pass is taken to need as long for each byte.
// It is the time from the begin of the first of its kernels to the first reduction, if they were timed; else
// from its input or, if that is less, this micro-batch's part of the time since the end of the last step's
// reductions; less the part that a forward pass takes at least. At most it is all of that time since the last
// step's reductions, and all but the smallest transfer. What members wait for each other is no transfer.
LateReductions find_late_reductions(const model::Job& job, const matching::Collectives& collectives,
                                    const CollectiveTimes& times, std::uint32_t communicator,
                                    const RankSteps& rank, const FrameworkSteps& framework);

}  // namespace ddpscope::patterns
