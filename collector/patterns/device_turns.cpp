// Who is compared with whom, collective by collective.
#include "collector/patterns/device_turns.h"

#include <algorithm>
#include <utility>

#include "collector/model/order_statistics.h"
#include "collector/patterns/kernels_done.h"

namespace ddpscope::patterns {
namespace {

constexpr std::int64_t kIdlePart =
    100;  // of a turn: what lies idle for less than one part in so many is busy

using Work = DeviceTurn::Work;

// The greater, the later it came.
std::int64_t came_ns(const MemberComing& coming, Work work) {
  return -coming.length_ns - coming.waited_ns - (work == Work::kOwn ? coming.foreign_ns : 0);
}

template <class Wanted>
const MemberComing* last_of(const DeviceTurn::Row& row, Wanted&& wanted) {
  const MemberComing* last = nullptr;
  for (std::size_t m = 0; m < row.members.size(); ++m) {
    if (!wanted(m)) continue;
    if (!last || came_ns(row.members[m], Work::kAll) > came_ns(*last, Work::kAll)) last = &row.members[m];
  }
  return last;
}

// By how much longer one member had to do with others than another one had, since all last began to work: it
// is behind by that until they do so again, also when the other one, which is ahead, has waited since.
class ForeignExcess {
 public:
  std::int64_t after(const DeviceTurn::Row& row, const MemberComing& one, const MemberComing& other) {
    if (row.level > level_) excess_ns_ = 0, level_ = row.level;
    return excess_ns_ = std::max(excess_ns_, one.foreign_ns - other.foreign_ns);
  }

 private:
  std::size_t level_ = 0;
  std::int64_t excess_ns_ = 0;
};

}  // namespace

const DeviceTurn::Row& DeviceTurn::longest() const {
  auto wait_ns = [](const Row& row) {
    auto [least, most] = std::minmax_element(
        row.members.begin(), row.members.end(),
        [](const MemberComing& a, const MemberComing& b) { return a.length_ns < b.length_ns; });
    return most->length_ns - least->length_ns;
  };
  return *std::max_element(rows_.begin(), rows_.end(),
                           [&](const Row& a, const Row& b) { return wait_ns(a) < wait_ns(b); });
}

std::vector<LostTime> DeviceTurn::late() const {
  std::size_t members = rows_.front().members.size();
  std::vector<LostTime> late;
  for (Work work : {Work::kAll, Work::kOwn}) {
    std::vector<std::pair<std::int64_t, std::size_t>> sums;
    for (std::size_t m = 0; m < members; ++m) {
      sums.emplace_back(0, m);
      for (const Row& row : rows_) sums.back().first += came_ns(row.members[m], work);
    }
    std::size_t typical = model::value_at(sums, (members - 1) / 2).second;
    for (std::size_t m = 0; m < members; ++m) {
      LossOfTurn loss(length_ns_ / kIdlePart);
      ForeignExcess excess;
      for (const Row& row : rows_) {
        const MemberComing& other = row.members[typical];
        std::int64_t behind_ns = came_ns(row.members[m], Work::kAll) - came_ns(other, Work::kAll);
        if (work == Work::kOwn) behind_ns -= excess.after(row, row.members[m], other);
        loss.add({other.idle_ns, behind_ns, row.level, row.may_follow, other.ready_ns});
      }
      if (work == Work::kAll)
        late.push_back(loss.lost());
      else
        late[m] = lesser(late[m], loss.lost());
    }
  }
  return late;
}

LostTime DeviceTurn::lost_by(const std::vector<bool>& late, Work work) const {
  LossOfTurn loss(length_ns_ / kIdlePart);
  std::vector<ForeignExcess> excess(late.size());
  for (const Row& row : rows_) {
    const MemberComing* other = last_of(row, [&](std::size_t m) { return !late[m]; });
    std::int64_t behind_ns = 0;
    for (std::size_t m = 0; m < late.size(); ++m) {
      if (!late[m]) continue;
      std::int64_t own_ns = came_ns(row.members[m], Work::kAll) - came_ns(*other, Work::kAll);
      if (work == Work::kOwn) own_ns -= excess[m].after(row, row.members[m], *other);
      behind_ns = std::max(behind_ns, own_ns);
    }
    loss.add({other->idle_ns, behind_ns, row.level, row.may_follow, other->ready_ns});
  }
  return loss.lost();
}

LostTime DeviceTurn::lost_by(const std::vector<bool>& late) const {
  return lesser(lost_by(late, Work::kAll), lost_by(late, Work::kOwn));
}

std::int64_t DeviceTurn::waited_ns(std::uint32_t ordinal, const std::vector<bool>& late) const {
  auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.ordinal == ordinal; });
  const MemberComing* last = last_of(*row, [&](std::size_t m) { return late[m]; });
  const MemberComing* other = last_of(*row, [&](std::size_t m) { return !late[m]; });
  return other->length_ns - last->length_ns;
}

