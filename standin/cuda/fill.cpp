// Entry points that fill memory. They queue and return, but for cudaMemset on page-locked memory, which
// waits.
#include <cuda_runtime_api.h>

#include <cstring>

#include "standin/cuda/block.h"
#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

enum class Pinned { kIsWaitedFor, kIsLikeOthers };

cudaError_t fill(Target to, int value, Rows rows, cudaStream_t stream, Pinned pinned) {
  return enter([&] {
    if (rows.empty()) return cudaSuccess;
    const Place place = place_of(to.base);
    require(place != Place::kPageable, cudaErrorInvalidValue);
    const StreamRef target = find_stream(stream);
    const auto work = [=] {
      for (std::size_t z = 0; z < rows.depth; ++z) {
        for (std::size_t y = 0; y < rows.height; ++y) std::memset(to.row(y, z), value, rows.width);
      }
    };
    const Mark mark = submit_observed(target, work, [&] {
      const ObservedPlace target_place = observed_place_of(to.base, target->device());
      return Activity{.kind = Activity::kFill,
                      .device = target->device().ordinal(),
                      .stream = target->id(),
                      .bytes = rows.bytes(),
                      .to = target_place.kind,
                      .to_device = target_place.device,
                      .asynchronous = pinned == Pinned::kIsLikeOthers,
                      .value = value};
    });
    if (place == Place::kPinned && pinned == Pinned::kIsWaitedFor) mark.wait();
    return cudaSuccess;
  });
}

Target pitched(const cudaPitchedPtr& pointer) {
  return {static_cast<char*>(pointer.ptr), pointer.pitch, pointer.pitch * pointer.ysize};
}

}  // namespace

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
