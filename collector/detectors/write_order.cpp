// Asks the engine about two writings.
#include "collector/detectors/write_order.h"

#include <algorithm>

namespace ddpscope::detectors {
namespace {

using files::WrittenFile;
using ordering::Verdict;

// What was under way before may be for bytes that its receiver has long got.
bool has_begun(const std::vector<patterns::Transfer>& transfers, std::int64_t from_ns, std::int64_t to_ns) {
  auto next = std::partition_point(transfers.begin(), transfers.end(),
                                   [&](const patterns::Transfer& one) { return one.at_ns < from_ns; });
  return next != transfers.end() && next->at_ns < to_ns;
}

}  // namespace

bool WriteOrders::trained_between(std::int64_t end_ns, const WrittenFile& second) const {
  const auto& groups = facts_.data_parallel;
  return std::any_of(groups.begin(), groups.end(), [&](const patterns::DataParallelGroup& group) {
    auto own = group.of_rank.find(second.rank);
    if (own == group.of_rank.end()) return false;
    if (auto traffic = group.traffic.find(second.rank); traffic != group.traffic.end())
      return has_begun(traffic->second.sent, end_ns, second.begin_ns);
    return own->second.times.count_before(end_ns) < own->second.times.count_before(second.begin_ns);
  });
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
