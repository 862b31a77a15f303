// Regular calls of one thread at 8 bytes each (kFolded in format.h).
#pragma once
#include <emmintrin.h>

#include <bit>
#include <cstring>

#include "trace/write/file_writer.h"

namespace ddpscope::trace {

class ThreadWriter;
struct OpenRecord;

// A payload as the words that it takes in a record.
struct Arguments {
  std::uint64_t words[kPayloadBytes / 8];
};

template <class Payload>
inline Arguments arguments_of(const Payload& payload) {
  Arguments arguments{};
  std::memcpy(&arguments, &payload, kContentBytes<Payload>);
  return arguments;
}

// Put together in registers: to store its fields and load them again as words costs more than all the rest.
inline Arguments arguments_of(const payload::Collective& p) {
  auto peer = static_cast<std::uint32_t>(p.peer);
  return {{p.communicator | std::uint64_t{p.sequence} << 32, p.count, p.stream, p.buffer,
           peer | std::uint64_t{p.datatype} << 32 | std::uint64_t{p.reduction} << 40 |
               std::uint64_t{p.device} << 48 | std::uint64_t{p.result} << 56}};
}

// What recurs of a call: all but the sequence number of a numbered one, the upper half of its first word.
inline Arguments recurring(Arguments arguments, bool counts) {
  if (counts) arguments.words[0] &= 0xFFFF'FFFF;
  return arguments;
}

// Zero-initialised means: no call seen yet. Lives in memory of its own, because thread-local storage is
// scarce in a library that is loaded late.
class Fold {
 public:
  static Fold* create();  // nullptr: no memory
  void destroy();

  // Whether a call with these arguments (recurring()) was seen before; from now on it was.
  bool seen(Call call, std::uint32_t stack, const Arguments& arguments) {
    std::uint64_t hash = hash_of(call, stack, arguments);
    auto tag = static_cast<std::uint32_t>(hash >> 16);
    Set& set = sets_[hash >> 58];
    __m128i same = _mm_cmpeq_epi32(_mm_load_si128(&set.tags.vector), _mm_set1_epi32(static_cast<int>(tag)));
    if (int ways = _mm_movemask_ps(_mm_castsi128_ps(same))) [[unlikely]] {
      place_ = {&set, static_cast<std::uint32_t>(__builtin_ctz(static_cast<unsigned>(ways)))};
      return true;
    }
    std::uint32_t way = misses_++ % kWays;
    set.tags.single[way] = tag;
    set.numbers[way] = 0;
    return false;
  }

  // Opens a call that was just seen(). Nothing: there is no room, it becomes a record of its own. `counts`:
  // its payload is_numbered().
  OpenRecord open(FileWriter& file, ThreadWriter& thread, const Record& call, bool counts);
  void close(std::uint64_t ticks);  // of the call that is open

 private:
  static constexpr unsigned kSets = 64, kWays = 4, kCommunicators = 16;

  // Signatures that were seen, by their hash; `numbers` count from 1 in the current chunk, 0: not in it.
  struct Set {
    union {
      __m128i vector;
      std::uint32_t single[kWays];
    } tags;
    std::uint32_t numbers[kWays];
  };
  struct Place {
    Set* set;
    std::uint32_t way;
    std::uint32_t& number() const { return set->numbers[way]; }
  };
  struct NextSequence {
    std::uint32_t communicator;  // 0: none
    std::uint32_t sequence;
  };

  // Short rather than good: the guest waits for it, and a collision costs space, nothing else.
  static std::uint64_t hash_of(Call call, std::uint32_t stack, const Arguments& a) {
    std::uint64_t left = (a.words[0] ^ std::rotl(a.words[1], 23)) + std::rotl(a.words[2], 11);
    std::uint64_t right = (a.words[3] ^ std::rotl(a.words[4], 37)) + (std::uint64_t{stack} << 10);
    return (left ^ std::rotl(right, 29) ^ static_cast<std::uint64_t>(call)) * 0x9E3779B97F4A7C15u;
  }
  bool has_room() const;
  unsigned number_of(const Record& call);
  Record* signature(unsigned number) const;
  Record* open_call() const { return reinterpret_cast<Record*>(chunk_ + 1); }
  bool matches(unsigned number, const Record& call) const;
  FoldedWord* put_time(FoldedWord* word, std::uint64_t begin, std::uint64_t* distance);
  FoldedWord* put_sequence(FoldedWord* word, const Record& call);

  ChunkHeader* chunk_;
  Place place_;  // of the call seen last
  std::uint32_t misses_;
  std::uint64_t last_begin_;  // units, 0: none in this chunk
  bool counts_;
  Set sets_[kSets];
  NextSequence next_[kCommunicators];
};

}  // namespace ddpscope::trace
