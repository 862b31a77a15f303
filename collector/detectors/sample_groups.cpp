// Reads rank by rank, for all groups that a rank is in; compares group by group.
#include "collector/detectors/sample_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "collector/detectors/sample_overlap.h"
#include "collector/patterns/loader_batches.h"
#include "collector/patterns/pipelines.h"
#include "collector/patterns/training_world.h"

namespace ddpscope::detectors {
namespace {

using patterns::TrainingReads;

// Of which groups each rank is.
std::map<std::int32_t, std::vector<SampleGroup*>> groups_by_rank(std::vector<SampleGroup>& groups) {
  std::map<std::int32_t, std::vector<SampleGroup*>> of_rank;
  for (SampleGroup& group : groups)
    for (const auto& [rank, reductions] : group.members->of_rank) of_rank[rank].push_back(&group);
  return of_rank;
}

constexpr std::size_t kEnoughBatches = 6;  // two passes of three

// True: something of the rank's reading tells nothing of samples.
bool add_rank(const model::Job& job, SampleGroup& group, patterns::RankReads reads) {
  std::int32_t rank = reads.rank;
  TrainingReads training = find_training_reads(std::move(reads), group.members->of_rank.at(rank));
  if (training.count() > 0) {
    group.ranks.push_back(keep_orders(training));
    group.ranks.back().repeated = patterns::find_repeated_order(job, training);
  }
  return training.scanned;
}

void read_ranks(const model::Job& job, SampleGroups& found) {
  for (auto& [rank, groups] : groups_by_rank(found.groups)) {
    patterns::RankReads reads = patterns::find_rank_reads(job, rank);
    auto is_read = [](const files::ItemStream& stream) { return !stream.items.empty(); };
    found.reads = found.reads || std::ranges::any_of(reads.streams, is_read);
    for (SampleGroup* group : groups) {
      bool last = group == groups.back();
      bool scanned = add_rank(job, *group, last ? std::move(reads) : reads);
      found.scanned = found.scanned || scanned;
    }
  }
}

// Of groups no rank of which was seen to read samples.
void read_batches(const model::Job& job, SampleGroups& found) {
  for (SampleGroup& group : found.groups) {
    if (!group.ranks.empty()) continue;
    group.of_batches = true;
    for (const auto& [rank, reductions] : group.members->of_rank)
      add_rank(job, group, patterns::find_rank_batches(job, rank));
  }
}

bool enough(const SampleGroup& group) {
  std::size_t least = group.of_batches ? kEnoughBatches : kEnoughItems;
  return std::count_if(group.ranks.begin(), group.ranks.end(),
                       [&](const RankSamples& own) { return own.reads >= least; }) > 1;
}

class Comparison {
 public:
  Comparison(const model::Job& job, SampleGroup& group, const patterns::Pipelines& pipelines)
      : job_(job), group_(group), pipelines_(pipelines), overlap_(group.ranks) {}

  void find_shared() {
    group_.shared = sets_in_order();
    group_.in_order = !group_.shared.empty();
    std::size_t ranks = group_.ranks.size();
    if (group_.in_order || ranks < 2 || joined(0, ranks - 1)) return;
    auto first_reads = [&](std::size_t rank, std::size_t most) {
      return first_in_time(read_again(job_, group_, group_.ranks[rank].rank), most);
    };
    if (!overlap_.each_reads_all(first_reads)) return;
    group_.shared.emplace_back();
    for (std::size_t rank = 0; rank < ranks; ++rank) group_.shared.back().push_back(rank);
  }

 private:
  bool joined(std::size_t a, std::size_t b) const {
    return pipelines_.joins(group_.ranks[a].rank, group_.ranks[b].rank);
  }

  std::vector<std::vector<std::size_t>> sets_in_order() const {
    std::vector<std::vector<std::size_t>> sets;
    std::vector<bool> assigned(group_.ranks.size());
    for (std::size_t front = 0; front < group_.ranks.size(); ++front) {
      if (assigned[front]) continue;
      sets.push_back({front});
      for (std::size_t other : overlap_.in_order_with(front, front + 1)) {
        if (assigned[other] || joined(front, other)) continue;
        assigned[other] = true;
        sets.back().push_back(other);
      }
    }
    std::erase_if(sets, [](const auto& members) { return members.size() < 2; });
    return sets;
  }

