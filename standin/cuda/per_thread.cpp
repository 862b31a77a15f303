// The entry points of programs built with --default-stream per-thread: there the stream 0 is the calling
// thread's own default stream, and calls without a stream (_ptds) use it too.
#include <cuda_runtime_api.h>

#include "standin/cuda/entry.h"

using ddpscope::standin::record_error;

extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                          size_t shared_bytes, cudaStream_t stream);

namespace {

cudaStream_t own(cudaStream_t stream) { return stream ? stream : cudaStreamPerThread; }

// A synchronous call on the thread's own stream.
cudaError_t waited_for(cudaError_t queued) {
  return queued == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : queued;
}

}  // namespace

// clang-format off: one line an entry point
#define ON_OWN_STREAM(function, parameters, arguments) \
  extern "C" cudaError_t function##_ptsz parameters { return function arguments; }

ON_OWN_STREAM(cudaStreamQuery, (cudaStream_t s), (own(s)))
ON_OWN_STREAM(cudaStreamSynchronize, (cudaStream_t s), (own(s)))
ON_OWN_STREAM(cudaStreamGetDevice, (cudaStream_t s, int* device), (own(s), device))
ON_OWN_STREAM(cudaStreamGetFlags, (cudaStream_t s, unsigned* flags), (own(s), flags))
ON_OWN_STREAM(cudaStreamGetId, (cudaStream_t s, unsigned long long* id), (own(s), id))
ON_OWN_STREAM(cudaStreamGetPriority, (cudaStream_t s, int* priority), (own(s), priority))
ON_OWN_STREAM(cudaStreamGetAttribute,
              (cudaStream_t s, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue* value),
              (own(s), attribute, value))
ON_OWN_STREAM(cudaStreamSetAttribute,
              (cudaStream_t s, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue* value),
              (own(s), attribute, value))
ON_OWN_STREAM(cudaStreamCopyAttributes, (cudaStream_t to, cudaStream_t from), (own(to), own(from)))
ON_OWN_STREAM(cudaGetDriverEntryPointByVersion,
              (const char* symbol, void** function, unsigned version, unsigned long long flags,
               cudaDriverEntryPointQueryResult* status),
              (symbol, function, version, flags | cudaEnablePerThreadDefaultStream, status))
ON_OWN_STREAM(cudaStreamIsCapturing, (cudaStream_t s, cudaStreamCaptureStatus* status), (own(s), status))
ON_OWN_STREAM(cudaStreamGetCaptureInfo,
              (cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
               const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* count),
              (own(s), status, id, graph, dependencies, edges, count))
ON_OWN_STREAM(cudaStreamBeginCapture, (cudaStream_t s, cudaStreamCaptureMode mode), (own(s), mode))
ON_OWN_STREAM(cudaStreamBeginCaptureToGraph,
              (cudaStream_t s, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
               const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode mode),
              (own(s), graph, dependencies, edges, count, mode))
ON_OWN_STREAM(cudaStreamEndCapture, (cudaStream_t s, cudaGraph_t* graph), (own(s), graph))
ON_OWN_STREAM(cudaStreamUpdateCaptureDependencies,
              (cudaStream_t s, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges, size_t count,
               unsigned flags),
              (own(s), dependencies, edges, count, flags))
ON_OWN_STREAM(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t s), (exec, own(s)))
ON_OWN_STREAM(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t s), (exec, own(s)))
ON_OWN_STREAM(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t event, unsigned flags),
              (own(s), event, flags))
ON_OWN_STREAM(cudaEventRecord, (cudaEvent_t event, cudaStream_t s), (event, own(s)))
ON_OWN_STREAM(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t s, unsigned flags),
              (event, own(s), flags))
ON_OWN_STREAM(cudaLaunchHostFunc, (cudaStream_t s, cudaHostFn_t function, void* data),
              (own(s), function, data))
ON_OWN_STREAM(cudaStreamAddCallback,
              (cudaStream_t s, cudaStreamCallback_t callback, void* data, unsigned flags),
              (own(s), callback, data, flags))

ON_OWN_STREAM(__cudaLaunchKernel,
              (cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared_bytes, cudaStream_t s),
              (kernel, grid, block, args, shared_bytes, own(s)))
