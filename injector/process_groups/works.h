// Which operation of which process group an object of c10d::Work stands for.
#pragma once
#include <cstdint>

namespace ddpscope::injector {

// Communicator and sequence, as GroupCollective has them; 0: none that is recorded.
constexpr std::uint64_t operation_of(std::uint32_t communicator, std::uint32_t sequence) {
  return std::uint64_t{communicator} << 32 | sequence;
}
constexpr std::uint32_t communicator_of(std::uint64_t operation) {
  return static_cast<std::uint32_t>(operation >> 32);
}
constexpr std::uint32_t sequence_of(std::uint64_t operation) { return static_cast<std::uint32_t>(operation); }

struct KnownWork {
  std::uint64_t operation = 0;
  std::uint64_t count = 0;  // of elements, as read from the caller's tensors; 0: not known
};

// From now on: PyTorch gives the address of an object that is gone to the next one.
void remember_work(const void* work, const KnownWork& known);
KnownWork find_work(const void* work);  // operation 0: not known, or it is long ago

}  // namespace ddpscope::injector
