// Words are written behind the last one and become visible together with the end of their call.
#include "trace/write/fold.h"

#include <sys/mman.h>

#include <cstring>

#include "trace/write/raw_syscall.h"
#include "trace/write/thread_writer.h"

namespace ddpscope::trace {
namespace {

constexpr std::uint32_t kMostWords = 4;  // that one call may need
constexpr std::uint64_t kShortDuration = 1u << 24;
constexpr std::uint64_t kShortDistance = std::uint64_t{1} << 32;
constexpr std::uint32_t kMaxCommunicator = 1u << 24;

constexpr FoldedWord tagged(FoldedTag tag, std::uint64_t value) {
  return value << 8 | static_cast<std::uint8_t>(tag);
}

// The arguments without the sequence number, as five words.
struct Arguments {
  std::uint64_t words[kPayloadBytes / 8];
};

Arguments arguments_of(const Record& call, bool counts) {
  Arguments arguments;
  std::memcpy(&arguments, call.payload, sizeof(arguments));
  static_assert(offsetof(payload::Collective, communicator) == 0 &&
                offsetof(payload::Collective, sequence) == 4);
  if (counts) arguments.words[0] &= 0xFFFF'FFFF;
  return arguments;
}

// Products side by side: a chain of them would cost more than the record.
std::uint64_t hash_of(const Record& call, bool counts) {
  Arguments a = arguments_of(call, counts);
  std::uint64_t sum = (a.words[0] + call.call) * 0x9E3779B97F4A7C15u + a.words[1] * 0xC2B2AE3D27D4EB4Fu +
                      a.words[2] * 0x165667B19E3779F9u + a.words[3] * 0xD6E8FEB86659FD93u +
                      (a.words[4] + call.stack) * 0xA0761D6478BD642Fu;
  return (sum ^ sum >> 32) * 0x9E3779B97F4A7C15u;
}

}  // namespace

Fold* Fold::create() {
  long result =
      raw_syscall(SYS_mmap, 0, sizeof(Fold), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<Fold*>(result);
}

void Fold::destroy() { raw_syscall(SYS_munmap, as_argument(this), sizeof(Fold)); }

// Room for whatever the next call may need, so that its end never waits for a chunk.
bool Fold::has_room() const {
  std::uint32_t taken = chunk_->used + kMostWords * sizeof(FoldedWord) +
                        (chunk_->signatures + 1u) * static_cast<std::uint32_t>(sizeof(Record));
  return taken + sizeof(ChunkHeader) <= chunk_->bytes && chunk_->signatures < kMaxSignatures;
}

Record* Fold::signature(unsigned number) const {
  unsigned char* end = reinterpret_cast<unsigned char*>(chunk_) + chunk_->bytes;
  return reinterpret_cast<Record*>(end) - number - 1;
}

bool Fold::matches(unsigned number, const Record& call) const {
  const Record* known = signature(number);
  Arguments a = arguments_of(call, counts_);
  return known->call == call.call && known->stack == call.stack &&
         std::memcmp(known->payload, &a, sizeof(a)) == 0;
}

// The place of this signature; nullptr if it has none: then it gets a free one, or that of another.
Fold::Place* Fold::find(const Record& call, std::uint64_t hash) {
  auto tag = static_cast<std::uint32_t>(hash >> 16) | 1;  // 0 marks a free place
  Place* set = &places_[(hash >> 48) % (kPlaces / kWays) * kWays];
  Place* given = &set[(hash >> 56) % kWays];
  for (unsigned way = kWays; way-- > 0;) {
    if (set[way].hash == tag && (!set[way].number || matches(set[way].number - 1, call))) return &set[way];
    if (!set[way].hash) given = &set[way];
  }
  *given = {tag, 0};
  return nullptr;
}

OpenRecord Fold::open(FileWriter& file, ThreadWriter& thread, const Record& call, bool counts) {
  counts_ = counts;
  if (counts && arguments_of(call, true).words[0] >= kMaxCommunicator) return {};
  Place* place = find(call, hash_of(call, counts));
  if (!place) return {};
  if (chunk_ && (chunk_->used & kCallOpen)) return {};  // it was left by longjmp: it stays where it is
  if (!chunk_ || !has_room()) {
    ChunkHeader* fresh = thread.next_chunk(file, ChunkKind::kFolded, 2 * sizeof(Record));
    if (!fresh) return {};
    chunk_ = fresh;
    fresh->used = sizeof(Record);
    last_begin_ = 0;
    for (Place& known : places_) known.number = 0;
    std::memset(next_, 0, sizeof(next_));
  }
  place_ = place;
  *open_call() = call;
  __atomic_store_n(&chunk_->used, chunk_->used | kCallOpen, __ATOMIC_RELEASE);
  return {open_call(), chunk_, file.epoch(), 0, this};
}

// The signature of a call that returned. Its arguments may have changed since it was opened: a result other
// than success makes another signature.
unsigned Fold::number_of(const Record& call) {
  if (place_->number && matches(place_->number - 1, call)) return place_->number - 1;
  unsigned count = chunk_->signatures;
  for (unsigned number = 0; number < count; ++number)
    if (matches(number, call)) return number;
  Record* added = signature(count);
  Arguments arguments = arguments_of(call, counts_);
  *added = call;
  added->begin = 0;
  added->end = counts_;
  std::memcpy(added->payload, &arguments, sizeof(arguments));
  chunk_->signatures = static_cast<std::uint8_t>(count + 1);
  place_->number = count + 1;
  return count;
}

FoldedWord* Fold::put_time(FoldedWord* word, std::uint64_t begin, std::uint64_t* distance) {
  *distance = begin - last_begin_;
  if (!last_begin_ || *distance >= kShortDistance) {
    *word++ = tagged(FoldedTag::kTime, begin);
    *distance = 0;
  }
  last_begin_ = begin;
  return word;
}

FoldedWord* Fold::put_sequence(FoldedWord* word, const Record& call) {
  payload::Collective collective;
  std::memcpy(&collective, call.payload, sizeof(collective));
  NextSequence& next = next_[collective.communicator % kCommunicators];
  if (next.communicator != collective.communicator || next.sequence != collective.sequence)
    *word++ = tagged(FoldedTag::kSequence,
                     static_cast<std::uint64_t>(collective.sequence) << 24 | collective.communicator);
  next = {collective.communicator, collective.sequence + 1};
  return word;
}

void Fold::close(std::uint64_t ticks) {
  const Record& call = *open_call();
  constexpr std::uint64_t kUnit = 1u << kFoldedTickBits;
  std::uint64_t begin = (call.begin + kUnit - 1) >> kFoldedTickBits;
  std::uint64_t end = ticks >> kFoldedTickBits;
  std::uint64_t duration = end > begin ? end - begin : 0;
  std::uint32_t used = chunk_->used & ~kCallOpen;
  auto* first = reinterpret_cast<FoldedWord*>(reinterpret_cast<unsigned char*>(chunk_ + 1) + used);
  FoldedWord* word = first;
  std::uint64_t distance = 0;
  unsigned number = number_of(call);
  word = put_time(word, begin, &distance);
  if (counts_) word = put_sequence(word, call);
  if (duration >= kShortDuration) {
    *word++ = tagged(FoldedTag::kDuration, duration);
    duration = 0;
  }
  *word++ = distance << 32 | duration << 8 | number;
  used += static_cast<std::uint32_t>((word - first) * static_cast<std::ptrdiff_t>(sizeof(FoldedWord)));
  __atomic_store_n(&chunk_->used, used, __ATOMIC_RELEASE);
}

}  // namespace ddpscope::trace
