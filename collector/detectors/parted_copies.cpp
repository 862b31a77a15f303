// DistributedDataParallel hands out one copy of the parameters, and all ranks update it by the same
// gradients.
#include "collector/detectors/parted_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "collector/detectors/parted_ranks.h"
#include "collector/detectors/story.h"
#include "collector/patterns/parameter_copies.h"

namespace ddpscope::detectors {
namespace {

std::vector<RankReadings> read_again(const Facts& facts, const matching::Communicator& communicator,
                                     const patterns::CopyComparison& found) {
  std::array<std::optional<std::uint32_t>, kMoments> steps{found.course.last_alike, found.course.first_apart,
                                                           found.course.last_apart};
  if (!found.course.alike) steps[kAgreed].reset();
  std::vector<RankReadings> ranks;
  for (const matching::Member& member : communicator.members) {
    if (member.incomplete) continue;
    auto samples = patterns::find_copy_samples(facts.job, member);
    if (samples.size() <= *found.reducer) continue;
    RankReadings readings{member.rank, {}};
    for (const patterns::CopySample& sample : samples[*found.reducer])
      for (std::size_t i = 0; i < kMoments; ++i)
        if (steps[i] == sample.step)
          readings.reads[i] = Reading{sample.of.sum, sample.of.size, {member.process, sample.place}};
    ranks.push_back(readings);
  }
  return ranks;
}

std::string title_of(const patterns::CopyCourse& course, const std::vector<std::int32_t>& parted,
                     const std::vector<std::int32_t>& alike, const std::string& place) {
  std::string trains = alike.empty() ? fmt::format("{} train different models", list_ranks(parted))
                                     : fmt::format("{} {} another model than {}", list_ranks(parted),
                                                   verb(parted, "trains", "train"), list_ranks(alike));
  std::string since = course.alike
                          ? fmt::format("were alike in {} steps, and differ from then on", course.alike)
                          : "differ from the first step on";
  return fmt::format(
      "{}: the parameters that the optimizer updates{}, and DistributedDataParallel keeps alike, {}", trains,
      at(place), since);
}

void tell(const Facts& facts, const matching::Communicator& communicator,
          const patterns::CopyComparison& found, findings::Outcome& outcome) {
  PartedNumbers numbers{};
  numbers.ranks = read_again(facts, communicator, found);
  numbers.steps_apart = found.course.apart;
  numbers.confidence = findings::Confidence::kCertain;
  numbers.key = "parameters";
  numbers.reads = "some of its parameters add up to";
  numbers.are_apart = [](const Reading& a, const Reading& b) {
    return !patterns::are_alike({a.value, a.size}, {b.value, b.size});
  };
  numbers.title = [&](const auto& parted, const auto& alike, const std::string& place) {
    return title_of(found.course, parted, alike, place);
  };
  tell_parted(facts, std::move(numbers), outcome);
}

void explain_silence(const Facts& facts, const std::set<std::int32_t>& compared, findings::Outcome& outcome) {
  std::vector<std::int32_t> ranks = facts.job.ranks(), left;
  std::ranges::set_difference(ranks, compared, std::back_inserter(left));
  if (left.empty()) return;
  outcome.coverage.push_back({"whether the copies of the model on " + list_ranks(left) + " stay alike",
                              "no parameters on the host that DistributedDataParallel keeps alike were seen "
                              "at five steps of an optimizer",
                              {"rank-divergence"},
                              compared.empty()});
}

}  // namespace

void detect_parted_copies(const Facts& groups, bool explain, findings::Outcome& outcome) {
  std::set<std::int32_t> compared;
  for (const matching::Communicator& communicator : groups.collectives.communicators) {
    if (communicator.members.size() < 2) continue;
    auto found = patterns::compare_copies(groups.job, communicator);
    compared.merge(found.compared);
    if (found.reducer) tell(groups, communicator, found, outcome);
  }
  if (explain) explain_silence(groups, compared, outcome);
}

}  // namespace ddpscope::detectors
