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

Arguments recurring_of(const Record& call, bool counts) {
  Arguments arguments;
  std::memcpy(&arguments, call.payload, sizeof(arguments));
  return recurring(arguments, counts);
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
  Arguments a = recurring_of(call, counts_), b = recurring_of(*known, counts_);
  std::uint64_t difference = (known->call ^ call.call) | (known->stack ^ call.stack);
  for (std::size_t i = 0; i < kPayloadBytes / 8; ++i) difference |= a.words[i] ^ b.words[i];
  return difference == 0;
}

OpenRecord Fold::open(FileWriter& file, ThreadWriter& thread, const Record& call, bool counts) {
  if (counts && recurring_of(call, true).words[0] >= kMaxCommunicator) return {};
  // It was left by longjmp and stays where it is, or a signal handler interrupts it, perhaps in close().
  if (chunk_ && (chunk_->used & kCallOpen)) return {};
  counts_ = counts;
  if (!chunk_ || !has_room()) {
    ChunkHeader* fresh = thread.next_chunk(file, ChunkKind::kFolded, 2 * sizeof(Record));
    if (!fresh) return {};
    chunk_ = fresh;
    fresh->used = sizeof(Record);
    last_begin_ = 0;
    for (Set& set : sets_) std::memset(set.numbers, 0, sizeof(set.numbers));
    std::memset(next_, 0, sizeof(next_));
  }
  *open_call() = call;
  __atomic_store_n(&chunk_->used, chunk_->used | kCallOpen, __ATOMIC_RELEASE);
  return {open_call(), chunk_, file.epoch(), 0, this};
}

// The signature of a call that returned. Its arguments may have changed since it was opened: a result other
// than success makes another signature. A signal handler's call may have changed the place in the meantime:
// what it says is looked at once, and checked.
unsigned Fold::number_of(const Record& call) {
  std::uint32_t* place = &place_.number();
  std::uint32_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
  if (known && matches(known - 1, call)) return known - 1;
  unsigned count = chunk_->signatures;
  for (unsigned number = 0; number < count; ++number)
    if (matches(number, call)) return number;
  Record* added = signature(count);
  Arguments arguments = recurring_of(call, counts_);
  *added = call;
  added->begin = 0;
  added->end = counts_;
  std::memcpy(added->payload, &arguments, sizeof(arguments));
  chunk_->signatures = static_cast<std::uint8_t>(count + 1);
  __atomic_store_n(place, count + 1, __ATOMIC_RELAXED);
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
