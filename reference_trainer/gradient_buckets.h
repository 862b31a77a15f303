// Averages gradients over the ranks while the backward pass still runs, a bucket of parameters at a time.
#pragma once

#include <deque>
#include <optional>

#include "faults.h"
#include "model.h"
#include "parameter_usage.h"
#include "process_group.h"
#include "sharded_gradients.h"

namespace reference_trainer {

class GradientBuckets {
 public:
  // Puts neighbouring parameters into one bucket until it holds `bucket_bytes`.
  GradientBuckets(const Model& model, int64_t bucket_bytes, ProcessGroup& group, const Faults& faults);

  // While one lives, forward passes prepare no reductions: gradients only add up.
  class NoSync {
   public:
    explicit NoSync(GradientBuckets& buckets) : buckets_(buckets) { buckets_.syncs_ = false; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;
    ~NoSync() { buckets_.syncs_ = true; }

   private:
    GradientBuckets& buckets_;
  };

  // A forward pass begins, a part of optimizer step `step` (from 1): settles whether the backward pass that
  // follows reduces. A backward pass without one does not.
  void prepare(int64_t step);
  // Parameter i of the model has its gradient on `compute`. The last one of a bucket starts the bucket's
  // reduction.
  void ready(size_t parameter, cudaStream_t compute);
  // What follows on `compute` comes after all reductions.
  void finish(cudaStream_t compute);
  // Around the optimizer's update.
  void before_update(cudaStream_t compute);
  void after_update(cudaStream_t compute);

 private:
  struct Bucket {
    size_t offset, count;   // in the gradient array
    size_t last_parameter;  // completes the bucket
    Event ready;
  };
  struct Reduction {
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t operation;
  };
  void arrange(int64_t bucket_bytes);
  void rebuild();
  void reduce_ready(Bucket& bucket, cudaStream_t compute);
  void reduce(const Bucket& bucket);
  Reduction reduction_of(const Bucket& bucket) const;
  bool goes_wrong(Fault fault, const Bucket& bucket) const;

  const Model& model_;
  ProcessGroup& group_;
  const Faults& faults_;
  std::deque<Bucket> buckets_;  // an event cannot move
  Event reduced_;
  const int64_t bucket_bytes_;
  int64_t reductions_ = 0;                  // of all buckets
  std::optional<ParameterUsage> usage_;     // twin unused-parameters
  std::optional<ShardedGradients> shards_;  // twin sharded-gradients, and its fault
  int64_t step_ = 0;
  bool syncs_ = true;    // what forward passes ask for
  bool reduce_ = false;  // what the last one has settled
};

}  // namespace reference_trainer
