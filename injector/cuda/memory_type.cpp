// Asks CUDA.
#include "injector/cuda/memory_type.h"

#include <string.h>

#include "injector/core/hook.h"
#include "injector/cuda/device.h"

namespace ddpscope::injector {
namespace {

// Whether unregistered memory is an answer (CUDA 11) and not an error that stays behind for the guest.
constexpr int kAnswersForAll = 11000;
// cudaPointerAttributes has grown, and programs bring their own runtime.
constexpr std::size_t kAttributesBytes = 256;
static_assert(sizeof(cudaPointerAttributes) < kAttributesBytes);

constinit NamedFunction<cudaError_t(void*, const void*)> get_attributes("cudaPointerGetAttributes");

}  // namespace

cudaMemoryType memory_type(const void* address) {
  auto* ask = runtime_version() < kAnswersForAll ? nullptr : get_attributes.get();
  alignas(cudaPointerAttributes) unsigned char room[kAttributesBytes] = {};
  if (!ask || ask(room, address) != cudaSuccess) return cudaMemoryTypeManaged;
  cudaPointerAttributes attributes;
  memcpy(&attributes, room, sizeof(attributes));
  return attributes.type;
}

}  // namespace ddpscope::injector
