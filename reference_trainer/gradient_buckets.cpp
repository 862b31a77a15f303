// Averages gradients over the ranks while the backward pass still runs, a bucket of parameters at a time.
#include "gradient_buckets.h"

#include <algorithm>

namespace reference_trainer {

GradientBuckets::GradientBuckets(const Model& model, int64_t bucket_bytes, ProcessGroup& group,
                                 const Faults& faults)
    : model_(model), group_(group), faults_(faults), bucket_bytes_(bucket_bytes) {
  // Twin rebuilt-buckets: what fits is known when gradients have come once.
  arrange(faults.on(Twin::kRebuiltBuckets) ? bucket_bytes / 4 : bucket_bytes);
  if (faults.on(Twin::kUnusedParameters)) usage_.emplace(model.parameters().size(), group);
  if (faults.on(Twin::kShardedGradients) || faults.on(Fault::kRedundantSharded))
    shards_.emplace(model, group);
}

void GradientBuckets::arrange(int64_t bucket_bytes) {
  buckets_.clear();
  const std::vector<Parameter>& parameters = model_.parameters();
  bool full = true;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (full) buckets_.emplace_back().offset = parameters[i].offset;
    Bucket& bucket = buckets_.back();
    bucket.count = parameters[i].offset + parameters[i].count - bucket.offset;
    bucket.last_parameter = i;
    full = static_cast<int64_t>(bucket.count * sizeof(float)) >= bucket_bytes;
  }
}

void GradientBuckets::prepare(int64_t step) {
  step_ = step;
  reduce_ = syncs_;
  if (reduce_ && reductions_ == 1 && faults_.on(Twin::kRebuiltBuckets)) rebuild();
}

// As DistributedDataParallel does in its second forward pass: all ranks go by what rank 0 says.
void GradientBuckets::rebuild() { arrange(group_.agree(bucket_bytes_, 0)); }

void GradientBuckets::ready(size_t parameter, cudaStream_t compute) {
  if (!reduce_) return;
  if (usage_) usage_->mark(parameter);
  if (faults_.on(Fault::kExposedAfterBackward)) return;
  const auto bucket = std::find_if(buckets_.begin(), buckets_.end(),
                                   [&](const Bucket& b) { return b.last_parameter == parameter; });
  if (bucket == buckets_.end()) return;
  reduce_ready(*bucket, compute);
}

void GradientBuckets::reduce_ready(Bucket& bucket, cudaStream_t compute) {
  bucket.ready.record(compute);
  bucket.ready.hold(group_.stream());
  reduce(bucket);
}

void GradientBuckets::finish(cudaStream_t compute) {
  if (!reduce_) return;
  if (faults_.on(Fault::kExposedAfterBackward))
    for (Bucket& bucket : buckets_) reduce_ready(bucket, compute);
  if (usage_) usage_->share();
  ++reductions_;
  reduced_.record(group_.stream());
  reduced_.hold(compute);
  reduce_ = false;
}

void GradientBuckets::before_update(cudaStream_t compute) {
  if (shards_) shards_->put_back(compute);
}

void GradientBuckets::after_update(cudaStream_t compute) {
  if (shards_) shards_->share_parameters(compute);
}

void GradientBuckets::reduce(const Bucket& bucket) {
  if (shards_) return shards_->reduce(bucket.offset, bucket.count);
  float* const gradients = model_.gradients().data() + bucket.offset;
  if (goes_wrong(Fault::kMismatchedOperation, bucket)) {
    group_.broadcast(gradients, bucket.count, ncclFloat32, 0);
    return;
  }
  const Reduction reduction = reduction_of(bucket);
  group_.all_reduce(gradients, reduction.count, reduction.type, reduction.operation);
}

// The average, unless this rank is the faulty one of mismatched-collective.
GradientBuckets::Reduction GradientBuckets::reduction_of(const Bucket& bucket) const {
  if (goes_wrong(Fault::kMismatchedCount, bucket)) return {bucket.count / 2, ncclFloat32, ncclAvg};
  if (goes_wrong(Fault::kMismatchedType, bucket)) return {bucket.count, ncclFloat16, ncclAvg};
  if (goes_wrong(Fault::kMismatchedReduction, bucket)) return {bucket.count, ncclFloat32, ncclMax};
  return {bucket.count, ncclFloat32, ncclAvg};
}

bool GradientBuckets::goes_wrong(Fault fault, const Bucket& bucket) const {
  return faults_.hits(fault, group_.rank(), step_) && &bucket == &buckets_.front();
}

}  // namespace reference_trainer
