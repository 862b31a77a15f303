// Entry points that copy memory: what waits, what is staged, what only queues.
// The rules: CUDA Runtime API, "API synchronization behavior".
#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>

#include "standin/cuda/block.h"
#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/node_work.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

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

Activity describe(const Stream& stream, const void* to, const void* from, std::size_t bytes,
                  bool asynchronous) {
  const ObservedPlace target = observed_place_of(to, stream.device());
  const ObservedPlace source = observed_place_of(from, stream.device());
  return {.kind = Activity::kCopy,
          .device = stream.device().ordinal(),
          .stream = stream.id(),
          .bytes = bytes,
          .from = source.kind,
          .to = target.kind,
          .from_device = source.device,
          .to_device = target.device,
          .asynchronous = asynchronous};
}

Mark queue_staged(const StreamRef& stream, const Target& to, const Source& from, Rows rows) {
  const std::size_t slice = rows.width * rows.height;
  std::shared_ptr<char[]> staged(new char[slice * rows.depth]);
  copy_rows({staged.get(), rows.width, slice}, from, rows);
  return submit_observed(
      stream,
      [=] {
        copy_rows(to, {staged.get(), rows.width, slice}, rows);
      },
      [&] { return describe(*stream, to.base, from.base, rows.bytes(), true); });
}

struct Sides {
  Target to;
  Source from;
  Rows rows;
};

// The division is exact: the API has no slice pitch that is not a multiple of the row pitch.
cudaMemcpy3DParms parameters_of(const Sides& sides, cudaMemcpyKind kind) {
  const auto pitched = [&](auto side) {
    return cudaPitchedPtr{const_cast<char*>(side.base), side.row_pitch, sides.rows.width,
                          side.row_pitch ? side.slice_pitch / side.row_pitch : 0};
  };
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = pitched(sides.from);
  parameters.dstPtr = pitched(sides.to);
  parameters.extent = {sides.rows.width, sides.rows.height, sides.rows.depth};
  parameters.kind = kind;
  return parameters;
}

NodeWork node_of(const Sides& sides, const cudaMemcpy3DParms& given, const Stream& stream) {
  const auto parameters = parameters_of_type(cudaGraphNodeTypeMemcpy);
  parameters->memcpy.copyParams = given;
  return {.type = cudaGraphNodeTypeMemcpy,
          .work = [sides] { copy_rows(sides.to, sides.from, sides.rows); },
          .activity = describe(stream, sides.to.base, sides.from.base, sides.rows.bytes(), true),
          .parameters = parameters};
}

enum class Caller { kWaits, kGoesOn };

// Pageable memory is the caller's again when the call returns: a source is staged, a target waited for.
// Copies within a device never make the host wait; cudaMemcpy waits for the others.
void copy(const StreamRef& stream, Target to, Source from, Rows rows, cudaMemcpyKind kind, Caller caller) {
  if (rows.empty()) return;
  require(to.base != nullptr && from.base != nullptr, cudaErrorInvalidValue);
  const Place target = place_of(to.base), source = place_of(from.base);
  check_direction(target, source, kind);
  const bool within_device = target == Place::kDevice && source == Place::kDevice;
  const bool within_host = target != Place::kDevice && source != Place::kDevice;
  if (caller == Caller::kWaits) unsafe_in_capture();
  if (captures_run() && is_captured(*stream)) {  // then the source is read at each launch
    const Sides sides{to, from, rows};
    if (capture_node(*stream, node_of(sides, parameters_of(sides, kind), *stream))) return;
  }
  if (source == Place::kPageable && target == Place::kDevice && caller == Caller::kGoesOn) {
    queue_staged(stream, to, from, rows);
    return;
  }
  const Mark mark = submit_observed(
      stream, [=] { copy_rows(to, from, rows); },
      [&] { return describe(*stream, to.base, from.base, rows.bytes(), caller == Caller::kGoesOn); });
  const bool pageable = target == Place::kPageable || source == Place::kPageable;
  if (!within_device && (caller == Caller::kWaits || pageable || within_host)) mark.wait();
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

// Both sides are pitched pointers: there are no CUDA arrays here.
Sides sides_of(const cudaMemcpy3DParms& p) {
  require(p.srcArray == nullptr && p.dstArray == nullptr, cudaErrorNotSupported);
  const auto side = [](const cudaPitchedPtr& pitched, const cudaPos& at) {
    Target whole{static_cast<char*>(pitched.ptr), pitched.pitch, pitched.pitch * pitched.ysize};
    whole.base = whole.row(at.y, at.z) + at.x;
    return whole;
  };
  const Target to = side(p.dstPtr, p.dstPos), from = side(p.srcPtr, p.srcPos);
  return {
      to, {from.base, from.row_pitch, from.slice_pitch}, {p.extent.width, p.extent.height, p.extent.depth}};
}

cudaError_t copy_3d(const cudaMemcpy3DParms* p, cudaStream_t stream, Caller caller) {
  return enter([&] {
    require(p != nullptr, cudaErrorInvalidValue);
    const Sides sides = sides_of(*p);
    copy(find_stream(stream), sides.to, sides.from, sides.rows, p->kind, caller);
    return cudaSuccess;
  });
}

}  // namespace

