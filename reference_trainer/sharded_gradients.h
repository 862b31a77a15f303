// ZeRO, stage 2: each rank gets its part of the averaged gradients, updates its part of the parameters with
// it, and hands that to the others.
#pragma once

#include <vector>

#include "model.h"
#include "process_group.h"

namespace reference_trainer {

class ShardedGradients {
 public:
  ShardedGradients(const Model& model, ProcessGroup& group)
      : model_(model),
        group_(group),
        own_(model.gradients().size() / group.size() + model.parameters().size()) {}

  // Enqueued on the group's stream, for a bucket of the gradients. What has added up in them so far is left
  // as it is, so that a later micro-batch may be reduced with it. What does not divide evenly all ranks get.
  void reduce(size_t offset, size_t count);
  // Before the update: puts the averages in the place of the rank's own gradients, all buckets that were
  // reduced since the last time.
  void put_back(cudaStream_t compute);
  // After it.
  void share_parameters(cudaStream_t compute);

 private:
  struct Part {
    size_t offset, count;  // of the rank's own part, in the gradients
    size_t bucket;         // where its bucket begins
  };
  const Model& model_;
  ProcessGroup& group_;
  DeviceBuffer<float> own_;
  std::vector<Part> parts_;
  Event updated_, shared_;
};

}  // namespace reference_trainer
