// Which collectives of a communicator are drawn in a view: whole ones, and runs of those too narrow to be
// told apart.
#pragma once
#include <vector>

#include "collector/merged/reader.h"
#include "viewer/timeline/collective_shape.h"
#include "viewer/timeline/track_walk.h"
#include "viewer/view/time_view.h"

namespace ddpscope::viewer {

struct CollectiveRun {
  float left = 0, right = 0;  // px
  Kind kind = Kind::kCollective;
  std::uint8_t severity = 0;
  std::uint8_t flags = 0;  // merged::CollectiveFlag, of all
  std::uint64_t count = 1;
  std::uint64_t first_sequence = 0;
};

struct WholeCollective {
  merged::Collective collective;
  CollectiveShape shape;
};

struct CollectivesInView {
  std::vector<CollectiveRun> runs;
  std::vector<WholeCollective> whole;  // by sequence; the shapes of a member overlap nowhere, but of messages
};

// A collective narrower than this is part of a run.
constexpr float kLeastShapePx = 4;

CollectivesInView walk_collectives(const merged::Reader& reader, std::uint32_t communicator,
                                   const TimeView& view, WalkBudget& budget);

}  // namespace ddpscope::viewer
