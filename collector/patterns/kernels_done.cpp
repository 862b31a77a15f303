// Kernels by when they were launched, beside the collectives by when they were issued.
#include "collector/patterns/kernels_done.h"

#include <algorithm>
#include <tuple>

#include "collector/model/device_work.h"

namespace ddpscope::patterns {
namespace {

bool is_kernel(trace::DeviceWorkKind kind) { return kind == trace::DeviceWorkKind::kKernel; }

}  // namespace

std::vector<TimedKernel> find_timed_kernels(const model::Job& job, std::uint32_t process) {
  std::vector<TimedKernel> kernels;
  for (const model::DeviceInterval& kernel : model::device_intervals(job, process, is_kernel)) {
    if (model::is_nccl_kernel(job.processes[process].file, kernel.work)) continue;
    if (kernel.work.thread == 0) return {};
    std::uint64_t launched = trace::ticks_of_call(kernel.work.called, kernel.work.begin);
    kernels.push_back({job.time_ns(process, launched), kernel.begin_ns, kernel.end_ns});
  }
  std::sort(kernels.begin(), kernels.end(), [](const TimedKernel& a, const TimedKernel& b) {
    return std::tie(a.launched_ns, a.begin_ns, a.end_ns) < std::tie(b.launched_ns, b.begin_ns, b.end_ns);
  });
  return kernels;
}

std::vector<std::int64_t> find_kernels_done(const model::Job& job, const matching::Collectives& collectives,
                                            const matching::Member& member) {
  std::vector<TimedKernel> kernels = find_timed_kernels(job, member.process);
  if (kernels.empty()) return {};
  std::vector<std::int64_t> done(member.calls.size(), kNotDone);
  std::int64_t latest_ns = kNotDone;
  auto next = kernels.begin();
  for (std::size_t ordinal = 0; ordinal < done.size(); ++ordinal) {
    std::int64_t issued_ns = collectives.begin_ns_at(member, ordinal);
    for (; next != kernels.end() && next->launched_ns < issued_ns; ++next)
      latest_ns = std::max(latest_ns, next->end_ns);
    done[ordinal] = latest_ns;
  }
  return done;
}

}  // namespace ddpscope::patterns
