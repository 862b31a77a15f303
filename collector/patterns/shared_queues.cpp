// Who waits for, and who posts, each semaphore that a rank shares with its workers.
#include "collector/patterns/shared_queues.h"

#include <algorithm>
#include <compare>
#include <map>

namespace ddpscope::patterns {
namespace {

using trace::Operation;

struct Semaphore {
  std::uint64_t device, inode, offset;
  auto operator<=>(const Semaphore&) const = default;
};

struct Uses {
  bool worker_waits = false, worker_posts = false, rank_waits = false;
  std::vector<std::int64_t> rank_posts_ns = {};

  bool is_queue_of_workers() const { return worker_waits && !worker_posts && !rank_waits; }
};

}  // namespace

std::vector<std::int64_t> find_taken_messages(const model::Job& job, std::int32_t rank) {
  std::map<Semaphore, Uses> semaphores;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const model::Process& process = job.processes[i];
    if (process.rank != rank) continue;
    bool works_for_it = process.role == model::Role::kWorker;
    model::for_each(process.file, {Operation::kSharedPost, Operation::kSharedWait},
                    [&](model::EventPlace, const trace::Record& record) {
                      auto used = trace::payload_of<trace::payload::SharedSemaphore>(record);
                      if (!record.end || used.error) return;
                      Uses& uses = semaphores[{used.device, used.inode, used.offset}];
                      bool posts = trace::operation_of(record.call) == Operation::kSharedPost;
                      if (works_for_it)
                        (posts ? uses.worker_posts : uses.worker_waits) = true;
                      else if (posts)
                        uses.rank_posts_ns.push_back(job.begin_ns(i, record));
                      else
                        uses.rank_waits = true;
                    });
  }
  std::vector<std::int64_t> times;
  for (const auto& [semaphore, uses] : semaphores)
    if (uses.is_queue_of_workers())
      times.insert(times.end(), uses.rank_posts_ns.begin(), uses.rank_posts_ns.end());
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace ddpscope::patterns
