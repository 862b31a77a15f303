// unsharded-sampler: data-parallel ranks train on the same samples. Judged by what they and their loader
// workers read while gradients are reduced: in the same order (rule D1), or each the whole set before it
// begins anew (rule D2).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/files/read_items.h"
#include "collector/patterns/deliveries.h"
#include "collector/patterns/gradient_traffic.h"

namespace ddpscope::detectors {
namespace {

using files::Item;
using files::ItemStream;

constexpr std::size_t kEnoughItems = 32;       // fewer agree by chance, or are configuration
constexpr std::size_t kSameOrderPercent = 90;  // D1
constexpr std::size_t kCoveredPercent = 90;    // D2
constexpr std::size_t kLeastSteps = 3;         // of training in each pass over the data

using Keys = std::unordered_set<std::uint64_t>;

// How many different stretches between two reductions of the rank the times fall into.
std::size_t count_stretches(const std::vector<std::int64_t>& times,
                            const std::vector<std::int64_t>& reductions) {
  std::set<std::ptrdiff_t> stretches;
  for (std::int64_t time : times)
    stretches.insert(std::upper_bound(reductions.begin(), reductions.end(), time) - reductions.begin());
  return stretches.size();
}

// Training takes its items bit by bit, with reductions in between. An evaluation goes through all of its
// items with none in between, however often it comes again. When a worker has read ahead, what counts is when
// the rank took it.
bool is_training(const Facts& facts, const ItemStream& stream, const std::vector<std::int64_t>& reductions,
                 const patterns::Deliveries& deliveries) {
  bool worker = facts.job.processes[stream.process].role == model::Role::kWorker;
  const std::vector<std::int64_t> taken = worker ? deliveries.of(stream.process) : stream.reads_ns;
  Keys distinct;
  for (const Item& item : stream.items) distinct.insert(item.key);
  return count_stretches(taken, reductions) * distinct.size() >= kLeastSteps * stream.items.size();
}

struct RankReads {
  std::vector<const ItemStream*> streams;  // that feed the training, in the order of their processes
  std::size_t items = 0;
  Keys all;
  std::size_t first_epoch = 0;  // distinct items before one comes again
  bool began_anew = false;
};

void measure(RankReads& reads) {
  std::vector<Item> items;
  for (const ItemStream* stream : reads.streams)
    items.insert(items.end(), stream->items.begin(), stream->items.end());
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.at_ns < b.at_ns; });
  reads.items = items.size();
  for (const Item& item : items) {
    bool fresh = reads.all.insert(item.key).second;
    if (!fresh && !reads.began_anew) reads.first_epoch = reads.all.size();
    reads.began_anew = reads.began_anew || !fresh;
  }
}

// Worker by worker: how their work interleaves is up to the scheduler, what each is given is not.
bool same_order(const RankReads& a, const RankReads& b) {
  std::size_t equal = 0, compared = 0;
  for (std::size_t i = 0; i < std::min(a.streams.size(), b.streams.size()); ++i) {
    const auto &x = a.streams[i]->items, &y = b.streams[i]->items;
    for (std::size_t at = 0; at < std::min(x.size(), y.size()); ++at, ++compared)
      equal += x[at].key == y[at].key;
  }
  return a.streams.size() == b.streams.size() && compared >= kEnoughItems &&
         equal * 100 >= compared * kSameOrderPercent;
}

struct Group {
  std::map<std::int32_t, RankReads> by_rank;
};

// Ranks of the group whose reads are those of another, in the same order.
std::vector<std::int32_t> ranks_in_step(const Group& group) {
  std::set<std::int32_t> found;
  for (auto a = group.by_rank.begin(); a != group.by_rank.end(); ++a)
    for (auto b = std::next(a); b != group.by_rank.end(); ++b)
      if (same_order(a->second, b->second)) found.insert({a->first, b->first});
  return {found.begin(), found.end()};
}

// Every rank goes through all that any rank reads before it begins anew.
std::vector<std::int32_t> ranks_that_read_all(const Group& group) {
  Keys all;
  for (const auto& [rank, reads] : group.by_rank) all.insert(reads.all.begin(), reads.all.end());
  std::vector<std::int32_t> found;
  for (const auto& [rank, reads] : group.by_rank)
    if (reads.began_anew && reads.first_epoch * 100 >= all.size() * kCoveredPercent) found.push_back(rank);
  return all.size() >= kEnoughItems && found.size() == group.by_rank.size() ? found
                                                                            : std::vector<std::int32_t>{};
}

void tell(const Facts& facts, const Group& group, const std::vector<std::int32_t>& ranks, bool in_step,
          findings::Outcome& outcome) {
  findings::Finding finding;
  finding.slug = "unsharded-sampler";
  finding.ranks = ranks;
  finding.last_ns = facts.job.duration_ns;
  finding.first_ns = facts.job.duration_ns;
  const char* how = in_step ? "they read the same items in the same order"
                            : "each reads the whole data set before it begins anew";
  finding.title = fmt::format("{} train on the same samples: {}", list_ranks(ranks), how);
  finding.advice =
      "Give each rank its own part: DistributedSampler (with set_epoch) in PyTorch, or index by rank and "
      "world size. Check "
      "that the data set uses the index that it is given.";
  std::string place;
  for (std::int32_t rank : ranks) {
    const RankReads& reads = group.by_rank.at(rank);
    const ItemStream& stream = *reads.streams.front();
    findings::Evidence evidence = evidence_of(
        facts.job, stream.first,
        fmt::format("{} items read by {} process{}, {} different ones", reads.items, reads.streams.size(),
                    reads.streams.size() == 1 ? "" : "es", reads.all.size()));
    evidence.file = stream.first_path;
    finding.first_ns = std::min(finding.first_ns, stream.items.front().at_ns);
    if (place.empty()) place = program_place(facts.job, stream.first);
    finding.evidence.push_back(std::move(evidence));
  }
  finding.place = facts.rounds.place(ranks, finding.first_ns, finding.last_ns);
  finding.key = fmt::format("{} {}", in_step ? "order" : "coverage", place);
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void detect_unsharded_sampler(const Facts& facts, findings::Outcome& outcome) {
  std::vector<ItemStream> streams = files::find_item_streams(facts.job);
  patterns::Deliveries deliveries(facts.job);
  for (const patterns::DataParallelGroup& members :
       patterns::find_data_parallel_groups(facts.job, facts.collectives)) {
    Group group;
    for (const ItemStream& stream : streams) {
      auto reductions = members.reductions_ns.find(stream.rank);
      if (reductions == members.reductions_ns.end() ||
          !is_training(facts, stream, reductions->second, deliveries))
        continue;
      group.by_rank[stream.rank].streams.push_back(&stream);
    }
    if (group.by_rank.size() < 2) continue;
    for (auto& [rank, reads] : group.by_rank) measure(reads);
    std::vector<std::int32_t> in_step = ranks_in_step(group);
    std::vector<std::int32_t> covering =
        in_step.empty() ? ranks_that_read_all(group) : std::vector<std::int32_t>{};
    if (!in_step.empty()) tell(facts, group, in_step, true, outcome);
    if (!covering.empty()) tell(facts, group, covering, false, outcome);
  }
}

}  // namespace ddpscope::detectors
