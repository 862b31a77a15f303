// Turns the error codes of CUDA, NCCL and the operating system into exceptions that say where.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cerrno>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace reference_trainer {

inline std::string describe(const std::source_location& where, std::string_view what) {
  const std::string_view path = where.file_name();
  return fmt::format("{}:{}: {}", path.substr(path.rfind('/') + 1), where.line(), what);
}

inline void check(cudaError_t error, std::source_location where = std::source_location::current()) {
  if (error != cudaSuccess) throw std::runtime_error(describe(where, cudaGetErrorString(error)));
}

inline void check(ncclResult_t error, std::source_location where = std::source_location::current()) {
  if (error != ncclSuccess) throw std::runtime_error(describe(where, ncclGetErrorString(error)));
}

// For calls that return -1 and set errno; `what` names the file or the peer. Returns the call's result.
template <typename Integer>
Integer check_system(Integer result, std::string_view what,
                     std::source_location where = std::source_location::current()) {
  if (result == -1) {
    throw std::system_error(errno, std::generic_category(), describe(where, what));
  }
  return result;
}

}  // namespace reference_trainer
