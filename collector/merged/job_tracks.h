// What the processes of a job did, as events on tracks.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/analysis/analyze.h"
#include "collector/merged/job_marks.h"
#include "collector/merged/job_rows.h"
#include "collector/merged/lanes.h"
#include "collector/merged/process_tables.h"
#include "collector/merged/rank_shares.h"
#include "collector/merged/writer.h"
#include "collector/symbols/native_frames.h"

namespace ddpscope::merged {

// Where the host's calls of the job's collectives stand, by number of the call.
class CallPlaces {
 public:
  void set(std::uint32_t call, EventPlace place) {
    if (call >= places_.size()) places_.resize(call + 1);
    places_[call] = {place.track, static_cast<std::uint32_t>(place.index)};
  }
  EventPlace operator[](std::uint32_t call) const {  // kNoEvent where it has no track
    if (call >= places_.size() || places_[call].track == kNone) return kNoEvent;
    return {places_[call].track, places_[call].index};
  }

 private:
  struct Place {
    std::uint32_t track = kNone, index = 0;
  };
  trace::Table<Place> places_;
};

// Stacks as lines; a frame that many stacks share is looked up once.
class FrameLines {
 public:
  std::vector<std::string> of(const trace::TraceFile& file, std::uint32_t stack);

 private:
  symbols::NativeFrames native_;
  std::map<std::tuple<std::string, std::string, std::uint64_t>, std::vector<std::string>> known_;
};

// What is at hand for all processes.
struct Making {
  Writer& writer;
  analysis::Matched facts;
  const JobRows& rows;
  FileAccesses accesses;
  CallPlaces places{};
  FrameLines frames{};
  std::uint64_t left_out = 0;  // events
};

// The tracks of one process in one row: of all that it did, what belongs there.
class LaneTracks {
 public:
  LaneTracks(Making& making, std::uint32_t process, std::uint32_t rank_row)
      : making_(making),
        process_(process),
        rank_row_(rank_row),
        shares_(making.facts, making.rows, process) {}

  std::uint32_t row() const { return rank_row_; }
  const RankShares& shares() const { return shares_; }

  // By begin within one kind and lane. `label`: of the lane, asked for once a depth. Nothing: it overlaps too
  // many others.
  template <class Label>
  std::optional<EventPlace> add(TrackKind kind, std::uint64_t lane, const Event& event, Slot slot,
                                Label&& label) {
    Line& line = lines_[{kind, lane}];
    auto depth = line.lanes.place(event.begin_ns, event.end_ns, event.open);
    if (!depth) {
      ++making_.left_out;
      return std::nullopt;
    }
    while (line.handles.size() <= *depth)
      line.handles.push_back(open(kind, lane, line.handles.size(), label()));
    return making_.writer.add(line.handles[*depth], event, slot);
  }

 private:
  struct Line {
    Lanes lanes;
    std::vector<std::uint32_t> handles;  // by depth
  };
  std::uint32_t open(TrackKind kind, std::uint64_t lane, std::size_t depth, std::string label);

  Making& making_;
  std::uint32_t process_, rank_row_;
  RankShares shares_;
  std::map<std::pair<TrackKind, std::uint64_t>, Line> lines_;
};

// The collectives of a process by its own number of the communicator and of the call: as DeviceWork::subject.
using CallsBySubject = std::unordered_map<std::uint64_t, std::uint32_t>;

class Standing;  // job_sightings.h

// Calls, files, ranges and inputs. Fills in the tables, where the main thread stood, and `device`, if one
// became current ("cuda:0").
CallsBySubject write_calls(Making& making, std::uint32_t process, LaneTracks& tracks, ProcessTables& tables,
                           Standing& standing, std::string& device);
void write_device_work(Making& making, std::uint32_t process, LaneTracks& tracks, ProcessTables& tables,
                       const CallsBySubject& calls);
void write_steps(Making& making, std::uint32_t process, LaneTracks& tracks);

}  // namespace ddpscope::merged
