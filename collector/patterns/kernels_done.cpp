// Kernels by when they were launched, beside the collectives by when they were issued.
#include "collector/patterns/kernels_done.h"

#include <algorithm>
#include <utility>

#include "collector/model/device_work.h"

namespace ddpscope::patterns {
namespace {

bool is_kernel(trace::DeviceWorkKind kind) { return kind == trace::DeviceWorkKind::kKernel; }

}  // namespace

std::vector<std::int64_t> find_kernels_done(const model::Job& job, const matching::Collectives& collectives,
                                            const matching::Member& member) {
  std::vector<std::pair<std::int64_t, std::int64_t>> kernels;  // launched, done
  for (const model::DeviceInterval& kernel : model::device_intervals(job, member.process, is_kernel)) {
    if (model::is_nccl_kernel(job.processes[member.process].file, kernel.work)) continue;
    if (kernel.work.thread == 0) return {};
    std::uint64_t launched = trace::ticks_of_call(kernel.work.called, kernel.work.begin);
    kernels.emplace_back(job.time_ns(member.process, launched), kernel.end_ns);
  }
  if (kernels.empty()) return {};
  std::sort(kernels.begin(), kernels.end());
  std::vector<std::int64_t> done(member.calls.size(), kNotDone);
  std::int64_t latest_ns = kNotDone;
  auto next = kernels.begin();
  for (std::size_t ordinal = 0; ordinal < done.size(); ++ordinal) {
    std::int64_t issued_ns = collectives.begin_ns_at(member, ordinal);
    for (; next != kernels.end() && next->first < issued_ns; ++next)
      latest_ns = std::max(latest_ns, next->second);
    done[ordinal] = latest_ns;
  }
  return done;
}

}  // namespace ddpscope::patterns
