// Writes a merged file: tracks rank by rank, then collectives, then what is small. Memory does not grow with
// the events but by 0.3 bytes each. The same calls make the same bytes.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/merged/collective_writer.h"
#include "collector/merged/event.h"
#include "collector/merged/facts_code.h"
#include "collector/merged/outcome_code.h"
#include "collector/merged/reader.h"
#include "collector/merged/summary.h"
#include "collector/merged/track_store.h"
#include "trace/result.h"

namespace ddpscope::merged {

// What is written last, once everything is known. Marks and accesses by settled places: what is marked gets
// the severity of its findings here.
struct Contents {
  Facts facts;  // tracks of the rank rows, and how many events there are, are filled in
  Found found;
  bool judged = true;  // else, of a preview: nothing is found yet
};

class Writer {
 public:
  struct Shape {
    std::int64_t duration_ns = 0;
    std::uint64_t calls = 0;  // about as many: columns of the whole run are chosen by it
    std::size_t rank_rows = 0;
  };
  // Errors: the output cannot be written.
  static Result<Writer> create(const std::filesystem::path& path, const Shape& shape);
  Writer(Output output, const Shape& shape);

  std::uint32_t name(std::string_view text, Kind kind);  // a number; the same for the same
  Kind kind_of(std::uint32_t name) const { return names_[name].kind; }

  // A track of which rank_row, kind, depth, lane, process and label are given. The tracks of one rank row are
  // closed before those of the next one are opened. Returns a handle.
  std::uint32_t open_track(Track track);
  // In order of time. Times are cut to the job's, the kind is that of the name. The place holds until
  // settle().
  EventPlace add(std::uint32_t track, Event event, Slot slot);
  std::uint64_t events_of(std::uint32_t track) { return tracks_->writer(track)->events(); }
  void close_rank(std::uint32_t rank_row, bool is_rank);  // and all its tracks

  // What details need of the process with this index of ProcessRow (process_tables.h).
  void add_process(std::uint32_t process, std::span<const unsigned char> tables);

  void add_info(std::string_view text);     // what `info` says of the trace
  void add_summary(std::string_view json);  // what `diff` compares of it

  // After the last rank: tracks have their numbers now. Of a place that add() gave: the one in the file.
  void settle() { tracks_->settle(); }
  EventPlace settled(EventPlace place) const;

  // Communicators one after the other; of each its collectives in order, places settled.
  void begin_communicator(CommunicatorRow row) { collectives_->begin(std::move(row)); }
  void add_collective(const Collective& collective);

  bool failed() const { return output_->failed(); }  // nothing more will be written
  void fail(int error) { output_->fail(error); }     // an errno of somebody who writes for it
  std::filesystem::path target() const { return output_->target(); }
  std::filesystem::path folder() const { return output_->folder(); }
  // What there is by now, to be looked at while the rest is written: between two ranks, before the
  // communicators begin, of which `communicators` names those to come. Places are settled until the next
  // track is closed. Errors: `sections`, of which it is made, cannot be written.
  Result<Reader> preview(Contents contents, const std::vector<CommunicatorRow>& communicators,
                         Output sections);
  // Errors: whatever went wrong since it was created.
  std::optional<Error> finish(Contents contents);

 private:
  std::int64_t cut(std::int64_t ns) const;
  BlockEntry add_block(std::span<const unsigned char> bytes);
  BlockEntry add_block(std::string_view text);
  void mark(Contents& contents);
  void put(Contents& contents, CollectiveWriter& collectives, SectionWriter& sections);

  std::unique_ptr<Output> output_;
  std::unique_ptr<Packer> packer_;
  std::unique_ptr<TrackStore> tracks_;
  std::unique_ptr<CollectiveWriter> collectives_;
  std::unique_ptr<Summary> summary_;
  std::int64_t duration_ns_;
  std::vector<Name> names_;
  std::map<std::pair<std::string, Kind>, std::uint32_t> name_numbers_;  // holds the texts
  std::vector<std::uint32_t> open_;                                     // handles of the rank at hand
  std::vector<BlockEntry> process_blocks_, info_block_, summary_block_;
};

}  // namespace ddpscope::merged
