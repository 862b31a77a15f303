// Drops of a rank's reading all but the order of its samples.
#include "collector/detectors/sample_orders.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ddpscope::detectors {
namespace {

using files::Item;
using files::ItemStream;
using patterns::TrainingReads;

SampleOrder order_of(const ItemStream& stream) {
  SampleOrder order;
  SampleNumbers numbers(stream.items.size());
  for (const Item& item : stream.items)
    if (Sample sample = sample_of(item); numbers.add_new(sample)) order.samples.push_back(sample);
  order.samples.shrink_to_fit();
  return order;
}

}  // namespace

// The upper half of a product depends on all bits of the key.
Sample sample_of(const Item& item) { return static_cast<Sample>(item.key * 0xD6E8FEB86659FD93u >> 32); }

RankSamples keep_orders(const TrainingReads& reads) {
  RankSamples samples{
      reads.rank, !reads.by_workers.empty(), reads.count(), std::numeric_limits<std::int64_t>::max(), 0, {},
      {}};
  for (const ItemStream* stream : reads.streams()) {
    samples.first_ns = std::min(samples.first_ns, stream->items.front().at_ns);
    samples.last_ns = std::max(samples.last_ns, stream->items.back().at_ns);
  }
  for (const ItemStream& worker : reads.by_workers) samples.by_workers.push_back(order_of(worker));
  samples.by_itself = order_of(reads.by_itself);
  return samples;
}

std::vector<Sample> first_in_time(const TrainingReads& reads, std::size_t most) {
  std::vector<std::pair<std::int64_t, Sample>> all;
  auto add = [&](const ItemStream& stream) {
    for (const Item& item : stream.items) all.emplace_back(item.at_ns, sample_of(item));
  };
  add(reads.by_itself);
  for (const ItemStream& worker : reads.by_workers) add(worker);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Sample> first;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) first.push_back(all[i].second);
  return first;
}

}  // namespace ddpscope::detectors
