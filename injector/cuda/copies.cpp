// Copies and fills on the legacy default stream or the stream given.
#include "injector/cuda/copy_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy>(&cudaMemcpy, move_linear(dst, src, count, kind), dst, src, count, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                                            cudaStream_t stream) {
  return copy<Call::cudaMemcpyAsync>(&cudaMemcpyAsync, move_linear(dst, src, count, kind, stream), dst, src,
                                     count, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice,
                                           size_t count) {
  return copy<Call::cudaMemcpyPeer>(&cudaMemcpyPeer, move(dst, src, count, cudaMemcpyDeviceToDevice), dst,
                                    dstDevice, src, srcDevice, count);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice,
                                                size_t count, cudaStream_t stream) {
  return copy<Call::cudaMemcpyPeerAsync>(&cudaMemcpyPeerAsync,
                                         move(dst, src, count, cudaMemcpyDeviceToDevice, stream), dst,
                                         dstDevice, src, srcDevice, count, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch,
                                         size_t width, size_t height, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy2D>(&cudaMemcpy2D, move(dst, src, width * height, kind), dst, dpitch, src,
                                  spitch, width, height, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                                              size_t width, size_t height, cudaMemcpyKind kind,
                                              cudaStream_t stream) {
  return copy<Call::cudaMemcpy2DAsync>(&cudaMemcpy2DAsync, move(dst, src, width * height, kind, stream), dst,
                                       dpitch, src, spitch, width, height, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  return copy<Call::cudaMemcpy3D>(&cudaMemcpy3D, move(p), p);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return copy<Call::cudaMemcpy3DAsync>(&cudaMemcpy3DAsync, move(p, stream), p, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count,
                                               size_t start, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyToSymbol>(&cudaMemcpyToSymbol, move(offset(symbol, start), src, count, kind),
                                        symbol, src, count, start, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count,
                                                    size_t start, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy<Call::cudaMemcpyToSymbolAsync>(&cudaMemcpyToSymbolAsync,
                                             move(offset(symbol, start), src, count, kind, stream), symbol,
                                             src, count, start, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t start,
                                                 cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyFromSymbol>(
      &cudaMemcpyFromSymbol, move(dst, offset(symbol, start), count, kind), dst, symbol, count, start, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count,
                                                      size_t start, cudaMemcpyKind kind,
                                                      cudaStream_t stream) {
  return copy<Call::cudaMemcpyFromSymbolAsync>(&cudaMemcpyFromSymbolAsync,
                                               move(dst, offset(symbol, start), count, kind, stream), dst,
                                               symbol, count, start, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return copy<Call::cudaMemset>(&cudaMemset, fill(devPtr, value, count), devPtr, value, count);
}

DDPSCOPE_EXPORT cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return copy<Call::cudaMemsetAsync>(&cudaMemsetAsync, fill(devPtr, value, count, stream), devPtr, value,
                                     count, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
  return copy<Call::cudaMemset2D>(&cudaMemset2D, fill(devPtr, value, width * height), devPtr, pitch, value,
                                  width, height);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width,
                                              size_t height, cudaStream_t stream) {
  return copy<Call::cudaMemset2DAsync>(&cudaMemset2DAsync, fill(devPtr, value, width * height, stream),
                                       devPtr, pitch, value, width, height, stream);
}

// With CUDA 12's extra argument: programs of both versions come here, and what CUDA 13's do not pass is
// passed on to a function that does not look at it.
DDPSCOPE_EXPORT cudaError_t memcpy_batch(void** dsts, const void** srcs, size_t* sizes, size_t count,
                                         void* attrs, size_t* attrsIdxs, size_t numAttrs, void* seventh,
                                         void* eighth) __asm__("cudaMemcpyBatchAsync");
cudaError_t memcpy_batch(void** dsts, const void** srcs, size_t* sizes, size_t count, void* attrs,
                         size_t* attrsIdxs, size_t numAttrs, void* seventh, void* eighth) {
  return copy<Call::cudaMemcpyBatchAsync>(&memcpy_batch, batch(dsts, srcs, sizes, count, seventh, eighth),
                                          dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, seventh,
                                          eighth);
}
