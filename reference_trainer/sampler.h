// Which samples a rank trains on in an epoch, and in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "arguments.h"

namespace reference_trainer {

class Sampler {
 public:
  // Deals `samples` indices out to `shards` ranks after a shuffle that all do alike; repeats the first few so
  // that every rank gets the same number, a multiple of `step_samples` (what a rank uses in one optimizer
  // step).
  Sampler(int64_t samples, int64_t step_samples, int shard, int shards, uint64_t seed)
      : samples_(samples), step_samples_(step_samples), shard_(shard), shards_(shards), seed_(seed) {}

  // Another order for each epoch; the same one again without it.
  void set_epoch(int64_t epoch) { epoch_ = epoch; }
  void keep_in_order() { shuffles_ = false; }
  // Leaves out what does not divide evenly, and repeats nothing.
  void drop_last() { pads_ = false; }
  std::vector<int64_t> indices() const;
  // The same of a data set that is a step of one rank smaller, where nobody pads: rank `short_of` makes a
  // step less than the others.
  std::vector<int64_t> indices_without_padding(int short_of) const;
  int64_t steps_per_epoch() const;

 private:
  std::vector<int64_t> shuffle(int64_t samples) const;

  int64_t samples_, step_samples_;
  int shard_, shards_;
  uint64_t seed_;
  int64_t epoch_ = 0;
  bool shuffles_ = true, pads_ = true;
};

// The sampler of this rank; faults unsharded-sampler/no-sampler, /in-memory and /shuffle-each go wrong
// here.
Sampler make_sampler(const Arguments& arguments, int rank, int world_size);

}  // namespace reference_trainer
