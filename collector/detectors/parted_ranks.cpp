// The larger part of the ranks is right, if there is one.
#include "collector/detectors/parted_ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/story.h"

namespace ddpscope::detectors {
namespace {

struct Story {
  std::vector<RankReadings> alike;   // the larger part of the ranks, if it is more than half
  std::vector<RankReadings> parted;  // the others
};

Story tell_apart(const PartedNumbers& numbers) {
  auto beside = [&](const RankReadings& front) {
    Story story;
    for (const RankReadings& one : numbers.ranks)
      (numbers.are_apart(*front.reads[kLast], *one.reads[kLast]) ? story.parted : story.alike).push_back(one);
    return story;
  };
  for (const RankReadings& front : numbers.ranks)
    if (Story story = beside(front); story.alike.size() > story.parted.size()) return story;
  return {{}, numbers.ranks};
}

std::vector<std::int32_t> ranks_of(const std::vector<RankReadings>& readers) {
  std::vector<std::int32_t> ranks;
  for (const RankReadings& reader : readers) ranks.push_back(reader.rank);
  return ranks;
}

// Of each moment two of the ranks that parted, and one of those that did not.
std::vector<RankReadings> shown(const Story& story) {
  std::vector<RankReadings> readers(
      story.parted.begin(),
      story.parted.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(story.parted.size(), 2)));
  if (!story.alike.empty()) readers.push_back(story.alike.front());
  return readers;
}

void add_evidence(const Facts& facts, const char* reads, const Story& story, findings::Finding& finding) {
  constexpr std::array<const char*, kMoments> kWhen{"when they last agreed", "when they first differed",
                                                    "when it was last compared"};
  for (std::size_t moment = 0; moment < kMoments; ++moment)
    for (const RankReadings& reader : shown(story))
      if (const auto& read = reader.reads[moment])
        finding.evidence.push_back(evidence_of(
            facts.job, read->event, fmt::format("{} {:.9g}, {}", reads, read->value, kWhen[moment])));
}

}  // namespace

void tell_parted(const Facts& facts, PartedNumbers numbers, findings::Outcome& outcome) {
  std::erase_if(numbers.ranks, [](const RankReadings& reader) { return !reader.reads[kLast]; });
  if (numbers.ranks.size() < 2) return;
  std::ranges::sort(numbers.ranks, {}, &RankReadings::rank);
  Story story = tell_apart(numbers);
  const RankReadings& example = story.parted.front();
  model::EventRef event = example.reads[kLast]->event;
  findings::Finding finding;
  finding.slug = "rank-divergence";
  finding.severity = findings::Severity::kWarning;
  finding.confidence = numbers.confidence;
  finding.ranks = ranks_of(story.parted);
  finding.title = numbers.title(finding.ranks, ranks_of(story.alike), facts.places.of(event));
  finding.advice =
      "Look for what these ranks alone do from the step on in which the values part: an update left out, a "
      "learning rate, a loss scale or a schedule that follows the rank's own loss, weights loaded again, "
      "parameters that the reduction leaves out. Let all ranks decide by a reduced value, and broadcast the "
      "parameters once to go on.";
  finding.count = numbers.steps_apart;
  finding.first_ns = facts.job.begin_ns(example.reads[kAgreed] ? example.reads[kAgreed]->event : event);
  finding.last_ns = facts.job.end_ns(event);
  finding.place = {finding.ranks, finding.first_ns, finding.last_ns};
  finding.key = std::string(numbers.key) + " " + facts.places.whole(event);
  add_evidence(facts, numbers.reads, story, finding);
  outcome.findings.push_back(std::move(finding));
}

}  // namespace ddpscope::detectors
