// Open file descriptions, shared by all descriptors that come from one open.
#pragma once
#include <atomic>
#include <cstdint>

#include "trace/write/thread_writer.h"

namespace ddpscope::injector {

constexpr std::uint64_t kUnknownOffset = ~std::uint64_t{0};

// Reads, or writes, that follow one another without a gap.
struct Run {
  trace::OpenRecord record{};
  std::uint64_t start{};
  std::uint64_t next{};   // offset after the last byte
  std::uint32_t stamp{};  // what else its thread had recorded, see io.h
  bool started{};
};

// A race of the guest (I/O on a descriptor that another thread closes) costs a wrong record and nothing else:
// places are never unmapped.
struct Opening {
  std::atomic<std::uint32_t> references{};  // descriptors
  std::atomic<bool> taken{};                // by the thread that reads or changes the runs
  bool writable{};
  bool append{};
  bool kept{};               // its FileOpen record is in the trace; else `file` is a path hash for items
  std::uint32_t file{};      // its number in the trace of `epoch`
  std::uint32_t epoch{};     // of the trace writer: another one means that a fork lies between
  std::uint32_t digester{};  // index + 1 of what digests the bytes written, 0 for none
  std::uint64_t device{};
  std::uint64_t inode{};
  std::atomic<std::uint64_t> position{};  // where a read or write without an offset goes
  Run reads{};
  Run writes{};
};

// An open directory: relative names begin here.
struct Directory {
  static constexpr std::size_t kRoom = 512;
  std::atomic<std::uint32_t> references{};
  std::uint64_t device{};
  std::uint64_t inode{};
  trace::OpenRecord entries{};  // of what was read of it so far
  char text[kRoom]{};           // absolute path; empty if it is longer
};

}  // namespace ddpscope::injector
