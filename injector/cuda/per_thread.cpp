// The entry points of programs compiled with --default-stream per-thread: the same calls, where stream 0 is
// the calling thread's own stream.
#include "injector/cuda/captures.h"
#include "injector/cuda/copy_call.h"
#include "injector/cuda/launch_call.h"
#include "injector/cuda/memory_call.h"
#include "injector/cuda/query_call.h"

using namespace ddpscope::injector;

extern "C" {
decltype(cudaMemcpy) cudaMemcpy_ptds;
decltype(cudaMemcpyAsync) cudaMemcpyAsync_ptsz;
decltype(cudaMemcpy2D) cudaMemcpy2D_ptds;
decltype(cudaMemcpy2DAsync) cudaMemcpy2DAsync_ptsz;
decltype(cudaMemcpy3D) cudaMemcpy3D_ptds;
decltype(cudaMemcpy3DAsync) cudaMemcpy3DAsync_ptsz;
decltype(cudaMemcpyToSymbol) cudaMemcpyToSymbol_ptds;
decltype(cudaMemcpyToSymbolAsync) cudaMemcpyToSymbolAsync_ptsz;
decltype(cudaMemcpyFromSymbol) cudaMemcpyFromSymbol_ptds;
decltype(cudaMemcpyFromSymbolAsync) cudaMemcpyFromSymbolAsync_ptsz;
decltype(cudaMemset) cudaMemset_ptds;
decltype(cudaMemsetAsync) cudaMemsetAsync_ptsz;
decltype(cudaMemset2D) cudaMemset2D_ptds;
decltype(cudaMemset2DAsync) cudaMemset2DAsync_ptsz;
decltype(cudaLaunchKernel) cudaLaunchKernel_ptsz;
decltype(cudaLaunchKernelExC) cudaLaunchKernelExC_ptsz;
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
decltype(cudaLaunchCooperativeKernel) cudaLaunchCooperativeKernel_ptsz;
decltype(cudaLaunchHostFunc) cudaLaunchHostFunc_ptsz;
decltype(cudaStreamAddCallback) cudaStreamAddCallback_ptsz;
decltype(cudaGraphLaunch) cudaGraphLaunch_ptsz;
decltype(cudaGraphInstantiateWithParams) cudaGraphInstantiateWithParams_ptsz;
decltype(cudaStreamBeginCapture) cudaStreamBeginCapture_ptsz;
decltype(cudaStreamBeginCaptureToGraph) cudaStreamBeginCaptureToGraph_ptsz;
decltype(cudaStreamEndCapture) cudaStreamEndCapture_ptsz;
decltype(cudaStreamSynchronize) cudaStreamSynchronize_ptsz;
decltype(cudaStreamQuery) cudaStreamQuery_ptsz;
decltype(cudaEventRecord) cudaEventRecord_ptsz;
decltype(cudaEventRecordWithFlags) cudaEventRecordWithFlags_ptsz;
decltype(cudaStreamWaitEvent) cudaStreamWaitEvent_ptsz;
decltype(cudaMallocAsync) cudaMallocAsync_ptsz;
decltype(cudaMallocFromPoolAsync) cudaMallocFromPoolAsync_ptsz;
decltype(cudaFreeAsync) cudaFreeAsync_ptsz;
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy_ptds(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy_ptds>(&cudaMemcpy_ptds, move_linear(dst, src, count, kind), dst, src, count,
                                     kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyAsync_ptsz(void* dst, const void* src, size_t count,
                                                 cudaMemcpyKind kind, cudaStream_t stream) {
  return copy<Call::cudaMemcpyAsync_ptsz>(&cudaMemcpyAsync_ptsz, move_linear(dst, src, count, kind, stream),
                                          dst, src, count, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2D_ptds(void* dst, size_t dpitch, const void* src, size_t spitch,
                                              size_t width, size_t height, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy2D_ptds>(&cudaMemcpy2D_ptds, move(dst, src, width * height, kind), dst, dpitch,
                                       src, spitch, width, height, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DAsync_ptsz(void* dst, size_t dpitch, const void* src, size_t spitch,
                                                   size_t width, size_t height, cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
  return copy<Call::cudaMemcpy2DAsync_ptsz>(&cudaMemcpy2DAsync_ptsz,
                                            move(dst, src, width * height, kind, stream), dst, dpitch, src,
                                            spitch, width, height, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* p) {
  return copy<Call::cudaMemcpy3D_ptds>(&cudaMemcpy3D_ptds, move(p), p);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return copy<Call::cudaMemcpy3DAsync_ptsz>(&cudaMemcpy3DAsync_ptsz, move(p, stream), p, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* src, size_t count,
                                                    size_t start, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyToSymbol_ptds>(&cudaMemcpyToSymbol_ptds,
                                             move(offset(symbol, start), src, count, kind), symbol, src,
                                             count, start, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* src, size_t count,
                                                         size_t start, cudaMemcpyKind kind,
                                                         cudaStream_t stream) {
  return copy<Call::cudaMemcpyToSymbolAsync_ptsz>(&cudaMemcpyToSymbolAsync_ptsz,
                                                  move(offset(symbol, start), src, count, kind, stream),
                                                  symbol, src, count, start, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromSymbol_ptds(void* dst, const void* symbol, size_t count,
                                                      size_t start, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyFromSymbol_ptds>(&cudaMemcpyFromSymbol_ptds,
                                               move(dst, offset(symbol, start), count, kind), dst, symbol,
                                               count, start, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* dst, const void* symbol, size_t count,
                                                           size_t start, cudaMemcpyKind kind,
                                                           cudaStream_t stream) {
  return copy<Call::cudaMemcpyFromSymbolAsync_ptsz>(&cudaMemcpyFromSymbolAsync_ptsz,
                                                    move(dst, offset(symbol, start), count, kind, stream),
                                                    dst, symbol, count, start, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset_ptds(void* devPtr, int value, size_t count) {
  return copy<Call::cudaMemset_ptds>(&cudaMemset_ptds, fill(devPtr, value, count), devPtr, value, count);
}

DDPSCOPE_EXPORT cudaError_t cudaMemsetAsync_ptsz(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return copy<Call::cudaMemsetAsync_ptsz>(&cudaMemsetAsync_ptsz, fill(devPtr, value, count, stream), devPtr,
                                          value, count, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset2D_ptds(void* devPtr, size_t pitch, int value, size_t width,
                                              size_t height) {
  return copy<Call::cudaMemset2D_ptds>(&cudaMemset2D_ptds, fill(devPtr, value, width * height), devPtr, pitch,
                                       value, width, height);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset2DAsync_ptsz(void* devPtr, size_t pitch, int value, size_t width,
                                                   size_t height, cudaStream_t stream) {
  return copy<Call::cudaMemset2DAsync_ptsz>(&cudaMemset2DAsync_ptsz,
                                            fill(devPtr, value, width * height, stream), devPtr, pitch, value,
                                            width, height, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchKernel_ptsz(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                                                  size_t sharedMem, cudaStream_t stream) {
  return launch<Call::cudaLaunchKernel_ptsz>(&cudaLaunchKernel_ptsz, {func, gridDim, blockDim, stream}, func,
                                             gridDim, blockDim, args, sharedMem, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* func,
                                                     void** args) {
  return launch<Call::cudaLaunchKernelExC_ptsz>(&cudaLaunchKernelExC_ptsz, described(config, func), config,
                                                func, args);
}

DDPSCOPE_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim,
                                                    void** args, size_t sharedMem, cudaStream_t stream) {
  return launch<Call::__cudaLaunchKernel_ptsz>(&__cudaLaunchKernel_ptsz, {kernel, gridDim, blockDim, stream},
                                               kernel, gridDim, blockDim, args, sharedMem, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* func, dim3 gridDim, dim3 blockDim,
                                                             void** args, size_t sharedMem,
                                                             cudaStream_t stream) {
  return launch<Call::cudaLaunchCooperativeKernel_ptsz>(&cudaLaunchCooperativeKernel_ptsz,
                                                        {func, gridDim, blockDim, stream}, func, gridDim,
                                                        blockDim, args, sharedMem, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return order<Call::cudaLaunchHostFunc_ptsz>(&cudaLaunchHostFunc_ptsz, {stream, reinterpret_cast<void*>(fn)},
                                              stream, fn, userData);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t callback,
                                                       void* userData, unsigned int flags) {
  return order<Call::cudaStreamAddCallback_ptsz>(&cudaStreamAddCallback_ptsz,
                                                 {stream, reinterpret_cast<void*>(callback), flags}, stream,
                                                 callback, userData, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return launch_graph<Call::cudaGraphLaunch_ptsz>(&cudaGraphLaunch_ptsz, graphExec, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaGraphInstantiateWithParams_ptsz(
    cudaGraphExec_t* pGraphExec, cudaGraph_t graph, cudaGraphInstantiateParams* instantiateParams) {
  return make_graph<Call::cudaGraphInstantiateWithParams_ptsz>(
      &cudaGraphInstantiateWithParams_ptsz, graph, pGraphExec,
      instantiateParams ? instantiateParams->flags : 0, pGraphExec, graph, instantiateParams);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return begin_capture<Call::cudaStreamBeginCapture_ptsz>(
      &cudaStreamBeginCapture_ptsz, {stream, nullptr, static_cast<unsigned>(mode)}, stream, mode);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamBeginCaptureToGraph_ptsz(cudaStream_t stream, cudaGraph_t graph,
                                                               const cudaGraphNode_t* dependencies,
                                                               const cudaGraphEdgeData* dependencyData,
                                                               size_t numDependencies,
                                                               cudaStreamCaptureMode mode) {
  return begin_capture<Call::cudaStreamBeginCaptureToGraph_ptsz>(
      &cudaStreamBeginCaptureToGraph_ptsz, {stream, nullptr, static_cast<unsigned>(mode)}, stream, graph,
      dependencies, dependencyData, numDependencies, mode);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* pGraph) {
  return end_capture<Call::cudaStreamEndCapture_ptsz>(&cudaStreamEndCapture_ptsz, stream, pGraph);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  return await_stream<Call::cudaStreamSynchronize_ptsz>(&cudaStreamSynchronize_ptsz, stream, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) {
  return query<Call::cudaStreamQuery_ptsz>(&cudaStreamQuery_ptsz, {stream}, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return order<Call::cudaEventRecord_ptsz>(&cudaEventRecord_ptsz, {stream, event}, event, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream,
                                                          unsigned int flags) {
  return order<Call::cudaEventRecordWithFlags_ptsz>(&cudaEventRecordWithFlags_ptsz, {stream, event, flags},
                                                    event, stream, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event,
                                                     unsigned int flags) {
  return order<Call::cudaStreamWaitEvent_ptsz>(&cudaStreamWaitEvent_ptsz, {stream, event, flags}, stream,
                                               event, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocAsync_ptsz(void** devPtr, size_t size, cudaStream_t hStream) {
  return allocate<Call::cudaMallocAsync_ptsz>(&cudaMallocAsync_ptsz, devPtr, {size, hStream}, devPtr, size,
                                              hStream);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocFromPoolAsync_ptsz(void** ptr, size_t size, cudaMemPool_t memPool,
                                                         cudaStream_t stream) {
  return allocate<Call::cudaMallocFromPoolAsync_ptsz>(&cudaMallocFromPoolAsync_ptsz, ptr, {size, stream}, ptr,
                                                      size, memPool, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaFreeAsync_ptsz(void* devPtr, cudaStream_t hStream) {
  return give_back<Call::cudaFreeAsync_ptsz>(&cudaFreeAsync_ptsz, devPtr, hStream, devPtr, hStream);
}

DDPSCOPE_EXPORT cudaError_t memcpy_batch_ptsz(void** dsts, const void** srcs, size_t* sizes, size_t count,
                                              void* attrs, size_t* attrsIdxs, size_t numAttrs, void* seventh,
                                              void* eighth) __asm__("cudaMemcpyBatchAsync_ptsz");
cudaError_t memcpy_batch_ptsz(void** dsts, const void** srcs, size_t* sizes, size_t count, void* attrs,
                              size_t* attrsIdxs, size_t numAttrs, void* seventh, void* eighth) {
  return copy<Call::cudaMemcpyBatchAsync_ptsz>(&memcpy_batch_ptsz,
                                               batch(dsts, srcs, sizes, count, seventh, eighth), dsts, srcs,
                                               sizes, count, attrs, attrsIdxs, numAttrs, seventh, eighth);
}
