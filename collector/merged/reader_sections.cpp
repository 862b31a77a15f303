// Reads the sections that are small, and checks that they fit each other and the long ones.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "collector/merged/collective_writer.h"
#include "collector/merged/pyramid.h"
#include "collector/merged/reader_state.h"
#include "collector/merged/track_code.h"

namespace ddpscope::merged {
namespace {

constexpr std::uint64_t kOverviewBytes = 32 << 20;
constexpr std::uint64_t kCollectiveOverviewBytes = 4 << 20;

template <class Entry>
std::span<const Entry> table_of(const SectionTable& sections, SectionId id) {
  std::span<const unsigned char> bytes = sections.bytes(id);
  return {reinterpret_cast<const Entry*>(bytes.data()), bytes.size() / sizeof(Entry)};
}

// Gives each level of each owner its place: coarsest level of all first. False if there is room for fewer
// nodes or more.
template <class Leaves>
bool lay_out(std::vector<Extents*>& owners, std::uint64_t nodes, Leaves&& leaves_of) {
  unsigned levels = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) levels = std::max(levels, levels_above(leaves_of(i)));
  std::uint64_t next = 0;
  for (unsigned level = levels; level-- > 0;)
    for (std::size_t i = 0; i < owners.size(); ++i) {
      unsigned own = levels_above(leaves_of(i));
      owners[i]->first_node.resize(own);
      if (level >= own) continue;
      owners[i]->first_node[level] = next;
      next += nodes_above(leaves_of(i), level);
      if (next > nodes) return false;
    }
  return next == nodes;
}

bool is_permutation(std::vector<std::uint32_t> order) {
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

}  // namespace

Error Reader::State::damaged(const char* what) const {
  return {fmt::format("the merged file is damaged: {}", what), path.string(), "export the trace again"};
}

bool Reader::State::read_facts() {
  ByteReader in(sections->bytes(SectionId::kFacts));
  facts = get_facts(in);
  if (!in.ok() || facts.job.duration_ns < 0) return false;
  for (const HostRow& host : facts.hosts)
    for (std::uint32_t rank : host.ranks)
      if (rank >= facts.ranks.size()) return false;
  for (const RankRow& rank : facts.ranks)
    if (rank.host != kNone && rank.host >= facts.hosts.size()) return false;
  for (const ProcessRow& process : facts.processes)
    if (process.host >= facts.hosts.size()) return false;
  return true;
}

bool Reader::State::read_tracks() {
  ByteReader in(sections->bytes(SectionId::kTracks));
  names = get_names(in);
  std::size_t count = in.get_count(kLeastTrackBytes);
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    StoredTrack stored = get_track(in);
    Track& track = stored.track;
    if (track.rank_row >= facts.ranks.size() || track.process >= facts.processes.size()) return false;
    if (!tracks.empty() && track.rank_row < tracks.back().rank_row) return false;
    if (track.events == 0 || stored.names.empty()) return false;
    Extents extent;
    extent.first_name = static_cast<std::uint32_t>(name_of_number.size());
    extent.names = static_cast<std::uint32_t>(stored.names.size());
    for (const NameCount& name : stored.names) {
      if (name.name >= names.size()) return false;
      name_of_number.push_back(name.name);
    }
    std::stable_sort(stored.names.begin(), stored.names.end(),
                     [](const NameCount& a, const NameCount& b) { return a.count > b.count; });
    name_counts.insert(name_counts.end(), stored.names.begin(), stored.names.end());
    RankRow& row = facts.ranks[track.rank_row];
    if (row.tracks++ == 0) row.first_track = static_cast<std::uint32_t>(tracks.size());
    order.push_back(stored.order);
    tracks.push_back(std::move(track));
    extents.push_back(std::move(extent));
  }
  return in.ok() && lay_out_tracks(order);
}

