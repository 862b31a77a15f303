// Sorts all reads by their place: a sample that was read k times is there k times in a row.
#include "collector/patterns/even_reads.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/files/read_items.h"
#include "collector/patterns/samples.h"

namespace ddpscope::patterns {
namespace {

using files::Item;
using files::ItemStream;
using trace::Operation;

constexpr std::size_t kLeastSamples = 32;  // fewer may be together by chance

struct Piece {
  std::uint32_t path;
  std::uint64_t offset, bytes;
  auto operator<=>(const Piece&) const = default;
};

// "clip0031.wav": what stands around the last number in a name, and the number.
struct NumberedName {
  std::string around;
  std::uint64_t number;
};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

std::optional<NumberedName> find_number(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  NumberedName found{std::string(name.substr(0, begin)) + '\0' + std::string(name.substr(end)), 0};
  auto [last, error] = std::from_chars(name.data() + begin, name.data() + end, found.number);
  if (begin == end || error != std::errc{}) return std::nullopt;
  return found;
}

// The pieces of one file: each begins where the last one ended, or as far from it as any other.
bool none_between(const std::vector<Piece>& pieces) {
  bool adjacent = true, evenly = true;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    adjacent = adjacent && pieces[i].offset == pieces[i - 1].offset + pieces[i - 1].bytes;
    evenly = evenly && pieces[i].offset - pieces[i - 1].offset == pieces[1].offset - pieces[0].offset;
  }
  return adjacent || evenly;
}

// What a rank's own process reads, call by call: two samples that lie side by side are two pieces.
class Scan {
 public:
  Scan(const model::Job& job, const LastStretch& own, std::map<std::string_view, std::uint32_t> paths)
      : job_(job), own_(own), paths_(std::move(paths)) {}

  // Of training; see even_reads.h.
  std::vector<Piece> find(std::uint32_t process) {
    const trace::TraceFile& file = job_.processes[process].file;
    model::for_each_in_time(file, {Operation::kOpen, Operation::kRead},
                            [&](model::EventPlace, const trace::Record& record) {
                              if (trace::operation_of(record.call) == Operation::kOpen)
                                open(file, record);
                              else
                                read(job_.begin_ns(process, record), record);
                            });
    auto first = std::min(before_first_, before_second_);
    std::size_t second = before_second_ - first, from = first > second ? first - second : 0;
    return {pieces_.begin() + static_cast<std::ptrdiff_t>(from), pieces_.end()};
  }

 private:
  void open(const trace::TraceFile& file, const trace::Record& record) {
    auto opening = trace::payload_of<trace::payload::FileOpen>(record);
    auto path = paths_.find(file.string(opening.path));
    if (!opening.error && path != paths_.end()) opened_[opening.file] = path->second;
  }
  void read(std::int64_t at, const trace::Record& record) {
    auto io = trace::payload_of<trace::payload::FileIo>(record);
    auto opening = opened_.find(io.file);
    if (opening == opened_.end() || !io.bytes || at > own_.until_ns) return;
    std::uint64_t calls = std::max<std::uint64_t>(io.count, 1), each = io.bytes / calls;
    if (each * calls != io.bytes) calls = 1, each = io.bytes;
    for (std::uint64_t i = 0; i < calls; ++i)
      pieces_.push_back({opening->second, io.offset + i * each, each});
    if (at <= own_.steps_ns[0]) before_first_ = pieces_.size();
    if (at <= own_.steps_ns[1]) before_second_ = pieces_.size();
  }

  const model::Job& job_;
  const LastStretch& own_;
  std::map<std::string_view, std::uint32_t> paths_;
  std::unordered_map<std::uint32_t, std::uint32_t> opened_;  // path by number of the opening
  std::vector<Piece> pieces_;
  std::size_t before_first_ = 0, before_second_ = 0;  // step
};

class Reads {
 public:
  // False: the rank did not read its samples itself, or not in a shuffled order.
  bool add(const model::Job& job, const LastStretch& own) {
    std::int32_t process = job.process_of_rank(own.rank);
    if (process < 0 || own.steps_ns.size() < 2) return false;
    std::map<std::string_view, std::uint32_t> paths;
    for (ItemStream& stream : files::find_item_streams(job, own.rank)) {
      if (stream.by_worker) return false;
      std::erase_if(stream.items, [&](const Item& item) { return !item.exact || item.at_ns > own.until_ns; });
      keep_samples(stream, own.steps_ns);
      for (const Item& item : stream.items)
        if (auto name = stream.names.find(item.path); name != stream.names.end())
          paths.emplace(name->second, item.path);
    }
    for (const auto& [name, path] : paths) names_.emplace(path, name);
    bool any = !paths.empty();
    auto pieces = Scan(job, own, std::move(paths)).find(static_cast<std::uint32_t>(process));
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
    return any;
  }

  bool even() {
    std::sort(pieces_.begin(), pieces_.end());
    std::size_t times = 0;
    while (times < pieces_.size() && pieces_[times] == pieces_[0]) ++times;
    std::map<std::uint32_t, std::vector<Piece>> of_path;
    for (std::size_t i = 0, end; i < pieces_.size(); i = end) {
      for (end = i; end < pieces_.size() && pieces_[end] == pieces_[i];) ++end;
      if (end - i != times) return false;
      of_path[pieces_[i].path].push_back(pieces_[i]);
    }
    return times > 0 && pieces_.size() / times >= kLeastSamples && (times > 1 || none_left_out(of_path));
  }

 private:
  bool none_left_out(const std::map<std::uint32_t, std::vector<Piece>>& of_path) const {
    std::map<std::string, std::set<std::uint64_t>> numbers;
    for (const auto& [path, pieces] : of_path) {
      auto numbered = find_number(names_.at(path));
      if (!none_between(pieces) || (!numbered && of_path.size() > 1)) return false;
      if (numbered) numbers[numbered->around].insert(numbered->number);
    }
    return std::all_of(numbers.begin(), numbers.end(), [](const auto& row) {
      return *row.second.rbegin() - *row.second.begin() + 1 == row.second.size();
    });
  }

  std::vector<Piece> pieces_;
  std::unordered_map<std::uint32_t, std::string_view> names_;  // by path
};

}  // namespace

bool read_evenly(const model::Job& job, const std::vector<LastStretch>& done,
                 const std::vector<LastStretch>& going_on) {
  Reads reads;
  for (const auto* side : {&done, &going_on})
    for (const LastStretch& own : *side)
      if (!reads.add(job, own)) return false;
  return reads.even();
}

}  // namespace ddpscope::patterns
