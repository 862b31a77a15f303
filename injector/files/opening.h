// Open file descriptions, shared by all descriptors that come from one open.
#pragma once
#include <atomic>
#include <cstdint>

#include "trace/listing.h"
#include "trace/write/thread_writer.h"

namespace ddpscope::injector {

constexpr std::uint64_t kUnknownOffset = ~std::uint64_t{0};

// What moves a description's position, one after the other or several at a time. A write at the end of the
// file tells nobody where that was: the position tells it afterwards, if nothing else has moved it meanwhile.
class Moves {
 public:
  struct Move {
    std::uint32_t number;
    bool alone;  // all earlier ones have ended
  };
  Move begin() {
    std::uint32_t ended = ended_.load(std::memory_order_acquire);
    std::uint32_t number = begun_.fetch_add(1, std::memory_order_acq_rel);
    return {number, ended == number};
  }
  bool is_alone(const Move& move) const {
    return move.alone && begun_.load(std::memory_order_acquire) == move.number + 1;
  }
  void end() { ended_.fetch_add(1, std::memory_order_release); }
  void forget() { begun_ = ended_ = 0; }

 private:
  std::atomic<std::uint32_t> begun_{}, ended_{};
};

// Reads, or writes, that follow one another without a gap.
struct Run {
  trace::OpenRecord record{};
  std::uint64_t start{};
  std::uint64_t next{};   // offset after the last byte
  std::uint32_t stamp{};  // what else its thread had recorded, see io.h
  bool started{};
  bool at_end{};  // reads that found the end of the file
};

// A race of the guest (I/O on a descriptor that another thread closes) costs a wrong record and nothing else:
// places are never unmapped.
struct Opening {
  std::atomic<std::uint32_t> references{};  // descriptors
  std::atomic<bool> taken{};                // by the thread that reads or changes the runs
  bool writable{};
  bool append{};
  std::uint32_t given{};     // descriptors_given() when it was opened: later, others may have it, too
  bool kept{};               // its FileOpen record is in the trace; else `file` is a path hash for items
  std::uint32_t file{};      // its number in the trace of `epoch`
  std::uint32_t epoch{};     // of the trace writer: another one means that a fork lies between
  std::uint32_t digester{};  // index + 1 of what digests the bytes written, 0 for none
  std::uint32_t created{};   // index + 1 of the name that it was made by (created_name.h), 0: it existed
  std::uint64_t device{};
  std::uint64_t inode{};
  std::atomic<std::uint64_t> position{};  // where a read or write without an offset goes
  Moves moves{};                          // of the position, if it appends
  std::uint32_t gaps{};                   // appended, but not where the earlier write had ended
  Run reads{};
  Run writes{};
};

// The names that a listing has told so far. It counts if one thread has read it from its start to its end by
// one DIR, and nothing else can have moved its position.
struct ToldNames {
  const void* reader{};                // the DIR; nullptr: none yet
  std::atomic<std::uint64_t> since{};  // ticks; 0: it does not count, as any thread may say
  std::uint16_t thread{};              // its number in the trace
  std::uint32_t given{};               // descriptors_given() when it was opened: later, others may read on
  std::uint32_t entries{};
  trace::ListingBlock blocks[trace::kListingBlocks]{};
};

// An open directory: relative names begin here.
struct Directory {
  static constexpr std::size_t kRoom = 512;
  std::atomic<std::uint32_t> references{};
  std::uint64_t device{};
  std::uint64_t inode{};
  trace::OpenRecord entries{};  // of what was read of it so far
  std::uint32_t own_path{};     // string id, if links lead to it and that is known
  ToldNames told{};
  char text[kRoom]{};  // absolute path; empty if it is longer
};

}  // namespace ddpscope::injector
