// From the records of the workers.
#include "collector/patterns/loader_batches.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "collector/patterns/deliveries.h"

namespace ddpscope::patterns {
namespace {

using files::ItemStream;
using trace::payload::LoaderBatch;

constexpr std::uint64_t kMostRisingPercent = 80;  // of neighbours; in a shuffle it is half of them
constexpr std::uint64_t kEnoughNeighbours = 24;

}  // namespace

RankReads find_rank_batches(const model::Job& job, std::int32_t rank) {
  RankReads reads{rank, {}, {}, true};
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    if (job.processes[i].rank != rank || job.processes[i].role != model::Role::kWorker) continue;
    ItemStream stream{rank, i, true};
    model::for_each_in_time(
        job.processes[i].file, {trace::Operation::kLoaderBatch},
        [&](model::EventPlace place, const trace::Record& record) {
          auto batch = trace::payload_of<LoaderBatch>(record);
          std::int64_t at_ns = job.begin_ns({i, place});
          stream.items.push_back({batch.digest, at_ns, at_ns, batch.first, 0, place, true, batch.count});
        });
    if (!stream.items.empty()) reads.streams.push_back(std::move(stream));
  }
  files::sort_by_start(job, reads.streams);
  Deliveries deliveries(job, rank);
  for (const ItemStream& stream : reads.streams) reads.taken_ns.push_back(deliveries.of(stream.process));
  return reads;
}

bool are_drawn(const model::Job& job, const TrainingReads& batches) {
  std::uint64_t neighbours = 0, rising = 0;
  for (const ItemStream* stream : batches.streams()) {
    std::optional<LoaderBatch> before;
    for (const files::Item& item : stream->items) {
      auto batch = trace::payload_of<LoaderBatch>(job.record({stream->process, item.place}));
      bool follows = before && before->number < batch.number;  // in the same pass
      neighbours += batch.count - 1 + follows;
      rising += batch.rising + (follows && before->first < batch.first);
      before = batch;
    }
  }
  return neighbours >= kEnoughNeighbours && rising * 100 <= neighbours * kMostRisingPercent;
}

}  // namespace ddpscope::patterns
