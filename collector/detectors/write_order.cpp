// Asks the engine about two writings.
#include "collector/detectors/write_order.h"

#include <algorithm>

namespace ddpscope::detectors {
namespace {

using files::WrittenFile;
using ordering::Verdict;

}  // namespace

bool WriteOrders::trained_between(const WrittenFile& first, const WrittenFile& second) const {
  auto reduced = [&](const patterns::Reductions& own) {
    return own.times.count_before(first.end_ns) < own.times.count_before(second.begin_ns);
  };
  const auto& groups = facts_.data_parallel;
  bool both = std::any_of(groups.begin(), groups.end(), [&](const patterns::DataParallelGroup& group) {
    auto own = group.of_rank.find(second.rank), other = group.of_rank.find(first.rank);
    return own != group.of_rank.end() && reduced(own->second) &&
           (other == group.of_rank.end() || reduced(other->second));
  });
  // Of files that only one rank uses the engine does not know.
  bool asked = both && first.rank != second.rank && first.place == second.place;
  return asked ? facts_.order.between(writing(first), opening(second)) != Verdict::kUnordered : both;
}

bool WriteOrders::before_training(const WrittenFile& file) const {
  const auto& groups = facts_.data_parallel;
  bool trains = false;
  for (const patterns::DataParallelGroup& group : groups) {
    auto own = group.of_rank.find(file.rank);
    if (own == group.of_rank.end() || own->second.times.size() == 0) continue;
    if (own->second.times.count_before(file.end_ns) > 0) return false;
    trains = true;
  }
  return trains;
}

bool WriteOrders::held_together(const WrittenFile& first, const WrittenFile& second) const {
  std::int64_t error_ns = facts_.job.clock_error_between(first.open.process, second.open.process);
  return std::max(first.open_ns, second.open_ns) + error_ns <
         std::min(first.last_write_ns, second.last_write_ns);
}

ordering::Span WriteOrders::writing(const WrittenFile& file) {
  return {{file.open.process, file.last_thread}, file.begin_ns, file.end_ns};
}

ordering::Span WriteOrders::opening(const WrittenFile& file) {
  return {{file.open.process, file.open_thread}, file.begin_ns, file.open_ns};
}

WriteOrder WriteOrders::between(const WrittenFile& first, const WrittenFile& second) const {
  std::int64_t error_ns = facts_.job.clock_error_between(first.open.process, second.open.process);
  if (second.begin_ns + error_ns < first.end_ns) return WriteOrder::kUnordered;
  switch (facts_.order.between(writing(first), opening(second))) {
    case Verdict::kOrdered:
      return WriteOrder::kOrdered;
    case Verdict::kUnordered:
      return WriteOrder::kUnordered;
    default:
      return WriteOrder::kMaybe;
  }
}

}  // namespace ddpscope::detectors
