// Reads from the records that there are, and from the short items where the ring has overwritten them.
#include "collector/files/read_items.h"

#include <fcntl.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace ddpscope::files {
namespace {

using trace::Operation;

constexpr std::string_view kProgramPlaces[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                               "/__pycache__/",   "/lib64/",         "/usr/lib/"};
constexpr std::string_view kProgramEndings[] = {".py", ".pyc", ".so", ".pth"};
constexpr std::string_view kSystemRoots[] = {"/proc/", "/sys/", "/dev/", "/etc/"};

// As ItemRead::file has it, so that a file has one number whether its opening was kept or not.
std::uint32_t path_number(std::string_view path) {
  return static_cast<std::uint32_t>(XXH3_64bits(path.data(), path.size())) | trace::kUnkeptFile;
}

// The offset tells a sample, its length follows from it.
std::uint64_t key_of(std::uint32_t path, std::uint64_t offset) {
  std::uint64_t word = std::uint64_t{path} << 32 ^ offset * 0x9E3779B97F4A7C15u;
  return word ^ word >> 29;
}

// What is read of a file without a gap. Who begins again where it began, or reads what lies just before it or
// up to its end, reads on: a directory at the end of an archive is looked for backwards, a page lies before
// the one that tells of it, and a member is read once for its header and once as a whole.
class ReadExtent {
 public:
  // False: begins anew.
  bool goes_on(std::uint64_t from, std::uint64_t next) {
    bool on = (from_ <= from && from <= next_) || from == begin_ || next == begin_ || next == end_;
    if (!on) begin_ = from, end_ = next;
    from_ = from;
    next_ = next;
    begin_ = std::min(begin_, from);
    end_ = std::max(end_, next);
    return on;
  }

 private:
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  std::uint64_t from_ = kNowhere, next_ = 0;         // of the last read
  std::uint64_t begin_ = kNowhere, end_ = kNowhere;  // of all of it
};

class Reader {
 public:
  Reader(const model::Job& job, std::uint32_t process, ItemStream& stream)
      : job_(job),
        process_(process),
        file_(job.processes[process].file),
        stream_(stream),
        items_(stream.items) {
    lost_ = file_.health(trace::Health::bulk_records_overwritten) ||
            file_.health(trace::Health::bulk_records_lost);
  }

  void read() {
    constexpr trace::OperationSet kReading{Operation::kOpen, Operation::kRead, Operation::kClose,
                                           Operation::kStreamSend, Operation::kStreamReceive};
    model::for_each_in_time(file_, kReading, [&](model::EventPlace place, const trace::Record& record) {
      Operation operation = trace::operation_of(record.call);
      if (operation == Operation::kOpen)
        open(place, record);
      else if (operation == Operation::kRead)
        read(place, record);
      else if (operation == Operation::kClose)
        go_on(place, record);
      else if (operation == Operation::kStreamSend || operation == Operation::kStreamReceive)
        turns_[record.thread].push_back(job_.begin_ns({process_, place}));
    });
    for (const trace::ItemSpan& span : file_.items()) read(span);
    for (std::uint16_t thread : readers_)
      stream_.turns.insert(stream_.turns.end(), turns_[thread].begin(), turns_[thread].end());
    std::sort(stream_.turns.begin(), stream_.turns.end());
    std::stable_sort(items_.begin(), items_.end(),
                     [](const Item& a, const Item& b) { return a.at_ns < b.at_ns; });
  }

 private:
  struct Opening {
    std::uint32_t path;
    model::EventPlace place;
    ReadExtent read{};           // by the last reads
    std::size_t item = kNoItem;  // that the last read belongs to
    std::size_t first = kNoItem;
  };
  static constexpr std::size_t kNoItem = ~std::size_t{0};
  static constexpr std::size_t kHeaderItems = 4;

  void open(model::EventPlace place, const trace::Record& record) {
    auto opening = trace::payload_of<trace::payload::FileOpen>(record);
    std::string_view path = file_.string(opening.path);
    bool reads = (opening.flags & (O_ACCMODE | O_DIRECTORY)) == O_RDONLY;
    if (opening.error || !opening.file || !reads || !is_data(path)) return;
    auto& known = openings_[opening.file] = {path_number(path), place};
    stream_.names.emplace(known.path, path);
    readers_.insert(record.thread);
    if (lost_) add(known, {0, 0}, place);
  }

  struct Range {
    std::uint64_t from, next;
  };
  static std::uint32_t bytes_in(Range range) {
    constexpr std::uint64_t kMost = (1u << 31) - 1;
    return static_cast<std::uint32_t>(range.next > range.from ? std::min(range.next - range.from, kMost) : 0);
  }

  void add(Opening& opening, Range range, model::EventPlace place) {
    opening.item = items_.size();
    opening.first = std::min(opening.first, opening.item);
    items_.push_back({key_of(opening.path, range.from), job_.begin_ns({process_, place}),
                      job_.end_ns({process_, place}), range.from, opening.path, place, true,
                      bytes_in(range)});
  }

  // To what was read through the same opening just before: a header that comes with each sample.
  bool goes_back(Opening& opening, std::uint64_t offset) const {
    std::uint64_t key = key_of(opening.path, offset);
    std::size_t last = items_.size() - std::min(items_.size(), kHeaderItems);
    for (std::size_t i = items_.size(); i > last && i > opening.first; --i) {
      if (items_[i - 1].key != key) continue;
      opening.item = i - 1;
      return true;
    }
    return false;
  }

