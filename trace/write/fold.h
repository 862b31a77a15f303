// Regular calls of one thread at 8 bytes each (kFolded in format.h).
#pragma once
#include "trace/write/file_writer.h"

namespace ddpscope::trace {

class ThreadWriter;
struct OpenRecord;

// Zero-initialised means: no call seen yet. Lives in memory of its own, because thread-local storage is
// scarce in a library that is loaded late.
class Fold {
 public:
  static Fold* create();  // nullptr: no memory
  void destroy();

  // Opens `call` (its end is 0), if a call with the same arguments was seen before. Nothing: it is the first,
  // or there is no room; it becomes a record of its own. `counts`: the payload is a Collective.
  OpenRecord open(FileWriter& file, ThreadWriter& thread, const Record& call, bool counts);
  void close(std::uint64_t ticks);  // of the call that is open

 private:
  static constexpr unsigned kPlaces = 256, kWays = 4, kCommunicators = 16;

  // A signature that was seen, by its hash; `number` + 1 in the current chunk, 0 if it is not there.
  struct Place {
    std::uint32_t hash;
    std::uint32_t number;
  };
  struct NextSequence {
    std::uint32_t communicator;  // 0: none
    std::uint32_t sequence;
  };

  Place* find(const Record& call, std::uint64_t hash);
  bool has_room() const;
  unsigned number_of(const Record& call);
  Record* signature(unsigned number) const;
  Record* open_call() const { return reinterpret_cast<Record*>(chunk_ + 1); }
  bool matches(unsigned number, const Record& call) const;
  FoldedWord* put_time(FoldedWord* word, std::uint64_t begin, std::uint64_t* distance);
  FoldedWord* put_sequence(FoldedWord* word, const Record& call);

  ChunkHeader* chunk_;
  Place* place_;              // of the open call
  std::uint64_t last_begin_;  // units, 0: none in this chunk
  bool counts_;
  Place places_[kPlaces];
  NextSequence next_[kCommunicators];
};

}  // namespace ddpscope::trace
