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

cudaError_t fill(Target to, int value, Rows rows, cudaStream_t stream, Pinned pinned) {
  return enter([&] {
    if (rows.empty()) return cudaSuccess;
    const Place place = place_of(to.base);
    require(place != Place::kPageable, cudaErrorInvalidValue);
    const StreamRef target = find_stream(stream);
    const Mark mark = submit_observed(
        target, [=] { fill_rows(to, value, rows); },
        [&] { return describe(*target, to, value, rows, pinned == Pinned::kIsLikeOthers); });
    if (place == Place::kPinned && pinned == Pinned::kIsWaitedFor) mark.wait();
    return cudaSuccess;
  });
}

Target pitched(const cudaPitchedPtr& pointer) {
  return {static_cast<char*>(pointer.ptr), pointer.pitch, pointer.pitch * pointer.ysize};
}

// Values wider than a byte are kept as they are: cudaMemset has none.
void fill_elements(Target to, unsigned value, unsigned element, Rows rows) {
  for (std::size_t y = 0; y < rows.height; ++y) {
    for (std::size_t x = 0; x < rows.width; x += element) std::memcpy(to.row(y, 0) + x, &value, element);
  }
}

}  // namespace

namespace ddpscope::standin {

NodeWork fill_work(const cudaMemsetParams& parameters) {
  const unsigned element = parameters.elementSize, value = parameters.value;
  require(element == 1 || element == 2 || element == 4, cudaErrorInvalidValue);
  const Target to{static_cast<char*>(parameters.dst), parameters.pitch, 0};
  const Rows rows{parameters.width * element, parameters.height, 1};
  require(!rows.empty() && place_of(to.base) != Place::kPageable, cudaErrorInvalidValue);
  return {.type = cudaGraphNodeTypeMemset,
          .work = [=] { fill_elements(to, value, element, rows); },
          .activity = describe(*current_device().legacy_stream(), to, static_cast<int>(value), rows, true)};
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