  const model::Job& job_;
  SampleGroup& group_;
  const patterns::Pipelines& pipelines_;
  SampleOverlap overlap_;
};

struct Reason {
  std::string what, why;
};

Reason why_not_compared(const Facts& facts, const SampleGroups& found) {
  bool grouped = !facts.data_parallel.empty();
  if (!grouped && !patterns::communicators_that_reduce(facts.collectives).empty())
    return {
        "which ranks train together",
        "what they reduce by NCCL may be gradients or activations: the reductions precede most kernels of a "
        "pass, or no batch was seen to be copied to the device, which would show where a pass begins"};
  if (!grouped)
    return {"which ranks train together",
            "no ranks were seen to exchange gradients through NCCL or PyTorch's calls"};
  if (found.scanned)
    return {"the samples that ranks train on",
            "each rank reads its data from start to end, and which part of it a rank keeps is not seen"};
  return {"the samples that ranks train on", describe_few_samples(found) +
                                                 ". Samples cannot be identified in data that is "
                                                 "memory-mapped, held in memory or read from the start "
                                                 "of a file to its end, and a short job reads few"};
}

}  // namespace

// The two ranks of a group that were seen to read most samples: those of the group that comes closest.
std::string describe_few_samples(const SampleGroups& found) {
  std::size_t most = 0, second = 0;
  for (const SampleGroup& group : found.groups) {
    if (group.of_batches) continue;
    std::vector<std::size_t> reads{0, 0};
    for (const RankSamples& own : group.ranks) reads.push_back(own.reads);
    std::partial_sort(reads.begin(), reads.begin() + 2, reads.end(), std::greater<>());
    if (std::tie(reads[1], reads[0]) < std::tie(second, most)) continue;
    most = reads[0], second = reads[1];
  }
  if (!found.reads) return "no rank was seen to read a data file";
  if (most == 0)
    return "no rank was seen to read samples in the middle of training, between two reductions of gradients: "
           "files that were read before may be others";
  return fmt::format(
      "in its training steps one rank was seen to read {} {}, and every other rank {} or fewer; a comparison "
      "needs {} of each of two ranks",
      most, most == 1 ? "sample" : "samples", second, kEnoughItems);
}

bool SampleGroup::shares(std::int32_t rank) const {
  for (const auto& set : shared)
    for (std::size_t member : set)
      if (ranks[member].rank == rank) return true;
  return false;
}

bool SampleGroup::holds(std::int32_t rank) const {
  return std::any_of(ranks.begin(), ranks.end(), [&](const RankSamples& own) { return own.rank == rank; });
}

SampleGroups find_sample_groups(const model::Job& job, const matching::Collectives& collectives,
                                const std::vector<patterns::DataParallelGroup>& data_parallel) {
  SampleGroups found;
  for (const patterns::DataParallelGroup& members : data_parallel) found.groups.push_back({&members});
  if (data_parallel.empty())
    if (auto world = patterns::find_training_world(job, collectives)) {
      found.world = std::make_unique<patterns::DataParallelGroup>(std::move(*world));
      found.groups.push_back({found.world.get()});
    }
  read_ranks(job, found);
  read_batches(job, found);
  patterns::Pipelines pipelines(collectives);
  for (SampleGroup& group : found.groups) {
    bool known = enough(group) && !found.world;
    found.ordered = found.ordered || known;
    if (group.of_batches) continue;
    found.compared = found.compared || known;
    Comparison(job, group, pipelines).find_shared();
  }
  return found;
}

void explain_silence(const Facts& facts, std::string_view slug, findings::Outcome& outcome) {
  const SampleGroups& found = facts.samples.get();
  bool known = slug == "repeated-epoch-order" ? found.ordered : found.compared;
  if (known || facts.job.ranks().size() < 2) return;
  Reason reason = why_not_compared(facts, found);
  outcome.leave_unjudged({reason.what, reason.why, {std::string(slug)}, true});
}

TrainingReads read_again(const model::Job& job, const SampleGroup& group, std::int32_t rank) {
  return find_training_reads(patterns::find_rank_reads(job, rank), group.members->of_rank.at(rank));
}

}  // namespace ddpscope::detectors
