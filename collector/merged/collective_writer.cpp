// Blocks as they are full, nodes when a communicator is complete.
#include "collector/merged/collective_writer.h"

#include <algorithm>

#include "collector/merged/collective_code.h"
#include "collector/merged/pyramid.h"

namespace ddpscope::merged {
namespace {

std::vector<CollectiveNode> level_above(const std::vector<CollectiveNode>& nodes) {
  std::vector<CollectiveNode> above;
  for (std::size_t i = 0; i < nodes.size(); i += kFanOut)
    above.push_back(node_of(std::span(nodes).subspan(i, std::min(kFanOut, nodes.size() - i))));
  return above;
}

}  // namespace

void CollectiveWriter::begin(CommunicatorRow row) {
  end();
  row.collectives = 0;
  rows_.push_back(std::move(row));
}

void CollectiveWriter::add(const Collective& collective) {
  CommunicatorRow& row = rows_.back();
  leaves_.push_back(node_of(collective));
  const CollectiveNode& node = leaves_.back();
  std::int64_t end_ns = node.last_end_ns == kNever ? node.last_arrival_ns : node.last_end_ns;
  row.first_ns = row.collectives ? std::min(row.first_ns, node.first_arrival_ns) : node.first_arrival_ns;
  row.last_ns = row.collectives ? std::max(row.last_ns, end_ns) : end_ns;
  ++row.collectives;
  block_.push_back(collective);
  if (block_.size() == kCollectiveBlockCalls) close_block();
}

void CollectiveWriter::close_block() {
  ByteWriter bytes;
  put_collectives(block_, bytes);
  auto packed = packer_->pack(bytes.bytes());
  blocks_.push_back({output_->offset(), static_cast<std::uint32_t>(packed.size()),
                     static_cast<std::uint32_t>(bytes.bytes().size())});
  output_->append(packed);
  block_.clear();
}

void CollectiveWriter::end() {
  if (leaves_.empty()) return;
  if (!block_.empty()) close_block();
  unsigned levels = levels_above(leaves_.size());
  rows_.back().levels = static_cast<std::uint16_t>(levels);
  for (unsigned level = 0; level < levels; ++level) {
    if (levels_.size() == level) levels_.emplace_back(output_->folder(), kLevelMemory);
    levels_[level].append(
        {reinterpret_cast<const unsigned char*>(leaves_.data()), leaves_.size() * sizeof(CollectiveNode)});
    leaves_ = level_above(leaves_);
  }
  leaves_.clear();
}

void CollectiveWriter::put(SectionWriter& sections) {
  end();
  ByteWriter rows;
  put_communicators(rows_, rows);
  sections.put(SectionId::kCommunicators, rows.bytes());
  sections.put_table(SectionId::kCollectiveIndex, blocks_);
  sections.begin(SectionId::kCollectivePyramid);
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) sections.append(*level);
  sections.end();
}

void put_communicators(const std::vector<CommunicatorRow>& rows, ByteWriter& out) {
  out.put_short(rows.size());
  for (const CommunicatorRow& row : rows) {
    out.put(row.id);
    out.put_near(row.size);
    out.put_text(row.name);
    out.put_short(row.collectives);
    out.put_near(row.first_ns);
    out.put_near(row.last_ns);
    out.put_short(row.members.size());
    for (const CommunicatorMember& member : row.members) {
      out.put_near(member.rank_in_communicator);
      out.put_near(member.rank);
      out.put_short(member.rank_row);
      out.put_short(member.collectives);
    }
  }
}

std::vector<CommunicatorRow> get_communicators(ByteReader& in) {
  std::vector<CommunicatorRow> rows(in.get_count(14));
  for (CommunicatorRow& row : rows) {
    row.id = in.get<std::uint64_t>();
    row.size = static_cast<std::int32_t>(in.get_near());
    row.name = in.get_text();
    row.collectives = in.get_short();
    row.first_ns = in.get_near();
    row.last_ns = in.get_near();
    row.levels = static_cast<std::uint16_t>(levels_above(row.collectives));
    row.members.resize(in.get_count(4));
    for (CommunicatorMember& member : row.members) {
      member.rank_in_communicator = static_cast<std::int32_t>(in.get_near());
      member.rank = static_cast<std::int32_t>(in.get_near());
      member.rank_row = static_cast<std::uint32_t>(in.get_short());
      member.collectives = in.get_short();
    }
  }
  return rows;
}

}  // namespace ddpscope::merged
