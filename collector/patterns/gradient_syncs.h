// When the gradients of an optimizer step are reduced: with the last micro-batch, as they should be, before
// it, or not at all. (Several times: repeated_reductions.h.)
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {

// A step that goes on to train after its gradients were reduced: what the later micro-batches add to them is
// this rank's alone.
struct EarlySync {
  const Step* step;
  std::uint32_t reduction;  // entries: the first call that reduces
  std::uint32_t input;      // of the first micro-batch behind the last one
};

// Steps in which a whole micro-batch lies between the last reduction (of 1 KiB or more: losses and metrics
// are smaller) and the optimizer: its input is copied to the device, and nearly all kernels run that ran
// before gradients were first reduced, as often. A backward pass is among them, for that is when gradients
// are reduced. Left out are steps with captured graphs.
std::vector<EarlySync> find_early_syncs(const matching::Collectives& collectives, const RankSteps& rank);

// What a rank does of which no call shows whether it is right.
struct DoubtfulSyncs {
  // Most steps reduce between the update before and their first input, and nothing later: parameters, which
  // is as it should be, or gradients that have been used already. Nothing that a root handed out before the
  // first step, by its address, is among it.
  bool behind_update = false;
  // Fewer than are reduced: steps that reduce nothing, though they run the kernels of a micro-batch that is
  // reduced in another step. They may train another copy of the model.
  std::size_t left_out = 0;
};
DoubtfulSyncs find_doubtful_syncs(const matching::Collectives& collectives, const RankSteps& rank);

// A rank whose optimizer runs again and again though its gradients are never reduced.
struct Unsynchronised {
  std::uint32_t communicator;  // on which a root handed out the model before the first step
  std::uint32_t broadcast;     // its largest call, into Collectives::calls
  std::size_t updates;         // of the optimizer, without anything of the model's size exchanged meanwhile
  bool exchanged = false;      // such a thing was, before or afterwards: it may be averaged that seldom
  bool captured = false;       // graphs are launched in most steps: they may hold the reductions
  // The host reads back more than a few values in most steps, or now and then what it brings up again: it may
  // exchange them.
  bool by_host = false;
};

// Evidence of data parallelism: floating-point values, 1,024 at least, that one root of a communicator handed
// out before the first step. Nothing for a rank that reduces in a tenth of its steps or more, or that moves
// 1,024 values of any type at a time, or half of what was handed out, within every thousand steps: it
// averages parameters (Local SGD), hands on activations (pipelines) or is given new weights.
std::optional<Unsynchronised> find_unsynchronised(const model::Job& job,
                                                  const matching::Collectives& collectives,
                                                  const RankSteps& rank);

// The same, whatever was handed out before the first step, or whether anything was.
bool trains_alone(const model::Job& job, const matching::Collectives& collectives, const RankSteps& rank);

}  // namespace ddpscope::patterns
