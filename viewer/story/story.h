// What the lanes show of the chosen finding: where its evidence stands, which of it is linked by arrows,
// which stretch of time and which ranks it is about, and what it needs a lane of its own for. Nothing is
// drawn here.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collector/merged/reader.h"
#include "viewer/draw/marks.h"
#include "viewer/story/absence.h"
#include "viewer/view/time_view.h"

namespace ddpscope::viewer {

struct StoryDisc {
  std::size_t number = 0;  // of the evidence, from 1 on
  std::uint32_t rank_row = merged::kNone;
  std::int64_t t_ns = 0;
  merged::EventPlace place = merged::kNoEvent;
  // It stands in the finding's own lane, not in its rank's row: there, px at scale 1 from its top.
  bool in_lane = false;
  float lane_y = 0;
  bool on_device = false;                     // it stands where its device does it, at shown_ns
  std::int64_t shown_ns = 0;                  // where it is drawn; else t_ns
  std::int64_t device_ns = merged::kUnknown;  // its device comes to it, if that is well after t_ns
  std::int64_t drawn_ns() const { return in_lane || on_device ? shown_ns : t_ns; }
  bool waits = false;  // device_ns is when what it waits for is over
};

struct StoryArrow {
  std::size_t from = 0, to = 0;  // indices of discs
  ArrowKind kind = ArrowKind::kInTime;
  std::vector<std::string> lines;
};

// A text at a disc.
struct StoryNote {
  std::size_t disc = 0;
  std::vector<std::string> lines;
};

// What is drawn of an access to a file, or of an input batch: read when the finding is chosen, so that no
// frame waits for the disk.
struct StoryAccess {
  std::int64_t begin_ns = 0, end_ns = 0;
  merged::Kind kind = merged::Kind::kOther;
  bool leaves_open = false;   // the file is in use after it, as far as its name tells
  std::uint64_t digest = 0;   // of a batch
  std::uint32_t content = 0;  // which of the story's digests that is, in the order in which they appear
};

// A rank and what it did with the file, by time.
struct FileLine {
  std::uint32_t rank_row = 0;
  std::vector<StoryAccess> accesses;
  bool writes = false;
  bool at_fault = false;
  std::string does{};                               // "writes 619032 bytes"
  std::string file{};                               // path, where it may be of each rank its own
  std::size_t disc = static_cast<std::size_t>(-1);  // that tells it; index, none if it is no disc's
};

// Collectives first ... end - 1 that reduce the gradients once.
struct SyncSet {
  std::uint64_t first = 0, end = 0;
  bool needed = false;
  std::int64_t from_ns = 0, to_ns = 0;  // first to come, last to leave, of all ranks
};

constexpr std::ptrdiff_t kMostFileLines = 16;
constexpr std::size_t kMostBatchLines = 4;

enum class StoryLane : std::uint8_t { kNone, kFile, kBatches, kSyncs, kAbsence };

struct Story {
  std::uint32_t finding = merged::kNone;  // none: nothing was chosen
  TimeSpan focus;
  std::vector<std::uint32_t> rank_rows;   // concerned, ascending
  std::vector<std::uint32_t> fault_rows;  // at fault, ascending
  std::vector<StoryDisc> discs;
  std::vector<StoryArrow> arrows;
  std::vector<StoryNote> notes;

  StoryLane lane = StoryLane::kNone;
  std::string file;                                   // kFile: path
  std::vector<FileLine> lines;                        // kFile, kBatches: ranks, or a rank's passes
  std::map<std::uint64_t, std::string> sample_names;  // kBatches: by digest, where lines are of samples read
  std::uint32_t communicator = merged::kNone;         // kSyncs, and where a collective is at fault
  std::uint64_t sequence = 0;                         // of that collective
  std::vector<SyncSet> syncs;
  StoryAbsence absence;  // kAbsence

  bool several_files() const;
  bool concerns(std::uint32_t rank_row) const;
  bool at_fault(std::uint32_t rank_row) const;
};

// As far as nothing has to be read for it: discs, ranks, and a stretch of time that holds the evidence.
Story sketch(const merged::Reader& reader, std::uint32_t finding);
// Reads events: may wait for the disk.
Story tell(const merged::Reader& reader, std::uint32_t finding);
// Of the lane, px at scale 1: as high as it likes to be, and where there is little room; by how much its
// lines are lower if it is `height` high. The middle of a line of its file.
float lane_height(const Story& story);
float least_lane_height(const Story& story);
float lane_squeeze(const Story& story, float height);
float file_line_middle(std::size_t line);
constexpr float kSyncMiddle = 19;  // px at scale 1

// What a rank does with the file. `told`: the disc that tells it is in view; else no more is said than what
// its accesses in `shown` are.
std::string deed_text(const FileLine& line, bool told, TimeSpan shown);

// A sentence of a finding: "…/step_000008.bin" for paths of several folders (a person knows them by their
// names), and "ranks 0, 2–14 and 15" for a list of more than three in a row.
std::string in_short(std::string_view text);

// "rank 5", "ranks 0-4, 6, 7" with en dashes, "no rank"
std::string ranks_text(const std::vector<std::int32_t>& ranks);
// "2.1 ms/step", "hang", "3 times": what stands beside a finding in the list.
std::string cost_text(const findings::Finding& finding);
// "2.1 ms a step and 206 kB a step", and of a hang what reports say: in the drawer.
std::string cost_sentence(const findings::Finding& finding);

}  // namespace ddpscope::viewer
