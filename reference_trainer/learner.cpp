// A model with what trains it: which micro-batches are reduced, and where that is decided.
#include "learner.h"

#include <optional>

namespace reference_trainer {

Learner::Learner(const Arguments& arguments, const ModelShape& shape, const ModelPart& part,
                 ProcessGroup& replicas)
    : model(shape, {arguments.batch, arguments.targets, arguments.context}, arguments.seed + replicas.rank(),
            part),
      buckets(model, arguments.bucket_bytes, replicas, arguments.faults),
      optimizer(model, arguments.learning_rate),
      faults_(arguments.faults),
      micro_batches_(arguments.accumulate),
      rank_(replicas.rank()) {}

void Learner::train(const int32_t* tokens, int micro_batch, int64_t step, double* total,
                    cudaStream_t stream) {
  std::optional<GradientBuckets::NoSync> no_sync;
  const bool reduces = reduces_with(micro_batch);
  if (!reduces && !faults_.on(Fault::kRedundantAroundBackward)) no_sync.emplace(buckets);
  // Who calls the model and not what wraps it, prepares nothing.
  if (!faults_.on(Fault::kMissingSyncBypassed)) buckets.prepare(step);
  model.forward(tokens, 1.0 / micro_batches_, total, stream);
  // Too late: the forward pass has settled it.
  if (!reduces && !no_sync) no_sync.emplace(buckets);
  if (faults_.on(Twin::kGradientCheckpointing)) model.recompute(tokens, stream);
  for (int i = 0; i < 4 && faults_.hits(Fault::kStragglerCompute, rank_); ++i)
    model.recompute(tokens, stream);
  model.backward(tokens, stream, [&](size_t parameter) { buckets.ready(parameter, stream); });
  buckets.finish(stream);
}

bool Learner::reduces_with(int micro_batch) const {
  if (faults_.on(Fault::kRedundantEveryMicroBatch) || faults_.on(Fault::kRedundantSharded) ||
      faults_.on(Twin::kUnusedParameters))
    return true;
  if (faults_.on(Twin::kLocalSgd)) return false;
  if (faults_.on(Fault::kMissingSyncFirst)) return micro_batch == 0;
  return micro_batch + 1 == micro_batches_;
}

void Learner::update(int64_t step, cudaStream_t stream) {
  buckets.before_update(stream);
  optimizer.step(step, stream);
  buckets.after_update(stream);
}

void Learner::reduce_nothing(int64_t step, cudaStream_t stream) {
  buckets.prepare(step);
  for (size_t i = 0; i < model.parameters().size(); ++i) buckets.ready(i, stream);
  buckets.finish(stream);
}

}  // namespace reference_trainer
