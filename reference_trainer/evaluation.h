// The loss on the validation set: all of it on every rank, without gradients.
#pragma once

#include <filesystem>

#include "batch_feed.h"
#include "dataset.h"
#include "model.h"

namespace reference_trainer {

class Evaluation {
 public:
  Evaluation(const Arguments& arguments, const std::filesystem::path& folder, const Shard& validation);

  // Of the batches, one of so many parts.
  struct Part {
    int64_t index, count;
  };
  // The host waits. `feed` belongs to `stream`.
  double run(Model& model, BatchFeed& feed, cudaStream_t stream, Part part);

 private:
  // As many whole batches as that gives, at least one: the usual batch sizes see the same samples.
  static constexpr int64_t kSamples = 64;
  int batch_, tokens_per_sample_;
  int64_t batches_;
  ShardDataset samples_;
  std::vector<int64_t> order_;  // the same each time
  DeviceBuffer<double> total_{1};
};

}  // namespace reference_trainer
