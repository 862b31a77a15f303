// What an open merged file is made of. Not for users of reader.h.
#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/merged/facts_code.h"
#include "collector/merged/format.h"
#include "collector/merged/outcome_code.h"
#include "collector/merged/process_tables.h"
#include "collector/merged/reader.h"
#include "collector/merged/residency.h"
#include "collector/merged/sections.h"
#include "collector/reports/record_text.h"
#include "trace/read/mapped_file.h"

namespace ddpscope::merged {

// The latest few of what takes long to unpack.
template <class Value>
class LatestFew {
 public:
  std::shared_ptr<const Value> find(std::uint64_t key) {
    std::lock_guard lock(mutex_);
    for (const auto& [known, value] : values_)
      if (known == key) return value;
    return nullptr;
  }
  std::shared_ptr<const Value> keep(std::uint64_t key, Value value) {
    auto kept = std::make_shared<const Value>(std::move(value));
    std::lock_guard lock(mutex_);
    values_.emplace_back(key, kept);
    if (values_.size() > kMost) values_.pop_front();
    return kept;
  }

 private:
  static constexpr std::size_t kMost = 32;
  std::mutex mutex_;
  std::deque<std::pair<std::uint64_t, std::shared_ptr<const Value>>> values_;
};

// Tables of a process, with what prints its records.
struct ProcessDetails {
  std::unique_ptr<ProcessTables> tables;
  std::unique_ptr<reports::RecordPrinter> printer;
};

// Where what belongs to a track, or to a communicator, lies in the tables that are as long as the trace.
struct Extents {
  std::uint64_t first_chunk = 0;  // into the chunk index; of a communicator: into the collective index
  std::uint64_t first_block = 0;  // into the block index
  std::vector<std::uint64_t> first_node;  // by level, into the pyramid
  std::uint32_t first_name = 0, names = 0;
};

struct Reader::State {
  std::filesystem::path path;
  trace::MappedFile mapped;
  trace::MappedFile data;  // of a preview: what is mapped holds only its sections
  bool judged = true;
  std::optional<SectionTable> sections;
  Facts facts;
  std::vector<Name> names;
  std::vector<Track> tracks;
  std::vector<Extents> extents;               // by track
  std::vector<std::uint32_t> name_of_number;  // track after track, by their numbers on it
  std::vector<NameCount> name_counts;         // likewise, by count
  Found found;
  std::vector<std::uint32_t> first_mark;  // by track, into found.marks; one more than there are tracks
  std::map<std::pair<std::uint32_t, std::uint32_t>, EventPlace> place_of_evidence;
  std::vector<CommunicatorRow> communicators;
  std::vector<Extents> communicator_extents;
  std::span<const Node> pyramid;
  std::span<const CollectiveNode> collective_pyramid;
  std::span<const BlockEntry> chunks, blocks, collective_blocks, process_blocks, info_block, summary_block;
  std::uint32_t columns = 0;
  std::span<const Cell> cells;                // of the job, then by host, then by rank row
  std::span<const std::uint32_t> activities;  // by activity
  std::unique_ptr<Residency> residency;

  LatestFew<std::vector<unsigned char>> slots;        // by block
  LatestFew<std::vector<Collective>> collective_few;  // likewise
  std::mutex details_mutex;
  std::unordered_map<std::uint32_t, ProcessDetails> details;  // by process

  std::span<const unsigned char> data_bytes() const {
    return data.bytes().empty() ? mapped.bytes() : data.bytes();
  }

  std::optional<Error> read();  // all that is read at once
  // In this order: false if what the section says cannot be.
  bool read_facts();
  bool read_tracks();
  bool lay_out_tracks(const std::vector<std::uint32_t>& order);
  bool read_findings();
  bool read_communicators();
  bool read_cells();
  void bring_in_overview();

  std::uint64_t leaves(std::uint32_t track) const;
  std::span<const Node> nodes(std::uint32_t track, unsigned level) const;
  std::span<const unsigned char> chunk(std::uint32_t track, std::uint64_t leaf) const;
  std::optional<std::vector<unsigned char>> unpacked(const BlockEntry& block) const;  // not: damaged
  Result<std::string> text_in(const BlockEntry& block, const char* what) const;
  std::shared_ptr<const std::vector<unsigned char>> slot_block(std::uint32_t track, std::uint64_t index);
  std::shared_ptr<const std::vector<Collective>> collective_block(std::uint32_t communicator,
                                                                  std::uint64_t block);
  const ProcessDetails* details_of(std::uint32_t process);  // nullptr: damaged
  Error damaged(const char* what) const;
  bool is_event(EventPlace place) const {
    return place.track < tracks.size() && place.index < tracks[place.track].events;
  }
};

}  // namespace ddpscope::merged
