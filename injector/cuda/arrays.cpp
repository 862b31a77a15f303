// Arrays and blocks of three dimensions: copies, fills, allocation.
#include "injector/cuda/copy_call.h"
#include "injector/cuda/memory_call.h"

// Some are deprecated, and made by old programs.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace ddpscope::injector;

namespace {

// Of width, height and depth those that an array does not have are 0.
std::uint64_t elements(std::uint64_t width, std::uint64_t height, std::uint64_t depth = 0) {
  return width * (height ? height : 1) * (depth ? depth : 1);
}
std::uint64_t elements(const cudaExtent& extent) {
  return elements(extent.width, extent.height, extent.depth);
}

std::uint64_t element_bytes(const cudaChannelFormatDesc* channels) {
  return channels ? static_cast<std::uint64_t>(channels->x + channels->y + channels->z + channels->w) / 8 : 0;
}

template <class Handle>
void* const* as_address(Handle* handle) {
  return reinterpret_cast<void* const*>(handle);
}

}  // namespace

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                const void* src, size_t spitch, size_t width, size_t height,
                                                cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy2DToArray>(&cudaMemcpy2DToArray, move(dst, src, width * height, kind), dst,
                                         wOffset, hOffset, src, spitch, width, height, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                     const void* src, size_t spitch, size_t width,
                                                     size_t height, cudaMemcpyKind kind,
                                                     cudaStream_t stream) {
  return copy<Call::cudaMemcpy2DToArrayAsync>(&cudaMemcpy2DToArrayAsync,
                                              move(dst, src, width * height, kind, stream), dst, wOffset,
                                              hOffset, src, spitch, width, height, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DFromArray(void* dst, size_t dpitch, cudaArray_const_t src,
                                                  size_t wOffset, size_t hOffset, size_t width, size_t height,
                                                  cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy2DFromArray>(&cudaMemcpy2DFromArray, move(dst, src, width * height, kind), dst,
                                           dpitch, src, wOffset, hOffset, width, height, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DFromArrayAsync(void* dst, size_t dpitch, cudaArray_const_t src,
                                                       size_t wOffset, size_t hOffset, size_t width,
                                                       size_t height, cudaMemcpyKind kind,
                                                       cudaStream_t stream) {
  return copy<Call::cudaMemcpy2DFromArrayAsync>(&cudaMemcpy2DFromArrayAsync,
                                                move(dst, src, width * height, kind, stream), dst, dpitch,
                                                src, wOffset, hOffset, width, height, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                                     cudaArray_const_t src, size_t wOffsetSrc,
                                                     size_t hOffsetSrc, size_t width, size_t height,
                                                     cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy2DArrayToArray>(&cudaMemcpy2DArrayToArray, move(dst, src, width * height, kind),
                                              dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width,
                                              height, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                              const void* src, size_t count, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyToArray>(&cudaMemcpyToArray, move(dst, src, count, kind), dst, wOffset, hOffset,
                                       src, count, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                   const void* src, size_t count, cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
  return copy<Call::cudaMemcpyToArrayAsync>(&cudaMemcpyToArrayAsync, move(dst, src, count, kind, stream), dst,
                                            wOffset, hOffset, src, count, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t src, size_t wOffset,
                                                size_t hOffset, size_t count, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyFromArray>(&cudaMemcpyFromArray, move(dst, src, count, kind), dst, src, wOffset,
                                         hOffset, count, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromArrayAsync(void* dst, cudaArray_const_t src, size_t wOffset,
                                                     size_t hOffset, size_t count, cudaMemcpyKind kind,
                                                     cudaStream_t stream) {
  return copy<Call::cudaMemcpyFromArrayAsync>(&cudaMemcpyFromArrayAsync, move(dst, src, count, kind, stream),
                                              dst, src, wOffset, hOffset, count, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                                   cudaArray_const_t src, size_t wOffsetSrc,
                                                   size_t hOffsetSrc, size_t count, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyArrayToArray>(&cudaMemcpyArrayToArray, move(dst, src, count, kind), dst,
                                            wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, count, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
  return copy<Call::cudaMemcpy3DPeer>(&cudaMemcpy3DPeer, move(p), p);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  return copy<Call::cudaMemcpy3DPeerAsync>(&cudaMemcpy3DPeerAsync, move(p, stream), p, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset3D(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent) {
  return copy<Call::cudaMemset3D>(&cudaMemset3D, fill(pitchedDevPtr.ptr, value, bytes_of(extent)),
                                  pitchedDevPtr, value, extent);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent,
                                              cudaStream_t stream) {
  return copy<Call::cudaMemset3DAsync>(&cudaMemset3DAsync,
                                       fill(pitchedDevPtr.ptr, value, bytes_of(extent), stream),
                                       pitchedDevPtr, value, extent, stream);
}

// For programs of both versions, as memcpy_batch is.
DDPSCOPE_EXPORT cudaError_t memcpy_3d_batch(size_t numOps, cudaMemcpy3DBatchOp* opList, void* third,
                                            void* fourth, void* fifth) __asm__("cudaMemcpy3DBatchAsync");
cudaError_t memcpy_3d_batch(size_t numOps, cudaMemcpy3DBatchOp* opList, void* third, void* fourth,
                            void* fifth) {
  return copy<Call::cudaMemcpy3DBatchAsync>(&memcpy_3d_batch, batch(numOps, opList, fourth, fifth), numOps,
                                            opList, third, fourth, fifth);
}

DDPSCOPE_EXPORT cudaError_t memcpy_3d_batch_ptsz(size_t numOps, cudaMemcpy3DBatchOp* opList, void* third,
                                                 void* fourth,
                                                 void* fifth) __asm__("cudaMemcpy3DBatchAsync_ptsz");
cudaError_t memcpy_3d_batch_ptsz(size_t numOps, cudaMemcpy3DBatchOp* opList, void* third, void* fourth,
                                 void* fifth) {
  return copy<Call::cudaMemcpy3DBatchAsync_ptsz>(&memcpy_3d_batch_ptsz, batch(numOps, opList, fourth, fifth),
                                                 numOps, opList, third, fourth, fifth);
}

DDPSCOPE_EXPORT cudaError_t cudaMalloc3D(cudaPitchedPtr* pitchedDevPtr, cudaExtent extent) {
  return allocate<Call::cudaMalloc3D>(&cudaMalloc3D, pitchedDevPtr ? &pitchedDevPtr->ptr : nullptr,
                                      {bytes_of(extent)}, pitchedDevPtr, extent);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc,
                                            size_t width, size_t height, unsigned int flags) {
  return allocate<Call::cudaMallocArray>(&cudaMallocArray, as_address(array),
                                         {elements(width, height) * element_bytes(desc), nullptr, flags},
                                         array, desc, width, height, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc,
                                              cudaExtent extent, unsigned int flags) {
  return allocate<Call::cudaMalloc3DArray>(&cudaMalloc3DArray, as_address(array),
                                           {elements(extent) * element_bytes(desc), nullptr, flags}, array,
                                           desc, extent, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmappedArray,
                                                     const cudaChannelFormatDesc* desc, cudaExtent extent,
                                                     unsigned int numLevels, unsigned int flags) {
  return allocate<Call::cudaMallocMipmappedArray>(&cudaMallocMipmappedArray, as_address(mipmappedArray),
                                                  {elements(extent) * element_bytes(desc), nullptr, flags},
                                                  mipmappedArray, desc, extent, numLevels, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaFreeArray(cudaArray_t array) {
  return give_back<Call::cudaFreeArray>(&cudaFreeArray, array, nullptr, array);
}

DDPSCOPE_EXPORT cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray) {
  return give_back<Call::cudaFreeMipmappedArray>(&cudaFreeMipmappedArray, mipmappedArray, nullptr,
                                                 mipmappedArray);
}

// The entry points of programs compiled with --default-stream per-thread.
extern "C" {
decltype(cudaMemcpy2DToArray) cudaMemcpy2DToArray_ptds;
decltype(cudaMemcpy2DToArrayAsync) cudaMemcpy2DToArrayAsync_ptsz;
decltype(cudaMemcpy2DFromArray) cudaMemcpy2DFromArray_ptds;
decltype(cudaMemcpy2DFromArrayAsync) cudaMemcpy2DFromArrayAsync_ptsz;
decltype(cudaMemcpy2DArrayToArray) cudaMemcpy2DArrayToArray_ptds;
decltype(cudaMemcpyToArray) cudaMemcpyToArray_ptds;
decltype(cudaMemcpyToArrayAsync) cudaMemcpyToArrayAsync_ptsz;
decltype(cudaMemcpyFromArray) cudaMemcpyFromArray_ptds;
decltype(cudaMemcpyFromArrayAsync) cudaMemcpyFromArrayAsync_ptsz;
decltype(cudaMemcpyArrayToArray) cudaMemcpyArrayToArray_ptds;
decltype(cudaMemcpy3DPeer) cudaMemcpy3DPeer_ptds;
decltype(cudaMemcpy3DPeerAsync) cudaMemcpy3DPeerAsync_ptsz;
decltype(cudaMemset3D) cudaMemset3D_ptds;
decltype(cudaMemset3DAsync) cudaMemset3DAsync_ptsz;
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                     const void* src, size_t spitch, size_t width,
                                                     size_t height, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy2DToArray_ptds>(&cudaMemcpy2DToArray_ptds, move(dst, src, width * height, kind),
                                              dst, wOffset, hOffset, src, spitch, width, height, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DToArrayAsync_ptsz(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                          const void* src, size_t spitch, size_t width,
                                                          size_t height, cudaMemcpyKind kind,
                                                          cudaStream_t stream) {
  return copy<Call::cudaMemcpy2DToArrayAsync_ptsz>(&cudaMemcpy2DToArrayAsync_ptsz,
                                                   move(dst, src, width * height, kind, stream), dst, wOffset,
                                                   hOffset, src, spitch, width, height, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DFromArray_ptds(void* dst, size_t dpitch, cudaArray_const_t src,
                                                       size_t wOffset, size_t hOffset, size_t width,
                                                       size_t height, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy2DFromArray_ptds>(&cudaMemcpy2DFromArray_ptds,
                                                move(dst, src, width * height, kind), dst, dpitch, src,
                                                wOffset, hOffset, width, height, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DFromArrayAsync_ptsz(void* dst, size_t dpitch, cudaArray_const_t src,
                                                            size_t wOffset, size_t hOffset, size_t width,
                                                            size_t height, cudaMemcpyKind kind,
                                                            cudaStream_t stream) {
  return copy<Call::cudaMemcpy2DFromArrayAsync_ptsz>(
      &cudaMemcpy2DFromArrayAsync_ptsz, move(dst, src, width * height, kind, stream), dst, dpitch, src,
      wOffset, hOffset, width, height, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy2DArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst,
                                                          size_t hOffsetDst, cudaArray_const_t src,
                                                          size_t wOffsetSrc, size_t hOffsetSrc, size_t width,
                                                          size_t height, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpy2DArrayToArray_ptds>(
      &cudaMemcpy2DArrayToArray_ptds, move(dst, src, width * height, kind), dst, wOffsetDst, hOffsetDst, src,
      wOffsetSrc, hOffsetSrc, width, height, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                   const void* src, size_t count, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyToArray_ptds>(&cudaMemcpyToArray_ptds, move(dst, src, count, kind), dst,
                                            wOffset, hOffset, src, count, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyToArrayAsync_ptsz(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                        const void* src, size_t count, cudaMemcpyKind kind,
                                                        cudaStream_t stream) {
  return copy<Call::cudaMemcpyToArrayAsync_ptsz>(&cudaMemcpyToArrayAsync_ptsz,
                                                 move(dst, src, count, kind, stream), dst, wOffset, hOffset,
                                                 src, count, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromArray_ptds(void* dst, cudaArray_const_t src, size_t wOffset,
                                                     size_t hOffset, size_t count, cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyFromArray_ptds>(&cudaMemcpyFromArray_ptds, move(dst, src, count, kind), dst,
                                              src, wOffset, hOffset, count, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyFromArrayAsync_ptsz(void* dst, cudaArray_const_t src, size_t wOffset,
                                                          size_t hOffset, size_t count, cudaMemcpyKind kind,
                                                          cudaStream_t stream) {
  return copy<Call::cudaMemcpyFromArrayAsync_ptsz>(&cudaMemcpyFromArrayAsync_ptsz,
                                                   move(dst, src, count, kind, stream), dst, src, wOffset,
                                                   hOffset, count, kind, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpyArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                                        cudaArray_const_t src, size_t wOffsetSrc,
                                                        size_t hOffsetSrc, size_t count,
                                                        cudaMemcpyKind kind) {
  return copy<Call::cudaMemcpyArrayToArray_ptds>(&cudaMemcpyArrayToArray_ptds, move(dst, src, count, kind),
                                                 dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc,
                                                 count, kind);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3DPeer_ptds(const cudaMemcpy3DPeerParms* p) {
  return copy<Call::cudaMemcpy3DPeer_ptds>(&cudaMemcpy3DPeer_ptds, move(p), p);
}

DDPSCOPE_EXPORT cudaError_t cudaMemcpy3DPeerAsync_ptsz(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  return copy<Call::cudaMemcpy3DPeerAsync_ptsz>(&cudaMemcpy3DPeerAsync_ptsz, move(p, stream), p, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset3D_ptds(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent) {
  return copy<Call::cudaMemset3D_ptds>(&cudaMemset3D_ptds, fill(pitchedDevPtr.ptr, value, bytes_of(extent)),
                                       pitchedDevPtr, value, extent);
}

DDPSCOPE_EXPORT cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent,
                                                   cudaStream_t stream) {
  return copy<Call::cudaMemset3DAsync_ptsz>(&cudaMemset3DAsync_ptsz,
                                            fill(pitchedDevPtr.ptr, value, bytes_of(extent), stream),
                                            pitchedDevPtr, value, extent, stream);
}
