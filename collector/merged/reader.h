// Opens a merged file (docs/merged-file.md) in a time that does not depend on its size, and hands out rows,
// nodes, events, collectives and findings.
//
// What is small is read and checked when the file is opened; what is as long as the trace is mapped and
// looked at in place. Functions marked [mapped] may have to wait for the disk: whoever must not asks *_ready
// first and calls want_* where it is false. All const functions may be called by several threads at once.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/merged/collectives.h"
#include "collector/merged/event.h"
#include "collector/merged/kinds.h"
#include "collector/merged/node.h"
#include "collector/merged/rows.h"
#include "trace/result.h"

namespace ddpscope::merged {

// A file of a magic of ours, whatever its version and state. False too if it cannot be read.
bool is_merged_file(const std::filesystem::path& path);

class Reader {
 public:
  // Errors: cannot be read; no merged file; written by a newer version; cut off; damaged (which part).
  static Result<Reader> open(const std::filesystem::path& path);
  // Of a file that is being written: what there is of its data so far, and sections that lie in a file of
  // their own (Writer::preview). Both may be closed afterwards. `path`: of the file that it will be. Not
  // `judged`: before findings were looked for.
  static Result<Reader> open_preview(int sections, int data, const std::filesystem::path& path, bool judged);
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  // ---- read at open: no waiting
  const std::filesystem::path& path() const;
  std::uint64_t bytes() const;
  bool is_preview() const;  // ranks are missing that have a trace
  bool is_judged() const;   // false: of a preview whose findings and coverage are still to come
  const JobFacts& job() const;
  const findings::Outcome& outcome() const;  // findings worst first, coverage, first failure
  // What could not be read of the trace, and whether nothing could be judged: with any, `report` exits 2.
  const std::vector<Error>& problems() const;
  const std::vector<HostRow>& hosts() const;  // by their lowest rank
  const std::vector<RankRow>& ranks() const;  // by rank, then those that are none
  const std::vector<Track>& tracks() const;   // by rank row, then TrackKind, process, lane, depth
  const std::vector<ProcessRow>& processes() const;
  const std::vector<Name>& names() const;
  const std::vector<CommunicatorRow>& communicators() const;  // by size, largest first, then as they came up
  std::uint32_t row_of_rank(std::int32_t rank) const;         // index into ranks(), kNone

  // ---- marks: events that evidence names
  const std::vector<Mark>& marks() const;                                    // by event
  std::span<const Mark> marks_of(std::uint32_t track) const;                 // likewise
  EventPlace place_of(std::uint32_t finding, std::uint32_t evidence) const;  // kNoEvent: no single event
  // Accesses of a file that a finding is about, by time; empty for other paths. All ranks.
  std::span<const EventPlace> accesses_of(std::string_view path) const;
  // Of those files whose path contains `part`, letters of either case.
  std::vector<std::string> find_files(std::string_view part) const;

  // ---- pyramid of a track: level 0 is the finest, tracks()[track].levels - 1 the coarsest
  std::uint64_t nodes(std::uint32_t track, unsigned level) const;          // how many
  std::span<const Node> level(std::uint32_t track, unsigned level) const;  // [mapped]
  bool nodes_ready(std::uint32_t track, unsigned level, std::uint64_t first, std::uint64_t end) const;
  void want_nodes(std::uint32_t track, unsigned level, std::uint64_t first, std::uint64_t end) const;

  // ---- events
  // Decodes those of one node of level 0 into `out`; returns how many (at most kLeafEvents). [mapped]
  std::size_t leaf(std::uint32_t track, std::uint64_t leaf, std::span<Event, kLeafEvents> out) const;
  bool leaves_ready(std::uint32_t track, std::uint64_t first, std::uint64_t end) const;
  void want_leaves(std::uint32_t track, std::uint64_t first, std::uint64_t end) const;
  Event event(EventPlace place) const;  // [mapped]; of a place that is none: an empty one at 0
  // The first event of the track that ends after `t`; tracks()[track].events if none does. [mapped]
  std::uint64_t first_ending_after(std::uint32_t track, std::int64_t t_ns) const;

  // ---- all of one event: reads and unpacks a block of some thousand [mapped]
  Result<Detail> detail(EventPlace place) const;
  // Of events first ... first + count of a kInput track: digests. [mapped]
  Result<std::vector<std::uint64_t>> digests(std::uint32_t track, std::uint64_t first,
                                             std::uint64_t count) const;

  // What `ddpscope info` says of the trace; empty if that is not in the file. [mapped]
  Result<std::string> info() const;
  // What `ddpscope diff` compares, as `export --format summary` writes it. Errors: the trace could be read in
  // part only, as problems() say; it is not in the file. [mapped]
  Result<std::string> summary() const;

  // ---- search
  std::span<const NameCount> names_on(std::uint32_t track) const;  // by count, largest first
  // Indices of names whose text contains `part`, letters of either case.
  std::vector<std::uint32_t> find_names(std::string_view part) const;
  // Calls visit(index, event) for the events of a track that have one of `names` (bit by index), until it
  // returns false. [mapped]
  void for_each_named(std::uint32_t track, const std::vector<bool>& names,
                      const std::function<bool(std::uint64_t, const Event&)>& visit) const;

  // ---- collectives
  std::uint64_t collective_nodes(std::uint32_t communicator, unsigned level) const;
  std::span<const CollectiveNode> collective_level(std::uint32_t communicator,
                                                   unsigned level) const;  // [mapped]
  bool collective_nodes_ready(std::uint32_t communicator, unsigned level, std::uint64_t first,
                              std::uint64_t end) const;
  void want_collective_nodes(std::uint32_t communicator, unsigned level, std::uint64_t first,
                             std::uint64_t end) const;
  // Sequence numbers first ... end - 1, as far as there are such. [mapped]
  Result<std::vector<Collective>> collectives(std::uint32_t communicator, std::uint64_t first,
                                              std::uint64_t end) const;
  bool collectives_ready(std::uint32_t communicator, std::uint64_t first, std::uint64_t end) const;
  void want_collectives(std::uint32_t communicator, std::uint64_t first, std::uint64_t end) const;

  // ---- the whole run in columns of equal time: heat map, minimap, summary lane. Read at open.
  std::uint32_t columns() const;  // a power of two, 0 only if the job has no duration
  std::span<const Cell> rank_cells(std::uint32_t rank_row) const;  // one a column
  std::span<const Cell> host_cells(std::uint32_t host) const;
  std::span<const Cell> job_cells() const;  // of all ranks: late_us of the latest, severity of the worst
  // How many ranks are in an activity, in 1/256 of a rank, one a column. Of ranks with a trace.
  std::span<const std::uint32_t> ranks_in(Activity activity) const;

  // ---- what is in memory (residency.h)
  std::uint64_t arrivals() const;               // grows whenever something wanted has come
  bool idle() const;                            // nothing is wanted that is not there
  void on_arrival(std::function<void()> wake);  // called by another thread; set it before the first want_*
  void forget_wishes() const;
  bool lost() const;  // some of the file could not be read when it was looked at: it was cut off meanwhile

  struct State;  // reader_state.h

 private:
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One line, as `dump` prints it of a trace's folder, for `dump` and for the clipboard: "12.485000000 +3200ns
// host:71 rank 5 thread 0 ncclAllReduce a=b @ stack", "... rank 5 gpu kernel a=b call=ncclAllReduce thread=0
// at=12.48". A step's, which no record tells: "... rank 5 step number=3".
std::string to_text(const Reader& file, const Detail& detail);

}  // namespace ddpscope::merged
