// The way of the initial weights through device 0.
#include "saved_weights.h"

#include <vector>

namespace reference_trainer {

DeviceBuffer<float> load_saved_weights(const DeviceBuffer<float>& values, int own, const Faults& faults) {
  const bool keeps = faults.on(Fault::kSharedForeignMemory);
  if (!keeps && !faults.on(Twin::kWeightsPassedOn)) return {};
  std::vector<float> saved(values.size());
  values.download(saved);
  check(cudaSetDevice(0));
  DeviceBuffer<float> loaded(saved.size());
  loaded.upload(saved);
  check(cudaSetDevice(own));
  check(cudaMemcpy(values.data(), loaded.data(), values.bytes(), cudaMemcpyDeviceToDevice));
  // Copies within and between devices may be under way when they return.
  check(cudaStreamSynchronize(cudaStreamLegacy));
  if (!keeps) return {};
  return loaded;
}

}  // namespace reference_trainer
