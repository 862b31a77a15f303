// Twin tensor-parallel: pairs of neighbouring ranks hold one model between them and train on the same
// batches; the pairs are data-parallel.
#pragma once

#include <memory>

#include "arguments.h"
#include "model.h"
#include "process_group.h"

namespace reference_trainer {

class TensorParallel {
 public:
  // Collective. Without the twin a rank has all of the model, and all ranks are data-parallel.
  TensorParallel(const Arguments& arguments, ProcessGroup& all);

  // The ranks that have the same part of the model.
  ProcessGroup& replicas() const { return replicas_ ? *replicas_ : all_; }
  // This rank's part; refers to this object.
  ModelPart part();
  // Of the whole model, from that of this rank's part. Collective.
  uint64_t combine(uint64_t checksum) const;
  void close();

 private:
  void add_up(const DeviceBuffer<float>& data, cudaStream_t compute);

  ProcessGroup& all_;
  std::unique_ptr<ProcessGroup> pair_, replicas_;
  Event computed_, added_;
};

}  // namespace reference_trainer
