// Reads the header and walks the chunks.
#include "trace/read/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <iterator>
#include <optional>

#include "trace/read/clock_readings.h"
#include "trace/read/load.h"
#include "trace/read/soundness.h"

namespace ddpscope::trace {
namespace {

// Chunks of a thread double from a page on.
bool sound(const ChunkHeader& chunk, std::size_t offset) {
  return chunk.magic == kChunkMagic && chunk.offset == offset && chunk.bytes >= kPageBytes &&
         chunk.bytes <= kMaxChunkBytes && std::has_single_bit(chunk.bytes);
}

// What a process leaves that is killed while it opens a chunk: a page of zeros, perhaps with the beginnings
// of a header, whose magic comes last.
bool never_opened(const ChunkHeader& chunk, std::span<const unsigned char> page) {
  return chunk.magic == 0 && std::all_of(page.begin() + sizeof(ChunkHeader), page.end(),
                                         [](unsigned char byte) { return byte == 0; });
}

template <class T>
std::span<const T> view(std::span<const unsigned char> content) {
  return {reinterpret_cast<const T*>(content.data()), content.size() / sizeof(T)};
}

Error not_ours(std::string name) {
  const char* hint = name.ends_with(".ddps")
                         ? "its header is damaged: copy it again from its host, or move it away"
                         : "name the folder that `ddpscope run` filled, or one of its files; of a folder, "
                           "move this file away";
  return {"not a ddpscope trace file", std::move(name), hint};
}

std::optional<FileHeader> header_of(int fd) {
  FileHeader header;
  if (::pread(fd, &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header))) return std::nullopt;
  return header;
}

// What the file's header says by now.
std::optional<FileHeader> header_of(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  auto header = header_of(fd);
  ::close(fd);
  return header;
}

// Whether its process was seen to end. Until then it may write: what is read twice must not change.
bool is_complete(int fd) {
  auto header = header_of(fd);
  return header && header->ended;
}

// A file on tmpfs would get a page for each hole that is looked at through a mapping; on a full one SIGBUS
// comes instead. Where a disk failed while it was recorded, there are holes.
bool has_holes(const struct stat& status) {
  constexpr std::uint64_t kBlock = 512;  // of st_blocks, whatever the file system's are
  return static_cast<std::uint64_t>(status.st_blocks) * kBlock < static_cast<std::uint64_t>(status.st_size);
}

// Bytes read, fewer than asked for if the file is shorter by now; -1: errno says why.
ssize_t read_all(int fd, std::vector<unsigned char>& bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    ssize_t got = ::pread(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(at);
}

// Whoever is killed while a full chunk is moved out leaves it twice: the copy is empty or whole.
void drop_unfinished_moves(std::vector<RecordSpan>& by_number) {
  auto twice = [](const RecordSpan& a, const RecordSpan& b) {
    return a.number == b.number && a.kind == ChunkKind::kRecords && b.kind == ChunkKind::kRecords;
  };
  std::size_t kept = 0;
  for (const RecordSpan& span : by_number) {
    if (kept == 0 || !twice(by_number[kept - 1], span))
      by_number[kept++] = span;
    else if (by_number[kept - 1].records.size() < span.records.size())
      by_number[kept - 1] = span;
  }
  by_number.resize(kept);
}

// Where next to nothing in a chunk can be what it says, the rest only looks so: the chunk holds something
// else.
bool is_of_another(std::size_t sound, std::size_t all) { return 4 * sound < all; }

}  // namespace

// What a process records while it ends, in other threads or at the end of its libraries, may come into what
// is read: chunks that are of two times look damaged. It is over soon.
Result<TraceFile> TraceFile::open(const std::filesystem::path& path, Extent extent) {
  constexpr int kTries = 5;
  Result<TraceFile> file = open_once(path, extent);
  for (int i = 1; i < kTries && file && file->is_written_on(); ++i) file = open_once(path, extent);
  return file;
}

bool TraceFile::is_written_on() const {
  if (damage_.empty() || !header_.ended) return false;
  auto now = header_of(name_);
  return now && now->chunks != header_.chunks;
}

Result<TraceFile> TraceFile::open_once(const std::filesystem::path& path, Extent extent) {
  auto cannot = [&path](int error) {
    const char* hint = error == EACCES ? "a trace belongs to the user who recorded it (mode 0600)" : "";
    return Error{std::string("cannot read the trace file: ") + std::strerror(error), path.string(), hint};
  };
  // Not a FIFO or a device that happens to have the suffix: those would block, or never end.
  int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return cannot(errno);
  FileHeader header;
  ssize_t got = ::pread(fd, &header, sizeof(header), 0);
  bool has_header = got == static_cast<ssize_t>(sizeof(header));
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return Error{"cannot read the trace file: it is not a regular file", path.string(), {}};
  }
  // Before a whole file is read that may be anything.
  if (got >= static_cast<ssize_t>(sizeof(kMagic)) && std::memcmp(&header, kMagic, sizeof(kMagic)) != 0) {
    ::close(fd);
    return not_ours(path.string());
  }
  TraceFile file;
  int error = file.read_from(fd, static_cast<std::size_t>(status.st_size), has_holes(status), extent);
  ::close(fd);
  if (error) return cannot(error);
  // Of a file that is written, what the header said before the size was asked for is there.
  bool complete = !file.mapped_.bytes().empty();
  std::span<const unsigned char> bytes = file.bytes_;
  return from_bytes(std::move(file), bytes, path.string(), has_header && !complete ? &header : nullptr);
}

