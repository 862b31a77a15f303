// What each rank was given to train on, step by step, as far as digests of its copies to the device tell.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

// All that was new on the device in one step.
struct Batch {
  std::uint32_t step;      // ordinal of its first reduction in the communicator: the same on all ranks
  std::uint64_t content;   // equal where each of the copies is
  std::uint64_t bytes;     // of all copies
  model::EventPlace copy;  // the longest one
};

// A copy to the device before the rank trains: parameters, states, perhaps its data.
struct Brought {
  std::uint64_t content;
  std::uint64_t bytes;
};

struct RankBatches {
  std::int32_t rank;
  std::uint32_t process;
  std::vector<Batch> batches = {};    // by step
  std::vector<Brought> brought = {};  // by content; none that the ring has overwritten
  std::uint64_t elements = 0;         // that a step reduces, at most
  std::size_t doubtful = 0;           // steps left out although something in them has as many distinct words
};

// Whether each holds more on its device that the other does not than a model and its optimizer take: its part
// of the data. What comes up in each step then says which of it is used, and may be the same on all.
bool hold_their_own_data(const RankBatches& a, const RankBatches& b);

// Of the first 1000 steps that the trace has whole, without the first: before a rank has reduced once it is
// set up. Nothing without digests or without kernels of an optimizer. `member` reduces gradients on its
// communicator. New is what this rank was not given before. Left out are steps in which what comes up may be
// no samples:
// - nothing in it has as many distinct words as a sample has (64);
// - it may have been made of what went down: more than a quarter as many bytes, in this step and the one
//   before (weights, optimizer states and activations that are kept in the host's memory);
// - it adds up to the parameters;
// - the host reads back again and again between it and the reduction: the samples may be drawn on the device
//   from what came up (a policy's answers to one prompt).
RankBatches find_batches(const model::Job& job, const matching::Collectives& collectives,
                         const matching::Member& member);

}  // namespace ddpscope::patterns
