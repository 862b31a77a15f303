// From openings, which are kept, and the 16-byte items, which are too; reads lie in the ring and only give
// times.
#include "collector/files/read_items.h"

#include <fcntl.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace ddpscope::files {
namespace {

using trace::Operation;

constexpr std::string_view kProgramPlaces[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                               "/__pycache__/",   "/lib64/",         "/usr/lib/"};
constexpr std::string_view kProgramEndings[] = {".py", ".pyc", ".so", ".pth"};
constexpr std::string_view kSystemRoots[] = {"/proc/", "/sys/", "/dev/", "/etc/"};

bool is_data(std::string_view path) {
  auto within = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  auto ends = [&](std::string_view ending) { return path.ends_with(ending); };
  auto below = [&](std::string_view root) { return path.starts_with(root); };
  return !path.empty() && std::none_of(std::begin(kProgramPlaces), std::end(kProgramPlaces), within) &&
         std::none_of(std::begin(kProgramEndings), std::end(kProgramEndings), ends) &&
         std::none_of(std::begin(kSystemRoots), std::end(kSystemRoots), below);
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  return (hash ^ word) * 0x9E3779B97F4A7C15u ^ hash >> 31;
}

class Reader {
 public:
  Reader(const model::Job& job, std::uint32_t process, ItemStream& out)
      : job_(job), process_(process), out_(out) {}

  void see(model::EventPlace place, const trace::Record& record) {
    Operation operation = trace::operation_of(static_cast<trace::Call>(record.call));
    if (operation == Operation::kOpen) open(place, trace::payload_of<trace::payload::FileOpen>(record));
    if (operation != Operation::kRead) return;
    auto io = trace::payload_of<trace::payload::FileIo>(record);
    if (openings_.contains(io.file) && io.bytes) read(io, job_.begin_ns({process_, place}));
  }

  void finish() {
    const auto& spans = job_.processes[process_].file.items();
    if (!spans.empty()) parts_.clear();  // the spans have what the ring may have lost
    std::erase_if(parts_, [&](const Part& part) { return !in_parts_.contains(part.file); });
    for (const trace::ItemSpan& span : spans) take_parts(span);
    // What was read in parts is no whole file.
    std::erase_if(out_.items, [&](const Item& item) { return in_parts_.contains(item.key); });
    for (const Part& part : parts_) out_.items.push_back(part.item);
  }

 private:
  void open(model::EventPlace place, const trace::payload::FileOpen& opening) {
    std::string_view path = job_.processes[process_].file.string(opening.path);
    bool reads = (opening.flags & (O_ACCMODE | O_DIRECTORY)) == O_RDONLY;
    if (opening.error || !opening.file) return;
    if (!reads || !is_data(path)) {
      others_.insert(opening.file);
      return;
    }
    if (openings_.empty()) {
      out_.first = {process_, place};
      out_.first_path = path;
    }
    std::uint64_t key = mix(std::hash<std::string_view>{}(path), job_.processes[process_].host);
    openings_[opening.file] = key;
    out_.items.push_back({key, job_.begin_ns({process_, place})});
  }

  // A read that does not go on where the last one of its opening ended picks a part; the first one only if it
  // does not start at the beginning, or if another part follows.
  void read(const trace::payload::FileIo& io, std::int64_t at_ns) {
    out_.reads_ns.push_back(at_ns);
    std::uint64_t file_key = openings_[io.file];
    auto [last, first] = next_.try_emplace(io.file, io.next);
    bool goes_on = !first && last->second == io.offset;
    last->second = io.next;
    if (goes_on) return;
    if (!first || io.offset != 0) in_parts_.insert(file_key);
    parts_.push_back({file_key, {mix(mix(file_key, io.offset), io.bytes), at_ns}});
  }

  // An item names its opening, or, beyond the openings that are kept, its path by a hash.
  void take_parts(const trace::ItemSpan& span) {
    std::int64_t at = job_.time_ns(process_, span.opened.ticks);
    for (const trace::ItemRead& item : span.items) {
      if (others_.contains(item.file)) continue;
      auto found = openings_.find(item.file);
      std::uint64_t file_key = found == openings_.end() ? mix(item.file, 0) : found->second;
      if (found != openings_.end()) in_parts_.insert(file_key);
      parts_.push_back({file_key, {mix(mix(file_key, item.offset), item.bytes), at}});
    }
  }

  const model::Job& job_;
  std::uint32_t process_;
  ItemStream& out_;
  std::unordered_map<std::uint32_t, std::uint64_t> openings_;  // of data: number to key of the file
  std::unordered_set<std::uint32_t> others_;
  std::unordered_set<std::uint64_t> in_parts_;             // keys of files
  std::unordered_map<std::uint32_t, std::uint64_t> next_;  // by opening: where a read would go on
  struct Part {
    std::uint64_t file;
    Item item;
  };
  std::vector<Part> parts_;
};

}  // namespace

std::vector<ItemStream> find_item_streams(const model::Job& job) {
  std::vector<ItemStream> streams;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const model::Process& process = job.processes[i];
    if (process.rank < 0) continue;
    ItemStream stream{process.rank, i, {}, {}, {}, {}};
    Reader reader(job, i, stream);
    model::for_each_in_time(process.file, [&](model::EventPlace place, const trace::Record& record) {
      reader.see(place, record);
    });
    reader.finish();
    if (!stream.items.empty()) streams.push_back(std::move(stream));
  }
  std::stable_sort(streams.begin(), streams.end(), [&](const ItemStream& a, const ItemStream& b) {
    auto start = [&](const ItemStream& stream) {
      const trace::FileHeader& header = job.processes[stream.process].header();
      return std::pair(header.start_time, header.pid);
    };
    return start(a) < start(b);
  });
  return streams;
}

}  // namespace ddpscope::files
