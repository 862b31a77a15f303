// Compares neighbours in the order with pairs drawn from it.
#include "collector/patterns/shuffles.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "collector/model/numbering.h"
#include "collector/patterns/natural_names.h"

namespace ddpscope::patterns {
namespace {

using files::Item;
using files::ItemStream;
using trace::Operation;

constexpr std::size_t kEnough = 4096;  // samples tell as much as all
constexpr std::size_t kPairsEach = 4;  // drawn for each sample
constexpr double kNearerThanChance = 0.6;
constexpr double kLeastSpread =
    0.1;  // of the places; where all differ it is a third: equal ones tell no order

struct Sample {
  const ItemStream* stream;
  const Item* item;
};

constexpr std::size_t kHeaderItems = 4;  // a file's header, index and data are one sample

// In the order of the first reading, process by process; of a file that is left after few reads, the last
// one.
class FirstReadings {
 public:
  explicit FirstReadings(const TrainingReads& reads) {
    for (const ItemStream* stream : reads.streams()) {
      for (const Item& item : stream->items) {
        if (samples_.size() + visit_.size() >= kEnough) break;
        if (!visit_.empty() && visit_.back().item->path != item.path) end_visit();
        if (met_.add_new(item.key)) visit_.push_back({stream, &item});
      }
      end_visit();
    }
  }

  std::vector<Sample> take() { return std::move(samples_); }

 private:
  void end_visit() {
    auto shorter = [](const Sample& a, const Sample& b) { return a.item->bytes < b.item->bytes; };
    if (visit_.size() <= kHeaderItems && !visit_.empty())
      visit_ = {*std::max_element(visit_.begin(), visit_.end(), shorter)};
    samples_.insert(samples_.end(), visit_.begin(), visit_.end());
    visit_.clear();
  }

  model::Numbering<std::uint64_t> met_;
  std::vector<Sample> samples_, visit_;
};

// Equal values share the middle of their places.
template <class Value>
std::vector<double> ranks_of(const std::vector<Value>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && !(values[order[first]] < values[order[end]])) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = static_cast<double>(first + end) / 2;
    first = end;
  }
  return ranks;
}

class Mean {
 public:
  void add(double value) {
    sum_ += std::abs(value);
    ++count_;
  }
  double get() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

template <class Value>
bool neighbours_follow(const std::vector<Sample>& samples, const std::vector<Value>& values) {
  std::vector<double> ranks = ranks_of(values);
  Mean following, drawn;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i > 0 && samples[i].stream == samples[i - 1].stream) following.add(ranks[i] - ranks[i - 1]);
    for (std::size_t draw = 0; draw < kPairsEach; ++draw)
      drawn.add(ranks[i] - ranks[(kPairsEach * i + draw + 1) * 0x9E3779B97F4A7C15u % samples.size()]);
  }
  bool tells = drawn.get() >= kLeastSpread * static_cast<double>(samples.size());
  return tells && following.get() < kNearerThanChance * drawn.get();
}

class Measures {
 public:
  Measures(const model::Job& job, const std::vector<Sample>& samples) : job_(job), samples_(samples) {}

  // Names are compared as such once each.
  bool by_name() const {
    std::set<std::pair<std::string, std::uint32_t>> keys;  // and path
    std::unordered_map<std::uint32_t, std::size_t> place;
    for (const Sample& sample : samples_) {
      auto name = sample.stream->names.find(sample.item->path);
      if (name != sample.stream->names.end() && place.emplace(sample.item->path, 0).second)
        keys.emplace(natural_key(name->second), sample.item->path);
    }
    std::size_t next = 0;
    for (const auto& [key, path] : keys) place[path] = next++;
    std::vector<std::pair<std::size_t, std::uint64_t>> values;
    for (const Sample& sample : samples_) values.emplace_back(place[sample.item->path], sample.item->offset);
    return neighbours_follow(samples_, values);
  }

  bool by_length() const {
    std::vector<std::uint64_t> lengths;
    for (const Sample& sample : samples_) lengths.push_back(sample.item->bytes);
    return neighbours_follow(samples_, lengths);
  }

  bool by_making() {
    std::vector<std::uint64_t> inodes;
    model::Numbering<std::uint64_t> different;
    for (const Sample& sample : samples_) different.add(inodes.emplace_back(inode_of(sample)));
    return different.size() * 2 >= samples_.size() && neighbours_follow(samples_, inodes);
  }

 private:
  std::optional<trace::payload::FileIo> read_of(const Sample& sample) const {
    if (!sample.item->exact) return std::nullopt;
    trace::Record record = job_.record({sample.stream->process, sample.item->place});
    if (trace::operation_of(record.call) != Operation::kRead) return std::nullopt;
    return trace::payload_of<trace::payload::FileIo>(record);
  }
  std::uint64_t inode_of(const Sample& sample) {  // 0 unknown
    auto read = read_of(sample);
    if (!read) return 0;
    const auto& known = inodes_in(sample.stream->process);
    auto found = known.find(read->file);
    return found == known.end() ? 0 : found->second;
  }
  const std::unordered_map<std::uint32_t, std::uint64_t>& inodes_in(std::uint32_t process) {
    auto [found, fresh] = inodes_.try_emplace(process);
    if (fresh)
      model::for_each(job_.processes[process].file, {Operation::kOpen},
                      [&, &known = found->second](model::EventPlace, const trace::Record& record) {
                        auto open = trace::payload_of<trace::payload::FileOpen>(record);
                        if (open.file) known.emplace(open.file, open.inode);
                      });
    return found->second;
  }

  const model::Job& job_;
  const std::vector<Sample>& samples_;
  std::unordered_map<std::uint32_t, std::unordered_map<std::uint32_t, std::uint64_t>> inodes_;
};

}  // namespace

bool are_shuffled(const model::Job& job, const TrainingReads& reads) {
  std::vector<Sample> samples = FirstReadings(reads).take();
  Measures measures(job, samples);
  return !measures.by_name() && !measures.by_length() && !measures.by_making();
}

}  // namespace ddpscope::patterns
