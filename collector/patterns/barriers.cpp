// One-element all-reduces without those whose value is fetched.
#include "collector/patterns/barriers.h"

#include <algorithm>
#include <unordered_map>

namespace ddpscope::patterns {
namespace {

using matching::CollectiveCall;
using trace::Operation;
using trace::Record;

struct Download {
  std::int64_t at_ns;
  std::uint64_t from;
};

// A copy to the host may say "default" for its kind; there only the address tells.
constexpr std::uint8_t kDeviceToHost = 2, kDefault = 4;

std::vector<Download> find_downloads(const model::Job& job, std::uint32_t process) {
  std::vector<Download> downloads;
  model::for_each(job.processes[process].file, {Operation::kCopy},
                  [&](model::EventPlace, const Record& record) {
                    auto copy = trace::payload_of<trace::payload::Copy>(record);
                    if (copy.kind == kDeviceToHost || copy.kind == kDefault)
                      downloads.push_back({job.time_ns(process, record.begin), copy.source});
                  });
  auto earlier = [](const Download& a, const Download& b) { return a.at_ns < b.at_ns; };
  std::stable_sort(downloads.begin(), downloads.end(), earlier);
  return downloads;
}

// Whether the buffer is fetched before the next collective writes to it.
class Fetches {
 public:
  explicit Fetches(std::vector<Download> downloads) : downloads_(std::move(downloads)) {}

  bool any(std::uint64_t buffer, std::int64_t from_ns, std::int64_t to_ns) const {
    auto at_or_after = [](const Download& a, std::int64_t ns) { return a.at_ns < ns; };
    auto it = std::lower_bound(downloads_.begin(), downloads_.end(), from_ns, at_or_after);
    for (; it != downloads_.end() && it->at_ns < to_ns; ++it)
      if (it->from == buffer) return true;
    return false;
  }

 private:
  std::vector<Download> downloads_;
};

// For each call of the process the begin of the next one on the same buffer.
std::vector<std::int64_t> next_uses(const matching::Collectives& collectives) {
  std::vector<std::int64_t> next(collectives.calls.size(), ordering::kNever);
  std::unordered_map<std::uint64_t, std::uint32_t> last;  // by process and buffer
  for (std::uint32_t i = 0; i < collectives.calls.size(); ++i) {
    const CollectiveCall& call = collectives.calls[i];
    std::uint64_t key = call.buffer * 0x9E3779B97F4A7C15u + call.event.process;
    auto [found, fresh] = last.emplace(key, i);
    if (fresh) continue;
    next[found->second] = call.begin_ns;
    found->second = i;
  }
  return next;
}

}  // namespace

std::vector<bool> find_barriers(const model::Job& job, const matching::Collectives& collectives,
                                const ordering::DeviceOrder& device_order) {
  std::vector<bool> barriers(collectives.calls.size());
  std::vector<std::int64_t> next_use = next_uses(collectives);
  std::unordered_map<std::uint32_t, Fetches> fetches;
  for (std::uint32_t i = 0; i < collectives.calls.size(); ++i) {
    const CollectiveCall& call = collectives.calls[i];
    bool one = call.signature.operation == Operation::kAllReduce && call.signature.count == 1;
    if (!one || device_order.completions[i].own_wait == matching::kNone) continue;
    auto own = fetches.find(call.event.process);
    if (own == fetches.end())
      own = fetches.emplace(call.event.process, find_downloads(job, call.event.process)).first;
    barriers[i] = !own->second.any(call.buffer, call.enqueue_ns, next_use[i]);
  }
  return barriers;
}

}  // namespace ddpscope::patterns
