// Sums by column: what an event covers whole is counted where it begins and ends to do so.
#include "collector/merged/column_sums.h"

#include <algorithm>
#include <limits>

namespace ddpscope::merged {

Columns::Columns(std::int64_t duration_ns, std::uint32_t count) {
  if (duration_ns <= 0 || count == 0) return;
  count_ = count;
  width_ns_ = static_cast<std::uint64_t>(duration_ns) / count + 1;
}

std::uint32_t Columns::of(std::int64_t t_ns) const {
  std::uint64_t column = static_cast<std::uint64_t>(std::max<std::int64_t>(t_ns, 0)) / width_ns_;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(column, count_ - 1));
}

ColumnSums::ColumnSums(const Columns& columns) : columns_(columns) {
  for (std::size_t i = 0; i < kActivities; ++i) {
    parts_[i].resize(columns.count());
    covers_[i].resize(columns.count());
  }
}

void ColumnSums::add(Activity activity, std::int64_t begin_ns, std::int64_t end_ns) {
  if (columns_.count() == 0 || end_ns <= begin_ns || activity == Activity::kNone) return;
  auto number = static_cast<std::size_t>(activity);
  std::uint64_t width = columns_.width_ns();
  std::uint32_t first = columns_.of(begin_ns), last = columns_.of(end_ns);
  auto begin = static_cast<std::uint64_t>(begin_ns), end = static_cast<std::uint64_t>(end_ns);
  if (first == last) {
    parts_[number][first] += end - begin;
    return;
  }
  parts_[number][first] += (std::uint64_t{first} + 1) * width - begin;
  parts_[number][last] += end - std::uint64_t{last} * width;
  ++covers_[number][first + 1];
  --covers_[number][last];
}

std::vector<std::array<std::uint64_t, kActivities>> ColumnSums::shares() const {
  std::vector<std::array<std::uint64_t, kActivities>> shares(columns_.count());
  std::array<std::int64_t, kActivities> covering{};
  for (std::uint32_t column = 0; column < columns_.count(); ++column) {
    std::uint64_t left = columns_.width_ns();
    for (std::size_t i = 0; i + 1 < kActivities; ++i) {
      covering[i] += covers_[i][column];
      std::uint64_t time = covering[i] > 0 ? left : std::min(parts_[i][column], left);
      shares[column][i] = time;
      left -= time;
    }
    shares[column][kActivities - 1] = left;
  }
  return shares;
}

void Lateness::add(std::int64_t arrival_ns, std::int64_t late_ns) {
  if (columns_.count() == 0) return;
  sums_us_.resize(columns_.count());
  counts_.resize(columns_.count());
  std::uint32_t column = columns_.of(arrival_ns);
  sums_us_[column] += static_cast<std::uint64_t>(late_ns) / 1000;
  ++counts_[column];
}

std::uint32_t Lateness::mean_us(std::uint32_t column) const {
  if (counts_.empty() || counts_[column] == 0) return kNoLateness;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(sums_us_[column] / counts_[column], kNoLateness - 1));
}

void CellSum::add(const Cell& cell) {
  waiting_ += cell.waiting;
  compute_ += cell.compute;
  files_ += cell.files;
  ++count_;
  severity_ = std::max(severity_, cell.max_severity);
  if (cell.late_us != kNoLateness && (late_us_ == kNoLateness || cell.late_us > late_us_))
    late_us_ = cell.late_us;
}

Cell CellSum::mean() const {
  std::uint64_t count = std::max<std::uint64_t>(count_, 1);
  auto part = [count](std::uint64_t sum) { return static_cast<std::uint8_t>(sum / count); };
  return {late_us_, part(waiting_), part(compute_), part(files_), severity_};
}

}  // namespace ddpscope::merged
