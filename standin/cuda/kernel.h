// A kernel of an nvcc binary and what stands in for it on the CPU.
#pragma once

#include <driver_types.h>
#include <vector_types.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "standin/cuda/stream.h"

namespace ddpscope::standin {

class Kernel {
 public:
  explicit Kernel(const char* mangled_name) : name_(mangled_name) {}

  const std::string& name() const { return name_; }

  /// What a launch has the stream do; empty where nothing. Copies the arguments: `args` points into the
  /// caller's stack. The body is looked up at the first launch.
  Work prepare(void** args, dim3 grid, dim3 block);

 private:
  /// The program's function (README.md, "Kernels").
  using Body = void (*)(void** args, const unsigned grid[3], const unsigned block[3]);

  void look_up();
  Work body_call(void** args, dim3 grid, dim3 block) const;

  const std::string name_;
  std::once_flag looked_up_;
  Body body_ = nullptr;
  const std::size_t* sizes_ = nullptr;  ///< bytes of each argument, ended by 0
  std::chrono::nanoseconds at_least_{0};
};

/// The kernel that a host-side stub or a cudaKernel_t stands for.
/// Fails with cudaErrorInvalidDeviceFunction.
Kernel& find_kernel(const void* function);

}  // namespace ddpscope::standin
