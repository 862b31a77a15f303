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
#include "collector/patterns/replicas.h"

namespace ddpscope::detectors {
namespace {

using files::Item;
using patterns::TrainingReads;

constexpr std::size_t kMaxEvidence = 16;
constexpr std::size_t kMaxSetsTold = 4;

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
  patterns::for_each_rank_steps(facts.job, facts.collectives, [&](const patterns::RankSteps& rank) {
    for (const patterns::Step& step : rank.steps) lengths.push_back(step.end_ns - step.begin_ns);
  });
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

  bool empty() const { return sets_.empty(); }
  findings::Finding tell();

 private:
  void add(const std::vector<Group>& groups, const Group& group, const std::vector<std::size_t>& members) {
    std::vector<const TrainingReads*> sharing;
    for (std::size_t member : members)
      if (!on_purpose(groups, group.reads[member].rank)) sharing.push_back(&group.reads[member]);
    if (sharing.size() < 2) return;
    if (!add_set(sharing)) return;
    in_order_ = in_order_ || group.in_order;
    std::size_t others = sharing.size() - 1;
    for (const TrainingReads* reads : sharing) widen(*reads);
    sharing.resize(std::min(sharing.size(), kMaxEvidence));
    std::vector<model::EventRef> common = find_common_reads(sharing);
    for (std::size_t i = 0; i < common.size(); ++i) add_evidence(*sharing[i], common[i], others);
  }

  bool add_set(const std::vector<const TrainingReads*>& sharing);
  std::string list_sets() const;
  double share() const;
  void widen(const TrainingReads& reads);
  void add_evidence(const TrainingReads& reads, model::EventRef read, std::size_t others);

  const Facts& facts_;
  std::vector<std::set<std::int32_t>> sets_;  // each: ranks that share their samples
  bool in_order_ = false;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max(), last_ns_ = 0;
  std::vector<findings::Evidence> evidence_;
  std::string place_;
};

// False: it is part of one that is known. Ranks may reduce with each other on several communicators.
bool Story::add_set(const std::vector<const TrainingReads*>& sharing) {
  std::set<std::int32_t> ranks;
  for (const TrainingReads* reads : sharing) ranks.insert(reads->rank);
  auto within = [](const std::set<std::int32_t>& part, const std::set<std::int32_t>& whole) {
    return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
  };
  if (std::any_of(sets_.begin(), sets_.end(), [&](const auto& known) { return within(ranks, known); }))
    return false;
  std::erase_if(sets_, [&](const auto& known) { return within(known, ranks); });
  sets_.push_back(std::move(ranks));
  return true;
}

// "ranks 0 and 2, and likewise ranks 1 and 3,"
std::string Story::list_sets() const {
  std::string text;
  for (std::size_t i = 0; i < std::min(sets_.size(), kMaxSetsTold); ++i)
    text += (i ? ", and likewise " : "") + list_ranks({sets_[i].begin(), sets_[i].end()});
  if (sets_.size() > kMaxSetsTold)
    text += fmt::format(", and {} more such sets", sets_.size() - kMaxSetsTold);
  return text + (sets_.size() > 1 ? "," : "");
}

// Of what these ranks do, how much another one does too: a set needs to go through its samples once.
double Story::share() const {
  std::size_t ranks = 0;
  for (const auto& set : sets_) ranks += set.size();
  return 1 - static_cast<double>(sets_.size()) / static_cast<double>(ranks);
}

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
  findings::Finding finding;
  std::set<std::int32_t> ranks;
  for (const auto& set : sets_) ranks.insert(set.begin(), set.end());
  finding.slug = "unsharded-sampler";
  // What goes over TCP is told by its amounts only.
  bool by_tcp = facts_.collectives.communicators.empty();
  finding.confidence = by_tcp ? findings::Confidence::kLikely : findings::Confidence::kCertain;
  finding.ranks.assign(ranks.begin(), ranks.end());
  finding.title = fmt::format(
      "{} train on the same samples, {}{}: {:.0f} % of their work is done by another rank too", list_sets(),
      in_order_ ? "in the same order" : "each on the whole data set in an order of its own", at(place_),
      share() * 100);
  finding.advice = in_order_ ? "Give each rank a part of its own: a DistributedSampler (with set_epoch), or "
                               "indices dealt out by "
                               "data-parallel rank and world size; and see that the data set uses the index "
                               "it is given and does "
                               "not draw with a seed that all ranks share."
                             : "Deal the samples out: a DistributedSampler (with set_epoch), or one shuffle "
                               "with a seed that all "
                               "ranks share, of which each takes every n-th sample.";
  finding.cost.ms_per_step = share() * median_step_ms(facts_);
  finding.evidence = std::move(evidence_);
  finding.first_ns = first_ns_;
  finding.last_ns = last_ns_;
  finding.place = facts_.rounds.place(finding.ranks, first_ns_, last_ns_);
  finding.key = fmt::format("{} {}", in_order_ ? "order" : "coverage", place_);
  return finding;
}

// Why samples of several ranks could not be compared.
findings::Coverage explain_silence(bool grouped, bool replicas, bool scanned) {
  if (!grouped)
    return {"which ranks train together",
            "none were seen to exchange gradients, by NCCL or by TCP",
            {"unsharded-sampler"}};
  if (!replicas)
    return {"which ranks train together",
            "what they exchange over TCP does not show that they hold copies of one model: one rank sends it "
            "to all at first, and an all-reduce of its size follows each batch",
            {"unsharded-sampler"}};
  if (scanned)
    return {"the samples that ranks train on",
            "data is read from front to back, and which part of it a rank keeps is not seen",
            {"unsharded-sampler"}};
  return {"the samples that ranks train on",
          "too few of them were seen to be read: they are mapped, kept in memory, read "
          "from the beginning of a file "
          "to its end, or the job is short",
          {"unsharded-sampler"}};
}

}  // namespace

void detect_unsharded_sampler(const Facts& facts, findings::Outcome& outcome) {
  std::vector<files::ItemStream> streams = files::find_item_streams(facts.job);
  patterns::Deliveries deliveries(facts.job);
  patterns::Pipelines pipelines(facts.collectives);
  std::vector<Group> groups;
  bool seen = false, replicas = true, scanned = false;
  for (const patterns::DataParallelGroup& members : facts.data_parallel) {
    patterns::GroupReads reads = find_training_reads(facts.job, streams, deliveries, members);
    scanned = scanned || reads.scanned;
    Group group{std::move(reads.ranks), {}};
    auto enough = std::count_if(group.reads.begin(), group.reads.end(),
                                [](const TrainingReads& own) { return own.count() >= kEnoughItems; });
    if (enough > 1 && !hold_replicas(members, group.reads)) {
      replicas = false;
      continue;
    }
    seen = seen || enough > 1;
    classify(group, pipelines);
    groups.push_back(std::move(group));
  }
  if (Story story(facts, groups); !story.empty()) outcome.findings.push_back(story.tell());
  if (!seen && facts.job.ranks().size() > 1)
    outcome.coverage.push_back(explain_silence(!facts.data_parallel.empty(), replicas, scanned));
}

}  // namespace ddpscope::detectors
