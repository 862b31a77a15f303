// Columns of the whole run.
#include "collector/merged/summary.h"

#include <algorithm>
#include <bit>

namespace ddpscope::merged {
namespace {

constexpr std::uint64_t kMostColumns = 2048, kLeastColumns = 64;
constexpr std::uint64_t kMostCells = std::uint64_t{1} << 22;
constexpr std::uint64_t kCallsAColumn = 16;  // of a rank, below which columns only cost room

// Only what the rank's own program and its devices do: a loader that reads ahead holds nobody up.
bool counts(TrackKind track) {
  return track == TrackKind::kHost || track == TrackKind::kFiles || track == TrackKind::kStream;
}

std::uint64_t of(const std::array<std::uint64_t, kActivities>& shares, Activity activity) {
  return shares[static_cast<std::size_t>(activity)];
}

}  // namespace

std::uint32_t column_count(std::int64_t duration_ns, std::uint64_t calls, std::size_t rank_rows) {
  if (duration_ns <= 0 || rank_rows == 0) return 0;
  std::uint64_t wanted = std::clamp(calls / rank_rows / kCallsAColumn, kLeastColumns, kMostColumns);
  std::uint64_t most = std::max<std::uint64_t>(kMostCells / rank_rows, 1);
  return static_cast<std::uint32_t>(std::bit_floor(std::min(wanted, most)));
}

Summary::Summary(std::int64_t duration_ns, std::uint32_t columns, std::size_t rank_rows)
    : columns_(std::make_unique<Columns>(duration_ns, columns)),
      sums_(std::make_unique<ColumnSums>(*columns_)),
      cells_(rank_rows * columns_->count(), Cell{kNoLateness, 0, 0, 0, 0}),
      in_(columns_->count()),
      lateness_(rank_rows, Lateness(*columns_)) {}

void Summary::add(TrackKind track, const Event& event) {
  if (columns_->count() == 0) return;
  if (counts(track)) sums_->add(activity_of(event.kind), event.begin_ns, event.end_ns);
}

void Summary::raise_severity(std::uint32_t rank_row, std::int64_t begin_ns, std::uint8_t severity) {
  if (columns_->count() == 0) return;
  std::uint8_t& known = cell(rank_row, columns_->of(begin_ns)).max_severity;
  known = std::max(known, severity);
}

void Summary::close_rank(std::uint32_t rank_row, bool is_rank) {
  auto shares = sums_->shares();
  std::uint64_t width = columns_->width_ns();
  for (std::uint32_t column = 0; column < columns_->count(); ++column) {
    const auto& share = shares[column];
    auto part = [&](std::uint64_t ns) { return static_cast<std::uint8_t>(ns * 255 / width); };
    cell(rank_row, column) = {
        kNoLateness, part(of(share, Activity::kWaiting) + of(share, Activity::kCollective)),
        part(of(share, Activity::kCompute)),
        part(of(share, Activity::kFileRead) + of(share, Activity::kFileWrite)), kNoSeverity};
    if (is_rank)
      for (std::size_t i = 0; i < kActivities; ++i)
        in_[column][i] += static_cast<std::uint32_t>(share[i] * 256 / width);
  }
  sums_ = std::make_unique<ColumnSums>(*columns_);
}

void Summary::add_arrival(std::uint32_t rank_row, std::int64_t arrival_ns, std::int64_t late_ns) {
  lateness_[rank_row].add(arrival_ns, late_ns);
}

void Summary::put(SectionWriter& sections, const std::vector<HostRow>& hosts) {
  std::uint32_t count = columns_->count();
  for (std::uint32_t row = 0; row < lateness_.size(); ++row)
    for (std::uint32_t column = 0; column < count; ++column)
      cell(row, column).late_us = lateness_[row].mean_us(column);
  std::vector<CellSum> of_host(std::size_t{count} * hosts.size()), of_job(count);
  for (std::size_t host = 0; host < hosts.size(); ++host)
    for (std::uint32_t row : hosts[host].ranks)
      for (std::uint32_t column = 0; column < count; ++column) {
        of_host[host * count + column].add(cell(row, column));
        of_job[column].add(cell(row, column));
      }
  std::vector<Cell> out;
  for (const CellSum& sum : of_job) out.push_back(sum.mean());
  for (const CellSum& sum : of_host) out.push_back(sum.mean());
  out.insert(out.end(), cells_.begin(), cells_.end());
  ByteWriter in;
  for (std::size_t i = 0; i < kActivities; ++i)
    for (std::uint32_t column = 0; column < count; ++column) in.put(in_[column][i]);
  sections.begin(SectionId::kCells);
  sections.append({reinterpret_cast<const unsigned char*>(out.data()), out.size() * sizeof(Cell)});
  sections.append(in.bytes());
  sections.end();
}

}  // namespace ddpscope::merged
