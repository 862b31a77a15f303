// The index of collectives, block by block.
#include <algorithm>

#include "collector/merged/collective_code.h"
#include "collector/merged/packing.h"
#include "collector/merged/pyramid.h"
#include "collector/merged/reader.h"
#include "collector/merged/reader_state.h"

namespace ddpscope::merged {

std::shared_ptr<const std::vector<Collective>> Reader::State::collective_block(std::uint32_t communicator,
                                                                               std::uint64_t block) {
  std::uint64_t number = communicator_extents[communicator].first_chunk + block;
  if (auto known = collective_few.find(number)) return known;
  const BlockEntry& entry = collective_blocks[number];
  auto bytes = unpack(sections->data(entry.offset, entry.packed_bytes), entry.bytes);
  if (!bytes) return nullptr;
  const CommunicatorRow& row = communicators[communicator];
  std::uint64_t first = block * kCollectiveBlockCalls;
  auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(kCollectiveBlockCalls, row.collectives - first));
  auto collectives = get_collectives(*bytes, first, count, row.members.size());
  if (!collectives) return nullptr;
  for (Collective& collective : *collectives)
    for (Arrival& arrival : collective.arrivals)
      if (!is_event(arrival.event)) arrival.event = kNoEvent;
  return collective_few.keep(number, std::move(*collectives));
}

std::span<const CollectiveNode> Reader::collective_level(std::uint32_t communicator, unsigned level) const {
  const State& state = *state_;
  if (communicator >= state.communicators.size() || level >= state.communicators[communicator].levels)
    return {};
  return state.collective_pyramid.subspan(state.communicator_extents[communicator].first_node[level],
                                          nodes_above(state.communicators[communicator].collectives, level));
}

std::uint64_t Reader::collective_nodes(std::uint32_t communicator, unsigned level) const {
  return collective_level(communicator, level).size();
}

bool Reader::collective_nodes_ready(std::uint32_t communicator, unsigned level, std::uint64_t first,
                                    std::uint64_t end) const {
  std::span<const CollectiveNode> nodes = collective_level(communicator, level);
  end = std::min<std::uint64_t>(end, nodes.size());
  return first >= end ||
         state_->residency->holds(nodes.data() + first, (end - first) * sizeof(CollectiveNode));
}

void Reader::want_collective_nodes(std::uint32_t communicator, unsigned level, std::uint64_t first,
                                   std::uint64_t end) const {
  std::span<const CollectiveNode> nodes = collective_level(communicator, level);
  end = std::min<std::uint64_t>(end, nodes.size());
  if (first < end) state_->residency->want(nodes.data() + first, (end - first) * sizeof(CollectiveNode));
}

Result<std::vector<Collective>> Reader::collectives(std::uint32_t communicator, std::uint64_t first,
                                                    std::uint64_t end) const {
  std::vector<Collective> found;
  if (communicator >= state_->communicators.size()) return found;
  end = std::min(end, state_->communicators[communicator].collectives);
  while (first < end) {
    auto block = state_->collective_block(communicator, first / kCollectiveBlockCalls);
    if (!block) return state_->damaged("collectives");
    std::uint64_t block_first = first - first % kCollectiveBlockCalls;
    for (; first < end && first - block_first < block->size(); ++first)
      found.push_back((*block)[first - block_first]);
  }
  return found;
}

bool Reader::collectives_ready(std::uint32_t communicator, std::uint64_t first, std::uint64_t end) const {
  const State& state = *state_;
  if (communicator >= state.communicators.size()) return true;
  end = std::min(end, state.communicators[communicator].collectives);
  for (std::uint64_t at = first; at < end; at += kCollectiveBlockCalls - at % kCollectiveBlockCalls) {
    const BlockEntry& entry = state.collective_blocks[state.communicator_extents[communicator].first_chunk +
                                                      at / kCollectiveBlockCalls];
    auto bytes = state.sections->data(entry.offset, entry.packed_bytes);
    if (!state.residency->holds(bytes.data(), bytes.size())) return false;
  }
  return true;
}

void Reader::want_collectives(std::uint32_t communicator, std::uint64_t first, std::uint64_t end) const {
  const State& state = *state_;
  if (communicator >= state.communicators.size()) return;
  end = std::min(end, state.communicators[communicator].collectives);
  for (std::uint64_t at = first; at < end; at += kCollectiveBlockCalls - at % kCollectiveBlockCalls) {
    const BlockEntry& entry = state.collective_blocks[state.communicator_extents[communicator].first_chunk +
                                                      at / kCollectiveBlockCalls];
    auto bytes = state.sections->data(entry.offset, entry.packed_bytes);
    state.residency->want(bytes.data(), bytes.size());
  }
}

}  // namespace ddpscope::merged
