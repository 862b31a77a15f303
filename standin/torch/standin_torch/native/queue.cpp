#include "queue.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>

#include "operator_launch.h"

namespace standin {
namespace {

struct Work {
  std::string name;
  std::function<void()> function;
};

void run(void* data) {
  const Work& work = *static_cast<Work*>(data);
  try {
    at::AutoDispatchBelowAutograd guard;
    work.function();
  } catch (const std::exception& error) {
    const std::string what = error.what();
    standin_fail((work.name + " failed in its stream: " + what.substr(0, what.find('\n'))).c_str());
  }
}

void release(void* data) { delete static_cast<Work*>(data); }

}  // namespace

void enqueue(const void* kernel, const std::string& name, c10::DeviceIndex device,
             std::function<void()> work) {
  auto* held = new Work{name, std::move(work)};
  const auto stream = c10::cuda::getCurrentCUDAStream(device).stream();
  C10_CUDA_CHECK(static_cast<cudaError_t>(standin_launch(kernel, run, held, release, stream)));
}

void wait(c10::DeviceIndex device) {
  C10_CUDA_CHECK(static_cast<cudaError_t>(standin_wait(c10::cuda::getCurrentCUDAStream(device).stream())));
}

}  // namespace standin
