// One-element all-reduces without those whose value is fetched.
#include "collector/patterns/barriers.h"

#include <algorithm>
#include <unordered_map>

#include "collector/model/cuda_types.h"

namespace ddpscope::patterns {
namespace {

using trace::Operation;
using trace::Record;

struct Download {
  std::int64_t at_ns;
  std::uint64_t from;
};

// A copy to the host may say "default" for its kind; there only the address tells.

std::vector<Download> find_downloads(const model::Job& job, std::uint32_t process) {
  std::vector<Download> downloads;
  model::for_each(job.processes[process].file, {Operation::kCopy},
                  [&](model::EventPlace, const Record& record) {
                    auto copy = trace::payload_of<trace::payload::Copy>(record);
                    if (copy.kind == model::kDeviceToHost || copy.kind == model::kDefaultCopy)
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

// One process's all-reduces of one element, the call after them on the same buffer, and what is fetched.
class OneElementReductions {
 public:
  OneElementReductions(const model::Job& job, const matching::Collectives& collectives, std::uint32_t process)
      : calls_(collectives.calls),
        first_(collectives.first_of_process[process]),
        end_(collectives.first_of_process[process + 1]),
        fetches_(any() ? find_downloads(job, process) : std::vector<Download>{}) {}

  // Marks those that the issuing thread waited for and whose value nobody fetches.
  void mark(const ordering::DeviceOrder& device_order, std::vector<bool>& barriers) const {
    std::unordered_map<std::uint64_t, std::int64_t> next_use;  // of a buffer, after the call at hand
    for (std::uint32_t call = end_; call-- > first_;) {
      std::uint64_t buffer = calls_.form(call).buffer;
      std::int64_t& next = next_use.try_emplace(buffer, ordering::kNever).first->second;
      if (is_one(call) && device_order.completions[call].own_wait != matching::kNone)
        barriers[call] = !fetches_.any(buffer, calls_.enqueue_ns(call), next);
      next = calls_.begin_ns(call);
    }
  }

 private:
  bool is_one(std::uint32_t call) const {
    const matching::Signature& signature = calls_.signature(call);
    return signature.operation == Operation::kAllReduce && signature.count == 1;
  }
  bool any() const {
    for (std::uint32_t call = first_; call < end_; ++call)
      if (is_one(call)) return true;
    return false;
  }

  const matching::CallTable& calls_;
  std::uint32_t first_, end_;
  Fetches fetches_;
};

}  // namespace

std::vector<bool> find_barriers(const model::Job& job, const matching::Collectives& collectives,
                                const ordering::DeviceOrder& device_order) {
  std::vector<bool> barriers(collectives.calls.size());
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    OneElementReductions(job, collectives, process).mark(device_order, barriers);
  return barriers;
}

}  // namespace ddpscope::patterns
