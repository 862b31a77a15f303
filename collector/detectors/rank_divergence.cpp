// rank-divergence: what ranks read back from their devices agreed, step by step, and then did not any more.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/patterns/value_courses.h"

namespace ddpscope::detectors {
namespace {

constexpr const char* kSlug = "rank-divergence";

enum Moment : std::size_t { kAgreed, kApart, kLast, kMoments };

struct Read {
  double value;
  model::EventRef event;
};

// What one rank read when they agreed last, when they first did not, and when they last did not.
struct Reader {
  std::int32_t rank;
  std::array<std::optional<Read>, kMoments> reads;
};

struct Story {
  const patterns::ValueCourse& course;
  std::vector<Reader> alike;   // the larger part of the ranks, if it is more than half
  std::vector<Reader> parted;  // the others
};

std::vector<Reader> read_again(const Facts& facts, std::uint32_t communicator,
                               const patterns::ValueDrift& drift) {
  const std::array<std::uint32_t, kMoments> steps{drift.course.last_agreed(), drift.course.first_apart(),
                                                  drift.course.last_apart()};
  std::vector<Reader> readers;
  for (const matching::Member& member : facts.collectives.communicators[communicator].members) {
    if (member.incomplete) continue;
    auto values = patterns::find_values(facts.job, facts.collectives, communicator, member);
    Reader reader{member.rank, {}};
    for (std::size_t i = 0; i < kMoments; ++i)
      if (const patterns::ReadValue* read = values.find(steps[i], drift.slot))
        reader.reads[i] = Read{read->value, {member.process, read->place}};
    if (reader.reads[kLast]) readers.push_back(reader);
  }
  std::ranges::sort(readers, {}, &Reader::rank);
  return readers;
}

// By what they read at last.
Story tell_apart(const patterns::ValueCourse& course, const std::vector<Reader>& readers) {
  auto beside = [&](const Reader& front) {
    Story story{course, {}, {}};
    for (const Reader& one : readers) {
      bool apart = patterns::are_apart(front.reads[kLast]->value, one.reads[kLast]->value);
      (apart ? story.parted : story.alike).push_back(one);
    }
    return story;
  };
  for (const Reader& front : readers)
    if (Story story = beside(front); story.alike.size() > story.parted.size()) return story;
  return {course, {}, readers};
}

std::vector<std::int32_t> ranks_of(const std::vector<Reader>& readers) {
  std::vector<std::int32_t> ranks;
  for (const Reader& reader : readers) ranks.push_back(reader.rank);
  return ranks;
}

std::string title_of(const Story& story, const std::string& place) {
  std::vector<std::int32_t> ranks = ranks_of(story.parted);
  std::string agreed =
      fmt::format("what all read back{} agreed in {} steps", at(place), story.course.steps_agreed());
  if (story.alike.empty())
    return fmt::format("{} have drifted apart: {}, and differs by more than a thousandth from then on",
                       list_ranks(ranks), agreed);
  return fmt::format("{} {} drifted away from {}: {}, and differs by more than a thousandth from then on",
                     list_ranks(ranks), verb(ranks, "has", "have"), list_ranks(ranks_of(story.alike)),
                     agreed);
}

// Of each moment two of the ranks that parted, and one of those that did not.
std::vector<Reader> shown(const Story& story) {
  std::vector<Reader> readers(
      story.parted.begin(),
      story.parted.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(story.parted.size(), 2)));
  if (!story.alike.empty()) readers.push_back(story.alike.front());
  return readers;
}

void add_evidence(const Facts& facts, const Story& story, findings::Finding& finding) {
  constexpr std::array<const char*, kMoments> kWhen{"when they last agreed", "when they first differed",
                                                    "when it was last compared"};
  for (std::size_t moment = 0; moment < kMoments; ++moment)
    for (const Reader& reader : shown(story))
      if (const auto& read = reader.reads[moment])
        finding.evidence.push_back(
            evidence_of(facts.job, read->event, fmt::format("reads {:.9g}, {}", read->value, kWhen[moment])));
}

void tell(const Facts& facts, const Story& story, findings::Outcome& outcome) {
  const Reader& example = story.parted.front();
  model::EventRef event = example.reads[kLast]->event;
  findings::Finding finding;
  finding.slug = kSlug;
  finding.severity = findings::Severity::kWarning;
  finding.confidence = findings::Confidence::kLikely;
  finding.ranks = ranks_of(story.parted);
  finding.title = title_of(story, facts.places.of(event));
  finding.advice =
      "Look for what these ranks alone do from the step on in which the values part: an update left out, a "
      "learning "
      "rate, a loss scale or a schedule that follows the rank's own loss, weights loaded again, parameters "
      "that the "
      "reduction leaves out. Let all ranks decide by a reduced value, and broadcast the parameters once to "
      "go on.";
  finding.count = story.course.steps_apart();
  finding.first_ns = facts.job.begin_ns(example.reads[kAgreed] ? example.reads[kAgreed]->event : event);
  finding.last_ns = facts.job.end_ns(event);
  finding.place = {finding.ranks, finding.first_ns, finding.last_ns};
  finding.key = "values " + facts.places.whole(event);
  add_evidence(facts, story, finding);
  outcome.findings.push_back(std::move(finding));
}

void explain_silence(bool agreed, bool doubtful, findings::Outcome& outcome) {
  if (doubtful)
    outcome.coverage.push_back(
        {"numbers that ranks read back",
         "some agreed for long and differ now, but what the ranks were given to compute them "
         "from was not seen to be copied to their devices: it may have been the same at first",
         {kSlug}});
  else if (!agreed)
    outcome.coverage.push_back(
        {"whether the ranks' copies of the model stay alike",
         "no number that ranks copy to the host (a loss, a norm) was equal on all of them while it changed, "
         "for 20 steps",
         {kSlug},
         true});
}

}  // namespace

void detect_rank_divergence(const Facts& facts, findings::Outcome& outcome) {
  if (facts.collectives.communicators.empty() || facts.job.ranks().size() < 2)
    return;  // coverage.cpp says so
  bool agreed = false, doubtful = false;
  for (const patterns::DataParallelGroup& group : facts.data_parallel) {
    if (group.communicator == matching::kNone) continue;
    auto found = patterns::compare_members(facts.job, facts.collectives, group.communicator);
    agreed |= found.agreed;
    doubtful |= found.doubtful;
    if (!found.drift) continue;
    auto readers = read_again(facts, group.communicator, *found.drift);
    if (readers.size() > 1) tell(facts, tell_apart(found.drift->course, readers), outcome);
  }
  explain_silence(agreed, doubtful, outcome);
}

}  // namespace ddpscope::detectors
