// Kernel launches. Runs of the same kernel in the same shape on the same stream are one record.
#pragma once
#include "injector/cuda/kernel_names.h"
#include "injector/cuda/recording.h"

namespace ddpscope::injector {

struct LaunchArguments {
  const void* function;
  dim3 grid;
  dim3 block;
  cudaStream_t stream;
};

inline LaunchArguments described(const cudaLaunchConfig_t* config, const void* function) {
  if (!config) return {function, {}, {}, nullptr};
  return {function, config->gridDim, config->blockDim, config->stream};
}

template <Call call>
OpenRecord begin_launch(const LaunchArguments& a) {
  std::uint64_t function = as_number(a.function), stream = stream_number<call>(a.stream);
  std::uint32_t blocks = a.grid.x * a.grid.y * a.grid.z, threads = a.block.x * a.block.y * a.block.z;
  std::uint8_t device = current_device();
  auto payload_in = [&](trace::FileWriter& file) -> PayloadOf<call> {
    return {function, stream, kernel_name_id(file, a.function), 0, blocks, threads, device, 0, 0};
  };
  std::uint64_t key = fold_key({function, stream, blocks, threads, device});
  return begin_folded_in<call>(Weight::kOpens, key, payload_in, Stack::kFirst);
}

template <Call call, class... Params, class... Args>
cudaError_t launch(cudaError_t (*self)(Params...), const LaunchArguments& arguments, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoCuda;
  if (inside_vendor_call()) return function(args...);
  OpenRecord open = begin_launch<call>(arguments);
  VendorCall vendor;
  cudaError_t result = function(args...);
  if (auto* fields = result_of<call>(open)) ++fields->count;
  finish<PayloadOf<call>>(open, result);
  if (result != cudaSuccess) end_run();
  return result;
}

}  // namespace ddpscope::injector
