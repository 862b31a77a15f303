// Entry points that launch kernels.
#include <cuda_runtime_api.h>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/kernel.h"
#include "standin/cuda/node_work.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

// What <<<...>>> leaves for the launch stub. Nested where an argument of a launch launches itself.
struct Configuration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  cudaStream_t stream;
};

struct ConfigurationStack {
  static constexpr int kDepth = 16;
  alignas(
      Configuration) unsigned char storage[kDepth * sizeof(Configuration)];  // no constructor, no destructor
  int used = 0;

  Configuration* at(int index) { return reinterpret_cast<Configuration*>(storage) + index; }
};

thread_local ConfigurationStack configurations;

void check_configuration(const cudaDeviceProp& limits, dim3 grid, dim3 block, size_t shared_bytes) {
  const auto fits = [](dim3 size, const int(&limit)[3]) {
    return size.x > 0 && size.y > 0 && size.z > 0 && size.x <= static_cast<unsigned>(limit[0]) &&
           size.y <= static_cast<unsigned>(limit[1]) && size.z <= static_cast<unsigned>(limit[2]);
  };
  const unsigned long long threads = 1ULL * block.x * block.y * block.z;
  require(fits(grid, limits.maxGridSize) && fits(block, limits.maxThreadsDim) &&
              threads <= static_cast<unsigned>(limits.maxThreadsPerBlock),
          cudaErrorInvalidConfiguration);
  require(shared_bytes <= limits.sharedMemPerBlockOptin, cudaErrorInvalidValue);
}

struct Launch {
  const void* function;
  dim3 grid;
  dim3 block;
  void** args;
  size_t shared_bytes;
  bool cooperative = false;
};

Activity describe(const Kernel& kernel, const Launch& launch, const Device& device, std::uint64_t stream) {
  return {.kind = Activity::kKernel,
          .device = device.ordinal(),
          .stream = stream,
          .name = kernel.name().c_str(),
          .grid = launch.grid,
          .block = launch.block,
          .shared_bytes = launch.shared_bytes,
          .cooperative = launch.cooperative};
}

struct OwnedParameters {
  cudaGraphNodeParams shown{};
  Arguments arguments;
};

NodeWork node_of(Kernel& kernel, const Launch& launch, const Device& device) {
  const auto owned = std::make_shared<OwnedParameters>();
  owned->arguments = kernel.copy_arguments(launch.args);
  owned->shown.type = cudaGraphNodeTypeKernel;
  owned->shown.kernel = {const_cast<void*>(launch.function),
                         launch.grid,
                         launch.block,
                         static_cast<unsigned>(launch.shared_bytes),
                         owned->arguments.get(),
                         nullptr};
  return {.type = cudaGraphNodeTypeKernel,
          .work = kernel.prepare(owned->arguments, launch.grid, launch.block),
          .activity = describe(kernel, launch, device, 0),
          .parameters = {owned, &owned->shown}};
}

NodeWork captured_node(Kernel& kernel, const Launch& launch, const Stream& stream) {
  NodeWork does = node_of(kernel, launch, stream.device());
  does.attributes[cudaLaunchAttributePriority].priority = stream.priority();
  return does;
}

cudaError_t start(const Launch& launch, cudaStream_t stream) {
  return enter([&] {
    Kernel& kernel = find_kernel(launch.function);
    const StreamRef target = find_stream(stream);
    Device& device = target->device();
    require(&device == &current_device(), cudaErrorInvalidResourceHandle);
    check_configuration(device.properties(), launch.grid, launch.block, launch.shared_bytes);
    if (captures_run() && is_captured(*target) &&
        capture_node(*target, captured_node(kernel, launch, *target)))
      return cudaSuccess;
    submit_observed(target, kernel.prepare(kernel.copy_arguments(launch.args), launch.grid, launch.block),
                    [&] { return describe(kernel, launch, device, target->id()); });
    return cudaSuccess;
  });
}

}  // namespace

namespace ddpscope::standin {

NodeWork kernel_work(const void* function, dim3 grid, dim3 block, void** args, std::size_t shared_bytes) {
  Kernel& kernel = find_kernel(function);
  Device& device = current_device();
  check_configuration(device.properties(), grid, block, shared_bytes);
  return node_of(kernel, {function, grid, block, args, shared_bytes}, device);
}

}  // namespace ddpscope::standin

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
  if (configurations.used == ConfigurationStack::kDepth) return record_error(cudaErrorInvalidConfiguration);
  *configurations.at(configurations.used++) = {grid, block, shared_bytes, stream};
  return cudaSuccess;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations.used == 0) return record_error(cudaErrorMissingConfiguration);
  const Configuration& configuration = *configurations.at(--configurations.used);
  *grid = configuration.grid;
  *block = configuration.block;
  *shared_bytes = configuration.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = configuration.stream;
  return cudaSuccess;
}

RUNTIME_API(__cudaLaunchKernel,
            (cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared_bytes,
             cudaStream_t stream),
            (kernel, grid, block, args, shared_bytes, stream)) {
  return start({kernel, grid, block, args, shared_bytes}, stream);
}

RUNTIME_API(cudaLaunchKernel,
            (const void* function, dim3 grid, dim3 block, void** args, size_t shared_bytes,
             cudaStream_t stream),
            (function, grid, block, args, shared_bytes, stream)) {
  return start({function, grid, block, args, shared_bytes}, stream);
}

RUNTIME_API(cudaLaunchCooperativeKernel,
            (const void* function, dim3 grid, dim3 block, void** args, size_t shared_bytes,
             cudaStream_t stream),
            (function, grid, block, args, shared_bytes, stream)) {
  return start({function, grid, block, args, shared_bytes, true}, stream);
}

RUNTIME_API(cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* function, void** args),
            (config, function, args)) {
  if (!config) return record_error(cudaErrorInvalidValue);
  return start({function, config->gridDim, config->blockDim, args, config->dynamicSmemBytes}, config->stream);
}

}  // extern "C"
