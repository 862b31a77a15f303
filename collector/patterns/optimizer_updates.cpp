// Ranges are looked through ahead, where there are any: what none of them says may be said by a kernel's
// name.
#include "collector/patterns/optimizer_updates.h"

#include <algorithm>

#include "collector/patterns/inputs.h"

namespace ddpscope::patterns {
namespace {

using trace::Operation;

constexpr std::size_t kDeepest = 1000;  // a program that never pops

bool launches_optimizers(const trace::TraceFile& file) {
  KnownNames kernels(file, is_optimizer_kernel);
  bool any = false;
  model::for_each(file, {Operation::kLaunch}, [&](model::EventPlace, const trace::Record& record) {
    any = any || kernels.has(trace::payload_of<trace::payload::Launch>(record).name);
  });
  return any;
}

bool ranges_hold_updates(const trace::TraceFile& file) {
  OpenRanges open(file);
  bool launches = false, inputs = false;
  model::for_each_in_time(
      file,
      OptimizerUpdates::kRanges |
          trace::OperationSet{Operation::kLaunch, Operation::kGraphLaunch, Operation::kCopy},
      [&](model::EventPlace, const trace::Record& record) {
        Operation operation = trace::operation_of(record.call);
        if (OptimizerUpdates::kRanges.has(operation)) return open.take(record);
        if (open.optimizer(record.thread) == 0) return;
        if (operation == Operation::kCopy)
          inputs = inputs || is_input(trace::payload_of<trace::payload::Copy>(record));
        else
          launches = true;
      });
  return launches && !inputs;
}

}  // namespace

void OpenRanges::take(const trace::Record& record) {
  auto range = trace::payload_of<trace::payload::Range>(record);
  switch (trace::operation_of(record.call)) {
    case Operation::kRangePush:
      return push(record.thread, range.domain, range.name);
    case Operation::kRangePop:
      return pop(record.thread, range.domain);
    case Operation::kRangeStart:
      if (optimizer_.has(range.name)) started_[range.id] = range.name;
      return;
    case Operation::kRangeEnd:
      started_.erase(range.id);
      return;
    default:
      return;
  }
}

void OpenRanges::push(std::uint16_t thread, std::uint32_t domain, std::uint32_t name) {
  std::vector<Pushed>& pushed = pushed_[thread];
  if (pushed.size() == kDeepest) pushed.clear();
  pushed.push_back({domain, optimizer_.has(name) ? name : 0});
}

void OpenRanges::pop(std::uint16_t thread, std::uint32_t domain) {
  std::vector<Pushed>& pushed = pushed_[thread];
  auto last = std::find_if(pushed.rbegin(), pushed.rend(),
                           [&](const Pushed& range) { return range.domain == domain; });
  if (last != pushed.rend()) pushed.erase(std::next(last).base());
}

std::uint32_t OpenRanges::optimizer(std::uint16_t thread) const {
  if (auto own = pushed_.find(thread); own != pushed_.end())
    for (const Pushed& range : own->second)
      if (range.name) return range.name;
  return started_.empty() ? 0 : started_.begin()->second;
}

OptimizerUpdates::OptimizerUpdates(const trace::TraceFile& file)
    : kernels_(file, is_optimizer_kernel),
      open_(file),
      by_range_(file.count(kRanges) > 0 && !launches_optimizers(file) && ranges_hold_updates(file)) {}

}  // namespace ddpscope::patterns