  // Read on, or closed: until then the opening was in use for the item.
  void go_on(model::EventPlace place, const trace::Record& record) {
    auto io = trace::payload_of<trace::payload::FileIo>(record);
    auto found = openings_.find(io.file);
    if (found == openings_.end() || found->second.item == kNoItem) return;
    Item& item = items_[found->second.item];
    item.until_ns = std::max(item.until_ns, job_.end_ns({process_, place}));
    if (io.bytes) item.bytes = std::max<std::uint32_t>(item.bytes, bytes_in({item.offset, io.next}));
  }

  void read(model::EventPlace place, const trace::Record& record) {
    auto io = trace::payload_of<trace::payload::FileIo>(record);
    auto found = openings_.find(io.file);
    if (found == openings_.end()) return;
    if (!io.bytes) return go_on(place, record);
    Opening& opening = found->second;
    bool begins = io.offset != ~std::uint64_t{0} && !opening.read.goes_on(io.offset, io.next);
    if (begins && !goes_back(opening, io.offset)) return add(opening, {io.offset, io.next}, place);
    go_on(place, record);
  }

  // Those of openings that have a number were records too.
  void read(const trace::ItemSpan& span) {
    std::int64_t at = job_.time_ns(process_, span.opened.ticks);
    for (const trace::ItemRead& item : span.items) {
      if (items_read_[item.file].goes_on(item.offset, item.offset + item.bytes)) continue;
      if (item.file & trace::kUnkeptFile) {
        items_.push_back(
            {key_of(item.file, item.offset), at, at, item.offset, item.file, {}, false, item.bytes});
      } else if (auto found = openings_.find(item.file); lost_ && found != openings_.end()) {
        items_.push_back({key_of(found->second.path, item.offset), at, at, item.offset, found->second.path,
                          found->second.place, false, item.bytes});
      }
    }
  }

  const model::Job& job_;
  std::uint32_t process_;
  const trace::TraceFile& file_;
  ItemStream& stream_;
  trace::Table<Item>& items_;
  bool lost_;
  std::map<std::uint16_t, std::vector<std::int64_t>> turns_;  // by thread
  std::set<std::uint16_t> readers_;                           // threads that open files
  std::unordered_map<std::uint32_t, Opening> openings_;       // of data, by number
  std::unordered_map<std::uint32_t, ReadExtent> items_read_;  // as items tell, by the number that they have
};

}  // namespace

bool is_data(std::string_view path) {
  auto within = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  auto ends = [&](std::string_view ending) { return path.ends_with(ending); };
  auto below = [&](std::string_view root) { return path.starts_with(root); };
  return !path.empty() && std::none_of(std::begin(kProgramPlaces), std::end(kProgramPlaces), within) &&
         std::none_of(std::begin(kProgramEndings), std::end(kProgramEndings), ends) &&
         std::none_of(std::begin(kSystemRoots), std::end(kSystemRoots), below);
}

std::vector<ItemStream> find_item_streams(const model::Job& job, std::int32_t rank) {
  std::vector<ItemStream> streams;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    if (job.processes[i].rank != rank) continue;
    ItemStream stream{rank, i, job.processes[i].role == model::Role::kWorker};
    Reader(job, i, stream).read();
    if (!stream.items.empty()) streams.push_back(std::move(stream));
  }
  sort_by_start(job, streams);
  return streams;
}

void sort_by_start(const model::Job& job, std::vector<ItemStream>& streams) {
  std::ranges::stable_sort(streams, {}, [&](const ItemStream& stream) {
    const model::Process& process = job.processes[stream.process];
    return std::tuple(process.header().start_time, process.header().pid);
  });
}

model::EventRef opening_of(const model::Job& job, model::EventRef event) {
  const model::Process& process = job.processes[event.process];
  if (trace::operation_of(job.record(event).call) == Operation::kOpen) return event;
  std::uint32_t number = trace::payload_of<trace::payload::FileIo>(job.record(event)).file;
  model::EventRef opening = event;
  model::for_each(process.file, {Operation::kOpen},
                  [&](model::EventPlace place, const trace::Record& record) {
                    auto open = trace::payload_of<trace::payload::FileOpen>(record);
                    if (open.file == number && open.path)
                      opening.place = place;  // a stream made of a descriptor has no path
                  });
  return opening;
}

model::EventRef opening_with_stack(const model::Job& job, model::EventRef opening) {
  const trace::TraceFile& file = job.processes[opening.process].file;
  auto open_at = [&](const trace::Record& record) {
    return trace::payload_of<trace::payload::FileOpen>(record);
  };
  const trace::Record own = job.record(opening);
  constexpr trace::OperationSet kOpenings{Operation::kOpen};
  for (model::TimeOrder order(file, kOpenings); !own.stack && !order.done(); order.next())
    if (order.record().stack && open_at(order.record()).path == open_at(own).path)
      return {opening.process, order.place()};
  return opening;
}

std::string_view path_of(const model::Job& job, model::EventRef opening) {
  auto open = trace::payload_of<trace::payload::FileOpen>(job.record(opening));
  return job.processes[opening.process].file.string(open.path);
}

}  // namespace ddpscope::files
