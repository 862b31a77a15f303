// All tracks of a file while it is written: open ones, and what is kept of those that are closed.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "collector/merged/sections.h"
#include "collector/merged/summary.h"
#include "collector/merged/track_writer.h"

namespace ddpscope::merged {

class TrackStore {
 public:
  TrackStore(Output& output, Packer& packer) : output_(&output), packer_(&packer) {}

  std::uint32_t open(Track track);  // a handle
  TrackWriter* writer(std::uint32_t handle) { return handle < open_.size() ? open_[handle].get() : nullptr; }
  void close(std::uint32_t handle);

  // After the last one was closed: they are numbered by rank row, kind, process, lane and depth.
  void settle();
  // By handle; kNone: it had no event.
  std::uint32_t number_of(std::uint32_t handle) const;

  // Of the nodes above an event, whose track has its number. Of several the worst one comes last.
  void set_severity(EventPlace place, std::uint8_t severity);

  std::uint64_t events() const { return events_; }
  std::size_t size() const { return order_.size(); }
  const Track& track(std::size_t number) const { return closed_[order_[number]].track; }

  // kTracks (with the names), kChunkIndex, kBlockIndex, kPyramid.
  void put(SectionWriter& sections, const std::vector<Name>& names);

 private:
  struct Closed {
    Track track;
    std::vector<BlockEntry> chunks, blocks;
    std::vector<NameCount> names;
    std::vector<std::uint64_t> nodes_at;  // by level: where its nodes begin, bytes in levels_
  };
  void put_pyramid(SectionWriter& sections);

  Output* output_;
  Packer* packer_;
  std::vector<std::unique_ptr<TrackWriter>> open_;  // by handle, null once closed
  std::vector<std::uint32_t> closed_of_;            // by handle, into closed_
  std::vector<Closed> closed_;                      // in the order of closing, as their nodes lie
  std::vector<Spool> levels_;
  std::vector<std::uint32_t> order_;    // into closed_, by number
  std::vector<std::uint32_t> numbers_;  // of closed_
  std::uint64_t events_ = 0;
};

}  // namespace ddpscope::merged
