// skipped-barrier: a rank leaves out a barrier that its peers run, or runs one more (bugs a2 and a4 of the
// catalogue: a guard that ranks answer differently, a counter that leaks, a nested helper).
#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/call_in_between.h"
#include "collector/detectors/detector.h"
#include "collector/detectors/divergence_story.h"
#include "collector/detectors/left_short.h"

namespace ddpscope::detectors {
namespace {

using matching::Divergence;
using matching::DivergenceKind;
using matching::kNone;

bool is_barrier(const Facts& facts, std::uint32_t call) { return call != kNone && facts.barriers[call]; }

// The barrier that is left out or too many; kNone if this divergence is about something else: a collective
// that a rank makes on its way to the barrier is mismatched-collective's.
std::uint32_t barrier_of(const Facts& facts, const Divergence& divergence) {
  bool expected = is_barrier(facts, divergence.expected), actual = is_barrier(facts, divergence.actual);
  if (divergence.expected != kNone && divergence.actual != kNone && expected != actual) {
    std::uint32_t barrier = expected ? divergence.expected : divergence.actual;
    std::uint32_t other = expected ? divergence.actual : divergence.expected;
    if (is_made_before_barrier(facts, other, barrier)) return kNone;
  }
  if (divergence.kind == DivergenceKind::kMissing && expected) return divergence.expected;
  if (divergence.kind == DivergenceKind::kSurplus && actual) return divergence.actual;
  return kNone;
}

// Ranks that may have come to the barrier behind an epoch a step earlier than their peers: whether their data
// was used up does not show.
std::vector<std::int32_t> may_have_no_data(const Facts& facts, const Divergence& divergence) {
  for (const patterns::UnevenSteps& uneven : facts.uneven_steps.get())
    if (uneven.divergence == &divergence && !uneven.data_seen) return uneven.done;
  return {};
}

void tell(const Facts& facts, const Divergence& divergence, std::uint32_t barrier,
          findings::Outcome& outcome) {
  bool missing = divergence.kind == DivergenceKind::kMissing;
  Sides sides = sides_of(facts, divergence);
  const auto& call = facts.collectives.calls[barrier];
  std::string place = facts.places.of(call);
  findings::Finding finding;
  finding.slug = "skipped-barrier";
  finding.confidence = divergence.decided ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.ranks = sides.odd;
  std::string odd = list_ranks(sides.odd), others = list_ranks(sides.others);
  const char* others_run = verb(sides.others, "runs", "run");
  std::string or_else = divergence.decided ? "" : fmt::format(", or {} {} one too many", others, others_run);
  if (missing)
    finding.title = fmt::format("{} {} not run the barrier that {} {}{}{}", odd,
                                verb(sides.odd, "does", "do"), others, others_run, at(place), or_else);
  else
    finding.title = fmt::format("{} {} a barrier once more than {}{}", odd, verb(sides.odd, "runs", "run"),
                                others, at(place));
  finding.advice = missing ? "Let every rank run the barrier: take it out of the branch, early return or "
                             "exception path that these ranks "
                             "take, or let rank 0 decide and broadcast the decision."
                           : "Run the barrier as often on every rank: take the surplus call out of the code "
                             "that only these ranks run.";
  if (auto done = may_have_no_data(facts, divergence); !done.empty()) {
    finding.confidence = findings::Confidence::kLikely;
    finding.title += fmt::format(", or {} {} made a step fewer", list_ranks(done), verb(done, "has", "have"));
    finding.advice +=
        " If it stands behind an epoch and the data of these ranks ended a step earlier, let all ranks make "
        "the "
        "same number of steps (ddpscope explain uneven-steps).";
  }
  finding.evidence = evidence_of(facts, divergence);
  add_captured(facts, call, finding);
  finding.place = place_of(facts, divergence);
  finding.first_ns = call.begin_ns;
  finding.last_ns = finding.place.to_ns;
  std::uint32_t instead = missing ? divergence.actual : divergence.expected;
  finding.key =
      fmt::format("{} {} then {}", missing ? "missing" : "surplus", facts.places.whole(call.called),
                  instead == kNone ? "nothing" : facts.places.whole(facts.collectives.calls[instead].called));
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void detect_skipped_barrier(const Facts& facts, findings::Outcome& outcome) {
  for (const Divergence& divergence : facts.divergences.divergences) {
    std::uint32_t barrier = barrier_of(facts, divergence);
    if (barrier != kNone) tell(facts, divergence, barrier, outcome);
  }
  for (const LeftShort& left : find_left_short(facts))
    if (is_barrier(facts, left.call))
      outcome.findings.push_back(tell_left_short(facts, left, "skipped-barrier"));
}

}  // namespace ddpscope::detectors
