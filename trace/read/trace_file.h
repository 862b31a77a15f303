// One trace file in memory. Its bytes are taken for hostile: whatever they say, reading ends, stays inside
// them and keeps what is sound; what is not is told in damage().
#pragma once
#include <array>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/calls.h"
#include "trace/device_work.h"
#include "trace/format.h"
#include "trace/health.h"
#include "trace/read/latest_part.h"
#include "trace/read/mapped_file.h"
#include "trace/read/operation_set.h"
#include "trace/read/records.h"
#include "trace/read/soundness.h"
#include "trace/result.h"

namespace ddpscope::trace {

// The records of one chunk: one thread's, in the order in which they were begun.
struct RecordSpan {
  ChunkKind kind;  // kRecords, kBulk or kFolded: a thread writes one chunk of each at a time
  std::uint16_t thread;
  std::uint64_t number;  // order of the chunk in the process
  bool recycled;         // the ring took the chunk anew: what this thread did earlier may be gone
  Records records;
  OperationSet operations{};  // of its records
};

struct ItemSpan {
  std::uint16_t thread;
  std::uint64_t number;
  ClockTuple opened;  // no item is older
  std::span<const ItemRead> items;
};

// Device work that one thread wrote down. None of it began or ended when the process cannot have lived.
struct DeviceSpan {
  bool recycled;  // the ring took the chunk anew: what was written down earlier may be gone
  std::span<const DeviceWork> work;
};

// The payload of a record whose call has this payload type (PayloadOf in calls.h).
template <class Payload>
Payload payload_of(const Record& record) {
  Payload payload;
  std::memcpy(&payload, record.payload, sizeof(payload));
  return payload;
}

// How much of a file is read.
enum class Extent : std::uint8_t {
  kAll,
  kLatest,  // what its process does now (latest_part.h): of a file of any length in little time
};

class TraceFile {
 public:
  // Errors: cannot be read; not a trace file; header cut off; written by a newer version.
  static Result<TraceFile> open(const std::filesystem::path& path, Extent extent = Extent::kAll);
  static Result<TraceFile> parse(std::vector<unsigned char> bytes, std::string name);

  TraceFile(TraceFile&&) = default;
  TraceFile& operator=(TraceFile&&) = default;

  const FileHeader& header() const { return header_; }
  const std::string& name() const { return name_; }
  std::size_t bytes() const { return bytes_.size(); }
  std::string_view host() const { return {header_.host, strnlen(header_.host, sizeof(header_.host))}; }

  const std::vector<RecordSpan>& records() const { return records_; }
  std::uint64_t count(const OperationSet& operations) const;  // records
  const std::vector<ItemSpan>& items() const { return items_; }
  const std::vector<DeviceSpan>& device_work() const { return device_work_; }  // in no order of time
  const std::vector<ClockTuple>& clock_tuples() const { return tuples_; }

  std::string_view string(std::uint32_t id) const;            // empty for 0 and for what is missing
  std::span<const StackFrame> stack(std::uint32_t id) const;  // likewise
  std::string_view schema() const { return schema_; }
  std::uint64_t health(Health counter) const { return header_.health[static_cast<std::size_t>(counter)]; }

  // Calls of the kept budget were not read: numbers of a communicator's calls do not begin at 0.
  bool left_out_calls() const { return latest_.left_out_calls(); }

  // Whether bytes that were there when it was opened could not be read later: zeros were taken for them.
  bool lost() const { return mapped_.lost(); }

  // Whether its process has ended since the file was read: there is more in it by now. Of one that was
  // opened.
  bool ended_since() const;

  // Sentences on what could not be read: cut off, overwritten with something else, inconsistent.
  const std::vector<std::string>& damage() const { return damage_; }

 private:
  TraceFile() = default;
  static Result<TraceFile> open_once(const std::filesystem::path& path, Extent extent);
  bool is_written_on() const;  // since it was read, by a process that was seen to end
  // header: what it said before the rest was read; null: as it stands in `bytes`.
  static Result<TraceFile> from_bytes(TraceFile file, std::span<const unsigned char> bytes, std::string name,
                                      const FileHeader* header);
  // Sets bytes_. errno, or 0.
  int read_from(int fd, std::size_t file_bytes, bool holes, Extent extent);
  void read_chunks();
  void note_damage(std::string sentence);
  std::size_t read_chunk(std::size_t offset, Contents& contents);  // bytes to go on by
  void check_clock();
  Lifetime lifetime() const;
  void check_records();
  void check_device_work();
  void read_folded(std::size_t offset, const ChunkHeader& chunk);
  void read_tables(std::span<const unsigned char> content);

  std::string name_;
  MappedFile mapped_;  // one of the three holds the bytes
  LatestPart latest_;
  std::vector<unsigned char> copied_;
  // Record and StackFrame are read in place: chunks lie at multiples of a page.
  std::span<const unsigned char> bytes_;
  FileHeader header_{};
  std::vector<std::vector<Record>> chosen_;  // the sound records of chunks that hold others, too
  std::vector<RecordSpan> records_;
  std::array<std::uint64_t, OperationSet::kPlaces> counts_{};  // records, by operation
  std::vector<ItemSpan> items_;
  std::vector<DeviceSpan> device_work_;
  std::vector<std::vector<DeviceWork>> chosen_work_;  // the sound part of chunks that hold others, too
  std::vector<ClockTuple> tuples_;
  std::unordered_map<std::uint32_t, std::string_view> strings_;
  std::unordered_map<std::uint32_t, std::span<const StackFrame>> stacks_;
  std::string_view schema_;
  std::vector<std::string> damage_;
};

}  // namespace ddpscope::trace
