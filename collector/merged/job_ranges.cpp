// Pairs pushes with pops and starts with ends.
#include "collector/merged/job_ranges.h"

#include <algorithm>

namespace ddpscope::merged {

using trace::Operation;

void RangePairs::take(const trace::Record& record) {
  auto data = trace::payload_of<trace::payload::Range>(record);
  std::uint64_t end = record.end ? record.end : record.begin;
  Push push{record.thread, data.domain};
  switch (trace::operation_of(record.call)) {
    case Operation::kMark:
      ranges_.push_back({record, end});
      break;
    case Operation::kRangePush:
      pushed_[push].push_back(record);
      break;
    case Operation::kRangePop:
      if (auto& open = pushed_[push]; !open.empty()) {
        ranges_.push_back({open.back(), end});
        open.pop_back();
      }
      break;
    case Operation::kRangeStart:
      started_[data.id] = record;
      break;
    default:
      if (auto started = started_.find(data.id); started != started_.end()) {
        ranges_.push_back({started->second, end});
        started_.erase(started);
      }
  }
}

std::vector<ProgramRange> RangePairs::finish() {
  for (const auto& [push, open] : pushed_)
    for (const trace::Record& record : open) ranges_.push_back({record, 0});
  for (const auto& [id, record] : started_) ranges_.push_back({record, 0});
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const ProgramRange& a, const ProgramRange& b) {
    if (a.record.begin != b.record.begin) return a.record.begin < b.record.begin;
    return (a.end_ticks ? a.end_ticks : ~std::uint64_t{0}) > (b.end_ticks ? b.end_ticks : ~std::uint64_t{0});
  });
  return std::move(ranges_);
}

}  // namespace ddpscope::merged
