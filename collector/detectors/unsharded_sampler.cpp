// unsharded-sampler: data-parallel ranks train on the same samples. Judged by what they and their loader
// workers read: in the same order (rule D1), or each all of it before it begins anew (rule D2); else by what
// is copied to their devices (rule D3).
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "collector/detectors/common_reading.h"
#include "collector/detectors/detector.h"
#include "collector/detectors/equal_batches.h"
#include "collector/detectors/sample_groups.h"
#include "collector/detectors/story.h"
#include "collector/model/order_statistics.h"

namespace ddpscope::detectors {
namespace {

constexpr std::size_t kMaxEvidence = 16;

// Ranks that share a model are given the same samples on purpose: if a rank also reduces with ranks none of
// which reads what it reads, those are its data-parallel peers and the others are not.
bool on_purpose(const std::vector<SampleGroup>& groups, std::int32_t rank) {
  return std::any_of(groups.begin(), groups.end(), [&](const SampleGroup& group) {
    return !group.of_batches && group.ranks.size() > 1 && group.holds(rank) && !group.shares(rank);
  });
}

using RankSets = std::vector<std::set<std::int32_t>>;  // each: ranks that share their samples

// As the subject of a sentence.
std::string list_all(const RankSets& sets) {
  SetsOfRanks all;
  for (const auto& set : sets) all.emplace(set.begin(), set.end());
  return subject_of(all);
}

// Of what these ranks do, how much another one does too: a set needs to go through its samples once.
double shared_part(const RankSets& sets) {
  std::size_t ranks = 0;
  for (const auto& set : sets) ranks += set.size();
  return 1 - static_cast<double>(sets.size()) / static_cast<double>(ranks);
}

std::vector<std::int32_t> ranks_of(const RankSets& sets) {
  std::set<std::int32_t> ranks;
  for (const auto& set : sets) ranks.insert(set.begin(), set.end());
  return {ranks.begin(), ranks.end()};
}

// Of all ranks; the first steps of a job are longer, so the median says more than the mean.
double median_step_ms(const Facts& facts) {
  std::vector<std::int64_t> lengths;
  patterns::for_each_rank_steps(facts.job, facts.collectives, [&](const patterns::RankSteps& rank) {
    for (const patterns::Step& step : rank.steps) lengths.push_back(step.end_ns - step.begin_ns);
  });
  if (lengths.empty()) return 0;
  return static_cast<double>(model::median(lengths)) * 1e-6;
}

class Story {
 public:
  Story(const Facts& facts, const std::vector<SampleGroup>& groups) : facts_(facts) {
    for (const SampleGroup& group : groups)
      for (const auto& members : group.shared) add(groups, group, members);
  }

  bool empty() const { return sets_.empty(); }
  findings::Finding tell();

 private:
  void add(const std::vector<SampleGroup>& groups, const SampleGroup& group,
           const std::vector<std::size_t>& members) {
    std::vector<const RankSamples*> sharing;
    for (std::size_t member : members)
      if (!on_purpose(groups, group.ranks[member].rank)) sharing.push_back(&group.ranks[member]);
    if (sharing.size() < 2) return;
    if (!add_set(sharing)) return;
    in_order_ = in_order_ || group.in_order;
    std::size_t others = sharing.size() - 1;
    for (const RankSamples* rank : sharing) {
      first_ns_ = std::min(first_ns_, rank->first_ns);
      last_ns_ = std::max(last_ns_, rank->last_ns);
    }
    sharing.resize(std::min(sharing.size(), kMaxEvidence));
    add_evidence(group, sharing, others);
  }

  bool add_set(const std::vector<const RankSamples*>& sharing);
  void add_evidence(const SampleGroup& group, const std::vector<const RankSamples*>& sharing,
                    std::size_t others);
  void add_evidence(const RankSamples& rank, model::EventRef read, std::size_t others);
  findings::Confidence confidence() const;

