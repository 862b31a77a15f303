// Counts the one-sided calls of the two.
#include "collector/detectors/owed_signals.h"

#include <algorithm>
#include <map>

namespace ddpscope::detectors {
namespace {

using matching::Communicator;
using matching::Member;
using trace::Record;

// `see(record, payload)`: each one-sided call of the member that NCCL took.
template <class See>
void for_each_one_sided(const model::Job& job, const Member& member, See see) {
  if (!member.one_sided) return;
  model::for_each(job.processes[member.process].file, {trace::Operation::kOneSided},
                  [&](model::EventPlace, const Record& record) {
                    auto call = trace::payload_of<trace::payload::Collective>(record);
                    bool refused = record.end && call.result != 0;
                    if (call.communicator == member.number && !refused) see(record, call);
                  });
}

bool waits(const Record& record) {
  return record.call == static_cast<std::uint16_t>(trace::Call::ncclWaitSignal);
}

// Its calls are not all there or, as what a graph holds is called once and runs at each launch, too few.
bool cannot_be_counted(const CallFacts& facts, const Member& member) {
  bool any = member.incomplete;
  model::for_each(facts.job.processes[member.process].file, {trace::Operation::kCallCaptured},
                  [&](model::EventPlace, const Record&) { any = true; });
  return any;
}

std::uint64_t signals_to(const CallFacts& facts, const Member& from, std::int32_t to, std::int64_t by_ns) {
  std::uint64_t sent = 0;
  for_each_one_sided(facts.job, from, [&](const Record& record, const trace::payload::Collective& call) {
    sent += !waits(record) && call.peer == to && facts.job.begin_ns(from.process, record) < by_ns;
  });
  return sent;
}

std::optional<OwedSignals> find_owed(const CallFacts& facts, const Communicator& communicator,
                                     const Member& member, std::int64_t by_ns) {
  auto own = static_cast<std::uint32_t>(member.rank);
  std::map<std::int32_t, std::uint64_t> awaited;  // by peer
  bool known = true;
  for_each_one_sided(facts.job, member, [&](const Record& record, const trace::payload::Collective& call) {
    if (!waits(record)) return;
    known = known && call.peer >= 0 && call.count > 0;  // of several peers, or recorded without a count
    awaited[call.peer] += call.count;
  });
  if (awaited.empty()) return std::nullopt;
  if (!known || cannot_be_counted(facts, member)) return OwedSignals{own, own, 0, 0};
  for (const auto& [peer, count] : awaited) {
    auto found =
        std::find_if(communicator.members.begin(), communicator.members.end(),
                     [&, rank = peer](const Member& other) { return other.rank_in_communicator == rank; });
    if (found == communicator.members.end() || cannot_be_counted(facts, *found))
      return OwedSignals{own, own, 0, 0};
    std::uint64_t sent = signals_to(facts, *found, member.rank_in_communicator, by_ns);
    if (count > sent) return OwedSignals{own, static_cast<std::uint32_t>(found->rank), count, sent};
  }
  return std::nullopt;
}

}  // namespace

std::optional<OwedSignals> find_owed_signals(const CallFacts& facts, std::uint32_t process,
                                             std::int64_t by_ns) {
  for (const Communicator& communicator : facts.collectives.communicators)
    for (const Member& member : communicator.members) {
      if (member.process != process) continue;
      if (auto owed = find_owed(facts, communicator, member, by_ns)) return owed;
    }
  return std::nullopt;
}

}  // namespace ddpscope::detectors
