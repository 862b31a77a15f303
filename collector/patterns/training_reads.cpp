// Counts what a rank takes between its reductions.
#include "collector/patterns/training_reads.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "collector/model/order_statistics.h"
#include "collector/patterns/deliveries.h"
#include "collector/patterns/samples.h"

namespace ddpscope::patterns {
namespace {

using files::Item;
using files::ItemStream;

constexpr std::size_t kUsualMultiple = 3;  // of the median: more in one stretch is no training

class Stretches {
 public:
  explicit Stretches(const std::vector<std::int64_t>& reductions)
      : reductions_(reductions), taken_(reductions.size() + 1) {}

  void take(std::int64_t at_ns) { ++taken_[number(at_ns)]; }

  void judge() {
    std::vector<std::uint32_t> counts;
    for (std::size_t stretch = 1; stretch < reductions_.size(); ++stretch)
      if (taken_[stretch] > 0) counts.push_back(taken_[stretch]);
    if (counts.empty()) return;
    most_ = std::size_t{model::median(counts)} * kUsualMultiple;
  }

  bool training(std::int64_t at_ns) const { return usual(number(at_ns)); }
  std::size_t count_training() const {
    std::size_t count = 0;
    for (std::size_t stretch = 1; stretch < reductions_.size(); ++stretch) count += usual(stretch);
    return count;
  }

 private:
  // Reductions before it. Who asks goes on in time, mostly: within the stretch of the last answer or the
  // next.
  std::size_t number(std::int64_t at_ns) const {
    auto within = [&](std::size_t stretch) {
      return (stretch == 0 || reductions_[stretch - 1] <= at_ns) &&
             (stretch == reductions_.size() || at_ns < reductions_[stretch]);
    };
    if (within(last_)) return last_;
    if (last_ < reductions_.size() && within(last_ + 1)) return ++last_;
    auto next = std::upper_bound(reductions_.begin(), reductions_.end(), at_ns);
    return last_ = static_cast<std::size_t>(next - reductions_.begin());
  }
  bool usual(std::size_t stretch) const {
    bool inner = stretch > 0 && stretch < reductions_.size();
    return inner && taken_[stretch] > 0 && taken_[stretch] <= most_;
  }

  const std::vector<std::int64_t>& reductions_;
  std::vector<std::uint32_t> taken_;  // by stretch, numbered by the reductions before it
  std::size_t most_ = 0;
  mutable std::size_t last_ = 0;  // answer of number()
};

// When the rank took what this process read; when it was read, if that is all that is known.
std::vector<std::int64_t> taken_from(const ItemStream& stream, const Deliveries& deliveries) {
  std::vector<std::int64_t> times;
  if (stream.by_worker) times = deliveries.of(stream.process);
  if (times.empty())
    for (const Item& item : stream.items)
      if (item.exact || stream.by_worker) times.push_back(item.at_ns);
  return times;
}

class Selector {
 public:
  Selector(const RankReads& reads, const std::vector<std::int64_t>& reductions_ns, std::size_t rounds)
      : reads_(reads), reductions_ns_(reductions_ns), rounds_(rounds), stretches_(reductions_ns) {
    std::set<std::int64_t> times;  // workers of one loader share a queue
    for (std::size_t i = 0; i < reads.streams.size(); ++i) {
      const std::vector<std::int64_t>& taken = reads.taken_ns[i];
      if (reads.streams[i].by_worker) {
        times.insert(taken.begin(), taken.end());
      } else {
        for (std::int64_t time : taken) stretches_.take(time);
      }
    }
    for (std::int64_t time : times) stretches_.take(time);
    stretches_.judge();
  }

  // Takes them out of `streams`, which are the rank's.
  TrainingReads select(std::vector<ItemStream>& streams) const {
    TrainingReads reads{reads_.rank, {}, {reads_.rank, 0}};
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].by_worker) {
        if (feeds_training(reads_.taken_ns[i])) reads.by_workers.push_back(std::move(streams[i]));
        continue;
      }
      std::erase_if(streams[i].items,
                    [&](const Item& item) { return !item.exact || !stretches_.training(item.at_ns); });
      // Two processes may claim one rank; places are within one.
      if (streams[i].items.size() > reads.by_itself.items.size()) reads.by_itself = std::move(streams[i]);
    }
    return reads;
  }

  // At least an item a round, and something taken in half of the rounds, over the time in which it took any.
  bool round_by_round(std::size_t items) const {
    std::int64_t first = reductions_ns_.back(), last = 0;
    for (const auto& taken : reads_.taken_ns)
      for (std::int64_t time : taken) {
        first = std::min(first, time);
        last = std::max(last, time);
      }
    auto within = static_cast<std::size_t>(
        std::count_if(reductions_ns_.begin(), reductions_ns_.end(),
                      [&](std::int64_t time) { return time >= first && time <= last; }));
    std::size_t rounds = within * rounds_ / reductions_ns_.size();
    return items >= rounds && stretches_.count_training() * 2 >= rounds;
  }

 private:
  bool feeds_training(const std::vector<std::int64_t>& taken) const {
    auto good = static_cast<std::size_t>(std::count_if(
        taken.begin(), taken.end(), [&](std::int64_t time) { return stretches_.training(time); }));
    return good > 0 && good * 2 >= taken.size();
  }

  const RankReads& reads_;
  const std::vector<std::int64_t>& reductions_ns_;
  std::size_t rounds_;
  Stretches stretches_;
};

}  // namespace

RankReads find_rank_reads(const model::Job& job, std::int32_t rank) {
  RankReads reads{rank, files::find_item_streams(job, rank), {}};
  Deliveries deliveries(job, rank);
  for (const ItemStream& stream : reads.streams) reads.taken_ns.push_back(taken_from(stream, deliveries));
  return reads;
}

std::size_t TrainingReads::count() const {
  std::size_t count = 0;
  for (const ItemStream* stream : streams()) count += stream->items.size();
  return count;
}

std::vector<const ItemStream*> TrainingReads::streams() const {
  std::vector<const ItemStream*> all;
  for (const ItemStream& stream : by_workers)
    if (!stream.items.empty()) all.push_back(&stream);
  if (!by_itself.items.empty()) all.push_back(&by_itself);
  return all;
}

TrainingReads find_training_reads(RankReads reads, const Reductions& reductions) {
  const std::vector<std::int64_t> reductions_ns = reductions.times.all();
  TrainingReads none{reads.rank, {}, {reads.rank, 0}};
  Selector selector(reads, reductions_ns, reductions.rounds);
  TrainingReads training = selector.select(reads.streams);
  std::size_t all = training.count();
  training.of_batches = reads.of_batches;
  if (all == 0 || !selector.round_by_round(all)) return none;
  if (training.of_batches) return training;
  for (ItemStream& worker : training.by_workers) keep_samples(worker, worker.turns);
  keep_samples(training.by_itself, reductions_ns);
  std::size_t samples = training.count();
  training.scanned = none.scanned = samples < all;
  return samples > 0 && selector.round_by_round(samples) ? std::move(training) : std::move(none);
}

}  // namespace ddpscope::patterns
