// Entry points for streams.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/graph.h"
#include "standin/cuda/handle_table.h"
#include "standin/cuda/node_work.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace ddpscope::standin {
namespace {

constexpr int kGreatestPriority = -5;

HandleTable<cudaStream_t, Stream>& streams() {
  static auto* table = new HandleTable<cudaStream_t, Stream>;
  return *table;
}

// The calling thread's own default stream on each device; they end with the thread.
class PerThreadStreams {
 public:
  ~PerThreadStreams() {
    if (forked_from_user()) return;  // their locks may be held by a thread that is not here
    for (auto& [device, stream] : streams_) stream->close();
  }

  const StreamRef& on(Device& device) {
    StreamRef& stream = streams_[&device];
    if (!stream) stream = device.create_stream(StreamKind::kBlocking, 0);
    return stream;
  }

 private:
  std::unordered_map<Device*, StreamRef> streams_;
};

thread_local PerThreadStreams per_thread_streams;

Synchronization describe_wait(const Stream& stream) {
  return {.kind = Synchronization::kStream, .device = stream.device().ordinal(), .stream = stream.id()};
}

}  // namespace

StreamRef find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return current_device().legacy_stream();
  if (handle == cudaStreamPerThread) return per_thread_streams.on(current_device());
  return streams().find(handle);
}

}  // namespace ddpscope::standin

extern "C" {

RUNTIME_API(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned int flags, int priority),
            (stream, flags, priority)) {
  return enter([&] {
    require(stream != nullptr && (flags == cudaStreamDefault || flags == cudaStreamNonBlocking),
            cudaErrorInvalidValue);
    const StreamKind kind = flags == cudaStreamNonBlocking ? StreamKind::kNonBlocking : StreamKind::kBlocking;
    const int clamped = std::clamp(priority, kGreatestPriority, 0);
    *stream = streams().add(current_device().create_stream(kind, clamped));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamCreate, (cudaStream_t * stream), (stream)) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

RUNTIME_API(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags), (stream, flags)) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

// Returns at once; what the stream still has to do is done.
RUNTIME_API(cudaStreamDestroy, (cudaStream_t stream), (stream)) {
  return enter([&] {
    require(stream != nullptr && stream != cudaStreamLegacy && stream != cudaStreamPerThread,
            cudaErrorInvalidResourceHandle);
    const StreamRef destroyed = streams().take(stream);
    if (captures_run()) forget_captured(*destroyed);
    destroyed->close();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamSynchronize, (cudaStream_t stream), (stream)) {
  return enter([&] {
    const StreamRef awaited = find_stream(stream);
    if (captures_run()) refuse_wait(*awaited);
    WaitScope wait([&] { return describe_wait(*awaited); });
    synchronize(awaited);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamQuery, (cudaStream_t stream), (stream)) {
  return enter([&] {
    const StreamRef asked = find_stream(stream);
    if (captures_run()) refuse_wait(*asked);
    WaitScope wait([&] { return describe_wait(*asked); });
    return wait.result(finished(asked) ? cudaSuccess : cudaErrorNotReady);
  });
}

RUNTIME_API(cudaStreamGetPriority, (cudaStream_t stream, int* priority), (stream, priority)) {
  return enter([&] {
    require(priority != nullptr, cudaErrorInvalidValue);
    *priority = find_stream(stream)->priority();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamGetFlags, (cudaStream_t stream, unsigned int* flags), (stream, flags)) {
  return enter([&] {
    require(flags != nullptr, cudaErrorInvalidValue);
    const bool apart = find_stream(stream)->kind() == StreamKind::kNonBlocking;
    *flags = apart ? cudaStreamNonBlocking : cudaStreamDefault;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamGetId, (cudaStream_t stream, unsigned long long* id), (stream, id)) {
  return enter([&] {
    require(id != nullptr, cudaErrorInvalidValue);
    *id = find_stream(stream)->id();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamGetDevice, (cudaStream_t stream, int* device), (stream, device)) {
  return enter([&] {
    require(device != nullptr, cudaErrorInvalidValue);
    *device = find_stream(stream)->device().ordinal();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data),
            (stream, function, data)) {
  return enter([&] {
    require(function != nullptr, cudaErrorInvalidValue);
    const StreamRef target = find_stream(stream);
    if (captures_run() && capture_node(*target, host_work(function, data))) return cudaSuccess;
    submit(target, [function, data] {
      HostFunctionScope scope;
      function(data);
    });
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamAddCallback,
            (cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned int flags),
            (stream, callback, data, flags)) {
  return enter([&] {
    require(callback != nullptr && flags == 0, cudaErrorInvalidValue);
    submit(find_stream(stream), [stream, callback, data] {
      HostFunctionScope scope;
      callback(stream, cudaSuccess, data);
    });
    return cudaSuccess;
  });
}

}  // extern "C"