bool Reader::State::lay_out_tracks(const std::vector<std::uint32_t>& order) {
  chunks = table_of<BlockEntry>(*sections, SectionId::kChunkIndex);
  blocks = table_of<BlockEntry>(*sections, SectionId::kBlockIndex);
  process_blocks = table_of<BlockEntry>(*sections, SectionId::kProcessIndex);
  info_block = table_of<BlockEntry>(*sections, SectionId::kInfo);
  summary_block = table_of<BlockEntry>(*sections, SectionId::kSummary);
  pyramid = table_of<Node>(*sections, SectionId::kPyramid);
  if (!is_permutation(order)) return false;
  std::vector<Extents*> owners(tracks.size());
  std::vector<std::uint32_t> track_of(tracks.size());
  std::uint64_t chunk = 0, block = 0;
  for (std::uint32_t i = 0; i < tracks.size(); ++i) {
    if (tracks[i].events / kLeafEvents > pyramid.size()) return false;
    extents[i].first_chunk = chunk;
    extents[i].first_block = block;
    chunk += parts_for(tracks[i].events, kChunkEvents);
    block += parts_for(tracks[i].events, kBlockEvents);
    tracks[i].levels = static_cast<std::uint16_t>(levels_of(tracks[i].events));
    owners[order[i]] = &extents[i];
    track_of[order[i]] = i;
  }
  if (chunk != chunks.size() || block != blocks.size()) return false;
  return lay_out(owners, pyramid.size(),
                 [&](std::size_t place) { return parts_for(tracks[track_of[place]].events, kLeafEvents); });
}

bool Reader::State::read_findings() {
  ByteReader in(sections->bytes(SectionId::kFindings));
  found = get_found(in);
  if (!in.ok()) return false;
  first_mark.resize(tracks.size() + 1);
  EventPlace before{0, 0};
  for (const Mark& mark : found.marks) {
    if (!is_event(mark.event) || mark.event < before || mark.finding >= found.outcome.findings.size())
      return false;
    if (mark.evidence >= found.outcome.findings[mark.finding].evidence.size()) return false;
    before = mark.event;
    ++first_mark[mark.event.track + 1];
    place_of_evidence.try_emplace({mark.finding, mark.evidence}, mark.event);
  }
  std::partial_sum(first_mark.begin(), first_mark.end(), first_mark.begin());
  for (const auto& [file, places] : found.accesses)
    for (EventPlace place : places)
      if (!is_event(place)) return false;
  return true;
}

bool Reader::State::read_communicators() {
  ByteReader in(sections->bytes(SectionId::kCommunicators));
  communicators = get_communicators(in);
  collective_blocks = table_of<BlockEntry>(*sections, SectionId::kCollectiveIndex);
  collective_pyramid = table_of<CollectiveNode>(*sections, SectionId::kCollectivePyramid);
  if (!in.ok()) return false;
  communicator_extents.resize(communicators.size());
  std::vector<Extents*> owners;
  std::uint64_t block = 0;
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    if (communicators[i].collectives > collective_pyramid.size()) return false;
    for (const CommunicatorMember& member : communicators[i].members)
      if (member.rank_row >= facts.ranks.size()) return false;
    communicator_extents[i].first_chunk = block;
    block += parts_for(communicators[i].collectives, kCollectiveBlockCalls);
    owners.push_back(&communicator_extents[i]);
  }
  return block == collective_blocks.size() && lay_out(owners, collective_pyramid.size(), [&](std::size_t i) {
           return communicators[i].collectives;
         });
}

bool Reader::State::read_cells() {
  std::span<const unsigned char> bytes = sections->bytes(SectionId::kCells);
  std::size_t rows = 1 + facts.hosts.size() + facts.ranks.size();
  std::size_t column_bytes = rows * sizeof(Cell) + kActivities * sizeof(std::uint32_t);
  if (bytes.size() % column_bytes) return false;
  columns = static_cast<std::uint32_t>(bytes.size() / column_bytes);
  cells = {reinterpret_cast<const Cell*>(bytes.data()), rows * columns};
  activities = {reinterpret_cast<const std::uint32_t*>(bytes.data() + rows * columns * sizeof(Cell)),
                kActivities * columns};
  return true;
}

void Reader::State::bring_in_overview() {
  residency->bring_in(cells.data(), sections->bytes(SectionId::kCells).size());
  residency->bring_in(pyramid.data(), std::min<std::size_t>(pyramid.size_bytes(), kOverviewBytes));
  residency->bring_in(collective_pyramid.data(),
                      std::min<std::size_t>(collective_pyramid.size_bytes(), kCollectiveOverviewBytes));
}

}  // namespace ddpscope::merged
