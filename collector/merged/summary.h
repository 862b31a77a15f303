// Sums the whole run up while it is written: what each rank was in, how late it came, what was found there.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "collector/merged/bytes.h"
#include "collector/merged/column_sums.h"
#include "collector/merged/event.h"
#include "collector/merged/rows.h"
#include "collector/merged/sections.h"

namespace ddpscope::merged {

// Columns for a job of so many calls and rank rows: a power of two, enough for the calls, and no more cells
// than 2^22 in all.
std::uint32_t column_count(std::int64_t duration_ns, std::uint64_t calls, std::size_t rank_rows);

class Summary {
 public:
  Summary(std::int64_t duration_ns, std::uint32_t columns, std::size_t rank_rows);

  // Of the rank at hand.
  void add(TrackKind track, const Event& event);
  void close_rank(std::uint32_t rank_row, bool is_rank);
  // After it was closed.
  void add_arrival(std::uint32_t rank_row, std::int64_t arrival_ns, std::int64_t late_ns);
  void raise_severity(std::uint32_t rank_row, std::int64_t begin_ns, std::uint8_t severity);  // of an event

  // Job's cells, activities, hosts, ranks: kCells, one after the other.
  void put(SectionWriter& sections, const std::vector<HostRow>& hosts);
  std::uint32_t columns() const { return columns_->count(); }

 private:
  Cell& cell(std::uint32_t rank_row, std::uint32_t column) {
    return cells_[std::size_t{rank_row} * columns_->count() + column];
  }

  std::unique_ptr<Columns> columns_;
  std::unique_ptr<ColumnSums> sums_;                        // of the rank at hand
  std::vector<Cell> cells_;                                 // rank after rank
  std::vector<std::array<std::uint32_t, kActivities>> in_;  // by column, 1/256 rank
  std::vector<Lateness> lateness_;                          // by rank row
};

}  // namespace ddpscope::merged