ON_OWN_STREAM(cudaLaunchKernel,
              (const void* function, dim3 grid, dim3 block, void** args, size_t shared_bytes, cudaStream_t s),
              (function, grid, block, args, shared_bytes, own(s)))
ON_OWN_STREAM(cudaLaunchCooperativeKernel,
              (const void* function, dim3 grid, dim3 block, void** args, size_t shared_bytes, cudaStream_t s),
              (function, grid, block, args, shared_bytes, own(s)))

ON_OWN_STREAM(cudaMallocAsync, (void** pointer, size_t bytes, cudaStream_t s), (pointer, bytes, own(s)))
ON_OWN_STREAM(cudaMallocFromPoolAsync, (void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t s),
              (pointer, bytes, pool, own(s)))
ON_OWN_STREAM(cudaFreeAsync, (void* pointer, cudaStream_t s), (pointer, own(s)))
ON_OWN_STREAM(cudaMemPrefetchAsync,
              (const void* pointer, size_t bytes, cudaMemLocation location, unsigned flags, cudaStream_t s),
              (pointer, bytes, location, flags, own(s)))
ON_OWN_STREAM(cudaMemsetAsync, (void* pointer, int value, size_t bytes, cudaStream_t s),
              (pointer, value, bytes, own(s)))
ON_OWN_STREAM(cudaMemset2DAsync,
              (void* pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t s),
              (pointer, pitch, value, width, height, own(s)))
ON_OWN_STREAM(cudaMemset3DAsync, (cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t s),
              (pointer, value, extent, own(s)))
ON_OWN_STREAM(cudaMemcpyAsync,
              (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s),
              (to, from, bytes, kind, own(s)))
ON_OWN_STREAM(cudaMemcpy2DAsync,
              (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
               cudaMemcpyKind kind, cudaStream_t s),
              (to, to_pitch, from, from_pitch, width, height, kind, own(s)))
ON_OWN_STREAM(cudaMemcpy3DAsync, (const cudaMemcpy3DParms* p, cudaStream_t s), (p, own(s)))
ON_OWN_STREAM(cudaMemcpyToSymbolAsync,
              (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
               cudaStream_t s),
              (symbol, from, bytes, offset, kind, own(s)))
ON_OWN_STREAM(cudaMemcpyFromSymbolAsync,
              (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
               cudaStream_t s),
              (to, symbol, bytes, offset, kind, own(s)))

#define WAITED_FOR(function, parameters, arguments) \
  extern "C" cudaError_t function##_ptds parameters { return waited_for(function##Async arguments); }

WAITED_FOR(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
           (to, from, bytes, kind, cudaStreamPerThread))
WAITED_FOR(cudaMemcpy2D,
           (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
            cudaMemcpyKind kind),
           (to, to_pitch, from, from_pitch, width, height, kind, cudaStreamPerThread))
WAITED_FOR(cudaMemcpy3D, (const cudaMemcpy3DParms* p), (p, cudaStreamPerThread))
WAITED_FOR(cudaMemcpyToSymbol,
           (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind),
           (symbol, from, bytes, offset, kind, cudaStreamPerThread))
WAITED_FOR(cudaMemcpyFromSymbol,
           (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind),
           (to, symbol, bytes, offset, kind, cudaStreamPerThread))
// clang-format on

extern "C" {

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function, void** args) {
  if (!config) return record_error(cudaErrorInvalidValue);
  cudaLaunchConfig_t on_own_stream = *config;
  on_own_stream.stream = own(config->stream);
  return cudaLaunchKernelExC(&on_own_stream, function, args);
}

cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                cudaGraphInstantiateParams* params) {
  return cudaGraphInstantiateWithParams(exec, graph, params);
}

// Filling does not make the host wait, whatever the stream.
cudaError_t cudaMemset_ptds(void* pointer, int value, size_t bytes) {
  return cudaMemsetAsync(pointer, value, bytes, cudaStreamPerThread);
}

cudaError_t cudaMemset2D_ptds(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(pointer, pitch, value, width, height, cudaStreamPerThread);
}

cudaError_t cudaMemset3D_ptds(cudaPitchedPtr pointer, int value, cudaExtent extent) {
  return cudaMemset3DAsync(pointer, value, extent, cudaStreamPerThread);
}

}  // extern "C"

extern "C" cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                                    unsigned long long flags,
                                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion_ptsz(symbol, function, CUDART_VERSION, flags, status);
}
