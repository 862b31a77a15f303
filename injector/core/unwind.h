// Return addresses by the unwinder of the guest's own C++ runtime, if it has one.
#pragma once
#include <cstdint>

namespace ddpscope::injector {

// Up to `room` return addresses outside of this library, innermost first; 0 if the guest has no libgcc_s.
int unwind(std::uintptr_t* addresses, int room);

}  // namespace ddpscope::injector
