// What stands between the sets of reductions of a step.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "collector/patterns/repeated_reductions.h"

namespace ddpscope::patterns {

// Operation, type, count and buffer.
using ReductionClass = std::tuple<trace::Operation, std::uint8_t, std::uint64_t, std::uint64_t>;
ReductionClass class_of(const matching::CallForm& call);
ReductionClass in_any_buffer(ReductionClass reduction);  // its buffer taken out

// The sets of a step look alike whether their gradients add up, are used one after the other or are no
// gradients at all. What stands between them tells:
// - Activations are reduced for kernels of the same micro-batch, so kernels of it follow. After its last
//   gradients were reduced none is left.
// - Gradients that add up are left alone until the next micro-batch, which begins as the first did. Kernels
// of
//   an optimizer, a line search, a test for overflow, a perturbation of the weights are the use of a set; one
//   whose buffers are cleared was used before.
class BetweenReductions {
 public:
  BetweenReductions(const model::Job& job, const matching::Collectives& collectives, const RankSteps& rank);

  std::uint64_t bytes(const RepeatedSet& sets) const;  // of one of the sets
  // Whether a micro-batch with a forward pass precedes each set. Calls that stand in the forward pass or
  // behind it, of synchronised batch normalisation and losses, are taken out of the sets if they are small
  // beside the others.
  bool behind_forward(RepeatedSet& sets) const;
  Repetition judge(const RepeatedSet& sets) const;

 private:
  const matching::CallForm& call(std::uint32_t entry) const {
    return collectives_.calls.form(rank_.entries[entry].call);
  }
  bool is_small(std::uint32_t entry) const {
    return matching::bytes_of(call(entry).signature) < kLeastGradientBytes;
  }
  std::uint64_t elements(const RepeatedSet& sets) const;
  std::size_t calls_in_forward(const RepeatedSet& sets) const;
  std::uint64_t least_before(const RepeatedSet& sets) const;
  std::uint64_t bytes_of_others(const RepeatedSet& sets) const;  // reductions made fewer times
  bool may_be_activations(const RepeatedSet& sets) const;
  // That handed out as much as a set reduces.
  std::optional<std::uint16_t> thread_that_broadcast(const RepeatedSet& sets) const;
  std::optional<std::uint16_t> thread_of_set(const RepeatedSet& sets) const;
  Repetition judge_gap(const RepeatedSet& sets, std::size_t set) const;
  bool cleared(const RepeatedSet& sets, std::size_t set) const;
  bool read_back(const RepeatedSet& sets, std::size_t set) const;
  std::vector<std::uint64_t> copied_to(const RepeatedSet& sets, std::size_t set) const;
  bool put_aside(const RepeatedSet& sets, std::size_t set) const;
  std::uint64_t kernel_behind_each(const RepeatedSet& sets, std::size_t set) const;
  std::uint32_t input_behind(const RepeatedSet& sets, std::size_t set) const;
  bool followed(const RepeatedSet& sets, std::size_t set) const;
  bool begins_otherwise(const RepeatedSet& sets, std::size_t set) const;
  bool more_kernels(const RepeatedSet& sets, std::size_t set) const;
  bool negligible(const RepeatedSet& sets, const KernelRun& run) const;
  template <class Visit>  // bool visit(const KernelRun&): false ends it
  bool for_each_kernel(std::uint32_t from, std::uint32_t to, Visit&& visit) const;

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const RankSteps& rank_;
  std::unordered_set<std::uint64_t> before_first_;  // kernels that run before some step's first reduction
  mutable std::map<ReductionClass, std::uint64_t> least_before_;
};

}  // namespace ddpscope::patterns
