// Counts what a rank takes between its reductions.
#include "collector/patterns/training_reads.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "collector/patterns/samples.h"

namespace ddpscope::patterns {
namespace {

using files::Item;
using files::ItemStream;

constexpr std::size_t kUsualMultiple = 3;  // of the median: more in one stretch is no training

class Stretches {
 public:
  explicit Stretches(const std::vector<std::int64_t>& reductions) : reductions_(reductions) {}

  void take(std::int64_t at_ns) { ++taken_[number(at_ns)]; }

  void judge() {
    std::vector<std::size_t> counts;
    for (const auto& [stretch, count] : taken_)
      if (inner(stretch)) counts.push_back(count);
    if (counts.empty()) return;
    auto median = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
    std::nth_element(counts.begin(), median, counts.end());
    most_ = *median * kUsualMultiple;
  }

  bool training(std::int64_t at_ns) const {
    auto found = taken_.find(number(at_ns));
    return found != taken_.end() && usual(*found);
  }
  std::size_t count_training() const {
    return static_cast<std::size_t>(
        std::count_if(taken_.begin(), taken_.end(), [&](const auto& stretch) { return usual(stretch); }));
  }

 private:
  std::size_t number(std::int64_t at_ns) const {
    return static_cast<std::size_t>(std::upper_bound(reductions_.begin(), reductions_.end(), at_ns) -
                                    reductions_.begin());
  }
  bool inner(std::size_t stretch) const { return stretch > 0 && stretch < reductions_.size(); }
  bool usual(const std::pair<const std::size_t, std::size_t>& stretch) const {
    return inner(stretch.first) && stretch.second <= most_;
  }

  const std::vector<std::int64_t>& reductions_;
  std::map<std::size_t, std::size_t> taken_;  // by stretch, numbered by the reductions before it
  std::size_t most_ = 0;
};

bool is_worker(const model::Job& job, const ItemStream& stream) {
  return job.processes[stream.process].role == model::Role::kWorker;
}

// When the rank took what this process read; when it was read, if that is all that is known.
std::vector<std::int64_t> taken_from(const model::Job& job, const ItemStream& stream,
                                     const Deliveries& deliveries) {
  std::vector<std::int64_t> times;
  if (is_worker(job, stream)) times = deliveries.of(stream.process);
  if (times.empty())
    for (const Item& item : stream.items)
      if (item.exact || is_worker(job, stream)) times.push_back(item.at_ns);
  return times;
}

class Selector {
 public:
  Selector(const model::Job& job, std::vector<const ItemStream*> streams, const Deliveries& deliveries,
           const std::vector<std::int64_t>& reductions, std::size_t rounds)
      : job_(job),
        streams_(std::move(streams)),
        reductions_(reductions),
        rounds_(rounds),
        stretches_(reductions) {
    std::set<std::int64_t> times;  // workers of one loader share a queue
    for (const ItemStream* stream : streams_) {
      taken_.push_back(taken_from(job, *stream, deliveries));
      if (is_worker(job, *stream)) {
        times.insert(taken_.back().begin(), taken_.back().end());
      } else {
        for (std::int64_t time : taken_.back()) stretches_.take(time);
      }
    }
    for (std::int64_t time : times) stretches_.take(time);
    stretches_.judge();
  }

  TrainingReads select(std::int32_t rank) const {
    TrainingReads reads{rank, {}, {rank, 0, {}}, {}};
    for (const auto& taken : taken_) reads.taken_ns.insert(reads.taken_ns.end(), taken.begin(), taken.end());
    std::sort(reads.taken_ns.begin(), reads.taken_ns.end());
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const ItemStream& stream = *streams_[i];
      if (is_worker(job_, stream)) {
        if (feeds_training(taken_[i])) reads.by_workers.push_back(stream);
        continue;
      }
      reads.by_itself.process = stream.process;
      reads.by_itself.names = stream.names;
      std::copy_if(stream.items.begin(), stream.items.end(), std::back_inserter(reads.by_itself.items),
                   [&](const Item& item) { return item.exact && stretches_.training(item.at_ns); });
    }
    return reads;
  }

  // At least an item a round, and something taken in half of the rounds, over the time in which it took any.
  bool round_by_round(const TrainingReads& reads) const {
    std::int64_t first = reductions_.back(), last = 0;
    for (const auto& taken : taken_)
      for (std::int64_t time : taken) {
        first = std::min(first, time);
        last = std::max(last, time);
      }
    auto within = static_cast<std::size_t>(
        std::count_if(reductions_.begin(), reductions_.end(),
                      [&](std::int64_t time) { return time >= first && time <= last; }));
    std::size_t rounds = within * rounds_ / reductions_.size();
    return reads.count() >= rounds && stretches_.count_training() * 2 >= rounds;
  }

 private:
  bool feeds_training(const std::vector<std::int64_t>& taken) const {
    auto good = static_cast<std::size_t>(std::count_if(
        taken.begin(), taken.end(), [&](std::int64_t time) { return stretches_.training(time); }));
    return good > 0 && good * 2 >= taken.size();
  }

  const model::Job& job_;
  std::vector<const ItemStream*> streams_;
  const std::vector<std::int64_t>& reductions_;  // times
  std::size_t rounds_;
  Stretches stretches_;
  std::vector<std::vector<std::int64_t>> taken_;  // by stream
};

}  // namespace

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

GroupReads find_training_reads(const model::Job& job, const std::vector<ItemStream>& streams,
                               const Deliveries& deliveries, const DataParallelGroup& group) {
  GroupReads all;
  for (const auto& [rank, reductions] : group.of_rank) {
    std::vector<const ItemStream*> own;
    for (const ItemStream& stream : streams)
      if (stream.rank == rank) own.push_back(&stream);
    std::vector<std::int64_t> times = reductions.times.all();
    Selector selector(job, std::move(own), deliveries, times, reductions.rounds);
    TrainingReads reads = selector.select(rank);
    std::size_t before = reads.count();
    if (before == 0 || !selector.round_by_round(reads)) continue;
    for (ItemStream& worker : reads.by_workers) keep_samples(worker, worker.turns);
    keep_samples(reads.by_itself, times);
    all.scanned = all.scanned || reads.count() < before;
    if (reads.count() > 0 && selector.round_by_round(reads)) all.ranks.push_back(std::move(reads));
  }
  return all;
}

}  // namespace ddpscope::patterns
