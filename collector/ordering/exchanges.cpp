// By the objects' numbers, which are the same in all processes of a host.
#include "collector/ordering/exchanges.h"

#include <algorithm>

#include "collector/ordering/accumulated.h"
#include "collector/ordering/unseen_children.h"

namespace ddpscope::ordering {
namespace {

using trace::Operation;

template <class See>
void each_use(const model::Job& job, const trace::OperationSet& operations, See see) {
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    model::for_each(
        job.processes[process].file, operations, [&](model::EventPlace place, const trace::Record& record) {
          auto use = trace::payload_of<trace::payload::Exchange>(record);
          if (record.end && !use.count) return;  // none succeeded
          model::EventRef event{process, place};
          see(use, Span{{process, record.thread}, job.begin_ns(event), job.end_ns(event)}, record);
        });
}

std::int64_t moment_of(const ExchangeUse& use) { return use.tells ? use.call.begin_ns : use.call.end_ns; }

// Who reads them may have waited for any change.
std::vector<UnseenWork> find_notices(const model::Job& job, Graph& graph) {
  std::vector<UnseenWork> notices;
  each_use(job, {Operation::kChangeNotice}, [&](const auto&, const Span& call, const trace::Record&) {
    notices.push_back(work_told_by({}, call, graph));
  });
  return notices;
}

}  // namespace

std::map<ExchangeId, std::vector<ExchangeUse>> find_exchanges(const model::Job& job) {
  std::map<ExchangeId, std::vector<ExchangeUse>> exchanges;
  each_use(job, {Operation::kExchangeSend, Operation::kExchangeReceive},
           [&](const trace::payload::Exchange& use, const Span& call, const trace::Record& record) {
             ExchangeId id{job.processes[call.thread.process].host, use.space, use.id};
             bool tells = trace::operation_of(record.call) == Operation::kExchangeSend;
             exchanges[id].push_back({call, tells});
           });
  for (auto& [id, uses] : exchanges)
    std::stable_sort(uses.begin(), uses.end(),
                     [](const ExchangeUse& a, const ExchangeUse& b) { return moment_of(a) < moment_of(b); });
  return exchanges;
}

void add_exchange_edges(const model::Job& job, const std::vector<ThreadId>& judged, Graph& graph) {
  for (const auto& [id, uses] : find_exchanges(job)) {
    Accumulated told(graph, EdgeKind::kMessage);
    for (const ExchangeUse& use : uses) {
      if (use.tells)
        told.release(graph.before(use.call), Trust::kUnseen);
      else if (!told.empty())
        told.acquire(graph.after(use.call), Trust::kUnseen);
    }
  }
  add_unseen_work(job, judged, find_notices(job, graph), graph);
}

}  // namespace ddpscope::ordering
