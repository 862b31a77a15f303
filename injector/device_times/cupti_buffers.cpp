// A few places, each of which holds a buffer or none. A buffer stays in its place while CUPTI has it: so it
// is known for ours when it comes back.
#include "injector/device_times/cupti_buffers.h"

#include <sys/mman.h>

#include "trace/format.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

constexpr int kPrepared = 4;  // one for each thread that launches, one being read
constexpr int kKept = 32;     // beyond that, what is free is unmapped
constexpr int kPlaces = 1024;
struct Place {
  std::uint8_t* buffer;  // __atomic, nullptr: none; changed by whoever has taken the place
  std::uint32_t taken;   // __atomic
};
Place places[kPlaces];

std::uint8_t* map_buffer() {
  constexpr int kPopulate = 0x8000;  // MAP_POPULATE: no fault in the guest's thread
  long memory = trace::raw_syscall(SYS_mmap, 0, kCuptiBufferBytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | kPopulate, -1, 0);
  return memory < 0 && memory > -4096 ? nullptr : reinterpret_cast<std::uint8_t*>(memory);
}

void set_buffer(Place& place, std::uint8_t* buffer) {
  __atomic_store_n(&place.buffer, buffer, __ATOMIC_RELEASE);
}

void free_place(Place& place) { __atomic_store_n(&place.taken, 0, __ATOMIC_RELEASE); }

Place* place_of(const std::uint8_t* buffer) {
  for (Place& place : places)
    if (buffer && __atomic_load_n(&place.buffer, __ATOMIC_ACQUIRE) == buffer) return &place;
  return nullptr;
}

}  // namespace

bool prepare_cupti_buffers() {
  for (Place* place = places; place < places + kPrepared; ++place)
    if (!place->buffer) set_buffer(*place, map_buffer());
  return places[kPrepared - 1].buffer;
}

std::uint8_t* take_cupti_buffer() {
  for (Place& place : places) {
    if (__atomic_exchange_n(&place.taken, 1, __ATOMIC_ACQUIRE)) continue;
    if (!place.buffer) set_buffer(place, map_buffer());
    if (!place.buffer) free_place(place);
    return place.buffer;
  }
  return map_buffer();  // is not taken back
}

bool is_cupti_buffer(const std::uint8_t* buffer) { return place_of(buffer); }

void give_cupti_buffer_back(std::uint8_t* buffer) {
  Place* place = place_of(buffer);
  if (!place) return;
  if (place >= places + kKept) {
    set_buffer(*place, nullptr);
    trace::raw_syscall(SYS_munmap, trace::as_argument(buffer), kCuptiBufferBytes);
  }
  free_place(*place);
}

}  // namespace ddpscope::injector
