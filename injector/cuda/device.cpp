// Asks CUDA for the current device, and once for each device's UUID.
#include "injector/cuda/device.h"

#include <cuda_runtime_api.h>

#include "injector/core/hook.h"
#include "injector/device_times/timing.h"

namespace ddpscope::injector {
namespace {

constinit NamedFunction<cudaError_t(int*)> get_device("cudaGetDevice");
constinit NamedFunction<cudaError_t(int*)> get_version("cudaRuntimeGetVersion");
constinit NamedFunction<cudaError_t(void*, int)> get_properties("cudaGetDeviceProperties");

// cudaDeviceProp differs between CUDA 12 and 13, but in all of them the UUID follows char name[256], and none
// is larger than this.
constexpr std::size_t kUuidOffset = 256;
constexpr std::size_t kPropertiesBytes = 4096;
static_assert(offsetof(cudaDeviceProp, uuid) == kUuidOffset && sizeof(cudaDeviceProp) < kPropertiesBytes);

std::uint64_t big_endian(const unsigned char* bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];
  return value;
}

void record_device(int device) {
  auto* ask = get_properties.get();
  unsigned char properties[kPropertiesBytes] = {};
  cudaError_t result = ask ? ask(properties, device) : cudaErrorUnknown;
  const unsigned char* uuid = properties + kUuidOffset;
  end(begin<Call::device>(Weight::kFollows, {big_endian(uuid), big_endian(uuid + 8), device, 1,
                                             static_cast<std::uint16_t>(result)}));
}

// Devices whose UUID the open trace has: one bit each, and the trace's epoch.
bool is_new(int device) {
  static std::uint64_t seen;
  static std::uint32_t epoch;
  std::uint32_t current = open_epoch();
  if (__atomic_exchange_n(&epoch, current, __ATOMIC_RELAXED) != current) seen = 0;
  std::uint64_t bit = 1ull << (device & 63);
  return !(__atomic_fetch_or(&seen, bit, __ATOMIC_RELAXED) & bit);
}

}  // namespace

void set_device(int device) {
  this_thread.device = device;
  trace::FileWriter* file = open_recorder();
  if (!file || !is_new(device)) return;
  record_device(device);
  decide_tier_once(*file);
}

int runtime_version() {
  static int version;
  if (auto* ask = version ? nullptr : get_version.get()) ask(&version);
  return version;
}

void ask_device() {
  if (this_thread.device != kUnknownDevice) return;
  auto* ask = get_device.get();
  int device = 0;
  if (ask && ask(&device) == cudaSuccess) set_device(device);
}

}  // namespace ddpscope::injector
