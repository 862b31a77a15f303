// One end of a connection or pipe: how many bytes this process has sent and received through it.
#pragma once
#include <atomic>
#include <cstdint>

namespace ddpscope::injector {

struct StreamEnd {
  std::atomic<std::uint32_t> references{};  // descriptors
  std::uint32_t process{};  // fork_generation() in which the bytes were counted: a child counts its own
  std::uint64_t inode{};    // names the end; both ends of a pipe have the same one
  std::atomic<std::uint64_t> sent{};
  std::atomic<std::uint64_t> received{};
};

}  // namespace ddpscope::injector
