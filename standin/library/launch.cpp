// Kernels whose body is a function of ours.
#include "standin/library/launch.h"

#include <dlfcn.h>

#include <exception>
#include <string>

#include "standin/cuda/operator_launch.h"

namespace ddpscope::standin::library {
namespace {

/// The stand-in runtime's private entry points; null with another runtime.
struct Runtime {
  decltype(&standin_kernel) kernel = find<decltype(&standin_kernel)>("standin_kernel");
  decltype(&standin_launch) launch = find<decltype(&standin_launch)>("standin_launch");
  decltype(&standin_fail) fail = find<decltype(&standin_fail)>("standin_fail");

  template <class Function>
  static Function find(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

const Runtime& runtime() {
  static const Runtime found;
  return found;
}

struct Job {
  const char* name;
  Work work;
};

// There is no way back to the caller from here: every later call says that this one failed.
void run(void* data) {
  const auto& job = *static_cast<const Job*>(data);
  try {
    job.work();
  } catch (const std::exception& error) {
    runtime().fail((std::string("kernel ") + job.name + " failed: " + error.what()).c_str());
  }
}

}  // namespace

cudaError_t launch(const char* name, cudaStream_t stream, Work work) {
  if (!runtime().launch || !runtime().kernel || !runtime().fail) return cudaErrorNotSupported;
  const auto release = [](void* held) { delete static_cast<Job*>(held); };
  return static_cast<cudaError_t>(
      runtime().launch(runtime().kernel(name), run, new Job{name, std::move(work)}, release, stream));
}

}  // namespace ddpscope::standin::library
