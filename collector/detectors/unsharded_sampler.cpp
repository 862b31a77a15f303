// unsharded-sampler: data-parallel ranks train on the same samples. Judged by what they and their loader
// workers read: in the same order (rule D1), or each all of it before it begins anew (rule D2).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "collector/detectors/detector.h"
#include "collector/detectors/sample_overlap.h"
#include "collector/detectors/story.h"
#include "collector/patterns/pipelines.h"

namespace ddpscope::detectors {
namespace {

using files::Item;
using patterns::TrainingReads;

constexpr std::size_t kMaxEvidence = 16;

// Ranks that reduce gradients with each other, and which of them train on the same samples.
struct Group {
  std::vector<TrainingReads> reads;
  std::vector<std::vector<std::size_t>> classes;  // of two or more, indices of reads
  bool in_order = false;                          // else: each all of it

  bool shares(std::int32_t rank) const {
    for (const auto& members : classes)
      for (std::size_t member : members)
        if (reads[member].rank == rank) return true;
    return false;
  }
  bool holds(std::int32_t rank) const {
    return std::any_of(reads.begin(), reads.end(), [&](const TrainingReads& r) { return r.rank == rank; });
  }
};

void classify(Group& group, const patterns::Pipelines& pipelines) {
  SampleOverlap overlap(group.reads);
  auto joined = [&](std::size_t a, std::size_t b) {
    return pipelines.joins(group.reads[a].rank, group.reads[b].rank);
  };
  std::vector<std::vector<std::size_t>> classes;
  std::vector<bool> assigned(group.reads.size());
  for (std::size_t front = 0; front < group.reads.size(); ++front) {
    if (assigned[front]) continue;
    classes.push_back({front});
    for (std::size_t other : overlap.in_order_with(front, front + 1)) {
      if (assigned[other] || joined(front, other)) continue;
      assigned[other] = true;
      classes.back().push_back(other);
    }
  }
  std::erase_if(classes, [](const auto& members) { return members.size() < 2; });
  group.in_order = !classes.empty();
  bool pipeline = group.reads.size() > 1 && joined(0, group.reads.size() - 1);
  if (classes.empty() && group.reads.size() > 1 && !pipeline && overlap.each_reads_all()) {
    classes.emplace_back();
    for (std::size_t i = 0; i < group.reads.size(); ++i) classes.back().push_back(i);
  }
  group.classes = std::move(classes);
}

// Ranks that share a model are given the same samples on purpose: if a rank also reduces with ranks none of
// which reads what it reads, those are its data-parallel peers and the others are not.
bool on_purpose(const std::vector<Group>& groups, std::int32_t rank) {
  return std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
    return group.reads.size() > 1 && group.holds(rank) && !group.shares(rank);
  });
}

// Of all ranks; the first steps of a job are longer, so the median says more than the mean.
double median_step_ms(const Facts& facts) {
  std::vector<std::int64_t> lengths;
  for (const patterns::RankSteps& rank : facts.steps)
    for (const patterns::Step& step : rank.steps) lengths.push_back(step.end_ns - step.begin_ns);
  if (lengths.empty()) return 0;
  auto median = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), median, lengths.end());
  return static_cast<double>(*median) * 1e-6;
}

// How a rank read each item for the first time, of those reads that have a record.
using FirstReads = std::unordered_map<std::uint64_t, model::EventRef>;

FirstReads find_first_reads(const TrainingReads& reads) {
  FirstReads first;
  for (const files::ItemStream* stream : reads.streams())
    for (const Item& item : stream->items)
      if (item.exact) first.try_emplace(item.key, model::EventRef{stream->process, item.place});
  return first;
}

// An item that all of them read, the first in the order of the first rank: each rank's read of it. Empty if
// no item is recorded in all.
std::vector<model::EventRef> find_common_reads(const std::vector<const TrainingReads*>& sharing) {
  std::vector<FirstReads> reads;
  for (const TrainingReads* rank : sharing) reads.push_back(find_first_reads(*rank));
  std::vector<model::EventRef> common;
  for (const files::ItemStream* stream : sharing.front()->streams())
    for (const Item& item : stream->items) {
      auto has_it = [&](const FirstReads& rank) { return rank.contains(item.key); };
      if (!std::all_of(reads.begin(), reads.end(), has_it)) continue;
      for (const FirstReads& rank : reads) common.push_back(rank.at(item.key));
      return common;
    }
  return common;
}

class Story {
 public:
  Story(const Facts& facts, const std::vector<Group>& groups) : facts_(facts) {
    for (const Group& group : groups)
      for (const auto& members : group.classes) add(groups, group, members);
  }

  bool empty() const { return ranks_.empty(); }
  findings::Finding tell();

