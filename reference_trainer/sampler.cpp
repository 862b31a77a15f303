// Which samples a rank trains on in an epoch, and in which order.
#include "sampler.h"

#include <numeric>
#include <random>
#include <utility>

#include "mesh.h"

namespace reference_trainer {

int64_t Sampler::steps_per_epoch() const {
  const int64_t used_in_a_step = step_samples_ * shards_;
  return (samples_ + (pads_ ? used_in_a_step - 1 : 0)) / used_in_a_step;
}

std::vector<int64_t> Sampler::indices() const {
  std::vector<int64_t> order(samples_);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 generator(seed_ * 1'000'003 + epoch_);
  // Written out because std::shuffle may differ between standard libraries.
  for (int64_t i = shuffles_ ? samples_ - 1 : 0; i > 0; --i)
    std::swap(order[i], order[generator() % (i + 1)]);
  std::vector<int64_t> own;
  const int64_t used = steps_per_epoch() * step_samples_ * shards_;
  for (int64_t i = shard_; i < used; i += shards_) own.push_back(order[i % samples_]);
  return own;
}

Sampler make_sampler(const Arguments& arguments, int rank, int world_size) {
  const int64_t step_samples = static_cast<int64_t>(arguments.batch) * arguments.accumulate;
  if (arguments.faults.on(Fault::kUnshardedNoSampler) || arguments.faults.on(Fault::kUnshardedInMemory)) {
    return Sampler(arguments.samples, step_samples, 0, 1, arguments.seed);
  }
  if (arguments.faults.on(Fault::kUnshardedShuffleEach)) {
    return Sampler(arguments.samples, step_samples, 0, 1, arguments.seed + rank);
  }
  Sampler sampler(arguments.samples, step_samples, data_parallel_rank(arguments.faults, rank, world_size),
                  world_size, arguments.seed);
  if (arguments.faults.on(Twin::kSequentialSampler)) sampler.keep_in_order();
  if (arguments.faults.on(Twin::kDropLast)) sampler.drop_last();
  return sampler;
}

}  // namespace reference_trainer
