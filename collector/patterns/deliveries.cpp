// Pairs what workers send with what their rank receives, by the pipe.
#include "collector/patterns/deliveries.h"

#include <algorithm>

namespace ddpscope::patterns {

Deliveries::Deliveries(const model::Job& job) : job_(job) {
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const model::Process& process = job.processes[i];
    if (process.rank < 0) continue;
    constexpr trace::OperationSet kTransfers{trace::Operation::kStreamSend, trace::Operation::kStreamReceive};
    model::for_each(process.file, kTransfers, [&](model::EventPlace place, const trace::Record& record) {
      trace::Operation operation = trace::operation_of(record.call);
      bool worker = process.role == model::Role::kWorker;
      if (operation == trace::Operation::kStreamSend && worker)
        sent_into_[i].insert(trace::payload_of<trace::payload::StreamIo>(record).inode);
      if (operation == trace::Operation::kStreamReceive && !worker)
        received_[process.rank][trace::payload_of<trace::payload::StreamIo>(record).inode].push_back(
            job.end_ns({i, place}));
    });
  }
}

std::vector<std::int64_t> Deliveries::of(std::uint32_t worker) const {
  std::vector<std::int64_t> times;
  auto sent = sent_into_.find(worker);
  auto received = received_.find(job_.processes[worker].rank);
  if (sent == sent_into_.end() || received == received_.end()) return times;
  for (Inode inode : sent->second)
    if (auto found = received->second.find(inode); found != received->second.end())
      times.insert(times.end(), found->second.begin(), found->second.end());
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace ddpscope::patterns