  const Facts& facts_;
  RankSets sets_;
  bool in_order_ = false;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max(), last_ns_ = 0;
  std::vector<findings::Evidence> evidence_;
  std::string place_;
};

// False: it is part of one that is known. Ranks may reduce with each other on several communicators.
bool Story::add_set(const std::vector<const RankSamples*>& sharing) {
  std::set<std::int32_t> ranks;
  for (const RankSamples* rank : sharing) ranks.insert(rank->rank);
  auto within = [](const std::set<std::int32_t>& part, const std::set<std::int32_t>& whole) {
    return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
  };
  if (std::any_of(sets_.begin(), sets_.end(), [&](const auto& known) { return within(ranks, known); }))
    return false;
  std::erase_if(sets_, [&](const auto& known) { return within(known, ranks); });
  sets_.push_back(std::move(ranks));
  return true;
}

// One sample, and how each of them read it.
void Story::add_evidence(const SampleGroup& group, const std::vector<const RankSamples*>& sharing,
                         std::size_t others) {
  if (evidence_.size() == kMaxEvidence) return;
  std::vector<Reading> common = find_common_reading(
      sharing.size(), [&](std::size_t i) { return read_again(facts_.job, group, sharing[i]->rank); });
  for (std::size_t i = 0; i < common.size() && evidence_.size() < kMaxEvidence; ++i)
    add_evidence(*sharing[i], common[i].read, others);
}

void Story::add_evidence(const RankSamples& rank, model::EventRef read, std::size_t others) {
  model::EventRef opening = files::opening_of(facts_.job, read);
  evidence_.push_back(evidence_of_read(
      facts_.job, read, opening,
      fmt::format("one of {} compared readings of samples by {}; {} other rank{} read this one too",
                  rank.reads, rank.has_workers ? "its loader workers" : "the rank", others,
                  others == 1 ? "" : "s")));
  if (place_.empty()) place_ = program_place(facts_.job, files::opening_with_stack(facts_.job, opening));
}

// Ranks that reduce nothing may each train a model of its own.
findings::Confidence Story::confidence() const {
  using KnownBy = patterns::DataParallelGroup::KnownBy;
  if (facts_.data_parallel.empty()) return findings::Confidence::kPossible;
  bool reduce = std::ranges::all_of(facts_.data_parallel,
                                    [](const auto& group) { return group.known_by == KnownBy::kReductions; });
  return reduce ? findings::Confidence::kCertain : findings::Confidence::kLikely;
}

findings::Finding Story::tell() {
  findings::Finding finding;
  finding.slug = "unsharded-sampler";
  finding.confidence = confidence();
  const bool replicas = finding.confidence > findings::Confidence::kPossible;
  if (!replicas) finding.severity = findings::Severity::kInfo;
  finding.ranks = ranks_of(sets_);
  finding.title = fmt::format(
      "{} train on the same samples, {}{}: {}{:.0f} % of their work is done by another rank too",
      list_all(sets_), in_order_ ? "in the same order" : "each on the whole data set in an order of its own",
      at(place_), replicas ? "" : "if they are to train one model, for which they exchange nothing, ",
      shared_part(sets_) * 100);
  finding.advice = in_order_ ? "Give each rank a part of its own: a DistributedSampler (with set_epoch), or "
                               "indices dealt out by "
                               "data-parallel rank and world size; and see that the data set uses the index "
                               "it is given and does "
                               "not draw with a seed that all ranks share."
                             : "Deal the samples out: a DistributedSampler (with set_epoch), or one shuffle "
                               "with a seed that all "
                               "ranks share, of which each takes every n-th sample.";
  finding.cost.ms_per_step = shared_part(sets_) * median_step_ms(facts_);
  finding.evidence = std::move(evidence_);
  finding.first_ns = first_ns_;
  finding.last_ns = last_ns_;
  finding.place = facts_.rounds.place(finding.ranks, first_ns_, last_ns_);
  finding.key = fmt::format("{} {}", in_order_ ? "order" : "coverage", findings::key_of_frame(place_));
  return finding;
}

// The call itself, or an earlier one of its process that has a stack: only the first of a kind has.
model::EventRef with_stack(const model::Job& job, model::EventRef copy) {
  std::uint64_t bytes = trace::payload_of<trace::payload::Copy>(job.record(copy)).bytes;
  constexpr trace::OperationSet kCopies{trace::Operation::kCopy};
  const trace::TraceFile& file = job.processes[copy.process].file;
  for (model::TimeOrder order(file, kCopies); !order.done(); order.next()) {
    const trace::Record& record = order.record();
    if (record.stack && trace::payload_of<trace::payload::Copy>(record).bytes == bytes)
      return {copy.process, order.place()};
    if (order.place() == copy.place) break;
  }
  return copy;
}

void add_evidence(const Facts& facts, const EqualBatches& set, findings::Finding& finding) {
  for (const GivenBatch& given : set) {
    if (finding.evidence.size() == kMaxEvidence) return;
    finding.evidence.push_back(evidence_of(
        facts.job, given.copy,
        fmt::format("part of the first of {} batches that were compared; {} other rank{} given the same",
                    given.batches, set.size() - 1, set.size() == 2 ? " is" : "s are")));
    auto& stack = finding.evidence.back().stack;
    if (stack.empty()) stack = stack_of(facts.job, with_stack(facts.job, given.copy));
  }
}

findings::Finding tell_batches(const Facts& facts, const std::vector<EqualBatches>& sets) {
  findings::Finding finding;
  finding.slug = "unsharded-sampler";
  finding.confidence = findings::Confidence::kLikely;
  RankSets ranks;
  finding.first_ns = std::numeric_limits<std::int64_t>::max();
  for (const EqualBatches& set : sets) {
    ranks.emplace_back();
    for (const GivenBatch& given : set) {
      ranks.back().insert(given.rank);
      finding.first_ns = std::min(finding.first_ns, facts.job.begin_ns(given.copy));
      finding.last_ns = std::max(finding.last_ns, facts.job.processes[given.copy.process].last_ns);
    }
    add_evidence(facts, set, finding);
  }
  model::EventRef example = with_stack(facts.job, sets.front().front().copy);
  std::string place = program_place(facts.job, example);
  finding.ranks = ranks_of(ranks);
  finding.title = fmt::format(
      "{} train on the same samples: the batches copied to their devices are the same{}: {:.0f} % of their "
      "work is done by another rank too",
      list_all(ranks), at(place), shared_part(ranks) * 100);
  finding.advice =
      "Give each rank a part of its own: a DistributedSampler (with set_epoch), or positions in the data "
      "dealt out by data-parallel rank and world size; and see that random choices are seeded with the rank.";
  finding.cost.ms_per_step = shared_part(ranks) * median_step_ms(facts);
  finding.place = facts.rounds.place(finding.ranks, finding.first_ns, finding.last_ns);
  finding.key = "batches " + findings::key_of_frame(place);
  return finding;
}

findings::Coverage describe_batches(const SampleGroups& found, const BatchComparison& made) {
  const char* batches =
      made.compared   ? "what is copied to the devices differs from rank to rank, as it also does where "
                        "each changes the same samples at random"
      : made.together ? "what is copied to the devices was not compared: beside gradients the ranks exchange "
                        "something in each step, as those do that work on one sample together"
                      : "what is copied to the devices in each step may be something else: parameters, "
                        "states kept in the host's memory, a prompt";
  return {"the samples that ranks train on",
          fmt::format("{}; {}", describe_few_samples(found), batches),
          {"unsharded-sampler"},
          true};
}

}  // namespace

void detect_unsharded_sampler(const Facts& facts, findings::Outcome& outcome) {
  const SampleGroups& found = facts.samples.get();
  if (Story story(facts, found.groups); !story.empty()) return outcome.findings.push_back(story.tell());
  BatchComparison batches = find_equal_batches(facts);
  if (!batches.sets.empty()) return outcome.findings.push_back(tell_batches(facts, batches.sets));
  if (!found.compared && (batches.compared || batches.together || batches.doubtful))
    outcome.coverage.push_back(describe_batches(found, batches));
  else
    explain_silence(facts, "unsharded-sampler", outcome);
}

}  // namespace ddpscope::detectors
