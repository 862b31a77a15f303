// The whole run in columns of equal time: how much of each a rank spent in which activity.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "collector/merged/kinds.h"
#include "collector/merged/node.h"

namespace ddpscope::merged {

class Columns {
 public:
  // `count` 0: there are none.
  Columns(std::int64_t duration_ns, std::uint32_t count);

  std::uint32_t count() const { return count_; }
  std::uint64_t width_ns() const { return width_ns_; }
  std::uint32_t of(std::int64_t t_ns) const;  // t_ns from 0 on; the last one takes what comes later

 private:
  std::uint64_t width_ns_ = 1;
  std::uint32_t count_ = 0;
};

// Time by column and activity; a long event costs as much as a short one.
class ColumnSums {
 public:
  explicit ColumnSums(const Columns& columns);
  void add(Activity activity, std::int64_t begin_ns, std::int64_t end_ns);
  // Of each column the part that belongs to each activity when only one counts at a time, in the order of
  // Activity, kNone being what is left; they add up to `width`.
  std::vector<std::array<std::uint64_t, kActivities>> shares() const;

 private:
  const Columns& columns_;
  std::array<std::vector<std::uint64_t>, kActivities> parts_;  // of columns that are not covered whole
  std::array<std::vector<std::int64_t>, kActivities> covers_;  // change of how many cover it whole
};

// How late a rank came to the collectives of each column.
class Lateness {
 public:
  explicit Lateness(const Columns& columns) : columns_(columns) {}
  void add(std::int64_t arrival_ns, std::int64_t late_ns);
  std::uint32_t mean_us(std::uint32_t column) const;

 private:
  const Columns& columns_;
  std::vector<std::uint64_t> sums_us_;  // empty as long as there is none
  std::vector<std::uint32_t> counts_;
};

// Cells of ranks to those of hosts and of the job.
class CellSum {
 public:
  void add(const Cell& cell);
  Cell mean() const;

 private:
  std::uint64_t waiting_ = 0, compute_ = 0, files_ = 0, count_ = 0;
  std::uint32_t late_us_ = kNoLateness;
  std::uint8_t severity_ = 0;
};

}  // namespace ddpscope::merged
