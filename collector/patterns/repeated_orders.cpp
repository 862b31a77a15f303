// Follows each sample from one reading to the next.
#include "collector/patterns/repeated_orders.h"

#include <algorithm>
#include <vector>

#include "collector/model/numbering.h"
#include "collector/patterns/loader_batches.h"
#include "collector/patterns/longest_rise.h"
#include "collector/patterns/shuffles.h"

namespace ddpscope::patterns {
namespace {

using files::Item;
using files::ItemStream;

constexpr std::size_t kEnoughSamples = 32;  // fewer are a run to try something out, or configuration
constexpr std::size_t kEnoughBatches = 3;   // fewer have no order
constexpr std::size_t kSamePercent = 95;    // a few come twice in a pass, for padding
constexpr std::uint32_t kMostBetween = 4;   // reads of headers between a sample and the one before

class Passes {
 public:
  Passes(const TrainingReads& reads, std::size_t items) : last_(items), of_batches_(reads.of_batches) {
    for (const ItemStream* stream : reads.streams())
      for (const Item& item : stream->items) times_.push_back(item.at_ns);
    std::sort(times_.begin(), times_.end());
  }

  // Streams one after the other; `sample`: its number.
  void see(const ItemStream& stream, const Item& item, std::uint32_t sample) {
    Reading& last = last_[sample];
    bool again = last.item && in_another_pass(last.item->at_ns, item.at_ns);
    if (again) take(stream, item, last);
    last = {&item, stream.process, ++reads_, last.passes + (again || !last.item)};
  }

  std::optional<RepeatedOrder> find() {
    std::size_t all = 0, again = 0, items_again = 0;
    for (const Reading& last : last_) {
      std::size_t samples = samples_in(*last.item);
      all += samples;
      if (last.passes > 1) again += samples, ++items_again;
      found_.passes = std::max<std::size_t>(found_.passes, last.passes);
    }
    bool enough = again >= kEnoughSamples && again * 2 >= all && witnessed_ &&
                  (!of_batches_ || items_again >= kEnoughBatches);
    if (!enough || longest_rise(previous_) * 100 < previous_.size() * kSamePercent) return std::nullopt;
    found_.samples = all;
    found_.first_ns = times_.front();
    found_.last_ns = times_.back();
    return found_;
  }

 private:
  std::size_t samples_in(const Item& item) const { return of_batches_ ? item.bytes : 1; }

  struct Reading {
    const Item* item = nullptr;
    std::uint32_t process = 0;
    std::uint32_t number = 0;  // among all reads, from 1
    std::uint32_t passes = 0;
  };

  bool in_another_pass(std::int64_t before_ns, std::int64_t again_ns) const {
    auto later = std::upper_bound(times_.begin(), times_.end(), before_ns);
    auto between = std::lower_bound(times_.begin(), times_.end(), again_ns) - later;
    return between > 0 && static_cast<std::size_t>(between) * 2 >= last_.size();
  }

  // The witness follows another sample that comes again, and followed it before: nothing stood between them
  // but what is read with each sample (a file's header).
  void take(const ItemStream& stream, const Item& item, const Reading& last) {
    bool follows = !previous_.empty() && previous_.back() < last.number &&
                   last.number - previous_.back() == reads_ + 1 - taken_ && reads_ - taken_ < kMostBetween;
    previous_.push_back(last.number);
    taken_ = reads_ + 1;
    if (witnessed_ || !follows || !item.exact || !last.item->exact) return;
    witnessed_ = true;
    found_.before = {last.process, last.item->place};
    found_.again = {stream.process, item.place};
  }

  std::vector<std::int64_t> times_;      // of all reads, ascending
  std::vector<Reading> last_;            // by sample
  std::vector<std::uint32_t> previous_;  // of those that come again: the number of the reading before
  std::uint32_t reads_ = 0;
  std::uint32_t taken_ = 0;  // number of the last that came again
  bool witnessed_ = false;
  bool of_batches_;
  RepeatedOrder found_{};
};

}  // namespace

std::optional<RepeatedOrder> find_repeated_order(const model::Job& job, const TrainingReads& reads) {
  std::size_t least = reads.of_batches ? kEnoughBatches : kEnoughSamples;
  model::Numbering<std::uint64_t> different;
  for (const ItemStream* stream : reads.streams())
    for (const Item& item : stream->items) different.add(item.key);
  if (different.size() < least || reads.count() < different.size() + least) return std::nullopt;
  Passes passes(reads, different.size());
  for (const ItemStream* stream : reads.streams())
    for (const Item& item : stream->items) passes.see(*stream, item, different.find(item.key));
  std::optional<RepeatedOrder> found = passes.find();
  if (found) found->shuffled = reads.of_batches ? are_drawn(job, reads) : are_shuffled(job, reads);
  return found;
}

}  // namespace ddpscope::patterns
