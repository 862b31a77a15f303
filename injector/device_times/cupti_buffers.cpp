// A few places, each of which holds a free buffer or none.
#include "injector/device_times/cupti_buffers.h"

#include <sys/mman.h>

#include "trace/format.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

constexpr int kPrepared = 4;  // one for each thread that launches, one being read
constexpr int kPlaces = 32;
std::uint8_t* places[kPlaces];  // __atomic

std::uint8_t* map_buffer() {
  constexpr int kPopulate = 0x8000;  // MAP_POPULATE: no fault in the guest's thread
  long memory = trace::raw_syscall(SYS_mmap, 0, kCuptiBufferBytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | kPopulate, -1, 0);
  return memory < 0 && memory > -4096 ? nullptr : reinterpret_cast<std::uint8_t*>(memory);
}

}  // namespace

bool prepare_cupti_buffers() {
  for (int i = 0; i < kPrepared; ++i) {
    std::uint8_t* buffer = map_buffer();
    if (!buffer) return false;
    give_cupti_buffer_back(buffer);
  }
  return true;
}

std::uint8_t* take_cupti_buffer() {
  for (std::uint8_t*& place : places)
    if (std::uint8_t* buffer = __atomic_exchange_n(&place, nullptr, __ATOMIC_ACQ_REL)) return buffer;
  return map_buffer();
}

void give_cupti_buffer_back(std::uint8_t* buffer) {
  for (std::uint8_t*& place : places) {
    std::uint8_t* expected = nullptr;
    if (__atomic_compare_exchange_n(&place, &expected, buffer, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return;
  }
  trace::raw_syscall(SYS_munmap, trace::as_argument(buffer), kCuptiBufferBytes);
}

}  // namespace ddpscope::injector
