// slow-checkpoint: all ranks stand still while one saves (rule W4 of the catalogue of bugs).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/patterns/slow_saves.h"
#include "collector/patterns/step_summary.h"

namespace ddpscope::detectors {
namespace {

using patterns::SlowSave;

constexpr const char* kSlug = "slow-checkpoint";

// One save is none, unless it is this long; several are if they take this part of the time (design, section
// 2).
constexpr std::int64_t kLongSave = 30'000'000'000;
constexpr std::size_t kSeveral = 2;
constexpr std::int64_t kLeastPercent = 2;
constexpr std::size_t kMaxFiles = 8, kMaxPeers = 4;  // in the evidence

// Saves of one rank from one place.
struct Habit {
  std::string place;
  std::vector<const SlowSave*> saves;
  std::int64_t lost_ns = 0;
};

const files::WrittenFile& largest_of(const Facts& facts, const SlowSave& save) {
  auto smaller = [&](std::uint32_t a, std::uint32_t b) {
    return facts.written[a].bytes < facts.written[b].bytes;
  };
  const auto& files = save.saving.files;
  return facts.written[*std::max_element(files.begin(), files.end(), smaller)];
}

const SlowSave& longest_of(const Habit& habit) {
  return **std::max_element(habit.saves.begin(), habit.saves.end(), [](const SlowSave* a, const SlowSave* b) {
    return a->saving.lost_ns < b->saving.lost_ns;
  });
}

std::vector<Habit> find_habits(const Facts& facts, const std::vector<SlowSave>& saves) {
  std::map<std::pair<std::int32_t, std::string>, Habit> habits;
  for (const SlowSave& save : saves) {
    std::string place = facts.places.of(largest_of(facts, save).open);
    Habit& habit = habits[{save.rank, place}];
    habit.place = place;
    habit.saves.push_back(&save);
    habit.lost_ns += save.saving.lost_ns;
  }
  std::vector<Habit> found;
  for (auto& [key, habit] : habits) found.push_back(std::move(habit));
  return found;
}

bool counts(const Facts& facts, const Habit& habit) {
  bool several = habit.saves.size() >= kSeveral;
  return longest_of(habit).saving.lost_ns > kLongSave ||
         (several && habit.lost_ns * 100 >= facts.job.duration_ns * kLeastPercent);
}

std::vector<std::int32_t> peers_of(const Facts& facts, const SlowSave& save) {
  std::vector<std::int32_t> ranks;
  for (const auto& member : facts.collectives.communicators[save.communicator].members)
    if (member.rank != save.rank) ranks.push_back(member.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void tell_files(const Facts& facts, const SlowSave& save, findings::Finding& finding) {
  const auto& files = save.saving.files;
  for (std::size_t i = 0; i < std::min(files.size(), kMaxFiles); ++i) {
    const files::WrittenFile& file = facts.written[files[i]];
    finding.evidence.push_back(evidence_of(facts.job, file.open,
                                           fmt::format("writes {} bytes from {} to {}", file.bytes,
                                                       seconds(file.begin_ns), seconds(file.end_ns))));
    finding.evidence.back().file = file.path;
  }
}

void tell_collective(const Facts& facts, const SlowSave& save, findings::Finding& finding) {
  const auto& members = facts.collectives.communicators[save.communicator].members;
  const matching::Member& saver = members[save.member];
  std::size_t told = 0;
  for (const auto& member : members) {
    if (&member == &saver || told++ >= kMaxPeers) continue;
    auto call = facts.collectives.call_at(member, save.ordinal);
    std::uint32_t wait = facts.device_order.completions[member.calls[save.ordinal]].wait;
    finding.evidence.push_back(
        evidence_of(facts.job, facts.collectives, call,
                    fmt::format("{}: its host waits for it from {} on", to_text(call.signature),
                                seconds(facts.device_order.waits[wait].begin_ns))));
  }
  auto call = facts.collectives.call_at(saver, save.ordinal);
  finding.evidence.push_back(evidence_of(
      facts.job, facts.collectives, call,
      fmt::format("comes {} after its files are written", seconds(call.begin_ns - save.saving.end_ns))));
}

std::uint64_t bytes_of_files(const Facts& facts, const SlowSave& save) {
  std::uint64_t bytes = 0;
  for (std::uint32_t file : save.saving.files) bytes += facts.written[file].bytes;
  return bytes;
}

std::string title_of(const Facts& facts, const Habit& habit) {
  const SlowSave& longest = longest_of(habit);
  std::vector<std::int32_t> peers = peers_of(facts, longest);
  std::string times = habit.saves.size() == 1
                          ? fmt::format("for {}", seconds(longest.saving.lost_ns))
                          : fmt::format("{} times, for {} in all and {} at most,", habit.saves.size(),
                                        seconds(habit.lost_ns), seconds(longest.saving.lost_ns));
  return fmt::format("{} {} still {} while rank {} saves{} ({} bytes): {:.1f} % of the time",
                     list_ranks(peers), verb(peers, "stands", "stand"), times, longest.rank, at(habit.place),
                     bytes_of_files(facts, longest),
                     100.0 * static_cast<double>(habit.lost_ns) / static_cast<double>(facts.job.duration_ns));
}

findings::Finding finding_of(const Facts& facts, const Habit& habit) {
  const SlowSave& longest = longest_of(habit);
  findings::Finding finding;
  finding.slug = kSlug;
  finding.severity = findings::Severity::kWarning;
  finding.confidence = findings::Confidence::kCertain;
  finding.title = title_of(facts, habit);
  finding.ranks = {longest.rank};
  finding.count = habit.saves.size();
  finding.first_ns = habit.saves.front()->saving.begin_ns;
  finding.last_ns = habit.saves.back()->saving.end_ns;
  std::size_t steps = patterns::summarise_steps(facts.job, facts.collectives, longest.process).steps;
  if (steps) finding.cost.ms_per_step = static_cast<double>(habit.lost_ns) / 1e6 / static_cast<double>(steps);
  finding.advice =
      "Let the others train on while one saves: copy the state to host memory and write it in another "
      "thread or process (torch.distributed.checkpoint.async_save); or let each rank write its part "
      "(sharded state dicts); save less often, or to a local disk first.";
  for (const SlowSave* save : habit.saves)
    for (std::uint32_t file : save->saving.files) finding.files.insert(facts.written[file].path);
  finding.place = {peers_of(facts, longest), finding.first_ns, finding.last_ns};
  finding.place.ranks.push_back(finding.ranks.front());
  std::sort(finding.place.ranks.begin(), finding.place.ranks.end());
  finding.key = facts.places.whole(largest_of(facts, longest).open);
  tell_files(facts, longest, finding);
  tell_collective(facts, longest, finding);
  return finding;
}

}  // namespace

void detect_slow_checkpoint(const Facts& facts, findings::Outcome& outcome) {
  std::vector<SlowSave> saves = patterns::find_slow_saves(facts.job, facts.collectives, facts.device_order,
                                                          facts.rounds, facts.written);
  for (const Habit& habit : find_habits(facts, saves))
    if (counts(facts, habit)) outcome.findings.push_back(finding_of(facts, habit));
}

}  // namespace ddpscope::detectors
