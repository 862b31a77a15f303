// Walks each communicator's members side by side.
#include "collector/merged/job_collectives.h"

#include <algorithm>
#include <numeric>

#include "collector/matching/communicator_name.h"
#include "collector/merged/call_arrivals.h"
#include "collector/merged/job_messages.h"

namespace ddpscope::merged {
namespace {

class CommunicatorWalk {
 public:
  CommunicatorWalk(Making& making, const detectors::Facts& facts, std::uint32_t index,
                   const CallArrivals& arrivals)
      : making_(making),
        facts_(facts),
        communicator_(facts.collectives.communicators[index]),
        arrivals_(arrivals) {}

  void write() {
    std::size_t most = 0;
    for (const matching::Member& member : communicator_.members) most = std::max(most, member.calls.size());
    for (std::size_t ordinal = 0; ordinal < most; ++ordinal) making_.writer.add_collective(at(ordinal));
  }

 private:
  Collective at(std::size_t ordinal) const;

  Making& making_;
  const detectors::Facts& facts_;
  const matching::Communicator& communicator_;
  const CallArrivals& arrivals_;
};

Collective CommunicatorWalk::at(std::size_t ordinal) const {
  Collective collective;
  collective.sequence = ordinal;
  bool barrier = true;
  for (const matching::Member& member : communicator_.members) {
    if (ordinal < member.calls.size()) {
      arrivals_.add(member.calls[ordinal], collective);
      barrier = barrier && facts_.barriers[member.calls[ordinal]];
      continue;
    }
    collective.arrivals.emplace_back();
    collective.arrivals.back().flags = member.incomplete ? 0 : kMissing;
    collective.flags |= collective.arrivals.back().flags;
  }
  if (collective.signatures.size() > 1) collective.flags |= kMismatched;
  collective.kind = barrier ? Kind::kBarrier : Kind::kCollective;
  return collective;
}

bool has_messages(const matching::Communicator& communicator) {
  return std::any_of(communicator.members.begin(), communicator.members.end(),
                     [](const matching::Member& member) { return !member.point_to_point.empty(); });
}

bool has_collectives(const matching::Communicator& communicator) {
  return std::any_of(communicator.members.begin(), communicator.members.end(),
                     [](const matching::Member& member) { return !member.calls.empty(); });
}

CommunicatorRow row_of(const Making& making, CommunicatorOrder::Row of, const std::string& name) {
  const matching::Communicator& communicator = making.facts.collectives.communicators[of.communicator];
  CommunicatorRow row;
  row.id = communicator.id;
  row.size = communicator.size;
  row.name = name;
  if (of.messages && has_collectives(communicator)) row.name += ": send, recv";
  if (of.messages && are_too_many(communicator)) row.name += " (too many to show)";
  for (const matching::Member& member : communicator.members) {
    std::uint32_t rank_row = making.rows.row_of_rank(member.rank);
    if (rank_row == kNone) rank_row = making.rows.row_of_process[member.process];
    std::uint64_t calls = of.messages ? member.point_to_point.size() : member.calls.size();
    row.members.push_back({member.rank_in_communicator, member.rank, rank_row, calls});
  }
  return row;
}

}  // namespace

CommunicatorOrder::CommunicatorOrder(const matching::Collectives& collectives)
    : rows(collectives.communicators.size()) {
  std::vector<std::uint32_t> by_size(collectives.communicators.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::uint32_t a, std::uint32_t b) {
    return collectives.communicators[a].size > collectives.communicators[b].size;
  });
  for (std::uint32_t index : by_size) {
    const matching::Communicator& communicator = collectives.communicators[index];
    rows[index] = static_cast<std::uint32_t>(listed.size());
    bool messages = has_messages(communicator);
    if (has_collectives(communicator) || !messages) listed.push_back({index, false});
    if (messages) listed.push_back({index, true});
  }
}

std::vector<CommunicatorRow> communicator_rows(Making& making, const CommunicatorOrder& order) {
  std::vector<CommunicatorRow> rows;
  for (CommunicatorOrder::Row of : order.listed)
    rows.push_back(
        row_of(making, of, matching::name_of(making.facts.job, making.facts.collectives, of.communicator)));
  return rows;
}

void write_collectives(Making& making, const detectors::Facts& facts, const CommunicatorOrder& order,
                       const std::vector<Mark>& marks) {
  CallArrivals arrivals(making, facts, marks);
  std::vector<CommunicatorRow> rows = communicator_rows(making, order);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    making.writer.begin_communicator(std::move(rows[row]));
    CommunicatorOrder::Row of = order.listed[row];
    if (of.messages)
      write_messages(making, facts.collectives, of.communicator, arrivals);
    else
      CommunicatorWalk(making, facts, of.communicator, arrivals).write();
  }
}

}  // namespace ddpscope::merged
