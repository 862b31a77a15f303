// Longest common subsequences of item streams, and coverage of the first epoch.
#include "collector/detectors/sample_overlap.h"

#include <algorithm>

namespace ddpscope::detectors {
namespace {

using files::Item;
using files::ItemStream;
using patterns::TrainingReads;

constexpr std::size_t kSamePercent = 90;

// Which of so many items were met.
class ItemSet {
 public:
  explicit ItemSet(std::size_t items) : met_(items) {}

  bool insert(std::uint32_t item) {
    if (met_[item]) return false;
    met_[item] = true;
    ++size_;
    return true;
  }
  std::size_t size() const { return size_; }
  std::size_t count_common(const ItemSet& other) const {
    std::size_t count = 0;
    for (std::size_t item = 0; item < met_.size(); ++item) count += met_[item] && other.met_[item];
    return count;
  }

 private:
  std::vector<bool> met_;
  std::size_t size_ = 0;
};

ItemSet first_of(const std::vector<std::uint32_t>& order, std::size_t count, std::size_t items) {
  ItemSet set(items);
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i) set.insert(order[i]);
  return set;
}

// Summed over all pairs of ranks: what they share of their first `count` items, against independent draws.
bool meet_by_chance(const std::vector<std::vector<std::uint32_t>>& orders, std::size_t count,
                    std::size_t items) {
  std::vector<ItemSet> parts;
  for (const auto& order : orders) parts.push_back(first_of(order, count, items));
  std::size_t met = 0, expected = 0;  // the latter times `items`
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = a + 1; b < parts.size(); ++b) {
      met += parts[a].count_common(parts[b]);
      expected += parts[a].size() * parts[b].size();
    }
  return 2 * met * items >= expected;
}

}  // namespace

SampleOverlap::SampleOverlap(const std::vector<TrainingReads>& ranks) : reads_(ranks) {
  for (const TrainingReads& rank : ranks)
    for (const ItemStream* stream : rank.streams())
      for (const Item& item : stream->items) keys_.push_back(item.key);
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  for (const TrainingReads& rank : ranks) {
    Rank& own = ranks_.emplace_back();
    for (const ItemStream& worker : rank.by_workers) own.by_workers.push_back(distinct(worker));
    own.by_itself = distinct(rank.by_itself);
  }
}

SampleOverlap::Numbers SampleOverlap::numbers_of(const ItemStream& stream) const {
  Numbers numbers;
  numbers.reserve(stream.items.size());
  for (const Item& item : stream.items)
    numbers.push_back(
        static_cast<std::uint32_t>(std::lower_bound(keys_.begin(), keys_.end(), item.key) - keys_.begin()));
  return numbers;
}

// Without repetitions: pages of an index come again and again, and the next epoch is the same items again.
SampleOverlap::Numbers SampleOverlap::distinct(const ItemStream& stream) const {
  if (stream.items.empty()) return {};
  Numbers numbers = numbers_of(stream);
  ItemSet seen(keys_.size());
  std::erase_if(numbers, [&](std::uint32_t number) { return !seen.insert(number); });
  return numbers;
}

// Length of the longest common subsequence. In sequences without repetitions it is the longest increasing
// row of places.
std::size_t SampleOverlap::count_in_order(const Numbers& a, const Numbers& b) const {
  constexpr std::uint32_t kNowhere = ~0u;
  Numbers place_in_b(keys_.size(), kNowhere);
  for (std::uint32_t i = 0; i < b.size(); ++i) place_in_b[b[i]] = i;
  Numbers ends;  // smallest last place of a row of each length
  for (std::uint32_t item : a) {
    std::uint32_t place = place_in_b[item];
    if (place == kNowhere) continue;
    auto end = std::lower_bound(ends.begin(), ends.end(), place);
    if (end == ends.end())
      ends.push_back(place);
    else
      *end = place;
  }
  return ends.size();
}

void SampleOverlap::compare(const Numbers& a, const Numbers& b, Agreement& agreement) const {
  if (a.empty() || b.empty()) return;
  agreement.in_order += count_in_order(a, b);
  agreement.compared += std::min(a.size(), b.size());
}

bool SampleOverlap::same_order(std::size_t a, std::size_t b) const {
  const Rank &first = ranks_[a], &second = ranks_[b];
  Agreement agreement;
  compare(first.by_itself, second.by_itself, agreement);
  for (std::size_t i = 0; i < std::min(first.by_workers.size(), second.by_workers.size()); ++i)
    compare(first.by_workers[i], second.by_workers[i], agreement);
  return agreement.compared >= kEnoughItems && agreement.in_order * 100 >= agreement.compared * kSamePercent;
}

SampleOverlap::Numbers SampleOverlap::by_time(const TrainingReads& reads) const {
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;
  std::vector<const ItemStream*> streams = reads.streams();
  std::reverse(streams.begin(), streams.end());  // what a rank reads itself goes first
  for (const ItemStream* stream : streams) {
    Numbers numbers = numbers_of(*stream);
    for (std::size_t i = 0; i < numbers.size(); ++i) order.emplace_back(stream->items[i].at_ns, numbers[i]);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Numbers numbers;
  for (const auto& [at, number] : order) numbers.push_back(number);
  return numbers;
}

bool SampleOverlap::each_reads_all() const {
  std::size_t items = keys_.size();
  auto goes_on = [&](const TrainingReads& rank) {
    return rank.count() >= items + std::max(kEnoughItems, items / 10);
  };
  if (items < kEnoughItems || !std::all_of(reads_.begin(), reads_.end(), goes_on)) return false;
  std::vector<Numbers> orders;
  for (const TrainingReads& rank : reads_) {
    orders.push_back(by_time(rank));
    if (first_of(orders.back(), items, items).size() * 100 < items * kSamePercent) return false;
  }
  return meet_by_chance(orders, items / orders.size(), items);
}

}  // namespace ddpscope::detectors
