// A kernel of an nvcc binary and what stands in for it on the CPU.
#pragma once

#include <driver_types.h>
#include <vector_types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "standin/cuda/stream.h"

namespace ddpscope::standin {

/// What a launch of a kernel of standin_kernel() (operator_launch.h) has as its one argument.
struct HostCall {
  void (*function)(void* data);
  std::shared_ptr<void> data;

  void run() const;
};

using Arguments = std::shared_ptr<void*>;

class Kernel {
 public:
  /// `host_function`: the stub of the program by which it launches the kernel.
  Kernel(const char* mangled_name, const void* host_function)
      : name_(mangled_name), host_function_(host_function) {}

  const std::string& name() const { return name_; }

  /// A launch's own copy of its arguments: one pointer each, as `args` has them, which points into the
  /// caller's stack. Null where there is no body that says how large they are. The body is looked up at the
  /// first launch. Fails with cudaErrorInvalidValue where arguments are missing.
  Arguments copy_arguments(void** args);

  /// What a launch has the stream do; empty where nothing. Fails with cudaErrorNoKernelImageForDevice where
  /// there is no body, and one is required or the kernel is one of PyTorch's: its operators are to be
  /// replaced (standin/torch), and a program whose operators are not computes on with what was never
  /// computed.
  Work prepare(Arguments arguments, dim3 grid, dim3 block);

  /// From now on a launch's argument is a HostCall. Called before the first launch.
  void run_host_calls() { runs_host_calls_ = true; }

 private:
  /// The program's function (README.md, "Kernels").
  using Body = void (*)(void** args, const unsigned grid[3], const unsigned block[3]);

  void look_up();
  void say_no_body() const;
  Work body_call(Arguments arguments, dim3 grid, dim3 block) const;

  const std::string name_;
  const void* const host_function_;
  std::once_flag looked_up_;
  Body body_ = nullptr;
  bool of_pytorch_ = false;  ///< known where there is no body
  bool runs_host_calls_ = false;
  const std::size_t* sizes_ = nullptr;  ///< bytes of each argument, ended by 0
  std::chrono::nanoseconds at_least_{0};
};

/// The kernel that a host-side stub or a cudaKernel_t stands for.
/// Fails with cudaErrorInvalidDeviceFunction.
Kernel& find_kernel(const void* function);

/// From now on kernels without a body fail instead of doing nothing.
void require_bodies();

}  // namespace ddpscope::standin
