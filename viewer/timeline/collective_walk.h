// Which collectives of a communicator are drawn in a view: whole ones, and runs of those too narrow to be
// told apart.
#pragma once
#include <vector>

#include "collector/merged/reader.h"
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

struct CollectivesInView {
  std::vector<CollectiveRun> runs;
  std::vector<merged::Collective> whole;  // by sequence
};

// A collective narrower than this is part of a run.
constexpr float kLeastShapePx = 4;

CollectivesInView walk_collectives(const merged::Reader& reader, std::uint32_t communicator,
                                   const TimeView& view, WalkBudget& budget);

// ---- what a collective looks like, from when its members came and went
struct MemberShape {
  bool takes_part = false;  // issued what most did
  bool elsewhere = false;   // issued something else at this place
  bool absent = false;      // has no call here
  bool never = false;       // never comes out of it
  std::int64_t from_ns = 0, to_ns = 0;
};
struct CollectiveShape {
  std::vector<MemberShape> members;  // as CommunicatorRow::members
  std::uint32_t signature = 0;       // what most issued, index
  std::int64_t first_ns = 0, last_arrival_ns = 0;
  std::int64_t end_ns = 0;  // the last to leave; run_end_ns if one never does
  bool never = false;
  Kind kind = Kind::kCollective;  // what it was to most: a barrier, though a rank runs something else
};
// What never ends is drawn to the run's end.
CollectiveShape shape_of(const merged::Reader& reader, const merged::Collective& collective);

// Of two that follow each other and were not timed: the first is drawn until the second comes (see end_of).
void cut_at_next(CollectiveShape& shape, const CollectiveShape& next);

// "AllReduce float32×262,144", "barrier"
std::string signature_text(const matching::Signature& signature);
std::string collective_text(const merged::Collective& collective, const CollectiveShape& shape);

}  // namespace ddpscope::viewer