DeviceTurns::DeviceTurns(const model::Job& job, const matching::Collectives& collectives,
                         const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
                         std::uint32_t communicator, const RootedCollectives& rooted,
                         const std::vector<ForeignWaits>& foreign)
    : times_(times),
      communicator_(communicator),
      members_(collectives.communicators[communicator].members),
      rooted_(rooted),
      foreign_(foreign),
      among_(times.on_hosts() ? find_among_host_work(collectives, device_order, members_.front())
                              : find_among_kernels(job, collectives, members_.front())),
      kernels_done_(members_.size()) {
  for (std::size_t m = 0; m < members_.size() && !times.on_hosts(); ++m)
    kernels_done_[m] = find_kernels_done(job, collectives, members_[m]);
}

bool DeviceTurns::is_row(std::uint32_t ordinal) const {
  return times_.split(communicator_, ordinal) || rooted_.held_all_until_ns(ordinal);
}

// Of one that could not be split the last one before it that could.
std::optional<std::uint32_t> DeviceTurns::end_of(const Turn& turn) const {
  std::uint32_t end = turn.end;
  while (end > turn.first && !among_[end - 1].holds_up) --end;
  while (end > turn.first && !is_row(end - 1)) --end;
  return end > turn.first ? std::optional(end - 1) : std::nullopt;
}

// end_ns: of the collective; before: the last row; level: the last one that all began to work behind; start:
// of the turn.
MemberComing DeviceTurns::coming_of(std::uint32_t member, std::uint32_t ordinal, std::int64_t end_ns,
                                    std::uint32_t before, std::uint32_t level, std::uint32_t start) const {
  const DeviceTime& own = time_of(member, ordinal);
  std::int64_t busy_until_ns = time_of(member, before).end_ns;
  if (const DeviceTime* next = times_.of(members_[member].calls[ordinal - 1]))
    busy_until_ns = std::max(busy_until_ns, next->end_ns);
  // Collectives of a communicator run one after the other, also those of several streams.
  std::int64_t begin_ns = std::min(std::max(own.begin_ns, busy_until_ns), own.end_ns);
  MemberComing coming{
      time_of(member, start).end_ns, begin_ns, end_ns - begin_ns, 0, begin_ns - busy_until_ns, kUnknown, 0};
  coming.foreign_ns = foreign_[member].within(time_of(member, level).end_ns, begin_ns);
  const std::vector<std::int64_t>& done = kernels_done_[member];
  bool of_turn = !done.empty() && done[ordinal] > coming.from_ns && done[ordinal] <= begin_ns;
  if (of_turn && among_[ordinal].behind_all) coming.ready_ns = begin_ns - done[ordinal];
  return coming;
}

// For receivers that came later. Of a root that hands out inputs nobody is said to wait for it.
std::int64_t DeviceTurns::waited_ns(std::uint32_t member, const std::vector<std::uint32_t>& rooted) const {
  std::int64_t sum_ns = 0;
  for (std::uint32_t ordinal : rooted)
    if (!rooted_.may_hand_out_inputs(ordinal)) sum_ns += rooted_.excess_ns(member, ordinal);
  return sum_ns;
}

std::int64_t DeviceTurns::open_ns(const std::vector<std::uint32_t>& rooted) const {
  std::int64_t most_ns = 0;
  for (std::uint32_t m = 0; m < members_.size() && !rooted.empty(); ++m) {
    std::int64_t sum_ns = 0;
    for (std::uint32_t ordinal : rooted) sum_ns += rooted_.excess_ns(m, ordinal);
    most_ns = std::max(most_ns, sum_ns);
  }
  return most_ns;
}

std::optional<DeviceTurn> DeviceTurns::read(const Turn& before, const Turn& turn) const {
  auto start = end_of(before), end = end_of(turn);
  if (!start || !end) return std::nullopt;
  std::vector<DeviceTurn::Row> rows;
  std::vector<std::uint32_t> others, passed;  // that are no rows: all, and those since the latest row
  std::uint32_t latest = *start;
  std::size_t level = 0;
  for (std::uint32_t k = *start + 1; k <= *end; ++k) {
    if (!is_row(k)) {
      others.push_back(k);
      passed.push_back(k);
      continue;
    }
    // Of one that could not be split the last one before it that could.
    while (level < rows.size() && rows[level].ordinal + 1 <= among_[k].level) ++level;
    std::uint32_t since = level ? rows[level - 1].ordinal : *start;
    rows.push_back({k, level, among_[k].awaited > *start + 1, {}});
    std::optional<std::int64_t> held_until_ns = rooted_.held_all_until_ns(k);
    for (std::uint32_t m = 0; m < members_.size(); ++m) {
      std::int64_t end_ns = held_until_ns.value_or(time_of(m, k).end_ns);
      rows.back().members.push_back(coming_of(m, k, end_ns, latest, since, *start));
      rows.back().members.back().waited_ns = waited_ns(m, passed);
    }
    passed.clear();
    latest = k;
  }
  std::int64_t length_ns = 0;
  for (std::uint32_t m = 0; m < members_.size(); ++m)
    length_ns = std::max(length_ns, time_of(m, latest).end_ns - time_of(m, *start).end_ns);
  return DeviceTurn(std::move(rows), length_ns, open_ns(others));
}

}  // namespace ddpscope::patterns
