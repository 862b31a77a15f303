// Entry points that copy and set memory: what waits, what is staged, what only queues.
// The rules: CUDA Runtime API, "API synchronization behavior".
#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

/// A block of rows; a plain run of bytes is one row.
struct Rows {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
};

/// One side of a copy: where rows and slices of rows begin.
template <class Byte>
struct Side {
  Byte* base;
  std::size_t row_pitch;
  std::size_t slice_pitch;

  Byte* row(std::size_t y, std::size_t z) const { return base + z * slice_pitch + y * row_pitch; }
};

using Target = Side<char>;
using Source = Side<const char>;

enum class Place { kPageable, kPinned, kDevice };

Place place_of(const void* pointer) {
  const auto allocation = find_allocation(pointer);
  if (!allocation) return Place::kPageable;
  const bool host = allocation->kind == MemoryKind::kHost || allocation->kind == MemoryKind::kRegistered;
  return host ? Place::kPinned : Place::kDevice;
}

void copy_rows(const Target& to, const Source& from, Rows rows) {
  for (std::size_t z = 0; z < rows.depth; ++z) {
    for (std::size_t y = 0; y < rows.height; ++y) std::memmove(to.row(y, z), from.row(y, z), rows.width);
  }
}

// What a kind says must be device memory has to be known to the device.
void check_direction(Place to, Place from, cudaMemcpyKind kind) {
  require(kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault, cudaErrorInvalidMemcpyDirection);
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  require(!to_device || to != Place::kPageable, cudaErrorInvalidValue);
  require(!from_device || from != Place::kPageable, cudaErrorInvalidValue);
}

Mark queue_staged(const StreamRef& stream, const Target& to, const Source& from, Rows rows) {
  const std::size_t slice = rows.width * rows.height;
  std::shared_ptr<char[]> staged(new char[slice * rows.depth]);
  copy_rows({staged.get(), rows.width, slice}, from, rows);
  return submit(stream, [=] { copy_rows(to, {staged.get(), rows.width, slice}, rows); });
}

enum class Caller { kWaits, kGoesOn };

// Pageable memory is the caller's again when the call returns: a source is staged, a target waited for.
// Copies within a device never make the host wait; cudaMemcpy waits for the others.
void copy(const StreamRef& stream, Target to, Source from, Rows rows, cudaMemcpyKind kind, Caller caller) {
  if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return;
  const Place target = place_of(to.base), source = place_of(from.base);
  check_direction(target, source, kind);
  const bool within_device = target == Place::kDevice && source == Place::kDevice;
  const bool within_host = target != Place::kDevice && source != Place::kDevice;
  if (source == Place::kPageable && target == Place::kDevice && caller == Caller::kGoesOn) {
    queue_staged(stream, to, from, rows);
    return;
  }
  const Mark mark = submit(stream, [=] { copy_rows(to, from, rows); });
  const bool pageable = target == Place::kPageable || source == Place::kPageable;
  if (!within_device && (caller == Caller::kWaits || pageable || within_host)) mark.wait();
}

Target flat(void* pointer, std::size_t bytes) { return {static_cast<char*>(pointer), bytes, bytes}; }
Source flat(const void* pointer, std::size_t bytes) {
  return {static_cast<const char*>(pointer), bytes, bytes};
}

cudaError_t copy_flat(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                      Caller caller) {
  return enter([&] {
    copy(find_stream(stream), flat(to, bytes), flat(from, bytes), {bytes, 1, 1}, kind, caller);
    return cudaSuccess;
  });
}

cudaError_t copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, Rows rows,
                    cudaMemcpyKind kind, cudaStream_t stream, Caller caller) {
  return enter([&] {
    require(to_pitch >= rows.width && from_pitch >= rows.width, cudaErrorInvalidPitchValue);
    copy(find_stream(stream), {static_cast<char*>(to), to_pitch, 0},
         {static_cast<const char*>(from), from_pitch, 0}, rows, kind, caller);
    return cudaSuccess;
  });
}

void set_rows(Target to, int value, Rows rows) {
  for (std::size_t z = 0; z < rows.depth; ++z) {
    for (std::size_t y = 0; y < rows.height; ++y) std::memset(to.row(y, z), value, rows.width);
  }
}

cudaError_t set(Target to, int value, Rows rows, cudaStream_t stream, Caller caller) {
  return enter([&] {
    if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return cudaSuccess;
    const Place place = place_of(to.base);
    require(place != Place::kPageable, cudaErrorInvalidValue);
    const Mark mark = submit(find_stream(stream), [=] { set_rows(to, value, rows); });
    if (caller == Caller::kWaits && place == Place::kPinned) mark.wait();
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return copy_flat(to, from, bytes, kind, nullptr, Caller::kWaits);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy_flat(to, from, bytes, kind, stream, Caller::kGoesOn);
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return copy_flat(to, from, bytes, cudaMemcpyDefault, nullptr, Caller::kWaits);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return copy_flat(to, from, bytes, cudaMemcpyDefault, stream, Caller::kGoesOn);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return copy_2d(to, to_pitch, from, from_pitch, {width, height, 1}, kind, nullptr, Caller::kWaits);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_2d(to, to_pitch, from, from_pitch, {width, height, 1}, kind, stream, Caller::kGoesOn);
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return set(flat(pointer, bytes), value, {bytes, 1, 1}, nullptr, Caller::kWaits);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return set(flat(pointer, bytes), value, {bytes, 1, 1}, stream, Caller::kGoesOn);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return set({static_cast<char*>(pointer), pitch, 0}, value, {width, height, 1}, nullptr, Caller::kWaits);
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return set({static_cast<char*>(pointer), pitch, 0}, value, {width, height, 1}, stream, Caller::kGoesOn);
}

}  // extern "C"
