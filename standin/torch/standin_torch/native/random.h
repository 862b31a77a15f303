// Random numbers for an operator: a CPU generator of its own, made of where the CUDA generator stands.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/cuda/PhiloxCudaState.h>

#include <optional>

namespace standin {

/// Draws from `generator`, else from the device's default one, which moves on. In a capture the numbers are
/// those of each replay.
at::PhiloxCudaState draw(const std::optional<at::Generator>& generator, c10::DeviceIndex device);

/// When the operator runs.
at::Generator cpu_generator(const at::PhiloxCudaState& state);

}  // namespace standin