int TraceFile::read_from(int fd, std::size_t file_bytes, bool holes, Extent extent) {
  if (extent == Extent::kLatest) {
    latest_ = LatestPart::of(fd, file_bytes);
    bytes_ = latest_.bytes();
    if (!bytes_.empty()) return 0;
  }
  if (is_complete(fd) && !holes) {
    mapped_ = MappedFile::of(fd, file_bytes);
    bytes_ = mapped_.bytes();
    if (!bytes_.empty()) return 0;
  }
  try {
    copied_.resize(file_bytes);
  } catch (const std::exception&) {  // bad_alloc, length_error
    return EFBIG;
  }
  ssize_t got = read_all(fd, copied_);
  if (got < 0) return errno;
  copied_.resize(static_cast<std::size_t>(got));
  bytes_ = copied_;
  return 0;
}

bool TraceFile::ended_since() const {
  if (header_.ended) return false;
  auto now = header_of(name_);
  return now && now->ended;
}

Result<TraceFile> TraceFile::parse(std::vector<unsigned char> bytes, std::string name) {
  TraceFile file;
  file.copied_ = std::move(bytes);
  std::span<const unsigned char> view = file.copied_;
  return from_bytes(std::move(file), view, std::move(name), nullptr);
}

Result<TraceFile> TraceFile::from_bytes(TraceFile file, std::span<const unsigned char> bytes,
                                        std::string name, const FileHeader* header) {
  if (bytes.size() >= sizeof(kMagic) && std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return not_ours(std::move(name));
  if (bytes.empty())
    return Error{"the trace file is empty", name,
                 "somebody cut it off, as a log rotation does: what its process recorded is lost"};
  if (bytes.size() < kHeaderBytes)
    return Error{"the trace file is cut off inside its header", name,
                 "its process may have died while it was made, or it is none of ours: move it away"};
  file.name_ = std::move(name);
  file.bytes_ = bytes;
  file.header_ = header ? *header : load<FileHeader>(file.bytes_, 0);
  const FileHeader& h = file.header_;
  if (h.version > kVersion)
    return Error{"the trace file has format version " + std::to_string(h.version) +
                     ", this ddpscope reads up to " + std::to_string(kVersion),
                 file.name_, "use the ddpscope that recorded it, or a newer one"};
  if (h.version == 0 || h.header_bytes != kHeaderBytes || h.record_bytes != sizeof(Record) ||
      (h.clock != ClockKind::kTsc && h.clock != ClockKind::kMonotonicNs))
    return Error{"the trace file's header is damaged", file.name_, "remove it from the folder"};
  file.read_chunks();
  return file;
}

void TraceFile::read_chunks() {
  tuples_ = {header_.opened, header_.latest};
  Contents contents;
  std::size_t offset = kHeaderBytes;
  while (offset + sizeof(ChunkHeader) <= bytes_.size()) offset += read_chunk(offset, contents);
  contents.bytes = bytes_.size();
  contents.strings = strings_.size();
  contents.stacks = stacks_.size();
  contents.whole = damage_.empty();
  check_clock();
  for (std::string& sentence : check_header(header_, std::move(contents))) note_damage(std::move(sentence));
  auto by_number = [](const auto& a, const auto& b) { return a.number < b.number; };
  std::stable_sort(records_.begin(), records_.end(), by_number);
  drop_unfinished_moves(records_);
  check_records();
  check_device_work();
  for (RecordSpan& span : records_)
    for (const Record& record : span.records) {
      Operation operation = operation_of(record.call);
      span.operations.add(operation);
      ++counts_[static_cast<std::size_t>(operation)];
    }
  std::stable_sort(items_.begin(), items_.end(), by_number);
}

// Readings that disagree with the rest go; those of the header are replaced by others.
void TraceFile::check_clock() {
  ClockReadings readings(header_.clock, header_.tick_hz, tuples_);
  std::vector<ClockTuple> sound;
  std::copy_if(tuples_.begin(), tuples_.end(), std::back_inserter(sound),
               [&](const ClockTuple& tuple) { return readings.sound(tuple); });
  if (sound.size() == tuples_.size()) return;
  note_damage(std::to_string(tuples_.size() - sound.size()) + " of its " + std::to_string(tuples_.size()) +
              " clock readings disagree with the others");
  if (sound.empty()) return;
  auto earlier = [](const ClockTuple& a, const ClockTuple& b) { return a.ticks < b.ticks; };
  auto [first, last] = std::minmax_element(sound.begin(), sound.end(), earlier);
  if (!readings.sound(header_.opened)) header_.opened = *first;
  if (!readings.sound(header_.latest)) header_.latest = *last;
  tuples_ = std::move(sound);
}

// A file is opened at its process's first call; it is known until when one lived that has ended.
Lifetime TraceFile::lifetime() const {
  constexpr double kHour = 3'600, kDay = 24 * kHour, kTenYears = 3'652 * kDay;
  ClockReadings readings(header_.clock, header_.tick_hz, tuples_);
  auto hour = static_cast<std::uint64_t>(readings.ticks_of(kHour));
  auto longest = static_cast<std::uint64_t>(readings.ticks_of(header_.ended ? kDay : kTenYears));
  std::uint64_t last = std::max(header_.opened.ticks, header_.latest.ticks);
  return {header_.opened.ticks - std::min(header_.opened.ticks, hour),
          last > ~longest ? ~std::uint64_t{0} : last + longest};
}

void TraceFile::check_records() {
  RecordCheck check(lifetime(), schema_);
  std::size_t bad = 0;
  ChunkOrder order;
  for (RecordSpan& span : records_) {
    bool sound = check.sound(span.records, span.thread);
    // A chunk that is taken anew while it is read is of two times.
    if (header_.ended && !order.follows(span.records, span.thread, span.kind))
      note_damage("the calls of thread " + std::to_string(span.thread) +
                  " are not in the order of its chunks");
    if (sound) continue;
    chosen_.push_back(check.sound_ones(span.records, span.thread));
    auto calls = std::count_if(chosen_.back().begin(), chosen_.back().end(),
                               [](const Record& record) { return record.call != 0; });
    if (is_of_another(static_cast<std::size_t>(calls), span.records.size())) {
      chosen_.back().clear();
      calls = 0;
    }
    bad += span.records.size() - static_cast<std::size_t>(calls);
    span.records = Records(chosen_.back());
  }
  if (bad) note_damage(std::to_string(bad) + (bad == 1 ? " record" : " records") + " of no call or no time");
}

void TraceFile::check_device_work() {
  Lifetime life = lifetime();
  std::size_t bad = 0;
  for (DeviceSpan& span : device_work_) {
    auto is_sound = [&](const DeviceWork& work) { return sound(work, life); };
    if (std::all_of(span.work.begin(), span.work.end(), is_sound)) continue;
    std::vector<DeviceWork>& kept = chosen_work_.emplace_back();
    std::copy_if(span.work.begin(), span.work.end(), std::back_inserter(kept), is_sound);
    if (is_of_another(kept.size(), span.work.size())) kept.clear();
    bad += span.work.size() - kept.size();
    span.work = kept;
  }
  if (bad)
    note_damage(std::to_string(bad) + " of the device's times are of no time or nothing that is known");
}

void TraceFile::note_damage(std::string sentence) {
  constexpr std::size_t kEnough = 16;
  if (damage_.size() < kEnough) damage_.push_back(std::move(sentence));
}

std::size_t TraceFile::read_chunk(std::size_t offset, Contents& contents) {
  auto chunk = load<ChunkHeader>(bytes_, offset);
  if (!sound(chunk, offset)) {
    if (!never_opened(chunk, {bytes_.data() + offset, std::min(kPageBytes, bytes_.size() - offset)}))
      note_damage("unreadable bytes at offset " + std::to_string(offset));
    return kPageBytes;
  }
  std::size_t available = std::min<std::size_t>(chunk.bytes, bytes_.size() - offset) - sizeof(ChunkHeader);
  std::size_t used = std::min<std::size_t>(chunk.used, available);
  std::span<const unsigned char> content{bytes_.data() + offset + sizeof(ChunkHeader), used};
  tuples_.push_back(chunk.opened);
  contents.chunks.push_back(chunk.number);
  if (!in_ring(chunk.kind) && used > 0)
    contents.openings.push_back({chunk.thread, chunk.number, chunk.opened.ticks});
  if (in_ring(chunk.kind)) contents.overwritten += chunk.generation;
  contents.threads.insert(chunk.thread);
  switch (chunk.kind) {
    case ChunkKind::kRecords:
    case ChunkKind::kBulk:
      records_.push_back({chunk.kind, chunk.thread, chunk.number,
                          chunk.kind == ChunkKind::kBulk && chunk.generation > 0,
                          Records(view<Record>(content))});
      break;
    case ChunkKind::kFolded:
      read_folded(offset, chunk);
      break;
    case ChunkKind::kItems:
      items_.push_back({chunk.thread, chunk.number, chunk.opened, view<ItemRead>(content)});
      break;
    case ChunkKind::kDeviceWork:
    case ChunkKind::kDeviceRing:
      device_work_.push_back({chunk.generation > 0, view<DeviceWork>(content)});
      break;
    case ChunkKind::kTables:
      read_tables(content);
      break;
    default:
      note_damage("a chunk of unknown kind at offset " + std::to_string(offset));
      break;
  }
  return chunk.bytes;
}

void TraceFile::read_folded(std::size_t offset, const ChunkHeader& chunk) {
  FoldedCalls calls({bytes_.data() + offset, std::min<std::size_t>(chunk.bytes, bytes_.size() - offset)});
  if (!calls.sound()) note_damage("a folded call without its arguments at offset " + std::to_string(offset));
  records_.push_back({chunk.kind, chunk.thread, chunk.number, false, Records(std::move(calls))});
}

void TraceFile::read_tables(std::span<const unsigned char> content) {
  while (content.size() >= sizeof(TableEntry)) {
    TableEntry entry;
    std::memcpy(&entry, content.data(), sizeof(entry));
    content = content.subspan(sizeof(entry));
    std::size_t padded = (static_cast<std::size_t>(entry.bytes) + 7) / 8 * 8;
    if (padded > content.size()) {
      note_damage("a table entry runs over its chunk");
      return;
    }
    std::string_view text{reinterpret_cast<const char*>(content.data()), entry.bytes};
    if (entry.kind == TableKind::kString) strings_.emplace(entry.id, text);
    if (entry.kind == TableKind::kStack)
      stacks_.emplace(entry.id, view<StackFrame>(content.first(entry.bytes)));
    if (entry.kind == TableKind::kSchema) schema_ = text;
    content = content.subspan(padded);
  }
}

std::uint64_t TraceFile::count(const OperationSet& operations) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (operations.has(static_cast<Operation>(i))) sum += counts_[i];
  return sum;
}

std::string_view TraceFile::string(std::uint32_t id) const {
  auto found = strings_.find(id);
  return found == strings_.end() ? std::string_view{} : found->second;
}

std::span<const StackFrame> TraceFile::stack(std::uint32_t id) const {
  auto found = stacks_.find(id);
  return found == stacks_.end() ? std::span<const StackFrame>{} : found->second;
}

}  // namespace ddpscope::trace
