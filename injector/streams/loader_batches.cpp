// A pickle of protocol 2 to 5 (Python 3.0 to 3.14), as far as integers, lists and pairs go. Source of the
// opcodes: pickletools.py of CPython.
#include "injector/streams/loader_batches.h"

namespace ddpscope::injector {
namespace {

enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kProto = 0x80,
  kTuple2 = 0x86,
  kLong1 = 0x8a,
  kMemoize = 0x94,
  kFrame = 0x95,
};

constexpr std::size_t kLeastBytes = 6;  // protocol, two integers, pair and stop

class Unpickler {
 public:
  Unpickler(const std::uint8_t* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}

  bool take(std::uint8_t opcode) {
    skip_notes();
    if (next_ == end_ || *next_ != opcode) return false;
    ++next_;
    return true;
  }
  bool at_end() const { return next_ == end_; }
  void skip(std::size_t bytes) { next_ += bytes < left() ? bytes : left(); }

  // Not negative, and of eight bytes at most.
  std::optional<std::uint64_t> take_integer() {
    skip_notes();
    if (next_ == end_) return {};
    switch (*next_) {
      case kBinInt1:
        return little_endian(1, 1);
      case kBinInt2:
        return little_endian(1, 2);
      case kBinInt:
        return little_endian(1, 4);
      case kLong1:
        if (left() < 2 || next_[1] > 8) return {};
        return little_endian(2, next_[1]);
      default:
        return {};
    }
  }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }

  // Places in the memo, which nothing here refers to, and lengths of frames.
  void skip_notes() {
    while (next_ != end_) {
      std::size_t bytes = *next_ == kMemoize      ? 1
                          : *next_ == kBinPut     ? 2
                          : *next_ == kLongBinPut ? 5
                          : *next_ == kFrame      ? 9
                                                  : 0;
      if (!bytes || bytes > left()) return;
      next_ += bytes;
    }
  }

  std::optional<std::uint64_t> little_endian(std::size_t from, std::size_t bytes) {
    if (left() < from + bytes) return {};
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{next_[from + i]} << (8 * i);
    bool negative = bytes && (*next_ == kBinInt || *next_ == kLong1) && (value >> (8 * bytes - 1) & 1);
    next_ += from + bytes;
    return negative ? std::nullopt : std::optional(value);
  }

  const std::uint8_t *next_, *end_;
};

class Batch {
 public:
  void add(std::uint64_t index) {
    if (payload_.count == 0)
      payload_.first = index;
    else if (index > last_)
      ++payload_.rising;
    ++payload_.count;
    last_ = index;
    std::uint64_t mixed = (payload_.digest ^ index) * 0x9E3779B97F4A7C15u;
    payload_.digest = mixed ^ mixed >> 32;
  }
  bool empty() const { return payload_.count == 0; }
  trace::payload::LoaderBatch numbered(std::uint64_t number) const {
    trace::payload::LoaderBatch payload = payload_;
    payload.number = number;
    return payload;
  }

 private:
  trace::payload::LoaderBatch payload_{};
  std::uint64_t last_ = 0;
};

// Python writes a list in pieces of a thousand, a last one of a single element without a mark.
bool take_list(Unpickler& pickle, Batch& batch) {
  for (;;) {
    if (pickle.take(kMark)) {
      while (auto index = pickle.take_integer()) batch.add(*index);
      if (!pickle.take(kAppends)) return false;
    } else if (auto index = pickle.take_integer()) {
      if (!pickle.take(kAppend)) return false;
      batch.add(*index);
    } else {
      return !batch.empty();
    }
  }
}

}  // namespace

std::optional<trace::payload::LoaderBatch> read_loader_batch(const void* bytes, std::size_t size) {
  Unpickler pickle(static_cast<const std::uint8_t*>(bytes), size);
  Batch batch;
  if (size < kLeastBytes || !pickle.take(kProto)) return {};
  pickle.skip(1);
  auto number = pickle.take_integer();
  if (!number) return {};
  if (!pickle.take(kEmptyList) || !take_list(pickle, batch)) return {};
  if (!pickle.take(kTuple2) || !pickle.take(kStop) || !pickle.at_end()) return {};
  return batch.numbered(*number);
}

}  // namespace ddpscope::injector
