// Words in order: those that set something for the next call, and calls.
#include "trace/read/unfold.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace ddpscope::trace {
namespace {

template <class T>
T load(std::span<const unsigned char> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

class Unfolder {
 public:
  explicit Unfolder(std::span<const unsigned char> chunk)
      : chunk_(chunk), header_(load<ChunkHeader>(chunk, 0)) {
    std::size_t content = std::min<std::size_t>(header_.bytes, chunk.size()) - sizeof(ChunkHeader);
    used_ = std::min<std::size_t>(header_.used & ~kCallOpen, content);
    if (header_.bytes <= chunk.size())
      signatures_ = std::min<std::size_t>(header_.signatures, content / sizeof(Record));
  }

  UnfoldedCalls run() {
    UnfoldedCalls calls;
    for (std::size_t at = sizeof(Record); calls.sound && at + sizeof(FoldedWord) <= used_;
         at += sizeof(FoldedWord))
      calls.sound = take(load<FoldedWord>(chunk_, sizeof(ChunkHeader) + at), calls.records);
    if (header_.used & kCallOpen && used_ >= sizeof(Record))
      calls.records.push_back(load<Record>(chunk_, sizeof(ChunkHeader)));
    return calls;
  }

 private:
  bool take(FoldedWord word, std::vector<Record>& records) {
    auto tag = static_cast<std::uint8_t>(word);
    switch (static_cast<FoldedTag>(tag)) {
      case FoldedTag::kTime:
        begin_ = word >> 8;
        return true;
      case FoldedTag::kDuration:
        long_duration_ = word >> 8;
        return true;
      case FoldedTag::kSequence:
        sequences_[static_cast<std::uint32_t>(word >> 8) & 0xFF'FFFF] =
            static_cast<std::uint32_t>(word >> 32);
        return true;
      default:
        return tag < signatures_ && add_call(word, tag, records);
    }
  }

  bool add_call(FoldedWord word, unsigned number, std::vector<Record>& records) {
    Record call = load<Record>(chunk_, header_.bytes - (number + 1) * sizeof(Record));
    if (call.end == 1) set_sequence(call);
    begin_ += word >> 32;
    std::uint64_t duration = long_duration_ + ((word >> 8) & 0xFF'FFFF);
    long_duration_ = 0;
    call.begin = begin_ << kFoldedTickBits;
    call.end = (begin_ + duration) << kFoldedTickBits;
    records.push_back(call);
    return true;
  }

  void set_sequence(Record& call) {
    payload::Collective collective;
    std::memcpy(&collective, call.payload, sizeof(collective));
    if (!next_ || collective.communicator != communicator_) {
      communicator_ = collective.communicator;
      next_ = &sequences_[communicator_];
    }
    collective.sequence = (*next_)++;
    std::memcpy(call.payload, &collective, sizeof(collective));
  }

  std::span<const unsigned char> chunk_;
  ChunkHeader header_;
  std::size_t used_ = 0;
  std::size_t signatures_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t long_duration_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> sequences_;  // next one, by communicator
  std::uint32_t communicator_ = 0;                              // of the last call
  std::uint32_t* next_ = nullptr;                               // and its place in sequences_
};

}  // namespace

UnfoldedCalls unfold(std::span<const unsigned char> chunk) { return Unfolder(chunk).run(); }

}  // namespace ddpscope::trace
