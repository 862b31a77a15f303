// Hand-overs with stacks, asked about one by one.
#include "collector/patterns/peer_news.h"

#include <algorithm>

namespace ddpscope::patterns {

const std::vector<Taken>& PeerNews::taken_by(ordering::ThreadId thread) {
  auto [known, fresh] = taken_.try_emplace(thread);
  std::vector<Taken>& taken = known->second;
  if (!fresh) return taken;
  model::for_each_in_time(
      job_.processes[thread.process].file, {trace::Operation::kHandOver},
      [&](model::EventPlace place, const trace::Record& record) {
        if (record.thread == thread.thread && record.stack)
          taken.push_back({{thread.process, place}, job_.begin_ns(thread.process, record)});
      });
  return taken;
}

std::optional<Taken> PeerNews::first_told(ordering::ThreadId thread, std::int64_t from_ns,
                                          ordering::ThreadId peer, std::int64_t told_ns) {
  if (order_.known(peer, thread, from_ns) >= told_ns) return std::nullopt;
  const std::vector<Taken>& taken = taken_by(thread);
  auto later = [&](const Taken& one) { return one.begin_ns <= from_ns; };
  auto first = std::partition_point(taken.begin(), taken.end(), later);
  first = std::partition_point(first, taken.end(), [&](const Taken& one) {
    return order_.known(peer, thread, one.begin_ns) < told_ns;
  });
  return first == taken.end() ? std::nullopt : std::optional(*first);
}

}  // namespace ddpscope::patterns
