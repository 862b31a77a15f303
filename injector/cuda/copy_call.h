// Copies and fills. The same bytes moved between the same places again are one record; different copies stay
// apart, because what is copied where tells input from result.
#pragma once
#include "injector/cuda/captures.h"
#include "injector/cuda/copy_digests.h"
#include "injector/cuda/recording.h"
#include "injector/cuda/value_reads.h"

namespace ddpscope::injector {

struct CopyArguments {
  const void* destination;
  std::uint64_t source;
  std::uint64_t bytes;
  cudaStream_t stream = nullptr;
  cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;  // a fill stays on its device
  bool linear = false;                             // `bytes` bytes from `source` on, no more and no less
};

inline CopyArguments move(const void* destination, const void* source, std::uint64_t bytes,
                          cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  return {destination, as_number(source), bytes, stream, kind};
}

inline CopyArguments move_linear(const void* destination, const void* source, std::uint64_t bytes,
                                 cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  return {destination, as_number(source), bytes, stream, kind, true};
}

inline std::uint64_t bytes_of(const cudaExtent& extent) {
  return extent.width * extent.height * extent.depth;
}

inline CopyArguments fill(const void* destination, int value, std::uint64_t bytes,
                          cudaStream_t stream = nullptr) {
  return {destination, static_cast<std::uint64_t>(value), bytes, stream};
}

// Widths of copies to or from arrays are in elements whose size only the array knows: taken for bytes.
inline CopyArguments move(const cudaMemcpy3DParms* p, cudaStream_t stream = nullptr) {
  if (!p) return {};
  return move(p->dstPtr.ptr, p->srcPtr.ptr, bytes_of(p->extent), p->kind, stream);
}

inline CopyArguments move(const cudaMemcpy3DPeerParms* p, cudaStream_t stream = nullptr) {
  if (!p) return {};
  return move(p->dstPtr.ptr, p->srcPtr.ptr, bytes_of(p->extent), cudaMemcpyDeviceToDevice, stream);
}

// cudaMemcpyBatchAsync of CUDA 12 has a size_t* before the stream, that of CUDA 13 has not.
inline CopyArguments batch(void** destinations, const void** sources, const size_t* sizes, size_t count,
                           void* seventh, void* eighth) {
  if (!count || !destinations || !sources || !sizes) return {};
  std::uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += sizes[i];
  auto stream = static_cast<cudaStream_t>(runtime_version() >= 13000 ? seventh : eighth);
  return move(destinations[0], sources[0], bytes, cudaMemcpyDefault, stream);
}

// cudaMemcpy3DBatchAsync of CUDA 12 has a size_t* before the flags, that of CUDA 13 has not.
inline CopyArguments batch(size_t count, const cudaMemcpy3DBatchOp* copies, void* fourth, void* fifth) {
  if (!count || !copies) return {};
  std::uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += bytes_of(copies[i].extent);
  auto stream = static_cast<cudaStream_t>(runtime_version() >= 13000 ? fourth : fifth);
  return move(copies->dst.op.ptr.ptr, copies->src.op.ptr.ptr, bytes, cudaMemcpyDefault, stream);
}

inline const void* offset(const void* symbol, size_t bytes) {
  return static_cast<const char*>(symbol) + bytes;
}

// What of the content is kept, once the copy has succeeded.
template <Call call>
void look_at(const OpenRecord& open, std::uint64_t key, const LinearCopy& copy) {
  if (may_carry_input(copy.bytes, copy.kind)) return digest_copy(open, key, copy);
  if (!may_be_value(copy.bytes, copy.kind)) return;
  if constexpr (symbol_of<call>().find("Async") != std::string_view::npos)
    await_value(open, copy);
  else
    read_value(open, key, copy);
}

template <Call call, class... Params, class... Args>
cudaError_t copy(cudaError_t (*self)(Params...), const CopyArguments& a, Args... args) {
  PayloadOf<call> payload{
      as_number(a.destination),          a.source,         0, stream_number<call>(a.stream), 0,
      static_cast<std::uint8_t>(a.kind), current_device(), 0};
  std::uint64_t key =
      fold_key({payload.destination, payload.source, a.bytes, payload.stream, payload.kind, payload.device});
  auto add = [&](auto& fields) {
    fields.bytes += a.bytes;
    ++fields.count;
  };
  auto then = [&](const OpenRecord& open) {
    if (a.linear && !capture_of(a.stream))
      look_at<call>(open, key, {a.destination, a.source, a.bytes, payload.stream, a.kind});
  };
  return folded<call>(self, key, payload, add, then, args...);
}

}  // namespace ddpscope::injector
