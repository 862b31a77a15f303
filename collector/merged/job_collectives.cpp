// Walks each communicator's members side by side.
#include "collector/merged/job_collectives.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "collector/matching/communicator_name.h"

namespace ddpscope::merged {
namespace {

class CommunicatorWalk {
 public:
  CommunicatorWalk(Making& making, const detectors::Facts& facts, std::uint32_t index,
                   const std::map<EventPlace, std::uint8_t>& severities)
      : making_(making),
        facts_(facts),
        communicator_(facts.collectives.communicators[index]),
        severities_(severities) {}

  void write() {
    std::size_t most = 0;
    for (const matching::Member& member : communicator_.members) most = std::max(most, member.calls.size());
    for (std::size_t ordinal = 0; ordinal < most; ++ordinal) making_.writer.add_collective(at(ordinal));
  }

 private:
  Collective at(std::size_t ordinal) const;
  Arrival arrival_of(std::uint32_t call) const;
  void complete(Arrival& arrival, std::uint32_t call) const;

  Making& making_;
  const detectors::Facts& facts_;
  const matching::Communicator& communicator_;
  const std::map<EventPlace, std::uint8_t>& severities_;
};

CommunicatorRow row_of(const Making& making, std::uint32_t index) {
  const matching::Communicator& communicator = making.facts.collectives.communicators[index];
  CommunicatorRow row;
  row.id = communicator.id;
  row.size = communicator.size;
  row.name = matching::name_of(making.facts.job, making.facts.collectives, index);
  for (const matching::Member& member : communicator.members) {
    std::uint32_t rank_row = making.rows.row_of_rank(member.rank);
    if (rank_row == kNone) rank_row = making.rows.row_of_process[member.process];
    row.members.push_back({member.rank_in_communicator, member.rank, rank_row, member.calls.size()});
  }
  return row;
}

Collective CommunicatorWalk::at(std::size_t ordinal) const {
  Collective collective;
  collective.sequence = ordinal;
  bool barrier = true;
  for (const matching::Member& member : communicator_.members) {
    if (ordinal >= member.calls.size()) {
      collective.arrivals.emplace_back();
      collective.arrivals.back().flags = member.incomplete ? 0 : kMissing;
    } else {
      std::uint32_t call = member.calls[ordinal];
      Arrival arrival = arrival_of(call);
      const matching::Signature& signature = facts_.collectives.calls.signature(call);
      auto& known = collective.signatures;
      auto found = std::find(known.begin(), known.end(), signature);
      arrival.signature = static_cast<std::uint32_t>(found - known.begin());
      if (found == known.end()) known.push_back(signature);
      barrier = barrier && facts_.barriers[call];
      auto severity = severities_.find(arrival.event);
      if (severity != severities_.end())
        collective.max_severity = std::max(collective.max_severity, severity->second);
      collective.arrivals.push_back(arrival);
    }
    collective.flags |= collective.arrivals.back().flags;
  }
  if (collective.signatures.size() > 1) collective.flags |= kMismatched;
  collective.kind = barrier ? Kind::kBarrier : Kind::kCollective;
  return collective;
}

Arrival CommunicatorWalk::arrival_of(std::uint32_t call) const {
  Arrival arrival;
  arrival.arrival_ns = facts_.collectives.calls.begin_ns(call);
  arrival.event = making_.writer.settled(making_.places[call]);
  complete(arrival, call);
  return arrival;
}

void CommunicatorWalk::complete(Arrival& arrival, std::uint32_t call) const {
  if (const patterns::DeviceTime* time = facts_.collective_times.get().of(call)) {
    arrival.begin_ns = time->begin_ns;
    arrival.end_ns = time->end_ns;
    arrival.flags |= kTimed;
    return;
  }
  const ordering::Completion completion = facts_.device_order.completions[call];
  if (completion.wait != matching::kNone) {
    arrival.end_ns = facts_.device_order.waits[completion.wait].end_ns;
  } else if (completion.blocked != matching::kNone &&
             facts_.device_order.waits[completion.blocked].end_ns == ordering::kNever) {
    arrival.end_ns = kNever;
    arrival.flags |= kNeverCompleted;
  }
}

}  // namespace

CommunicatorOrder::CommunicatorOrder(const matching::Collectives& collectives)
    : communicators(collectives.communicators.size()), rows(collectives.communicators.size()) {
  std::iota(communicators.begin(), communicators.end(), 0);
  std::stable_sort(communicators.begin(), communicators.end(), [&](std::uint32_t a, std::uint32_t b) {
    return collectives.communicators[a].size > collectives.communicators[b].size;
  });
  for (std::uint32_t row = 0; row < communicators.size(); ++row) rows[communicators[row]] = row;
}

std::vector<CommunicatorRow> communicator_rows(Making& making, const CommunicatorOrder& order) {
  std::vector<CommunicatorRow> rows;
  for (std::uint32_t communicator : order.communicators) rows.push_back(row_of(making, communicator));
  return rows;
}

void write_collectives(Making& making, const detectors::Facts& facts, const CommunicatorOrder& order,
                       const std::vector<Mark>& marks) {
  std::map<EventPlace, std::uint8_t> severities;
  for (const Mark& mark : marks) {
    std::uint8_t& severity = severities[mark.event];
    severity = std::max(severity, mark.severity);
  }
  for (std::uint32_t communicator : order.communicators) {
    making.writer.begin_communicator(row_of(making, communicator));
    CommunicatorWalk(making, facts, communicator, severities).write();
  }
}

}  // namespace ddpscope::merged
