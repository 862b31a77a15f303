// Writes the index of collectives, one communicator after the other.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/merged/bytes.h"
#include "collector/merged/collectives.h"
#include "collector/merged/node.h"
#include "collector/merged/output.h"
#include "collector/merged/packing.h"
#include "collector/merged/sections.h"

namespace ddpscope::merged {

class CollectiveWriter {
 public:
  CollectiveWriter(Output& output, Packer& packer) : output_(&output), packer_(&packer) {}

  void begin(CommunicatorRow row);
  void add(const Collective& collective);  // in the order of its sequence numbers, from 0
  const CommunicatorRow& row() const { return rows_.back(); }

  void end();  // of the last one: no block is written after it
  // kCommunicators, kCollectiveIndex, kCollectivePyramid.
  void put(SectionWriter& sections);

 private:
  void close_block();

  Output* output_;
  Packer* packer_;
  std::vector<CommunicatorRow> rows_;
  std::vector<CollectiveNode> leaves_;  // of the communicator at hand
  std::vector<Collective> block_;       // likewise: those that are not written yet
  std::vector<BlockEntry> blocks_;
  std::vector<Spool> levels_;
};

void put_communicators(const std::vector<CommunicatorRow>& rows, ByteWriter& out);
std::vector<CommunicatorRow> get_communicators(ByteReader& in);

}  // namespace ddpscope::merged
