// By times in blocks of collectives, and by neighbours on a thread's tracks.
#include "collector/merged/collective_refs.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ddpscope::merged {
namespace {

std::uint64_t blocks_of(const Reader::State& state, std::uint32_t communicator, std::uint32_t member) {
  std::uint64_t calls = std::min(state.communicators[communicator].members[member].collectives,
                                 state.communicators[communicator].collectives);
  return calls ? (calls - 1) / kCollectiveBlockCalls + 1 : 0;
}

// Number of the last block that begins before the member's call at `t_ns`, among those it took part in.
std::uint64_t block_before(Reader::State& state, std::uint32_t communicator, std::uint32_t member,
                           std::int64_t t_ns) {
  std::uint64_t low = 0, high = blocks_of(state, communicator, member);
  while (low + 1 < high) {
    std::uint64_t middle = low + (high - low) / 2;
    auto block = state.collective_block(communicator, middle);
    if (!block || block->empty()) break;
    if (block->front().arrivals[member].arrival_ns < t_ns)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// Those of the member that `matches` says are looked for, by their arrivals: they follow each other, and came
// by `t_ns`.
CollectiveRef find_collectives(Reader::State& state, std::uint32_t communicator, std::uint32_t member,
                               std::int64_t t_ns, const ArrivalTest& matches) {
  CollectiveRef found{kNone, member, 0, 0};
  std::uint64_t end = blocks_of(state, communicator, member);
  for (std::uint64_t number = block_before(state, communicator, member, t_ns); number < end; ++number) {
    auto block = state.collective_block(communicator, number);
    if (!block || block->empty() || block->front().arrivals[member].arrival_ns > t_ns) break;
    for (const Collective& collective : *block) {
      if (!matches(collective.arrivals[member])) continue;
      if (found.count++ == 0) found.communicator = communicator, found.sequence = collective.sequence;
    }
  }
  return found;
}

// Of a call of a group, which comes after those that are known: numbers follow each other.
void add_after(const CollectiveRef& call, std::vector<CollectiveRef>& group) {
  if (call.communicator == kNone) return;
  auto known = std::ranges::find_if(group, [&](const CollectiveRef& each) {
    return each.communicator == call.communicator && each.member == call.member;
  });
  if (known == group.end()) return group.push_back(call);
  if (call.count == 0) return;
  if (known->count == 0) known->sequence = call.sequence;
  known->count += call.count;
}

// A process that holds several ranks issues a collective once for each.
void leave_out_same(std::vector<CollectiveRef>& group) {
  std::vector<CollectiveRef> kept;
  for (const CollectiveRef& each : group) {
    auto same = [&](const CollectiveRef& other) {
      return std::tie(each.communicator, each.sequence, each.count) ==
             std::tie(other.communicator, other.sequence, other.count);
    };
    if (std::ranges::none_of(kept, same)) kept.push_back(each);
  }
  group = std::move(kept);
}

constexpr std::uint64_t kMostGrouped = 4096;  // calls that are looked at

// Where the group that ends there began; kNoEvent if that is too far.
EventPlace begin_of_group(const Reader& reader, EventPlace end) {
  std::uint64_t least = end.index > kMostGrouped ? end.index - kMostGrouped : 0;
  for (unsigned inner = 0; end.index > least;) {
    --end.index;
    std::string_view name = reader.names()[reader.event(end).name].text;
    if (name == "ncclGroupEnd") ++inner;
    if (name == "ncclGroupStart" && inner-- == 0) return end;
  }
  return kNoEvent;
}

// Collectives and messages on a track that begin from then to then, with their times.
void add_grouped(const Reader& reader, std::uint32_t track, std::int64_t from_ns, std::int64_t to_ns,
                 std::vector<std::pair<std::int64_t, EventPlace>>& calls) {
  std::uint64_t events = reader.tracks()[track].events;
  for (EventPlace at{track, reader.first_ending_after(track, from_ns - 1)}; at.index < events; ++at.index) {
    Event event = reader.event(at);
    if (event.begin_ns > to_ns || calls.size() == kMostGrouped) return;
    Kind kind = reader.names()[event.name].kind;
    if (event.begin_ns >= from_ns && (kind == Kind::kCollective || kind == Kind::kBarrier))
      calls.emplace_back(event.begin_ns, at);
  }
}

}  // namespace

CollectiveRef find_communicator(const Reader::State& state, const ProcessTables& tables,
                                std::uint32_t number) {
  auto known = tables.communicator(number);
  if (!known || known->first >= state.communicators.size()) return {};
  auto [communicator, member] = *known;
  if (member >= state.communicators[communicator].members.size()) return {};
  return {communicator, member, 0, 0};
}

CollectiveRef find_collective(Reader::State& state, const ProcessTables& tables, std::uint32_t number,
                              std::int64_t t_ns, const ArrivalTest& matches) {
  CollectiveRef own = find_communicator(state, tables, number);
  if (own.communicator == kNone) return {};
  return find_collectives(state, own.communicator, own.member, t_ns, matches);
}

std::vector<CollectiveRef> find_launched(Reader::State& state, std::uint32_t rank_row, std::int64_t t_ns,
                                         EventPlace place) {
  std::vector<CollectiveRef> launched;
  for (std::uint32_t communicator = 0; communicator < state.communicators.size(); ++communicator) {
    const auto& members = state.communicators[communicator].members;
    for (std::uint32_t member = 0; member < members.size(); ++member) {
      if (members[member].rank_row != rank_row) continue;
      auto found = find_collectives(state, communicator, member, t_ns,
                                    [&](const Arrival& arrival) { return arrival.event == place; });
      if (found.count > 0) launched.push_back(found);
    }
  }
  return launched;
}

std::vector<CollectiveRef> find_grouped(const Reader& reader, EventPlace end) {
  std::vector<CollectiveRef> group;
  EventPlace begin = begin_of_group(reader, end);
  if (begin == kNoEvent) return group;
  const Track& own = reader.tracks()[end.track];
  std::vector<std::pair<std::int64_t, EventPlace>> calls;
  for (std::uint32_t track = 0; track < reader.tracks().size(); ++track) {
    const Track& each = reader.tracks()[track];
    if (each.process == own.process && each.kind == own.kind && each.lane == own.lane &&
        each.depth == own.depth)
      add_grouped(reader, track, reader.event(begin).begin_ns, reader.event(end).begin_ns, calls);
  }
  std::sort(calls.begin(), calls.end());
  for (const auto& [begin_ns, place] : calls) {
    auto call = reader.detail(place);
    for (std::size_t i = 0; call && i < call->collectives.size(); ++i) add_after(call->collectives[i], group);
  }
  leave_out_same(group);
  return group;
}

}  // namespace ddpscope::merged
