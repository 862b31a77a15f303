// Longest common subsequences of the ranks' orders, and coverage of the first epoch.
#include "collector/detectors/sample_overlap.h"

#include <algorithm>

#include "collector/patterns/longest_rise.h"

namespace ddpscope::detectors {
namespace {

constexpr std::size_t kSamePercent = 90;

// What would be each rank's part of the samples, and in how many of the parts each sample is.
class Parts {
 public:
  explicit Parts(std::size_t samples) : holders_(samples) {}

  void add(const std::vector<std::uint32_t>& part) {  // samples by number, none twice
    for (std::uint32_t sample : part) ++holders_[sample];
    sum_ += part.size();
    sum_of_squares_ += part.size() * part.size();
  }

  // Summed over all pairs of ranks: what their parts share, against independent draws.
  bool meet_by_chance() const {
    std::size_t met = 0;
    for (std::size_t holders : holders_) met += holders * (holders - 1) / 2;
    std::size_t expected = (sum_ * sum_ - sum_of_squares_) / 2;  // times the samples
    return 2 * met * holders_.size() >= expected;
  }

 private:
  std::vector<std::uint32_t> holders_;  // by sample
  std::size_t sum_ = 0, sum_of_squares_ = 0;
};

// Numbers of the different ones among the first `count`, as they come.
std::vector<std::uint32_t> different(const std::vector<Sample>& reads, std::size_t count,
                                     const SampleNumbers& numbers) {
  std::vector<std::uint32_t> found;
  std::vector<bool> met(numbers.size());
  for (std::size_t i = 0; i < std::min(count, reads.size()); ++i) {
    std::uint32_t number = numbers.find(reads[i]);
    if (number == SampleNumbers::kUnknown || met[number]) continue;
    met[number] = true;
    found.push_back(number);
  }
  return found;
}

// Positions all over an order, without a period that the order might have too.
constexpr std::size_t kProbes = 64;
std::size_t probe(std::size_t number, std::size_t size) { return number * 0x9E3779B97F4A7C15u % size; }

}  // namespace

// Where each sample stands in one order.
class SampleOverlap::Places {
 public:
  explicit Places(const SampleOrder& order) : places_(order.samples.size()) {
    for (Sample sample : order.samples) places_.add(sample);
  }
  std::size_t size() const { return places_.size(); }

  // False: far less than 90 % of the shorter order is in the other one, of which a few probes convince.
  bool may_agree(const std::vector<Sample>& order) const {
    if (order.size() < kProbes || order.size() > 2 * size()) return true;
    std::size_t found = 0;
    for (std::size_t i = 0; i < kProbes; ++i)
      found += places_.find(order[probe(i, order.size())]) != SampleNumbers::kUnknown;
    return 2 * found * order.size() >= kProbes * std::min(order.size(), size());
  }

  // Length of the longest common subsequence. In sequences without repetitions it is the longest increasing
  // row of places.
  std::size_t count_in_order(const std::vector<Sample>& order) const {
    std::vector<std::uint32_t> places;
    for (Sample sample : order)
      if (std::uint32_t place = places_.find(sample); place != SampleNumbers::kUnknown)
        places.push_back(place);
    return patterns::longest_rise(places);
  }

 private:
  SampleNumbers places_;  // nothing is repeated, so that a sample's number is its place
};

bool SampleOverlap::agrees(const std::vector<Places>& places, const RankSamples& rank) const {
  std::size_t in_order = 0, compared = 0;
  for (std::size_t pair = 0; pair < std::min(places.size(), rank.orders()); ++pair) {
    const std::vector<Sample>& order = rank.order(pair).samples;
    if (order.empty() || places[pair].size() == 0) continue;
    compared += std::min(order.size(), places[pair].size());
    if (places[pair].may_agree(order)) in_order += places[pair].count_in_order(order);
  }
  return compared >= kEnoughItems && in_order * 100 >= compared * kSamePercent;
}

std::vector<std::size_t> SampleOverlap::in_order_with(std::size_t rank, std::size_t first) const {
  std::vector<Places> places;
  for (std::size_t pair = 0; pair < ranks_[rank].orders(); ++pair)
    places.emplace_back(ranks_[rank].order(pair));
  std::vector<std::size_t> same;
  for (std::size_t other = first; other < ranks_.size(); ++other)
    if (agrees(places, ranks_[other])) same.push_back(other);
  return same;
}

std::optional<SampleNumbers> SampleOverlap::all_samples() const {
  auto fewer = [](const RankSamples& a, const RankSamples& b) { return a.reads < b.reads; };
  auto least = std::min_element(ranks_.begin(), ranks_.end(), fewer);
  SampleNumbers all;
  for (const RankSamples& rank : ranks_)
    for (std::size_t i = 0; i < rank.orders(); ++i) {
      for (Sample sample : rank.order(i).samples) all.add(sample);
      std::size_t count = all.size();
      if (least->reads < count + std::max(kEnoughItems, count / 10)) return std::nullopt;
    }
  return all;
}

bool SampleOverlap::each_reads_all(const FirstReads& first_reads) const {
  std::optional<SampleNumbers> samples = all_samples();
  if (!samples || samples->size() < kEnoughItems) return false;
  std::size_t count = samples->size();
  Parts parts(count);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    std::vector<Sample> reads = first_reads(rank, count);
    if (different(reads, count, *samples).size() * 100 < count * kSamePercent) return false;
    parts.add(different(reads, count / ranks_.size(), *samples));
  }
  return parts.meet_by_chance();
}

}  // namespace ddpscope::detectors
