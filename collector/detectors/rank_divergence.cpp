// rank-divergence: what ranks read back from their devices agreed, step by step, and then did not any more.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/detectors/parted_ranks.h"
#include "collector/detectors/story.h"
#include "collector/patterns/value_courses.h"

namespace ddpscope::detectors {
namespace {

constexpr const char* kSlug = "rank-divergence";

std::vector<RankReadings> read_again(const Facts& facts, std::uint32_t communicator,
                                     const patterns::ValueDrift& drift) {
  const std::array<std::uint32_t, kMoments> steps{drift.course.last_agreed(), drift.course.first_apart(),
                                                  drift.course.last_apart()};
  std::vector<RankReadings> readers;
  for (const matching::Member& member : facts.collectives.communicators[communicator].members) {
    if (member.incomplete) continue;
    auto values = patterns::find_values(facts.job, facts.collectives, communicator, member);
    RankReadings reader{member.rank, {}};
    for (std::size_t i = 0; i < kMoments; ++i)
      if (const patterns::ReadValue* read = values.find(steps[i], drift.slot))
        reader.reads[i] = Reading{read->value, 0, {member.process, read->place}};
    readers.push_back(reader);
  }
  return readers;
}

void tell(const Facts& facts, std::uint32_t communicator, const patterns::ValueDrift& drift,
          findings::Outcome& outcome) {
  PartedNumbers numbers{};
  numbers.ranks = read_again(facts, communicator, drift);
  numbers.steps_apart = drift.course.steps_apart();
  numbers.confidence = findings::Confidence::kLikely;
  numbers.key = "values";
  numbers.reads = "reads";
  numbers.are_apart = [](const Reading& a, const Reading& b) {
    return patterns::are_apart(a.value, b.value);
  };
  numbers.title = [&](const auto& parted, const auto& alike, const std::string& place) {
    std::string from = alike.empty() ? "apart" : "away from " + list_ranks(alike);
    return fmt::format(
        "{} {} drifted {}: what all read back{} agreed in {} steps, and differs by more than a thousandth "
        "from "
        "then on",
        list_ranks(parted), verb(parted, "has", "have"), from, at(place), drift.course.steps_agreed());
  };
  tell_parted(facts, std::move(numbers), outcome);
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
    if (found.drift) tell(facts, group.communicator, *found.drift, outcome);
  }
  explain_silence(agreed, doubtful, outcome);
}

}  // namespace ddpscope::detectors
