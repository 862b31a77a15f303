// Words in order: those that set something for the next call, and calls.
#include "trace/read/folded_calls.h"

#include <algorithm>
#include <cstring>

#include "trace/read/load.h"

namespace ddpscope::trace {

FoldedCalls::FoldedCalls(std::span<const unsigned char> chunk) : chunk_(chunk) {
  auto header = load<ChunkHeader>(chunk, 0);
  std::size_t content = std::min<std::size_t>(header.bytes, chunk.size()) - sizeof(ChunkHeader);
  std::size_t used = std::min<std::size_t>(header.used & ~kCallOpen, content);
  if (header.bytes <= chunk.size())
    signatures_ = std::min<std::size_t>(header.signatures, content / sizeof(Record));
  chunk_ = chunk.first(sizeof(ChunkHeader) + content);
  end_ = static_cast<std::uint32_t>(used);
  open_ = header.used & kCallOpen && used >= sizeof(Record);
  State state{.at = sizeof(Record)};
  Record call;
  while (sound_ && state.at + sizeof(FoldedWord) <= end_) {
    if (stretches_.size() * kStretch <= size_) stretches_.push_back(state);
    Word word = take(state, call);
    sound_ = word != Word::kUnknown;
    size_ += word == Word::kCall;
  }
  size_ += open_;
  if (stretches_.size() * kStretch < size_) stretches_.push_back(state);
}

std::size_t FoldedCalls::unfold(std::size_t stretch, std::span<Record, kStretch> records) const {
  State state = stretches_[stretch];
  std::size_t wanted = std::min(kStretch, size_ - stretch * kStretch), made = 0;
  bool with_open = open_ && stretch * kStretch + wanted == size_;
  // The file may have been cut off since: what is no call any more is an unused record.
  while (made + with_open < wanted && state.at + sizeof(FoldedWord) <= end_)
    made += take(state, records[made]) == Word::kCall;
  std::fill(records.begin() + static_cast<std::ptrdiff_t>(made), records.end(), Record{});
  if (with_open) records[wanted - 1] = load<Record>(chunk_, sizeof(ChunkHeader));
  return wanted;
}

FoldedCalls::Word FoldedCalls::take(State& state, Record& call) const {
  auto word = load<FoldedWord>(chunk_, sizeof(ChunkHeader) + state.at);
  state.at += sizeof(FoldedWord);
  auto tag = static_cast<std::uint8_t>(word);
  switch (static_cast<FoldedTag>(tag)) {
    case FoldedTag::kTime:
      state.begin = word >> 8;
      return Word::kSets;
    case FoldedTag::kDuration:
      state.long_duration = word >> 8;
      return Word::kSets;
    case FoldedTag::kSequence:
      next_of(state, static_cast<std::uint32_t>(word >> 8) & 0xFF'FFFF) =
          static_cast<std::uint32_t>(word >> 32);
      return Word::kSets;
    default:
      break;
  }
  if (tag >= signatures_) return Word::kUnknown;
  call = load<Record>(chunk_, chunk_.size() - (std::size_t{tag} + 1) * sizeof(Record));
  if (call.end == 1) add_sequence(state, call);
  state.begin += word >> 32;
  std::uint64_t duration = state.long_duration + ((word >> 8) & 0xFF'FFFF);
  state.long_duration = 0;
  call.begin = state.begin << kFoldedTickBits;
  call.end = (state.begin + duration) << kFoldedTickBits;
  return Word::kCall;
}

void FoldedCalls::add_sequence(State& state, Record& call) const {
  payload::Collective collective;
  std::memcpy(&collective, call.payload, sizeof(collective));
  collective.sequence = next_of(state, collective.communicator)++;
  std::memcpy(call.payload, &collective, sizeof(collective));
}

// A process has a handful of communicators, of which a thread uses fewer.
std::uint32_t& FoldedCalls::next_of(State& state, std::uint32_t communicator) {
  for (auto& [known, next] : state.sequences)
    if (known == communicator) return next;
  return state.sequences.emplace_back(communicator, 0).second;
}

}  // namespace ddpscope::trace
