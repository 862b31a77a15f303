// From the reductions of communicators, else from what goes over TCP.
#include "collector/patterns/gradient_traffic.h"

#include <sys/socket.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {
namespace {

using matching::Communicator;
using matching::Member;

std::vector<std::int64_t> reductions_of(const matching::Collectives& collectives, const Member& member) {
  std::vector<std::int64_t> times;
  for (std::uint32_t call : member.calls)
    if (is_reduction(collectives.calls[call].signature)) times.push_back(collectives.calls[call].begin_ns);
  std::sort(times.begin(), times.end());
  return times;
}

std::vector<DataParallelGroup> groups_of_communicators(const matching::Collectives& collectives) {
  std::vector<DataParallelGroup> groups;
  std::map<std::int32_t, int> groups_of_rank;
  for (const Communicator& communicator : collectives.communicators) {
    DataParallelGroup group;
    for (const Member& member : communicator.members)
      if (auto times = reductions_of(collectives, member); !times.empty())
        group.reductions_ns[member.rank] = std::move(times);
    if (group.reductions_ns.size() < 2) continue;
    for (const auto& [rank, times] : group.reductions_ns) ++groups_of_rank[rank];
    groups.push_back(std::move(group));
  }
  std::erase_if(groups, [&](const DataParallelGroup& group) {
    return std::any_of(group.reductions_ns.begin(), group.reductions_ns.end(),
                       [&](const auto& member) { return groups_of_rank[member.first] > 1; });
  });
  return groups;
}

// Stores and heartbeats exchange tens of bytes at a time, gradients kilobytes.
constexpr std::uint64_t kMoreThanAMessage = 1024;

// TCP sockets are known by their creation; pipes to loader workers carry batches and are none.
class TcpTraffic {
 public:
  explicit TcpTraffic(const model::Job& job, std::uint32_t process) : job_(job), process_(process) {}

  void see(model::EventPlace place, const trace::Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (info && info->payload == trace::PayloadKind::kConnection) {
      auto connection = trace::payload_of<trace::payload::Connection>(record);
      if (connection.family == AF_INET || connection.family == AF_INET6) sockets_.insert(connection.inode);
    }
    if (!info || info->operation != trace::Operation::kStreamSend) return;
    auto io = trace::payload_of<trace::payload::StreamIo>(record);
    if (io.bytes >= kMoreThanAMessage && sockets_.contains(io.inode))
      times_.push_back(job_.begin_ns({process_, place}));
  }
  std::vector<std::int64_t> times() && { return std::move(times_); }

 private:
  const model::Job& job_;
  std::uint32_t process_;
  std::unordered_set<std::uint64_t> sockets_;
  std::vector<std::int64_t> times_;
};

std::vector<DataParallelGroup> group_by_traffic(const model::Job& job) {
  DataParallelGroup group;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const model::Process& process = job.processes[i];
    if (process.role != model::Role::kRank) continue;
    TcpTraffic traffic(job, i);
    model::for_each_in_time(process.file, [&](model::EventPlace place, const trace::Record& record) {
      traffic.see(place, record);
    });
    if (auto times = std::move(traffic).times(); !times.empty())
      group.reductions_ns[process.rank] = std::move(times);
  }
  if (group.reductions_ns.size() < 2) return {};
  return {std::move(group)};
}

}  // namespace

std::vector<DataParallelGroup> find_data_parallel_groups(const model::Job& job,
                                                         const matching::Collectives& collectives) {
  return collectives.communicators.empty() ? group_by_traffic(job) : groups_of_communicators(collectives);
}

}  // namespace ddpscope::patterns
