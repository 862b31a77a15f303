// What is kept of a rank's reading to compare it with that of others: the order of its samples, no more.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collector/model/numbering.h"
#include "collector/patterns/repeated_orders.h"
#include "collector/patterns/training_reads.h"

namespace ddpscope::detectors {

// A sample of the job, equal in all ranks that read it. It is a hash: two samples may be taken for one, about
// one in ten thousand of those of a rank that reads half a million, which moves no share that is judged.
using Sample = std::uint32_t;
using SampleNumbers = model::Numbering<Sample>;

// Of one stream, each sample once, in the order of the first reading: pages of an index come again and again,
// and the next epoch is the same samples again.
struct SampleOrder {
  std::vector<Sample> samples;
};

// Of one rank. Four bytes a sample: of a large job nothing else of its reading is in memory at once. What
// evidence needs is read again.
struct RankSamples {
  std::int32_t rank;
  bool has_workers;                     // that feed the training
  std::size_t reads;                    // of samples, repeated ones too
  std::int64_t first_ns, last_ns;       // of the reads
  std::vector<SampleOrder> by_workers;  // in the order of their start
  SampleOrder by_itself;
  std::optional<patterns::RepeatedOrder> repeated = std::nullopt;

  // What is compared with the same number of another rank: its own order, then its workers'.
  std::size_t orders() const { return 1 + by_workers.size(); }
  const SampleOrder& order(std::size_t number) const {
    return number == 0 ? by_itself : by_workers[number - 1];
  }
};

Sample sample_of(const files::Item& item);
RankSamples keep_orders(const patterns::TrainingReads& reads);

// The first `most` reads of a rank, whoever made them.
std::vector<Sample> first_in_time(const patterns::TrainingReads& reads, std::size_t most);

}  // namespace ddpscope::detectors
