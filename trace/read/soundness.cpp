// Records are compared with their neighbours, counters with what they count.
#include "trace/read/soundness.h"

#include <algorithm>

#include "trace/calls.h"
#include "trace/health.h"

namespace ddpscope::trace {
namespace {

// Times of folded calls are rounded by less than this.
constexpr std::uint64_t kRoundingTicks = std::uint64_t{1} << kFoldedTickBits;

// What `run` saw of other processes: its records are of earlier moments than the file.
bool is_observed(const Record& record) {
  Operation operation = operation_of(record.call);
  return operation == Operation::kJobWatched || operation == Operation::kJobTold ||
         operation == Operation::kProcessEnded || operation == Operation::kMemoryRanOut ||
         operation == Operation::kThreadSeen || operation == Operation::kProcessorWait;
}

bool follows(const Record& record, std::uint64_t begin) {
  return record.begin + kRoundingTicks > begin || record.begin >= begin || is_observed(record);
}

// The longest sequence whose begins do not go back: one that lies far off is left out, not all that follow
// it.
std::vector<Record> longest_in_order(const std::vector<Record>& records) {
  std::vector<std::size_t> ends;  // of the sequences of each length, the one that ends earliest
  std::vector<std::size_t> before(records.size(), records.size());
  auto earlier = [&](std::uint64_t begin, std::size_t end) { return begin < records[end].begin; };
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto place = std::upper_bound(ends.begin(), ends.end(), records[i].begin, earlier);
    if (place != ends.begin()) before[i] = *(place - 1);
    if (place == ends.end())
      ends.push_back(i);
    else
      *place = i;
  }
  std::vector<Record> kept;
  for (std::size_t i = ends.empty() ? records.size() : ends.back(); i < records.size(); i = before[i])
    kept.push_back(records[i]);
  std::reverse(kept.begin(), kept.end());
  return kept;
}

constexpr std::uint32_t kMostThreads = 0xFFFF;  // that a file can name

class HeaderCheck {
 public:
  HeaderCheck(FileHeader& header, Contents& contents) : header_(header), contents_(contents) {}

  std::vector<std::string> run() {
    check_bytes();
    check_chunks();
    check_order();
    check_count("threads", header_.threads, contents_.threads.size());
    check_count("strings", header_.strings, contents_.strings);
    check_count("stacks", header_.stacks, contents_.stacks);
    check_health();
    return std::move(sentences_);
  }

 private:
  void check_bytes();
  void check_chunks();
  void check_order();
  void check_count(const char* what, std::uint32_t& said, std::size_t found);
  std::uint64_t most_events() const;
  void check_health();
  void note(std::string sentence) { sentences_.push_back(std::move(sentence)); }

  // A process that was killed, or still runs, may have counted what it had not written yet: one a thread. So
  // may the other threads of one that exits.
  std::uint64_t unwritten() const {
    std::uint64_t threads = std::min(header_.threads, kMostThreads);
    return header_.ended ? std::max<std::uint64_t>(threads, 1) - 1 : threads + 1;
  }
  // Chunks that must be there.
  std::uint64_t least_chunks() const {
    std::uint64_t begun = header_.chunks - std::min(header_.chunks, unwritten());
    return header_.ended ? std::max(begun, header_.whole_chunks) : begun;
  }
  bool lossy() const {
    for (Health counter : {Health::kept_records_lost, Health::bulk_records_lost, Health::chunk_open_failed,
                           Health::bulk_records_overwritten, Health::threads_lost})
      if (header_.health[static_cast<std::size_t>(counter)]) return true;
    return false;
  }

