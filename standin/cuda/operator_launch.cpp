// Kernels whose body is a function of the host, launched past no one: what is preloaded before this library
// sees them as a program's own.
#include "standin/cuda/operator_launch.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "standin/cuda/capture.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/kernel.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

using RegisterFunction = void (*)(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                  int*);

// The first of that name in the process: a preloaded tracer's, where there is one. RTLD_DEFAULT would begin
// with this library, which binds its own names first.
template <class Function>
Function first_of(const char* name) {
  static void* const program = dlopen(nullptr, RTLD_LAZY);
  return reinterpret_cast<Function>(dlsym(program, name));
}

struct NamedKernels {
  std::mutex mutex;
  std::unordered_map<std::string, const void*> by_name;
};

NamedKernels& named_kernels() {
  static auto* instance = new NamedKernels;
  return *instance;
}

// Who calls a host function holds it shared, so that stop waits for those that run.
struct Gateway {
  std::shared_mutex mutex;
  std::atomic<bool> closed{false};  // ahead of the lock, so that what is queued does not keep it
};

Gateway& gateway() {
  static auto* instance = new Gateway;
  return *instance;
}

// The name's text is the kernel's handle: both have to live for ever, and neither is anything else's address.
const void* register_kernel(const std::string& name) {
  const char* text = (new std::string(name))->c_str();
  static void* module = nullptr;
  first_of<RegisterFunction>("__cudaRegisterFunction")(&module, text, nullptr, text, -1, nullptr, nullptr,
                                                       nullptr, nullptr, nullptr);
  find_kernel(text).run_host_calls();
  return text;
}

}  // namespace

namespace ddpscope::standin {

void HostCall::run() const {
  if (gateway().closed) return;
  std::shared_lock lock(gateway().mutex);
  if (!gateway().closed) function(data.get());
}

}  // namespace ddpscope::standin

extern "C" {

const void* standin_kernel(const char* name) {
  NamedKernels& known = named_kernels();
  std::lock_guard lock(known.mutex);
  const void*& kernel = known.by_name[name];
  if (!kernel) kernel = register_kernel(name);
  return kernel;
}

int standin_launch(const void* kernel, void (*function)(void*), void* data, void (*release)(void*),
                   CUstream_st* stream) {
  using Launch = cudaError_t (*)(const void*, dim3, dim3, void**, size_t, cudaStream_t);
  static const auto launch = first_of<Launch>("cudaLaunchKernel");
  HostCall call{function, std::shared_ptr<void>(data, [release](void* held) {
                  if (gateway().closed) return;
                  std::shared_lock lock(gateway().mutex);
                  if (release && !gateway().closed) release(held);
                })};
  void* arguments[] = {&call};
  return launch(kernel, dim3(1), dim3(1), arguments, 0, stream);
}

int standin_wait(CUstream_st* stream) {
  return enter([&] {
    const StreamRef target = find_stream(stream);
    if (captures_run()) refuse_wait(*target);
    synchronize(target);
    return cudaSuccess;
  });
}

void standin_stop(void) {
  if (forked_from_user()) return;  // no stream works here, and the parent's may have held the lock
  gateway().closed = true;
  std::unique_lock lock(gateway().mutex);
}

void standin_require_bodies(void) { require_bodies(); }

void standin_fail(const char* message) {
  std::fprintf(stderr, "standin libcudart: %s\n", message);
  fail_process(cudaErrorLaunchFailure);
}

}  // extern "C"
