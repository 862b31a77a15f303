// Which samples a rank trains on in an epoch, and in which order.
#include "sampler.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "mesh.h"

namespace reference_trainer {

int64_t Sampler::steps_per_epoch() const {
  const int64_t used_in_a_step = step_samples_ * shards_;
  return (samples_ + (pads_ ? used_in_a_step - 1 : 0)) / used_in_a_step;
}

std::vector<int64_t> Sampler::shuffle(int64_t samples) const {
  std::vector<int64_t> order(samples);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 generator(seed_ * 1'000'003 + epoch_);
  // Written out because std::shuffle may differ between standard libraries.
  for (int64_t i = shuffles_ ? samples - 1 : 0; i > 0; --i) std::swap(order[i], order[generator() % (i + 1)]);
  return order;
}

std::vector<int64_t> Sampler::indices() const {
  const std::vector<int64_t> order = shuffle(samples_);
  std::vector<int64_t> own;
  const int64_t used = steps_per_epoch() * step_samples_ * shards_;
  for (int64_t i = shard_; i < used; i += shards_) own.push_back(order[i % samples_]);
  return own;
}

std::vector<int64_t> Sampler::indices_without_padding(int short_of) const {
  const int64_t last_step = (steps_per_epoch() - 1) * step_samples_ * shards_;
  const int64_t used = steps_per_epoch() * step_samples_ * shards_ - step_samples_;
  const std::vector<int64_t> order = shuffle(std::min(samples_, used));
  const auto sample = [&](int64_t i) { return order[static_cast<size_t>(i) % order.size()]; };
  std::vector<int64_t> own;
  for (int64_t i = shard_; i < last_step; i += shards_) own.push_back(sample(i));
  if (shard_ == short_of) return own;
  const int among_others = shard_ - (shard_ > short_of);
  for (int64_t i = last_step + among_others; i < used; i += shards_ - 1) own.push_back(sample(i));
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