  FileHeader& header_;
  Contents& contents_;
  std::vector<std::string> sentences_;
};

void HeaderCheck::check_bytes() {
  std::uint64_t& content = header_.content_bytes;
  bool possible = content >= kHeaderBytes && content % kPageBytes == 0 && content <= header_.file_bytes;
  if (!possible)
    note("its header says that the content ends at byte " + std::to_string(content) + ", which cannot be");
  else if (content > contents_.bytes)
    note("cut off: " + std::to_string(content - contents_.bytes) + " bytes at its end are missing");
  if (!possible) content = contents_.bytes;
}

void HeaderCheck::check_chunks() {
  auto& numbers = contents_.chunks;
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::uint64_t found = numbers.size() + contents_.overwritten;
  if (!header_.ended) {  // chunks that were opened after the header was read
    auto later = numbers.end() - std::upper_bound(numbers.begin(), numbers.end(), header_.chunks);
    found -= static_cast<std::uint64_t>(later);
  }
  if (!contents_.whole) return;
  if (header_.ended && found > header_.chunks)
    note("there are " + std::to_string(found) + " chunks, its header counts " +
         std::to_string(header_.chunks));
  else if (header_.ended && header_.whole_chunks > header_.chunks)
    note("its header counts " + std::to_string(header_.whole_chunks) + " whole chunks of " +
         std::to_string(header_.chunks));
  else if (found < least_chunks())
    note(std::to_string(found) + " of the " + std::to_string(header_.chunks) +
         " chunks that its header counts are there");
}

// A thread opens one chunk after the other.
void HeaderCheck::check_order() {
  auto& openings = contents_.openings;
  std::sort(openings.begin(), openings.end());
  auto back = std::adjacent_find(
      openings.begin(), openings.end(),
      [](const ChunkOpening& a, const ChunkOpening& b) { return a.thread == b.thread && b.ticks < a.ticks; });
  if (back != openings.end())
    note("the numbers and the times of thread " + std::to_string(back->thread) + "'s chunks disagree");
}

void HeaderCheck::check_count(const char* what, std::uint32_t& said, std::size_t found) {
  if (lossy() || (found <= said && said - found <= unwritten())) return;
  if (!header_.ended && found > said) return;  // met after the header was read
  if (contents_.whole && sentences_.empty())
    note("its header counts " + std::to_string(said) + " " + what + ", there are " + std::to_string(found));
  said = static_cast<std::uint32_t>(found);
}

// One a nanosecond and thread; where nobody saw the process end, as many as no counter gets to.
std::uint64_t HeaderCheck::most_events() const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;  // one every 10 ns for a month
  constexpr std::uint64_t kSecond = 1'000'000'000;
  std::uint64_t from = header_.opened.monotonic_ns, to = header_.latest.monotonic_ns;
  if (!header_.ended || to < from || to - from > kMost) return kMost;
  return std::min(kMost, (to - from + kSecond) * (std::min(header_.threads, kMostThreads) + 1));
}

void HeaderCheck::check_health() {
  std::uint64_t most = most_events();
  for (const HealthInfo& row : kHealth) {
    std::uint64_t& count = header_.health[static_cast<std::size_t>(row.index)];
    if (count <= most) continue;
    note("its header counts " + std::to_string(count) + " " + row.name + ", which cannot be");
    count = 0;
  }
}

}  // namespace

std::vector<std::string> check_header(FileHeader& header, Contents contents) {
  return HeaderCheck(header, contents).run();
}

bool ChunkOrder::follows(const Records& records, std::uint16_t thread, ChunkKind kind) {
  if (records.empty()) return true;
  const Record first = records.front(), last = records[records.size() - 1];
  std::uint64_t& latest = latest_[{thread, kind}];
  bool in_order = !first.call || trace::follows(first, latest);
  if (last.call && !is_observed(last)) latest = std::max(latest, last.begin);
  return in_order;
}

bool sound(const DeviceWork& work, Lifetime lifetime) {
  auto kind = static_cast<std::uint8_t>(work.kind);
  if (kind < 1 || kind > kDeviceWorkKinds) return false;
  if (work.begin < lifetime.from_ticks || work.begin > lifetime.to_ticks) return false;
  return work.duration >= 0 &&
         work.duration <= static_cast<float>(lifetime.to_ticks - work.begin);  // not NaN
}

bool RecordCheck::in_schema(std::uint16_t call) {
  if (named_.count(call)) return true;
  if (unknown_.count(call)) return false;
  std::string line = "\ncall " + std::to_string(call) + " ";
  bool there = schema_.empty() || schema_.find(line) != std::string_view::npos;
  (there ? named_ : unknown_).insert(call);
  return there;
}

bool RecordCheck::sound(const Record& record, std::uint16_t thread) {
  if (record.thread != thread || !record.call) return false;
  if (record.end && record.end < record.begin) return false;
  if (std::max(record.begin, record.end) > lifetime_.to_ticks) return false;
  if (record.begin < lifetime_.from_ticks && !is_observed(record)) return false;
  return operation_of(record.call) != Operation::kNone || find_call(record.call) || in_schema(record.call);
}

bool RecordCheck::sound(const Records& records, std::uint16_t thread) {
  std::uint64_t begin = 0;
  for (const Record& record : records) {
    if (!sound(record, thread) || !follows(record, begin)) return false;
    begin = record.begin;
  }
  return true;
}

std::vector<Record> RecordCheck::sound_ones(const Records& records, std::uint16_t thread) {
  std::vector<Record> kept;
  bool in_order = true;
  std::uint64_t begin = 0;
  for (const Record& record : records) {
    if (record.call && !sound(record, thread)) continue;
    kept.push_back(record);
    if (!record.call) continue;  // readers pass by it
    in_order = in_order && follows(record, begin);
    begin = record.begin;
  }
  return in_order ? kept : longest_in_order(kept);
}

}  // namespace ddpscope::trace
