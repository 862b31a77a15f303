// Asks the engine about two writings.
#include "collector/detectors/write_order.h"

#include <algorithm>

namespace ddpscope::detectors {
namespace {

using files::WrittenFile;
using ordering::Verdict;

}  // namespace

WriteOrders::WriteOrders(const Facts& facts) : facts_(facts) {
  for (const patterns::DataParallelGroup& group : facts.data_parallel)
    for (const auto& [rank, reductions] : group.of_rank) {
      auto& times = reductions_ns_[rank];
      times.insert(times.end(), reductions.times_ns.begin(), reductions.times_ns.end());
    }
  for (auto& [rank, times] : reductions_ns_) std::sort(times.begin(), times.end());
}

bool WriteOrders::trained_between(std::int64_t end_ns, const WrittenFile& second) const {
  auto times = reductions_ns_.find(second.rank);
  if (times == reductions_ns_.end()) return false;
  auto next = std::lower_bound(times->second.begin(), times->second.end(), end_ns);
  return next != times->second.end() && *next < second.begin_ns;
}

bool WriteOrders::held_together(const WrittenFile& first, const WrittenFile& second) const {
  return std::max(first.open_ns, second.open_ns) + facts_.job.clock_error_ns <
         std::min(first.last_write_ns, second.last_write_ns);
}

ordering::Span WriteOrders::writing(const WrittenFile& file) {
  return {{file.open.process, file.last_thread}, file.begin_ns, file.end_ns};
}

ordering::Span WriteOrders::opening(const WrittenFile& file) {
  return {{file.open.process, file.open_thread}, file.begin_ns, file.open_ns};
}

WriteOrder WriteOrders::between(const WrittenFile& first, const WrittenFile& second) const {
  if (second.begin_ns < first.end_ns + facts_.job.clock_error_ns) return WriteOrder::kUnordered;
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
