// Copies and fills.
#include "injector/cuda/recording.h"

using namespace ddpscope::injector;
using ddpscope::trace::payload::Copy;

namespace {

Copy describe(const void* to, const void* from, std::uint64_t bytes, cudaStream_t stream,
              cudaMemcpyKind kind) {
  return {bits(to), bits(from), bytes, bits(stream), 0, static_cast<std::uint8_t>(kind), device_code(), 0};
}

// The same bytes moved between the same places again are one record; a run of different copies stays apart,
// because what is copied where tells input from result.
template <Call call, class... Params, class... Args>
cudaError_t copy(cudaError_t (*self)(Params...), const Copy& description, Args... args) {
  return cuda_call<call>(
      self, fold_key(description.destination, description.source, description.bytes, description.stream),
      description, args...);
}

template <Call call, class... Params, class... Args>
cudaError_t fill(cudaError_t (*self)(Params...), const void* to, int value, std::uint64_t bytes,
                 cudaStream_t stream, Args... args) {
  Copy description = describe(to, nullptr, bytes, stream, cudaMemcpyDefault);
  description.source = static_cast<std::uint8_t>(value);
  return copy<call>(self, description, args...);
}

std::uint64_t bytes_of(const cudaMemcpy3DParms* p) {
  return p ? p->extent.width * p->extent.height * p->extent.depth : 0;
}
cudaMemcpyKind kind_of(const cudaMemcpy3DParms* p) { return p ? p->kind : cudaMemcpyDefault; }
const void* to_of(const cudaMemcpy3DParms* p) { return p ? p->dstPtr.ptr : nullptr; }
const void* from_of(const cudaMemcpy3DParms* p) { return p ? p->srcPtr.ptr : nullptr; }

}  // namespace

DDPSCOPE_EXPORT cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy>(&cudaMemcpy, describe(dst, src, count, nullptr, kind), dst, src, count, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                                            cudaStream_t stream) {
  return copy<Call::cudaMemcpyAsync>(&cudaMemcpyAsync, describe(dst, src, count, stream, kind), dst, src,
                                     count, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice,
                                           size_t count) {
  return copy<Call::cudaMemcpyPeer>(&cudaMemcpyPeer,
                                    describe(dst, src, count, nullptr, cudaMemcpyDeviceToDevice), dst,
                                    dstDevice, src, srcDevice, count);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice,
                                                size_t count, cudaStream_t stream) {
  return copy<Call::cudaMemcpyPeerAsync>(&cudaMemcpyPeerAsync,
                                         describe(dst, src, count, stream, cudaMemcpyDeviceToDevice), dst,
                                         dstDevice, src, srcDevice, count, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch,
                                         size_t width, size_t height, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy2D>(&cudaMemcpy2D, describe(dst, src, width * height, nullptr, kind), dst,
                                  dpitch, src, spitch, width, height, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                                              size_t width, size_t height, cudaMemcpyKind kind,
                                              cudaStream_t stream) {
  return copy<Call::cudaMemcpy2DAsync>(&cudaMemcpy2DAsync, describe(dst, src, width * height, stream, kind),
                                       dst, dpitch, src, spitch, width, height, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  return copy<Call::cudaMemcpy3D>(&cudaMemcpy3D,
                                  describe(to_of(p), from_of(p), bytes_of(p), nullptr, kind_of(p)), p);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return copy<Call::cudaMemcpy3DAsync>(
      &cudaMemcpy3DAsync, describe(to_of(p), from_of(p), bytes_of(p), stream, kind_of(p)), p, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count,
                                               size_t offset, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyToSymbol>(&cudaMemcpyToSymbol, describe(symbol, src, count, nullptr, kind),
                                        symbol, src, count, offset, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count,
                                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy<Call::cudaMemcpyToSymbolAsync>(&cudaMemcpyToSymbolAsync,
                                             describe(symbol, src, count, stream, kind), symbol, src, count,
                                             offset, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset,
                                                 cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyFromSymbol>(&cudaMemcpyFromSymbol, describe(dst, symbol, count, nullptr, kind),
                                          dst, symbol, count, offset, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count,
                                                      size_t offset, cudaMemcpyKind kind,
                                                      cudaStream_t stream) {
  return copy<Call::cudaMemcpyFromSymbolAsync>(&cudaMemcpyFromSymbolAsync,
                                               describe(dst, symbol, count, stream, kind), dst, symbol, count,
                                               offset, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return fill<Call::cudaMemset>(&cudaMemset, devPtr, value, count, nullptr, devPtr, value, count);
}

DDPSCOPE_EXPORT cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return fill<Call::cudaMemsetAsync>(&cudaMemsetAsync, devPtr, value, count, stream, devPtr, value, count,
                                     stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
  return fill<Call::cudaMemset2D>(&cudaMemset2D, devPtr, value, width * height, nullptr, devPtr, pitch, value,
                                  width, height);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width,
                                              size_t height, cudaStream_t stream) {
  return fill<Call::cudaMemset2DAsync>(&cudaMemset2DAsync, devPtr, value, width * height, stream, devPtr,
                                       pitch, value, width, height, stream);
}
