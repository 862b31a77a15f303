// Who observes the runtime, the calls that threads are in, and what the libraries beside this one may ask.
#include "standin/cuda/observer.h"

#include <cuda.h>

#include <mutex>

#include "standin/cuda/block.h"
#include "standin/cuda/device.h"
#include "standin/cuda/device_properties.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/given_up.h"
#include "standin/cuda/kernel.h"
#include "standin/cuda/runtime_table.h"
#include "standin/cuda/virtual_memory.h"

namespace ddpscope::standin {

namespace detail {
constinit std::atomic<Observer*> attached{nullptr};
}

namespace {

thread_local ApiCall* current_call = nullptr;
thread_local Run* current_run = nullptr;

// Kernels that may not overlap each wait for the one queued before.
struct KernelOrder {
  std::mutex mutex;
  Mark last;
};

KernelOrder& kernel_order() {
  static auto* order = new KernelOrder;
  return *order;
}

Mark submit_kernel_alone(const StreamRef& stream, Work work) {
  std::lock_guard lock(kernel_order().mutex);
  return kernel_order().last = submit(stream, std::move(work), {kernel_order().last});
}

}  // namespace

CallScope::CallScope(Api api, const char* function, const void* parameters, const char* kernel)
    : call_{.api = api, .function = function, .parameters = parameters, .result = &result, .kernel = kernel} {
  if (current_call || current_run || forked_from_user()) return;  // a CPU body may call the runtime
  observer_ = observer();
  if (!observer_) return;
  current_call = &call_;
  observer_->begins(call_);
}

CallScope::~CallScope() {
  if (!observer_) return;
  observer_->ended(call_);
  current_call = nullptr;
}

std::shared_ptr<Run> observed_run(const Activity& activity) {
  Observer* const looks_on = observer();
  return looks_on ? looks_on->queued(activity, current_call) : nullptr;
}

Work observed_work(std::shared_ptr<Run> run, Work work) {
  return [run = std::move(run), work = std::move(work)] {
    current_run = run.get();
    run->starts();
    if (work) work();
    run->ended();
    current_run = nullptr;
  };
}

Mark submit_activity(const StreamRef& stream, Work work, const Activity& activity) {
  Observer* const looks_on = observer();
  if (auto run = observed_run(activity)) work = observed_work(std::move(run), std::move(work));
  if (looks_on && activity.kind == Activity::kKernel && looks_on->serializes_kernels())
    return submit_kernel_alone(stream, std::move(work));
  return submit(stream, std::move(work));
}

ObservedPlace observed_place_of(const void* pointer, const Device& current) {
  const auto allocation = find_allocation(pointer);
  if (!allocation) return {MemoryPlace::kPageable, -1};
  const int device = (allocation->device ? *allocation->device : current).ordinal();
  switch (allocation->kind) {
    case MemoryKind::kDevice:
    case MemoryKind::kForeign:
    case MemoryKind::kMapped:
      return {MemoryPlace::kDevice, device};
    case MemoryKind::kManaged:
      return {MemoryPlace::kManaged, device};
    case MemoryKind::kSymbol:
      return {MemoryPlace::kDeviceVariable, device};
    case MemoryKind::kManagedSymbol:
      return {MemoryPlace::kManagedVariable, device};
    case MemoryKind::kHost:
    case MemoryKind::kRegistered:
      break;
  }
  return {MemoryPlace::kPinned, -1};
}

void WaitScope::report() { observer_->synchronized(wait_, current_call); }

namespace {

void observe(Observer* observer) { detail::attached.store(observer, std::memory_order_release); }

bool observed() { return observer() != nullptr; }

int ordinal_of_current_device() { return visible_devices().empty() ? -1 : chosen_device().ordinal(); }

// Only an address: what a context is stands in its Device.
CUcontext context_of(int device) {
  static char contexts[kMostDevices];
  return device >= 0 && device < kMostDevices ? reinterpret_cast<CUcontext>(&contexts[device]) : nullptr;
}

bool is_active(int ordinal) {
  return ordinal < static_cast<int>(visible_devices().size()) && visible_devices()[ordinal]->active;
}

bool usage_of(int physical, std::size_t* bytes) {
  *bytes = 0;
  if (!process_used_runtime() || forked_from_user()) return false;
  for (const Device* device : visible_devices()) {
    if (device->physical() != physical) continue;
    *bytes = device->bytes_allocated;
    return device->active;
  }
  return false;
}

bool stream_id(cudaStream_t handle, bool per_thread, int* device, std::uint64_t* id) {
  if (forked_from_user() || visible_devices().empty()) return false;
  try {
    const StreamRef stream = find_stream(per_thread && !handle ? cudaStreamPerThread : handle);
    *device = stream->device().ordinal();
    *id = stream->id();
    return true;
  } catch (const Failure&) {
    return false;
  }
}

const char* kernel_name(const void* function) {
  try {
    return find_kernel(function).name().c_str();
  } catch (const Failure&) {
    return nullptr;
  }
}

cudaError_t queue_kernel(cudaStream_t stream, cudaHostFn_t function, void* data, const char* name) {
  return enter([&] {
    require(function != nullptr, cudaErrorInvalidValue);
    const StreamRef target = find_stream(stream);
    const auto run = [function, data] {
      HostFunctionScope scope;
      function(data);
    };
    submit_observed(target, run, [&] {
      return Activity{.kind = Activity::kKernel,
                      .device = target->device().ordinal(),
                      .stream = target->id(),
                      .name = name,
                      .grid = {1, 1, 1},
                      .block = {1, 1, 1}};
    });
    return cudaSuccess;
  });
}

cudaError_t launch_kernel(cudaStream_t stream, cudaHostFn_t function, void* data, const char* name) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  const ParameterBlock<const CUlaunchConfig*, CUfunction, void**, void**> parameters(&config, nullptr,
                                                                                     nullptr, nullptr);
  CallScope call(Api::kDriver, "cuLaunchKernelEx", parameters.data(), name);
  return call.result = queue_kernel(stream, function, data, name);
}

void kernel_starts() {
  if (current_run) current_run->starts();
}

}  // namespace

}  // namespace ddpscope::standin

extern "C" [[gnu::visibility("default")]] const ddpscope::standin::Runtime* standin_cudart_runtime() {
  using namespace ddpscope::standin;
  static constexpr Runtime kRuntime{observe,
                                    observed,
                                    ordinal_of_current_device,
                                    stream_id,
                                    kernel_name,
                                    launch_kernel,
                                    kernel_starts,
                                    give_up_work,
                                    wait_until_let_go,
                                    context_of,
                                    process_used_runtime,
                                    is_active,
                                    thread_has_context,
                                    leave_context,
                                    devices_of_host,
                                    describe,
                                    usage_of,
                                    &kVirtualMemory};
  return &kRuntime;
}
