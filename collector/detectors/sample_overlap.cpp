// Longest common subsequences of item streams, and coverage of the first epoch.
#include "collector/detectors/sample_overlap.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace ddpscope::detectors {
namespace {

using files::Item;
using files::ItemStream;
using patterns::TrainingReads;
using Keys = std::unordered_set<std::uint64_t>;

constexpr std::size_t kSamePercent = 90;

// Without repetitions: pages of an index come again and again, and the next epoch is the same items again.
std::vector<std::uint64_t> distinct(const ItemStream& stream) {
  std::vector<std::uint64_t> keys;
  Keys seen;
  for (const Item& item : stream.items)
    if (seen.insert(item.key).second) keys.push_back(item.key);
  return keys;
}

// Length of the longest common subsequence. In sequences without repetitions it is the longest increasing
// row of places.
std::size_t count_in_order(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::unordered_map<std::uint64_t, std::size_t> place_in_b;
  for (std::size_t i = 0; i < b.size(); ++i) place_in_b.emplace(b[i], i);
  std::vector<std::size_t> ends;  // smallest last place of a row of each length
  for (std::uint64_t key : a) {
    auto found = place_in_b.find(key);
    if (found == place_in_b.end()) continue;
    auto end = std::lower_bound(ends.begin(), ends.end(), found->second);
    if (end == ends.end())
      ends.push_back(found->second);
    else
      *end = found->second;
  }
  return ends.size();
}

struct Agreement {
  std::size_t in_order = 0;
  std::size_t compared = 0;  // the shorter of each two

  void add(const ItemStream& a, const ItemStream& b) {
    std::vector<std::uint64_t> of_a = distinct(a), of_b = distinct(b);
    in_order += count_in_order(of_a, of_b);
    compared += std::min(of_a.size(), of_b.size());
  }
};

std::vector<Item> by_time(const TrainingReads& reads) {
  std::vector<Item> items = reads.by_itself.items;
  for (const ItemStream& worker : reads.by_workers)
    items.insert(items.end(), worker.items.begin(), worker.items.end());
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.at_ns < b.at_ns; });
  return items;
}

Keys first_of(const std::vector<Item>& items, std::size_t count) {
  Keys keys;
  for (std::size_t i = 0; i < std::min(count, items.size()); ++i) keys.insert(items[i].key);
  return keys;
}

std::size_t count_common(const Keys& a, const Keys& b) {
  return static_cast<std::size_t>(
      std::count_if(a.begin(), a.end(), [&](std::uint64_t key) { return b.contains(key); }));
}

// Summed over all pairs of ranks: what they share of their first `count` items, against independent draws.
bool meet_by_chance(const std::vector<std::vector<Item>>& ranks, std::size_t count, std::size_t all) {
  std::vector<Keys> parts;
  for (const std::vector<Item>& items : ranks) parts.push_back(first_of(items, count));
  std::size_t met = 0, expected = 0;  // the latter times `all`
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = a + 1; b < parts.size(); ++b) {
      met += count_common(parts[a], parts[b]);
      expected += parts[a].size() * parts[b].size();
    }
  return 2 * met * all >= expected;
}

}  // namespace

bool same_order(const TrainingReads& a, const TrainingReads& b) {
  Agreement agreement;
  agreement.add(a.by_itself, b.by_itself);
  for (std::size_t i = 0; i < std::min(a.by_workers.size(), b.by_workers.size()); ++i)
    agreement.add(a.by_workers[i], b.by_workers[i]);
  return agreement.compared >= kEnoughItems && agreement.in_order * 100 >= agreement.compared * kSamePercent;
}

bool each_reads_all(const std::vector<TrainingReads>& ranks) {
  Keys all;
  std::vector<std::vector<Item>> items;
  for (const TrainingReads& rank : ranks) {
    items.push_back(by_time(rank));
    for (const Item& item : items.back()) all.insert(item.key);
  }
  if (all.size() < kEnoughItems) return false;
  for (const std::vector<Item>& own : items) {
    bool goes_on = own.size() >= all.size() + std::max(kEnoughItems, all.size() / 10);
    if (!goes_on || first_of(own, all.size()).size() * 100 < all.size() * kSamePercent) return false;
  }
  return meet_by_chance(items, all.size() / items.size(), all.size());
}

}  // namespace ddpscope::detectors
