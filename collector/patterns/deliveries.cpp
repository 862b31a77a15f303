// Pairs what workers send with what their rank receives, by the pipe.
#include "collector/patterns/deliveries.h"

#include <algorithm>

namespace ddpscope::patterns {

Deliveries::Deliveries(const model::Job& job, std::int32_t rank) {
  std::vector<std::uint32_t> takers;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    if (job.processes[i].rank != rank) continue;
    if (job.processes[i].role == model::Role::kWorker)
      note_sent(job, i);
    else
      takers.push_back(i);
  }
  if (received_.empty()) return;
  for (std::uint32_t taker : takers) note_received(job, taker);
}

void Deliveries::note_sent(const model::Job& job, std::uint32_t worker) {
  model::for_each(job.processes[worker].file, {trace::Operation::kStreamSend},
                  [&](model::EventPlace, const trace::Record& record) {
                    Inode inode = trace::payload_of<trace::payload::StreamIo>(record).inode;
                    if (sent_into_[worker].insert(inode).second) received_[inode];
                  });
}

void Deliveries::note_received(const model::Job& job, std::uint32_t process) {
  model::for_each(job.processes[process].file, {trace::Operation::kStreamReceive},
                  [&](model::EventPlace place, const trace::Record& record) {
                    auto pipe = received_.find(trace::payload_of<trace::payload::StreamIo>(record).inode);
                    if (pipe != received_.end()) pipe->second.push_back(job.end_ns({process, place}));
                  });
}

std::vector<std::int64_t> Deliveries::of(std::uint32_t worker) const {
  std::vector<std::int64_t> times;
  auto sent = sent_into_.find(worker);
  if (sent == sent_into_.end()) return times;
  for (Inode inode : sent->second)
    if (auto found = received_.find(inode); found != received_.end())
      times.insert(times.end(), found->second.begin(), found->second.end());
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace ddpscope::patterns
