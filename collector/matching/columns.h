// Columns of a table that is as long as a trace, for what tends to repeat or to lie close together: a few
// bytes a row, whatever a row's type. Rows are appended; reading one takes the same time wherever it stands.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/read/table.h"

namespace ddpscope::matching {

// Which run of rows each row belongs to.
class Runs {
 public:
  std::uint32_t size() const { return size_; }  // rows
  std::uint32_t runs() const { return begun_; }

  void push_back(bool begins) {
    if (size_ % 64 == 0) words_.push_back({0, begun_});
    if (begins) words_.back().begins |= std::uint64_t{1} << size_ % 64;
    begun_ += begins;
    ++size_;
  }
  bool begins(std::uint32_t row) const { return words_[row / 64].begins >> row % 64 & 1; }
  // From 0; the first row has to begin a run.
  std::uint32_t of(std::uint32_t row) const {
    const Word& word = words_[row / 64];
    std::uint64_t up_to_row = word.begins & ~std::uint64_t{0} >> (63 - row % 64);
    return word.before + static_cast<std::uint32_t>(std::popcount(up_to_row)) - 1;
  }

 private:
  struct Word {
    std::uint64_t begins;  // a bit a row
    std::uint32_t before;  // runs that began before these rows
  };
  trace::Table<Word> words_;
  std::uint32_t size_ = 0, begun_ = 0;
};

// Values of which many in a row are equal.
template <class Value>
class RepeatedValues {
 public:
  std::uint32_t size() const { return runs_.size(); }
  const Value& operator[](std::uint32_t row) const { return values_[runs_.of(row)]; }

  void push_back(const Value& value) {
    bool begins = values_.empty() || values_.back() != value;
    runs_.push_back(begins);
    if (begins) values_.push_back(value);
  }

 private:
  Runs runs_;
  trace::Table<Value> values_;
};

// Ascending numbers of which many in a row follow each other.
class Numbers {
 public:
  class Iterator {
   public:
    Iterator(const Numbers& numbers, std::uint32_t at) : numbers_(&numbers), at_(at) {}
    std::uint32_t operator*() const { return (*numbers_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const Numbers* numbers_;
    std::uint32_t at_;
  };

  std::size_t size() const { return less_place_.size(); }
  bool empty() const { return size() == 0; }
  std::uint32_t operator[](std::size_t place) const {
    auto at = static_cast<std::uint32_t>(place);
    return less_place_[at] + at;
  }
  std::uint32_t front() const { return (*this)[0]; }
  std::uint32_t back() const { return (*this)[size() - 1]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, less_place_.size()}; }

  void push_back(std::uint32_t number) { less_place_.push_back(number - less_place_.size()); }
  // How many of them, from the first on, are such: std::partition_point.
  template <class Predicate>
  std::size_t count_first(Predicate&& is_such) const {
    std::size_t low = 0, high = size();
    while (low < high) {
      std::size_t middle = low + (high - low) / 2;
      if (is_such((*this)[middle]))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  std::size_t place_of(std::uint32_t number) const {
    return count_first([&](std::uint32_t each) { return each < number; });
  }

 private:
  RepeatedValues<std::uint32_t> less_place_;  // a number less its place
};

// Times of which each is read beside another one, its reference, and mostly lies less than 4 s after it.
class TimesAfter {
 public:
  void push_back(std::int64_t time, std::int64_t reference) {
    offsets_.push_back(0);
    set(static_cast<std::uint32_t>(offsets_.size() - 1), time, reference);
  }
  void set(std::uint32_t row, std::int64_t time, std::int64_t reference) {
    bool near = time >= reference && time - reference < kFar;
    offsets_[row] = near ? static_cast<std::uint32_t>(time - reference) : kFar;
    if (!near) far_[row] = time;
  }
  std::int64_t at(std::uint32_t row, std::int64_t reference) const {
    return offsets_[row] != kFar ? reference + offsets_[row] : far_.at(row);
  }
  void reserve(std::size_t rows) { offsets_.reserve(rows); }

 private:
  static constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
  trace::Table<std::uint32_t> offsets_;
  std::unordered_map<std::uint32_t, std::int64_t> far_;
};

// Times that mostly ascend.
class Times {
 public:
  std::uint32_t size() const { return size_; }
  std::int64_t operator[](std::uint32_t row) const { return offsets_.at(row, bases_[row / kRows]); }

  void push_back(std::int64_t time) {
    if (size_ % kRows == 0) bases_.push_back(time);
    offsets_.push_back(time, bases_.back());
    ++size_;
  }
  void reserve(std::size_t rows) {
    bases_.reserve(rows / kRows + 1);
    offsets_.reserve(rows);
  }

 private:
  static constexpr std::uint32_t kRows = 16;  // that share a base
  trace::Table<std::int64_t> bases_;
  TimesAfter offsets_;
  std::uint32_t size_ = 0;
};

}  // namespace ddpscope::matching
