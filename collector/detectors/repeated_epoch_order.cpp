// repeated-epoch-order: ranks go through their samples in the same shuffled order in each epoch.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "collector/detectors/detector.h"
#include "collector/detectors/sample_groups.h"
#include "collector/detectors/story.h"

namespace ddpscope::detectors {
namespace {

using patterns::RepeatedOrder;

constexpr std::size_t kMaxRanksTold = 8;

// In each rank's order of its own something of another order may show by chance; all are shuffled alike.
bool mostly_shuffled(const SampleGroup& group) {
  std::size_t repeated = 0, shuffled = 0;
  for (const RankSamples& rank : group.ranks) {
    repeated += rank.repeated.has_value();
    shuffled += rank.repeated && rank.repeated->shuffled;
  }
  return shuffled * 2 > repeated;
}

using KnownBy = patterns::DataParallelGroup::KnownBy;

class Story {
 public:
  Story(const Facts& facts, const std::vector<SampleGroup>& groups) : facts_(facts) {
    for (const SampleGroup& group : groups) {
      if (!mostly_shuffled(group) || group.members->known_by == KnownBy::kNothing) continue;
      for (const RankSamples& rank : group.ranks)
        if (rank.repeated && ranks_.insert(rank.rank).second) add(rank, group.of_batches);
    }
  }

  bool empty() const { return ranks_.empty(); }
  findings::Finding tell();

 private:
  void add(const RankSamples& rank, bool of_batches);
  void add_batch(model::EventRef event, std::string detail);
  void add_evidence(model::EventRef read, std::string detail);

  const Facts& facts_;
  std::set<std::int32_t> ranks_;
  std::size_t passes_ = 0;  // the most of any rank
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max(), last_ns_ = 0;
  std::vector<findings::Evidence> evidence_;
  std::string place_;
};

void Story::add(const RankSamples& rank, bool of_batches) {
  const RepeatedOrder& order = *rank.repeated;
  passes_ = std::max(passes_, order.passes);
  first_ns_ = std::min(first_ns_, order.first_ns);
  last_ns_ = std::max(last_ns_, order.last_ns);
  if (ranks_.size() > kMaxRanksTold) return;
  if (of_batches) {
    add_batch(order.before,
              fmt::format("; the pass goes through {} samples in a shuffled order", order.samples));
    add_batch(order.again, ", the same in the next pass, behind the same one as before");
    return;
  }
  add_evidence(order.before, fmt::format("one of {} samples that {} read in a shuffled order", order.samples,
                                         rank.has_workers ? "its loader workers" : "the rank"));
  add_evidence(order.again,
               "the same sample in the next pass, after the same one as before: all come back in that order");
}

void Story::add_evidence(model::EventRef read, std::string detail) {
  model::EventRef opening = files::opening_of(facts_.job, read);
  evidence_.push_back(evidence_of_read(facts_.job, read, opening, std::move(detail)));
  if (place_.empty()) place_ = program_place(facts_.job, files::opening_with_stack(facts_.job, opening));
}

// Only the first record of a process has a stack: workers that were forked hold that of the loop over the
// loader.
void Story::add_batch(model::EventRef event, std::string detail) {
  auto batch = trace::payload_of<trace::payload::LoaderBatch>(facts_.job.record(event));
  evidence_.push_back(
      evidence_of(facts_.job, event,
                  fmt::format("the worker is asked for batch {}: {} samples, the first is number {}{}",
                              batch.number, batch.count, batch.first, detail)));
  model::EventRef first = event;
  model::for_each(facts_.job.processes[event.process].file, {trace::Operation::kLoaderBatch},
                  [&](model::EventPlace place, const trace::Record& record) {
                    if (record.stack) first.place = place;
                  });
  if (evidence_.back().stack.empty()) evidence_.back().stack = stack_of(facts_.job, first);
  if (place_.empty()) place_ = program_place(facts_.job, first);
}

findings::Finding Story::tell() {
  findings::Finding finding;
  finding.slug = "repeated-epoch-order";
  finding.severity = findings::Severity::kWarning;
  // A list that was shuffled once, when it was made, and is read from front to back looks the same.
  finding.confidence = findings::Confidence::kPossible;
  finding.ranks.assign(ranks_.begin(), ranks_.end());
  finding.title = fmt::format("{} {} through {} samples in the same shuffled order in each epoch{}: {} times",
                              list_ranks(finding.ranks), verb(finding.ranks, "goes", "go"),
                              verb(finding.ranks, "its", "their"), at(place_), passes_);
  finding.advice =
      "Shuffle anew for each epoch: call the sampler's set_epoch(epoch) before the loader is iterated over, "
      "or seed the shuffle with the epoch. If the order is that of a list which was shuffled once and is "
      "read from front to back, it is meant; a shuffle of its own would serve each epoch better.";
  finding.evidence = std::move(evidence_);
  finding.first_ns = first_ns_;
  finding.last_ns = last_ns_;
  finding.place = facts_.rounds.place(finding.ranks, first_ns_, last_ns_);
  finding.key = findings::key_of_frame(place_);
  return finding;
}

}  // namespace

void detect_repeated_epoch_order(const Facts& facts, findings::Outcome& outcome) {
  if (Story story(facts, facts.samples.get().groups); !story.empty())
    outcome.findings.push_back(story.tell());
  explain_silence(facts, "repeated-epoch-order", outcome);
}

}  // namespace ddpscope::detectors
