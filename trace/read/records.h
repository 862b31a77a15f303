// The records of one chunk: in place, or made from folded calls a stretch at a time.
#pragma once
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>

#include "trace/format.h"
#include "trace/read/folded_calls.h"

namespace ddpscope::trace {

class RecordReader;

class Records {
 public:
  Records() = default;
  Records(std::span<const Record> in_place) : in_place_(in_place), size_(in_place.size()) {}
  explicit Records(FoldedCalls calls)
      : folded_(std::make_shared<const FoldedCalls>(std::move(calls))), size_(folded_->size()) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Record operator[](std::size_t index) const;
  Record front() const { return (*this)[0]; }

  class Iterator;
  Iterator begin() const;
  std::default_sentinel_t end() const { return {}; }

 private:
  friend RecordReader;
  std::span<const Record> in_place_;
  std::shared_ptr<const FoldedCalls> folded_;  // or nothing
  std::size_t size_ = 0;
};

// Reads records, best one after the other.
class RecordReader {
 public:
  RecordReader() = default;
  explicit RecordReader(const Records& records) { open(records); }

  void open(const Records& records) {
    in_place_ = records.in_place_.data();
    folded_ = records.folded_.get();
    count_ = 0;
    if (folded_ && !room_) room_ = std::make_unique<Room>();
  }
  // Stays until the next call of this.
  const Record& operator[](std::size_t index) {
    if (!folded_) return in_place_[index];
    if (index - first_ >= count_) unfold(index);
    return (*room_)[index - first_];
  }

 private:
  using Room = std::array<Record, FoldedCalls::kStretch>;

  void unfold(std::size_t index) {
    std::size_t stretch = index / FoldedCalls::kStretch;
    count_ = folded_->unfold(stretch, *room_);
    first_ = stretch * FoldedCalls::kStretch;
  }

  const Record* in_place_ = nullptr;
  const FoldedCalls* folded_ = nullptr;
  std::unique_ptr<Room> room_;
  std::size_t first_ = 0, count_ = 0;  // in room_
};

inline Record Records::operator[](std::size_t index) const { return RecordReader(*this)[index]; }

class Records::Iterator {
 public:
  explicit Iterator(const Records& records) : reader_(records), size_(records.size()) {}
  const Record& operator*() { return reader_[at_]; }
  Iterator& operator++() {
    ++at_;
    return *this;
  }
  bool operator==(std::default_sentinel_t) const { return at_ == size_; }

 private:
  RecordReader reader_;
  std::size_t at_ = 0, size_;
};

inline Records::Iterator Records::begin() const { return Iterator(*this); }

}  // namespace ddpscope::trace
