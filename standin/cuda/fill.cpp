// Entry points that fill memory. They queue and return, but for cudaMemset on page-locked memory, which
// waits.
#include <cuda_runtime_api.h>

#include <cstring>

#include "standin/cuda/block.h"
#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/node_work.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

enum class Pinned { kIsWaitedFor, kIsLikeOthers };

void fill_rows(Target to, int value, Rows rows) {
  for (std::size_t z = 0; z < rows.depth; ++z) {
    for (std::size_t y = 0; y < rows.height; ++y) std::memset(to.row(y, z), value, rows.width);
  }
}

Activity describe(const Stream& stream, Target to, int value, Rows rows, bool asynchronous) {
  const ObservedPlace target = observed_place_of(to.base, stream.device());
  return Activity{.kind = Activity::kFill,
                  .device = stream.device().ordinal(),
                  .stream = stream.id(),
                  .bytes = rows.bytes(),
                  .to = target.kind,
                  .to_device = target.device,
                  .asynchronous = asynchronous,
                  .value = value};
}

Target pitched(const cudaPitchedPtr& pointer) {
  return {static_cast<char*>(pointer.ptr), pointer.pitch, pointer.pitch * pointer.ysize};
}

// Values wider than a byte are kept as they are: cudaMemset has none.
void fill_elements(const cudaMemsetParams& p) {
  const Target to{static_cast<char*>(p.dst), p.pitch, 0};
  if (p.elementSize == 1) return fill_rows(to, static_cast<int>(p.value), {p.width, p.height, 1});
  for (std::size_t y = 0; y < p.height; ++y) {
    for (std::size_t x = 0; x < p.width; ++x)
      std::memcpy(to.row(y, 0) + x * p.elementSize, &p.value, p.elementSize);
  }
}

NodeWork node_of(const cudaMemsetParams& p, const Stream& stream) {
  const auto parameters = parameters_of_type(cudaGraphNodeTypeMemset);
  parameters->memset = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
  const Target to{static_cast<char*>(p.dst), p.pitch, 0};
  return {.type = cudaGraphNodeTypeMemset,
          .work = [p] { fill_elements(p); },
          .activity =
              describe(stream, to, static_cast<int>(p.value), {p.width * p.elementSize, p.height, 1}, true),
          .parameters = parameters};
}

NodeWork captured_node(Target to, int value, Rows rows, const Stream& stream) {
  return node_of({to.base, to.row_pitch, static_cast<unsigned>(value), 1, rows.width, rows.height}, stream);
}

cudaError_t fill(Target to, int value, Rows rows, cudaStream_t stream, Pinned pinned) {
  return enter([&] {
    if (rows.empty()) return cudaSuccess;
    const Place place = place_of(to.base);
    require(place != Place::kPageable, cudaErrorInvalidValue);
    const StreamRef target = find_stream(stream);
    if (captures_run() && is_captured(*target) && rows.depth == 1 &&
        capture_node(*target, captured_node(to, value, rows, *target)))
      return cudaSuccess;  // a fill of more slices is a node that has no parameters in the API
    const Mark mark = submit_observed(
        target, [=] { fill_rows(to, value, rows); },
        [&] { return describe(*target, to, value, rows, pinned == Pinned::kIsLikeOthers); });
    if (place == Place::kPinned && pinned == Pinned::kIsWaitedFor) mark.wait();
    return cudaSuccess;
  });
}

}  // namespace

namespace ddpscope::standin {

NodeWork fill_work(const cudaMemsetParams& parameters) {
  const unsigned element = parameters.elementSize;
  require(element == 1 || element == 2 || element == 4, cudaErrorInvalidValue);
  require(parameters.width > 0 && parameters.height > 0 && place_of(parameters.dst) != Place::kPageable,
          cudaErrorInvalidValue);
  return node_of(parameters, *current_device().legacy_stream());
}

}  // namespace ddpscope::standin

extern "C" {

RUNTIME_API(cudaMemset, (void* pointer, int value, size_t bytes), (pointer, value, bytes)) {
  return fill(flat(pointer, bytes), value, {bytes, 1, 1}, nullptr, Pinned::kIsWaitedFor);
}

RUNTIME_API(cudaMemsetAsync, (void* pointer, int value, size_t bytes, cudaStream_t stream),
            (pointer, value, bytes, stream)) {
  return fill(flat(pointer, bytes), value, {bytes, 1, 1}, stream, Pinned::kIsLikeOthers);
}

RUNTIME_API(cudaMemset2D, (void* pointer, size_t pitch, int value, size_t width, size_t height),
            (pointer, pitch, value, width, height)) {
  return fill({static_cast<char*>(pointer), pitch, 0}, value, {width, height, 1}, nullptr,
              Pinned::kIsWaitedFor);
}

RUNTIME_API(cudaMemset2DAsync,
            (void* pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
            (pointer, pitch, value, width, height, stream)) {
  return fill({static_cast<char*>(pointer), pitch, 0}, value, {width, height, 1}, stream,
              Pinned::kIsLikeOthers);
}

RUNTIME_API(cudaMemset3D, (cudaPitchedPtr pointer, int value, cudaExtent extent), (pointer, value, extent)) {
  return fill(pitched(pointer), value, {extent.width, extent.height, extent.depth}, nullptr,
              Pinned::kIsWaitedFor);
}

RUNTIME_API(cudaMemset3DAsync, (cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream),
            (pointer, value, extent, stream)) {
  return fill(pitched(pointer), value, {extent.width, extent.height, extent.depth}, stream,
              Pinned::kIsLikeOthers);
}

}  // extern "C"