namespace ddpscope::standin {

NodeWork copy_work(const cudaMemcpy3DParms& parameters) {
  const Sides sides = sides_of(parameters);
  require(sides.to.base && sides.from.base && !sides.rows.empty(), cudaErrorInvalidValue);
  check_direction(place_of(sides.to.base), place_of(sides.from.base), parameters.kind);
  return node_of(sides, parameters, *current_device().legacy_stream());
}

NodeWork flat_copy_work(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy_work(parameters_of({flat(to, bytes), flat(from, bytes), {bytes, 1, 1}}, kind));
}

}  // namespace ddpscope::standin

extern "C" {

RUNTIME_API(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
            (to, from, bytes, kind)) {
  return copy_flat(to, from, bytes, kind, nullptr, Caller::kWaits);
}

RUNTIME_API(cudaMemcpyAsync,
            (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
            (to, from, bytes, kind, stream)) {
  return copy_flat(to, from, bytes, kind, stream, Caller::kGoesOn);
}

RUNTIME_API(cudaMemcpyPeer,
            (void* to, [[maybe_unused]] int to_device, const void* from, [[maybe_unused]] int from_device,
             size_t bytes),
            (to, to_device, from, from_device, bytes)) {
  return copy_flat(to, from, bytes, cudaMemcpyDefault, nullptr, Caller::kWaits);
}

RUNTIME_API(cudaMemcpyPeerAsync,
            (void* to, [[maybe_unused]] int to_device, const void* from, [[maybe_unused]] int from_device,
             size_t bytes, cudaStream_t stream),
            (to, to_device, from, from_device, bytes, stream)) {
  return copy_flat(to, from, bytes, cudaMemcpyDefault, stream, Caller::kGoesOn);
}

RUNTIME_API(cudaMemcpy2D,
            (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
             cudaMemcpyKind kind),
            (to, to_pitch, from, from_pitch, width, height, kind)) {
  return copy_2d(to, to_pitch, from, from_pitch, {width, height, 1}, kind, nullptr, Caller::kWaits);
}

RUNTIME_API(cudaMemcpy2DAsync,
            (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
             cudaMemcpyKind kind, cudaStream_t stream),
            (to, to_pitch, from, from_pitch, width, height, kind, stream)) {
  return copy_2d(to, to_pitch, from, from_pitch, {width, height, 1}, kind, stream, Caller::kGoesOn);
}

RUNTIME_API(cudaMemcpyToSymbol,
            (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind),
            (symbol, from, bytes, offset, kind)) {
  return enter([&] { return cudaMemcpy(inside_variable(symbol, offset, bytes), from, bytes, kind); });
}

RUNTIME_API(cudaMemcpyToSymbolAsync,
            (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
             cudaStream_t stream),
            (symbol, from, bytes, offset, kind, stream)) {
  return enter(
      [&] { return cudaMemcpyAsync(inside_variable(symbol, offset, bytes), from, bytes, kind, stream); });
}

RUNTIME_API(cudaMemcpyFromSymbol,
            (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind),
            (to, symbol, bytes, offset, kind)) {
  return enter([&] { return cudaMemcpy(to, inside_variable(symbol, offset, bytes), bytes, kind); });
}

RUNTIME_API(cudaMemcpyFromSymbolAsync,
            (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
             cudaStream_t stream),
            (to, symbol, bytes, offset, kind, stream)) {
  return enter(
      [&] { return cudaMemcpyAsync(to, inside_variable(symbol, offset, bytes), bytes, kind, stream); });
}

RUNTIME_API(cudaMemcpy3D, (const cudaMemcpy3DParms* p), (p)) { return copy_3d(p, nullptr, Caller::kWaits); }

RUNTIME_API(cudaMemcpy3DAsync, (const cudaMemcpy3DParms* p, cudaStream_t stream), (p, stream)) {
  return copy_3d(p, stream, Caller::kGoesOn);
}

}  // extern "C"
