#include "random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>

#include <mutex>

namespace standin {
namespace {

constexpr uint64_t kPhiloxStep = 4;  // what a CUDA generator's offset is counted in

}  // namespace

at::PhiloxCudaState draw(const std::optional<at::Generator>& generator, c10::DeviceIndex device) {
  auto* cuda = at::get_generator_or_default<at::CUDAGeneratorImpl>(
      generator, at::cuda::detail::getDefaultCUDAGenerator(device));
  std::lock_guard lock(cuda->mutex_);
  return cuda->philox_cuda_state(kPhiloxStep);
}

// The same in queued.py.
at::Generator cpu_generator(const at::PhiloxCudaState& state) {
  const uint64_t seed = state.captured_ ? static_cast<uint64_t>(*state.seed_.ptr) : state.seed_.val;
  const uint64_t offset = state.captured_
                              ? static_cast<uint64_t>(*state.offset_.ptr) + state.offset_intragraph_
                              : state.offset_.val;
  uint64_t mixed = seed * 0x9E3779B97F4A7C15u + offset * 0xD1B54A32D192ED03u;
  mixed = (mixed ^ mixed >> 31) * 0xBF58476D1CE4E5B9u;
  return at::detail::createCPUGenerator((mixed ^ mixed >> 29) & 0x7FFFFFFFFFFFFFFFu);
}

}  // namespace standin
