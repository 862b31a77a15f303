// What no recording leaves: records out of order or of no time, numbers that the file cannot hold.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/device_work.h"
#include "trace/format.h"
#include "trace/read/records.h"

namespace ddpscope::trace {

// When the calls of a process can have been made.
struct Lifetime {
  std::uint64_t from_ticks = 0, to_ticks = ~std::uint64_t{0};
};

// Whether the records of a chunk are such as one thread writes one after the other.
class RecordCheck {
 public:
  // `schema`: the file's, which names calls that this version does not know.
  RecordCheck(Lifetime lifetime, std::string_view schema) : lifetime_(lifetime), schema_(schema) {}

  bool sound(const Records& records, std::uint16_t thread);
  // The most of them that are.
  std::vector<Record> sound_ones(const Records& records, std::uint16_t thread);

 private:
  bool sound(const Record& record, std::uint16_t thread);
  bool in_schema(std::uint16_t call);

  Lifetime lifetime_;
  std::string_view schema_;
  std::set<std::uint16_t> unknown_;  // calls that neither this version nor the schema knows
  std::set<std::uint16_t> named_;    // that only the schema knows
};

// Whether the chunks of a thread hold the calls of the times at which it filled them. Where not, the content
// of one of them is another's.
class ChunkOrder {
 public:
  // To be asked for each chunk in the order of their numbers.
  bool follows(const Records& records, std::uint16_t thread, ChunkKind kind);

 private:
  std::map<std::pair<std::uint16_t, ChunkKind>, std::uint64_t> latest_;  // begin of the last call
};

// Whether this is something that a device can have done for such a process.
bool sound(const DeviceWork& work, Lifetime lifetime);

// When a thread opened one of its chunks, of those that no ring takes anew.
struct ChunkOpening {
  std::uint16_t thread;
  std::uint64_t number, ticks;

  auto operator<=>(const ChunkOpening&) const = default;
};

// What was found in the chunks of a file, to be compared with its header.
struct Contents {
  std::size_t bytes = 0;
  std::vector<std::uint64_t> chunks;  // their numbers
  std::vector<ChunkOpening> openings{};
  std::uint64_t overwritten = 0;  // chunks that the ring took anew
  std::set<std::uint16_t> threads;
  std::size_t strings = 0, stacks = 0;
  bool whole = true;  // false: it is known that some are missing
};

// What the header, whose clock readings are sound, says and the file does not hold, a sentence each. What is
// beyond all bounds is set to 0, or to what was found, so that nobody adds it up.
std::vector<std::string> check_header(FileHeader& header, Contents contents);

}  // namespace ddpscope::trace
