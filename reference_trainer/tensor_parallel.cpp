// Twin tensor-parallel: pairs of ranks hold one model between them.
#include "tensor_parallel.h"

#include "mesh.h"

namespace reference_trainer {

TensorParallel::TensorParallel(const Arguments& arguments, ProcessGroup& all) : all_(all) {
  if (!arguments.faults.on(Twin::kTensorParallel)) return;
  const Mesh mesh = place_in_pairs(all.rank(), all.size());
  pair_ = all.split(mesh.replica, mesh.shard);
  replicas_ = all.split(mesh.shard, mesh.replica);
}

ModelPart TensorParallel::part() {
  if (!pair_) return {};
  return {pair_->rank(), pair_->size(),
          [this](const DeviceBuffer<float>& data, cudaStream_t compute) { add_up(data, compute); }};
}

void TensorParallel::add_up(const DeviceBuffer<float>& data, cudaStream_t compute) {
  computed_.record(compute);
  computed_.hold(pair_->stream());
  pair_->all_reduce(data.data(), data.size(), ncclFloat32, ncclSum);
  added_.record(pair_->stream());
  added_.hold(compute);
}

uint64_t TensorParallel::combine(uint64_t checksum) const {
  if (!pair_) return checksum;
  uint64_t whole = 0;
  for (const uint64_t part : pair_->gather(checksum)) whole = whole * 1099511628211u + part;
  return whole;
}

void TensorParallel::close() {
  if (!pair_) return;
  pair_->close();
  replicas_->close();
}

}  // namespace reference_trainer
