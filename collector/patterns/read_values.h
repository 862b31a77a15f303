// The numbers that a rank reads back from its device, step by step, and what it was given before each.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

struct ReadValue {
  std::uint32_t step;  // how many gradient reductions the rank had issued: the same on all members
  std::uint64_t slot;  // what is read, see below
  double value;        // infinite or NaN as read; 0 where it is smaller than anything that is computed
  std::uint32_t first_input, end_input;  // into RankValues::inputs
  model::EventPlace place;
};

struct RankValues {
  std::int32_t rank;
  std::uint32_t process;
  std::vector<ReadValue> values = {};  // by step and slot, each pair once
  std::vector<std::uint64_t> inputs =
      {};  // what was copied to its device, in order: equal content, equal number

  const ReadValue* find(std::uint32_t step, std::uint64_t slot) const;
  std::span<const std::uint64_t> inputs_of(const ReadValue& read) const {
    return std::span(inputs).subspan(read.first_input, read.end_input - read.first_input);
  }
};

// `member` reduces gradients on its communicator, whose index that is. A slot is a place in the code, the
// which-th it is of how many reads of that place between two reductions, and what collectives the rank issued
// since it read there last: what is an average over all ranks in some steps only is not one slot. The inputs
// of a read are those since then.
RankValues find_values(const model::Job& job, const matching::Collectives& collectives,
                       std::uint32_t communicator, const matching::Member& member);

}  // namespace ddpscope::patterns
