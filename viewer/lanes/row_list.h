// The rows of the lanes: which there are, in which order and how high, from the job and what the user
// unfolded; never from what is in view.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/merged/reader.h"

namespace ddpscope::viewer {

enum class RowKind : std::uint8_t {
  kSummary,       // how many ranks are in what
  kCommunicator,  // index: of the communicator
  kSteps,         // index: of the rank row whose steps are shown
  kStory,         // what the chosen finding needs beside the ranks' rows
  kHostsHeading,  // above the hosts' heat map
  kHost,          // index: of the host; heat
  kRankStrip,     // index: of the rank row; a folded rank of many
  kRank,          // index: of the rank row
};

enum class PartKind : std::uint8_t { kHost, kDevice, kStrip };

// A line of bars within a row.
struct RowPart {
  PartKind kind;
  float top = 0, height = 0;  // px at scale 1, from the row's top
  std::string label;
  std::vector<std::uint32_t> tracks;  // drawn over each other, the first lowest
};

struct Row {
  RowKind kind;
  std::uint32_t index = 0;
  float height = 0;  // px at scale 1
  std::vector<RowPart> parts{};
  bool open = true;  // unfolded
  float line = 17;   // of a communicator's member, px at scale 1
};

// Where not all rows fit into the window they are lower, and where that is not enough those folded that the
// finding is not about.
enum class Density : std::uint8_t { kRoomy, kDense, kFolded };

// What the user chose.
struct RowChoice {
  std::set<std::uint32_t> turned;        // rank rows that are not as they come: folded or unfolded
  std::set<std::uint32_t> turned_hosts;  // hosts that are unfolded
  std::set<std::uint32_t> turned_communicators;
  std::set<std::uint32_t> only;       // rank rows shown; empty: all
  std::vector<std::uint32_t> pinned;  // rank rows on top
  std::vector<std::uint32_t> first;   // next to them: ranks at fault, which else were out of sight
  float story_height = 0;             // px at scale 1; 0: the finding needs no row of its own
  std::uint32_t story_communicator = merged::kNone;  // that the finding is about
  Density density = Density::kRoomy;                 // not of the user
};

// Up to as many ranks each has a row of its own; of more their hosts have one.
constexpr std::size_t kMostRankRows = 64;
// Of more than so many no window shows the rows of all.
constexpr std::size_t kManyRankRows = 4, kFewRankRows = 4;
// Up to as many members a communicator's shapes have a line a member.
constexpr std::size_t kMostShapeMembers = 16;

std::vector<Row> make_rows(const merged::Reader& reader, const RowChoice& choice);
// Of a stream ("cuda:0 stream 7", "cuda:0 stream 0x55607e85b820") what fits beside its line and tells it from
// its rank's others: "stream 7", "…85b820"; where these are of several devices "0: 7", "0: …5b820".
std::string short_stream_label(std::string_view label, bool with_device);
// The lines of one rank, without regard to others.
Row rank_row(const merged::Reader& reader, std::uint32_t index, bool open, bool dense = false);

// Index of the row in which events of a track are drawn, and of the part; rows.size() if in none.
struct RowPlace {
  std::size_t row = 0, part = 0;
};
RowPlace place_of_track(const std::vector<Row>& rows, std::uint32_t track);
// The row of a rank: its own, or its host's.
std::size_t row_of_rank(const std::vector<Row>& rows, const merged::Reader& reader, std::uint32_t rank_row);

}  // namespace ddpscope::viewer
