// A bucket of n gradients on k ranks: k parts of n / k, and a rest.
#include "sharded_gradients.h"

#include <algorithm>

namespace reference_trainer {

void ShardedGradients::reduce(size_t offset, size_t count) {
  const size_t ranks = static_cast<size_t>(group_.size()), part = count / ranks;
  float* const gradients = model_.gradients().data() + offset;
  // A further reduction of the same bucket, in the same step.
  const auto known =
      std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return p.bucket == offset; });
  size_t place = 0;
  for (auto each = parts_.begin(); each != known; ++each) place += each->count;
  if (known == parts_.end())
    parts_.push_back({offset + static_cast<size_t>(group_.rank()) * part, part, offset});
  group_.reduce_scatter(gradients, own_.data() + place, part, ncclFloat32, ncclAvg);
  if (const size_t rest = count % ranks)
    group_.all_reduce(gradients + part * ranks, rest, ncclFloat32, ncclAvg);
}

void ShardedGradients::put_back(cudaStream_t compute) {
  size_t place = 0;
  for (const Part& part : parts_) {
    check(cudaMemcpyAsync(model_.gradients().data() + part.offset, own_.data() + place,
                          part.count * sizeof(float), cudaMemcpyDeviceToDevice, compute));
    place += part.count;
  }
}

void ShardedGradients::share_parameters(cudaStream_t compute) {
  updated_.record(compute);
  updated_.hold(group_.stream());
  for (const Part& part : parts_)
    group_.all_gather(model_.values().data() + part.bucket, part.count, ncclFloat32);
  shared_.record(group_.stream());
  shared_.hold(compute);
  parts_.clear();
}

}  // namespace reference_trainer