 private:
  void add(const std::vector<Group>& groups, const Group& group, const std::vector<std::size_t>& members) {
    std::vector<const TrainingReads*> sharing;
    for (std::size_t member : members)
      if (!on_purpose(groups, group.reads[member].rank)) sharing.push_back(&group.reads[member]);
    if (sharing.size() < 2) return;
    in_order_ = in_order_ || group.in_order;
    ranks_total_ += static_cast<double>(sharing.size());
    ranks_needed_ += 1;
    std::size_t others = sharing.size() - 1;
    for (const TrainingReads* reads : sharing) {
      ranks_.insert(reads->rank);
      widen(*reads);
    }
    sharing.resize(std::min(sharing.size(), kMaxEvidence));
    std::vector<model::EventRef> common = find_common_reads(sharing);
    for (std::size_t i = 0; i < common.size(); ++i) add_evidence(*sharing[i], common[i], others);
  }

  void widen(const TrainingReads& reads);
  void add_evidence(const TrainingReads& reads, model::EventRef read, std::size_t others);

  const Facts& facts_;
  std::set<std::int32_t> ranks_;
  bool in_order_ = false;
  double ranks_total_ = 0, ranks_needed_ = 0;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max(), last_ns_ = 0;
  std::vector<findings::Evidence> evidence_;
  std::string place_;
};

void Story::widen(const TrainingReads& reads) {
  for (const files::ItemStream* stream : reads.streams()) {
    first_ns_ = std::min(first_ns_, stream->items.front().at_ns);
    last_ns_ = std::max(last_ns_, stream->items.back().at_ns);
  }
}

void Story::add_evidence(const TrainingReads& reads, model::EventRef read, std::size_t others) {
  if (evidence_.size() >= kMaxEvidence) return;
  model::EventRef opening = files::opening_of(facts_.job, read);
  findings::Evidence evidence =
      evidence_of(facts_.job, read,
                  fmt::format("one of {} samples that {} read; {} other rank{} read it too", reads.count(),
                              reads.by_workers.empty() ? "the rank" : "its loader workers", others,
                              others == 1 ? "" : "s"));
  if (evidence.stack.empty()) evidence.stack = stack_of(facts_.job, opening);
  evidence.file = files::path_of(facts_.job, opening);
  evidence_.push_back(std::move(evidence));
  if (place_.empty()) place_ = program_place(facts_.job, opening);
}

findings::Finding Story::tell() {
  double share = 1 - ranks_needed_ / ranks_total_;  // of what these ranks do
  findings::Finding finding;
  finding.slug = "unsharded-sampler";
  // What goes over TCP need not be gradients: the ranks may hold parts of one model.
  bool by_tcp = facts_.collectives.communicators.empty();
  finding.confidence = by_tcp ? findings::Confidence::kLikely : findings::Confidence::kCertain;
  finding.ranks.assign(ranks_.begin(), ranks_.end());
  finding.title =
      fmt::format("{} train on the same samples, {}{}: {:.0f} % of their work is done by another rank too",
                  list_ranks(finding.ranks),
                  in_order_ ? "in the same order" : "each on the whole data set in an order of its own",
                  at(place_), share * 100);
  finding.advice = in_order_ ? "Give each rank a part of its own: a DistributedSampler (with set_epoch), or "
                               "indices dealt out by "
                               "data-parallel rank and world size; and see that the data set uses the index "
                               "it is given and does "
                               "not draw with a seed that all ranks share."
                             : "Deal the samples out: a DistributedSampler (with set_epoch), or one shuffle "
                               "with a seed that all "
                               "ranks share, of which each takes every n-th sample.";
  finding.cost.ms_per_step = share * median_step_ms(facts_);
  finding.evidence = std::move(evidence_);
  finding.first_ns = first_ns_;
  finding.last_ns = last_ns_;
  finding.place = facts_.rounds.place(finding.ranks, first_ns_, last_ns_);
  finding.key = fmt::format("{} {}", in_order_ ? "order" : "coverage", place_);
  return finding;
}

}  // namespace

void detect_unsharded_sampler(const Facts& facts, findings::Outcome& outcome) {
  std::vector<files::ItemStream> streams = files::find_item_streams(facts.job);
  patterns::Deliveries deliveries(facts.job);
  patterns::Pipelines pipelines(facts.collectives);
  std::vector<Group> groups;
  bool seen = false;
  for (const patterns::DataParallelGroup& members : facts.data_parallel) {
    Group group{find_training_reads(facts.job, streams, deliveries, members), {}};
    std::size_t enough = 0;
    for (const TrainingReads& reads : group.reads) enough += reads.count() >= kEnoughItems;
    seen = seen || enough > 1;
    classify(group, pipelines);
    groups.push_back(std::move(group));
  }
  if (Story story(facts, groups); !story.empty()) outcome.findings.push_back(story.tell());
  if (seen || facts.job.ranks().size() < 2) return;
  if (groups.empty())
    return outcome.coverage.push_back({"which ranks train together",
                                       "none were seen to exchange gradients, by NCCL or by TCP",
                                       {"unsharded-sampler"}});
  outcome.coverage.push_back({"the samples that ranks train on",
                              "too few of them were seen to be read: they are mapped, kept in memory, read "
                              "from the beginning of a file "
                              "to its end, or the job is short",
                              {"unsharded-sampler"}});
}

}  // namespace ddpscope::detectors
