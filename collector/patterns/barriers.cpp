// One-element all-reduces that PyTorch calls barriers, or else without those whose value is fetched, or would
// have been.
#include "collector/patterns/barriers.h"

#include <algorithm>
#include <unordered_map>

#include "collector/model/cuda_types.h"
#include "collector/ordering/group_calls.h"

namespace ddpscope::patterns {
namespace {

using trace::Operation;
using trace::Record;

constexpr std::uint64_t kScalar = 8;  // bytes: a value that a program looks at

struct Download {
  std::int64_t at_ns;
  std::uint64_t from, bytes;
  std::uint16_t thread;
  bool to_host;  // else its kind is "default": only the address tells
};

std::vector<Download> find_downloads(const model::Job& job, std::uint32_t process) {
  std::vector<Download> downloads;
  model::for_each(job.processes[process].file, {Operation::kCopy},
                  [&](model::EventPlace, const Record& record) {
                    auto copy = trace::payload_of<trace::payload::Copy>(record);
                    if (copy.kind == model::kDeviceToHost || copy.kind == model::kDefaultCopy)
                      downloads.push_back({job.time_ns(process, record.begin), copy.source, copy.bytes,
                                           record.thread, copy.kind == model::kDeviceToHost});
                  });
  auto earlier = [](const Download& a, const Download& b) { return a.at_ns < b.at_ns; };
  std::stable_sort(downloads.begin(), downloads.end(), earlier);
  return downloads;
}

class Fetches {
 public:
  explicit Fetches(std::vector<Download> downloads) : downloads_(std::move(downloads)) {}

  // Whether the buffer is fetched before the next collective writes to it.
  bool any(std::uint64_t buffer, std::int64_t from_ns, std::int64_t to_ns) const {
    return find(from_ns, to_ns, [&](const Download& one) { return one.from == buffer; });
  }
  // Whether the thread fetches a value meanwhile, which a kernel may have made of that of the buffer.
  bool any_by(std::uint16_t thread, std::int64_t from_ns, std::int64_t to_ns) const {
    return find(from_ns, to_ns, [&](const Download& one) {
      return one.to_host && one.thread == thread && one.bytes <= kScalar;
    });
  }

 private:
  template <class Fits>
  bool find(std::int64_t from_ns, std::int64_t to_ns, Fits fits) const {
    auto before = [](const Download& a, std::int64_t ns) { return a.at_ns < ns; };
    auto first = std::lower_bound(downloads_.begin(), downloads_.end(), from_ns, before),
         end = std::lower_bound(first, downloads_.end(), to_ns, before);
    return std::any_of(first, end, fits);
  }

  std::vector<Download> downloads_;
};

bool has_one_element(const matching::Signature& signature) {
  return signature.operation == Operation::kAllReduce && signature.count == 1;
}

bool reduces_one_element(const matching::Collectives& collectives, std::uint32_t process) {
  for (std::uint32_t call = collectives.first_of_process[process];
       call < collectives.first_of_process[process + 1]; ++call)
    if (has_one_element(collectives.calls.signature(call))) return true;
  return false;
}

// One process's all-reduces of one element, the call after them on the same buffer, and what is fetched.
class OneElementReductions {
 public:
  OneElementReductions(const model::Job& job, const matching::Collectives& collectives, std::uint32_t process)
      : calls_(collectives.calls),
        first_(collectives.first_of_process[process]),
        end_(collectives.first_of_process[process + 1]),
        group_calls_(job, process),
        fetches_(find_downloads(job, process)) {}

  // Marks those that the issuing thread waited for and whose value nobody fetches, between them and that wait
  // or later.
  void mark(const ordering::DeviceOrder& device_order, std::vector<bool>& barriers) const {
    std::unordered_map<std::uint64_t, std::int64_t> next_use;  // of a buffer, after the call at hand
    for (std::uint32_t call = end_; call-- > first_;) {
      std::uint64_t buffer = calls_.form(call).buffer;
      std::int64_t& next = next_use.try_emplace(buffer, ordering::kNever).first->second;
      const ordering::GroupCall* issuer =
          is_one(call) ? group_calls_.at(calls_.form(call).thread, calls_.begin_ns(call)) : nullptr;
      std::uint32_t wait = is_one(call) ? device_order.completions[call].own_wait : matching::kNone;
      if (issuer)
        barriers[call] = issuer->is_barrier();
      else if (wait != matching::kNone)
        barriers[call] = !fetches_.any(buffer, calls_.enqueue_ns(call), next) &&
                         !fetches_.any_by(calls_.form(call).thread, calls_.enqueue_ns(call),
                                          device_order.waits[wait].begin_ns);
      next = calls_.begin_ns(call);
    }
  }

 private:
  bool is_one(std::uint32_t call) const { return has_one_element(calls_.signature(call)); }

  const matching::CallTable& calls_;
  std::uint32_t first_, end_;
  ordering::GroupCalls group_calls_;
  Fetches fetches_;
};

// What never came to an end was not fetched yet: others from the same place in the code tell whether it would
// have been. Now and then another value has a barrier's buffer later: most of them count.
void leave_out_values(const matching::Collectives& collectives, const ordering::DeviceOrder& device_order,
                      std::vector<bool>& barriers) {
  struct Place {
    std::size_t complete = 0, barriers = 0;
  };
  std::unordered_map<std::uint32_t, Place> places;  // by site; 0 is none
  auto each_one = [&](auto look) {
    for (std::uint32_t call = 0; call < barriers.size(); ++call)
      if (const matching::CallForm& form = collectives.calls.form(call);
          form.site && has_one_element(form.signature))
        look(call, places[form.site], device_order.completions[call].wait != matching::kNone);
  };
  each_one([&](std::uint32_t call, Place& place, bool complete) {
    place.complete += complete;
    place.barriers += complete && barriers[call];
  });
  each_one([&](std::uint32_t call, const Place& place, bool complete) {
    if (!complete && 2 * place.barriers < place.complete) barriers[call] = false;
  });
}

}  // namespace

std::vector<bool> find_barriers(const model::Job& job, const matching::Collectives& collectives,
                                const ordering::DeviceOrder& device_order) {
  std::vector<bool> barriers(collectives.calls.size());
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    if (reduces_one_element(collectives, process))
      OneElementReductions(job, collectives, process).mark(device_order, barriers);
  leave_out_values(collectives, device_order, barriers);
  return barriers;
}

}  // namespace ddpscope::patterns
