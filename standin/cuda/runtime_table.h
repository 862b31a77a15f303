// What libcudart.so.13 of this folder offers to the libraries beside it.
#pragma once

#include <cuda.h>
#include <driver_types.h>

#include <cstddef>
#include <cstdint>

namespace ddpscope::standin {

class Observer;
struct VirtualMemory;

struct Runtime {
  void (*observe)(Observer* observer);  ///< null ends it
  bool (*observed)();
  /// Ordinal of the calling thread's current device; -1 if there is none.
  int (*current_device)();
  /// Device and id of a stream; false where there is no such stream.
  bool (*stream_id)(cudaStream_t stream, bool per_thread, int* device, std::uint64_t* id);
  const char* (*kernel_name)(const void* function);  ///< mangled; null where it is not a kernel
  /// cudaLaunchHostFunc that a profiler sees as a kernel, launched by the driver's cuLaunchKernelEx as NCCL
  /// does it. `name`: mangled, never freed.
  cudaError_t (*launch_kernel)(cudaStream_t stream, cudaHostFn_t function, void* data, const char* name);
  /// In a function that launch_kernel() launched: only now does the kernel start.
  void (*kernel_starts)();

  /// The calling thread is about to end work that streams run, without a result (given_up.h); and in a
  /// function that launch_kernel() or cudaLaunchHostFunc launched, when that work is over: its stream may go
  /// on after this.
  void (*give_up_work)();
  void (*wait_until_let_go)();

  /// The handle of a device's primary context, the only one it has; null where there is no such device.
  CUcontext (*context)(int device);
  bool (*used)();                ///< the process has made a call that needs a device
  bool (*active)(int device);    ///< the device's primary context exists
  bool (*thread_has_context)();  ///< the calling thread has used or chosen a device
  void (*leave_context)();       ///< it has not, until it does again

  /// The host's devices, from 0 on, whatever CUDA_VISIBLE_DEVICES leaves of them to the process. To ask is
  /// not to use: the process may still change that variable, or fork.
  int (*devices_of_host)();
  cudaDeviceProp (*describe)(int physical);
  /// Whether this process has a context on the device, and how many bytes it has allocated there.
  bool (*usage)(int physical, std::size_t* bytes);

  const VirtualMemory* virtual_memory;
};

inline constexpr const char* kRuntimeSymbol = "standin_cudart_runtime";

}  // namespace ddpscope::standin

/// Found by name, as the real library has none: weak here, looked up by who does not link the runtime.
extern "C" [[gnu::weak]] const ddpscope::standin::Runtime* standin_cudart_runtime();
