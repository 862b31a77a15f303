// By what they do, not by name.
#include "collector/ordering/servers.h"

#include <map>

namespace ddpscope::ordering {
namespace {

using trace::Operation;
using trace::Record;

bool belongs_to_serving(Operation operation) {
  switch (operation) {
    case Operation::kSocket:
    case Operation::kPair:
    case Operation::kAccept:
    case Operation::kListen:
    case Operation::kStreamSend:
    case Operation::kStreamReceive:
    case Operation::kStreamClose:
    case Operation::kStoreKey:
    case Operation::kThread:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::set<ThreadId> find_servers(const model::Job& job, const StreamEnds& streams) {
  std::map<ThreadId, std::set<EndId>> asked, answered;
  for (const auto& [id, end] : streams.ends) {
    if (!end.accepted || end.of_store) continue;
    for (const Transfer& transfer : end.received) asked[transfer.call.thread].insert(id);
    for (const Transfer& transfer : end.sent) answered[transfer.call.thread].insert(id);
  }
  std::set<ThreadId> servers;
  for (const auto& [thread, ends] : asked)
    if (ends.size() > 1 && answered.count(thread)) servers.insert(thread);
  if (servers.empty()) return servers;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i)
    model::for_each(job.processes[i].file, [&](model::EventPlace, const Record& record) {
      if (!belongs_to_serving(trace::operation_of(record.call))) servers.erase({i, record.thread});
    });
  return servers;
}

}  // namespace ddpscope::ordering
