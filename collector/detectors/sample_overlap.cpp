// Longest common subsequences of item streams, and coverage of the first epoch.
#include "collector/detectors/sample_overlap.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "collector/patterns/longest_rise.h"

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

// Numbers keys in the order in which they are met. Keys are hashes, so their low bits are as good as any.
class Numbering {
 public:
  explicit Numbering(std::size_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

  std::uint32_t operator()(std::uint64_t key) {
    std::size_t mask = slots_.size() - 1, at = key & mask;
    while (slots_[at].number && slots_[at].key != key) at = (at + 1) & mask;
    if (!slots_[at].number) slots_[at] = {key, ++count_};
    return slots_[at].number - 1;
  }
  std::size_t count() const { return count_; }

 private:
  struct Slot {
    std::uint64_t key;
    std::uint32_t number;  // from 1; 0: free
  };
  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

// Positions all over an order, without a period that the order might have too.
constexpr std::size_t kProbes = 64;
std::size_t probe(std::size_t number, std::size_t size) { return number * 0x9E3779B97F4A7C15u % size; }

}  // namespace

// Where each item stands in one order.
class SampleOverlap::Places {
 public:
  Places(const Numbers& order, std::size_t items) : size_(order.size()), place_(items, kNowhere) {
    for (std::uint32_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
  }
  std::size_t size() const { return size_; }

  // False: far less than 90 % of the shorter order is in the other one, of which a few probes convince.
  bool may_agree(const Numbers& order) const {
    if (order.size() < kProbes || order.size() > 2 * size_) return true;
    std::size_t found = 0;
    for (std::size_t i = 0; i < kProbes; ++i) found += place_[order[probe(i, order.size())]] != kNowhere;
    return 2 * found * order.size() >= kProbes * std::min(order.size(), size_);
  }

  // Length of the longest common subsequence. In sequences without repetitions it is the longest increasing
  // row of places.
  std::size_t count_in_order(const Numbers& order) const {
    Numbers places;
    for (std::uint32_t item : order)
      if (place_[item] != kNowhere) places.push_back(place_[item]);
    return patterns::longest_rise(places);
  }

 private:
  static constexpr std::uint32_t kNowhere = ~0u;
  std::size_t size_;
  Numbers place_;
};

const SampleOverlap::Numbers& SampleOverlap::Rank::order(std::size_t number) const {
  return number == 0 ? by_itself.once : by_workers[number - 1].once;
}

SampleOverlap::SampleOverlap(const std::vector<TrainingReads>& ranks) : reads_(ranks) {
  std::size_t most = 0;
  for (const TrainingReads& rank : ranks) most += rank.count();
  Numbering numbering(most);
  auto number = [&](const ItemStream& stream) {
    Stream numbers;
    numbers.all.reserve(stream.items.size());
    for (const Item& item : stream.items) numbers.all.push_back(numbering(item.key));
    return numbers;
  };
  for (const TrainingReads& rank : ranks) {
    Rank& own = ranks_.emplace_back();
    for (const ItemStream& worker : rank.by_workers) own.by_workers.push_back(number(worker));
    own.by_itself = number(rank.by_itself);
  }
  items_ = numbering.count();
  // Without repetitions: pages of an index come again and again, and the next epoch is the same items again.
  std::vector<std::uint32_t> met(items_);  // the last stream that held an item
  std::uint32_t stream_number = 0;
  auto drop_repetitions = [&](Stream& stream) {
    ++stream_number;
    for (std::uint32_t item : stream.all)
      if (std::exchange(met[item], stream_number) != stream_number) stream.once.push_back(item);
  };
  for (Rank& rank : ranks_) {
    for (Stream& worker : rank.by_workers) drop_repetitions(worker);
    drop_repetitions(rank.by_itself);
  }
}

bool SampleOverlap::agrees(const std::vector<Places>& places, const Rank& rank) const {
  std::size_t in_order = 0, compared = 0;
  for (std::size_t pair = 0; pair < std::min(places.size(), rank.orders()); ++pair) {
    const Numbers& order = rank.order(pair);
    if (order.empty() || places[pair].size() == 0) continue;
    compared += std::min(order.size(), places[pair].size());
    if (places[pair].may_agree(order)) in_order += places[pair].count_in_order(order);
  }
  return compared >= kEnoughItems && in_order * 100 >= compared * kSamePercent;
}

std::vector<std::size_t> SampleOverlap::in_order_with(std::size_t rank, std::size_t first) const {
  std::vector<Places> places;
  for (std::size_t pair = 0; pair < ranks_[rank].orders(); ++pair)
    places.emplace_back(ranks_[rank].order(pair), items_);
  std::vector<std::size_t> same;
  for (std::size_t other = first; other < ranks_.size(); ++other)
    if (agrees(places, ranks_[other])) same.push_back(other);
  return same;
}

SampleOverlap::Numbers SampleOverlap::by_time(std::size_t rank) const {
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;
  auto add = [&](const ItemStream& stream, const Stream& numbers) {
    for (std::size_t i = 0; i < stream.items.size(); ++i)
      order.emplace_back(stream.items[i].at_ns, numbers.all[i]);
  };
  add(reads_[rank].by_itself, ranks_[rank].by_itself);
  for (std::size_t worker = 0; worker < reads_[rank].by_workers.size(); ++worker)
    add(reads_[rank].by_workers[worker], ranks_[rank].by_workers[worker]);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Numbers numbers;
  for (const auto& [at, number] : order) numbers.push_back(number);
  return numbers;
}

bool SampleOverlap::each_reads_all() const {
  auto goes_on = [&](const TrainingReads& rank) {
    return rank.count() >= items_ + std::max(kEnoughItems, items_ / 10);
  };
  if (items_ < kEnoughItems || !std::all_of(reads_.begin(), reads_.end(), goes_on)) return false;
  std::vector<Numbers> orders;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    orders.push_back(by_time(rank));
    if (first_of(orders.back(), items_, items_).size() * 100 < items_ * kSamePercent) return false;
  }
  return meet_by_chance(orders, items_ / orders.size(), items_);
}

}  // namespace ddpscope::detectors
