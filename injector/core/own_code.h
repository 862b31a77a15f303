// Which code is ours, and which frame of the guest called into it.
#pragma once
#include <cstdint>

// Where the linker puts this library.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char etext[] __attribute__((visibility("hidden")));

namespace ddpscope::injector {

inline bool is_own_code(std::uintptr_t address) {
  return address >= reinterpret_cast<std::uintptr_t>(__ehdr_start) &&
         address < reinterpret_cast<std::uintptr_t>(etext);
}

// What -fno-omit-frame-pointer keeps at the frame pointer. Ours always have it, the guest's may not.
struct Frame {
  const Frame* caller;
  std::uintptr_t return_address;
};

// Where the guest goes on when the hook that was called returns. Never follows a frame pointer of the guest.
inline __attribute__((always_inline)) const Frame* outermost_own_frame() {
  const auto* frame = static_cast<const Frame*>(__builtin_frame_address(0));
  while (is_own_code(frame->return_address)) frame = frame->caller;
  return frame;
}

}  // namespace ddpscope::injector
