// Runs reading, alignment, matching, ordering, the detectors and attribution.
#include "collector/analysis/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "collector/alignment/align.h"
#include "collector/analysis/coverage.h"
#include "collector/analysis/group_findings.h"
#include "collector/attribution/attribute.h"
#include "collector/attribution/explain_failure.h"
#include "collector/detectors/detector.h"
#include "collector/detectors/first_failure.h"
#include "collector/detectors/framework_syncs.h"
#include "collector/detectors/job_failure.h"
#include "collector/detectors/sample_groups.h"
#include "collector/detectors/story.h"
#include "collector/live/look.h"
#include "collector/patterns/barriers.h"
#include "collector/patterns/existence_checks.h"
#include "collector/patterns/late_files.h"

namespace ddpscope::analysis {
namespace {

constexpr std::string_view kHung = "hung-collective";

bool is_asked(std::string_view slug, const std::vector<std::string>& only) {
  return only.empty() || std::find(only.begin(), only.end(), slug) != only.end();
}

// `runs_on`: hangs are judged otherwise.
void run_detectors(const detectors::Facts& facts, const std::vector<std::string>& only, bool runs_on,
                   reading::Progress& progress, findings::Outcome& outcome) {
  auto detectors = detectors::all_detectors();
  for (std::size_t i = 0; i < detectors.size(); ++i) {
    progress.at("looking for findings", i, detectors.size());
    if (is_asked(detectors[i].slug, only) && !(runs_on && detectors[i].slug == kHung))
      detectors[i].detect(facts, outcome);
  }
}

// Of a job that runs on, a rank that has not come may be on its way: what moves between two looks tells.
// True: hangs were judged. `ended`: meanwhile, so that there is more in the trace by now.
bool find_hangs_now(const std::filesystem::path& trace, const trace::Identity& here, bool& ended,
                    findings::Outcome& outcome) {
  auto unjudged = [&](std::string why) {
    outcome.coverage.push_back({"hangs of a job that still runs", std::move(why), {std::string(kHung)}});
    return false;
  };
  auto look = live::look_twice(trace, here);
  ended = look && look->condition == live::Condition::kEnded;
  if (!look || ended)
    return unjudged("it ended, or could not be read again, while it was looked at: report once more");
  for (live::Stall& stall : look->stalls)
    if (stall.stuck)
      outcome.findings.push_back(std::move(stall.finding));
    else
      unjudged(fmt::format("{}: for {} so far, too short to tell a hang from a slow rank",
                           stall.finding.title, detectors::seconds(stall.waited_ns)));
  for (std::string& why : look->unjudged) unjudged(std::move(why));
  return look->judged != live::Judged::kNothing;
}

// Whatever the ranks talk by. A rank of a job that hangs fails, or is ended by others.
bool is_without_hang(const model::Job& job) {
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    bool well = job.processes[i].ended_well() && job.told_ns(i) > job.duration_ns;
    if (job.processes[i].role == model::Role::kRank && !well) return false;
  }
  return true;
}

bool has_hang(const findings::Outcome& outcome) {
  return std::any_of(outcome.findings.begin(), outcome.findings.end(),
                     [](const findings::Finding& finding) { return finding.slug == kHung; });
}

// Those that the engine will be asked about: they use files of several ranks, ask for them, or write where
// others write.
std::vector<ordering::ThreadId> threads_of_files(const model::Job& job, const files::SharedNames& names,
                                                 const std::vector<files::Object>& objects,
                                                 const std::vector<files::WrittenFile>& written) {
  std::vector<ordering::ThreadId> threads = patterns::judged_threads(names, objects);
  std::vector<ordering::ThreadId> looking = patterns::looking_threads(job, names);
  threads.insert(threads.end(), looking.begin(), looking.end());
  looking = patterns::late_looking_threads(job, names);
  threads.insert(threads.end(), looking.begin(), looking.end());
  std::map<std::string_view, std::set<std::int32_t>> of_place;
  std::map<files::FileId, std::set<std::int32_t>> of_inode;
  for (const files::WrittenFile& file : written) {
    of_place[file.place].insert(file.rank);
    of_inode[{file.device, file.inode}].insert(file.rank);
  }
  for (const files::WrittenFile& file : written) {
    if (of_place[file.place].size() < 2 && of_inode[{file.device, file.inode}].size() < 2) continue;
    threads.push_back({file.open.process, file.open_thread});
    threads.push_back({file.open.process, file.last_thread});
  }
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  return threads;
}

// Files that were cut off, or whose disk went away, under our hands.
void tell_lost(const model::Job& job, std::vector<Error>& errors) {
  for (const model::Process& process : job.processes)
    if (process.file.lost())
      errors.push_back({"the trace file changed while it was read, and some of it is lost",
                        process.file.name(), "report again once nobody writes it"});
}

// `ended`: the job ended while it was looked at as one that runs.
Result<Analysis> analyze_once(const std::filesystem::path& trace, const std::vector<std::string>& only,
                              reading::Progress& progress, const trace::Identity* here, std::int32_t attempt,
                              const Onlooker& onlooker, bool& ended) {
  auto reading = reading::read_trace(trace, progress, attempt);
  if (!reading) return reading.error();
  Analysis analysis{
      std::move(reading->job), {{}, {}, only}, std::move(reading->errors), std::move(reading->warnings)};
  const model::Job& job = analysis.job;
  progress.at("aligning clocks", 0, 1);
  alignment::align(analysis.job);
  if (onlooker.begun) onlooker.begun(job);
  progress.at("matching collectives", 0, 1);
  matching::Collectives collectives = matching::find_collectives(job);
  ordering::DeviceOrder device_order = ordering::find_device_order(job, collectives);
  std::vector<bool> barriers = patterns::find_barriers(job, collectives, device_order);
  const detectors::CodePlaces places(job);
  GroupFindings groups(job, places);
  std::future<void> beside;
  // Of a job that calls nothing on NCCL, what it calls on process groups is what people look at.
  const bool by_groups = collectives.calls.empty() && !groups.calls().calls.empty();
  if (onlooker.matched)
    beside = onlooker.matched(
        {job, by_groups ? groups.calls() : collectives, by_groups ? groups.barriers() : barriers});
  matching::Divergences divergences = matching::find_divergences(collectives);
  progress.at("ordering", 0, 1);
  patterns::Rounds rounds(job, collectives, device_order);
  model::Lazy<patterns::ReductionHabits> reduction_habits(
      [&] { return patterns::find_reduction_habits(job, collectives); });
  model::Lazy<std::vector<patterns::FrameworkSteps>> framework_steps(
      [&] { return patterns::find_framework_steps(job); });
  auto data_parallel =
      patterns::find_data_parallel_groups(job, collectives, reduction_habits, framework_steps);
  std::vector<files::WrittenFile> written = files::find_written_files(job);
  files::SharedNames names = files::find_shared_names(job);
  std::vector<files::Object> objects = files::find_objects(job, names);
  ordering::HappensBefore order(job, collectives, device_order, names,
                                threads_of_files(job, names, objects, written));
  patterns::FileRaces races = patterns::find_file_races(job, names, objects, order);
  model::Lazy<detectors::SampleGroups> samples(
      [&] { return detectors::find_sample_groups(job, collectives, data_parallel); });
  model::Lazy<std::vector<patterns::UnevenSteps>> uneven_steps(
      [&] { return patterns::find_uneven_steps(job, collectives, divergences, data_parallel); });
  model::Lazy<patterns::CollectiveTimes> collective_times(
      [&] { return patterns::CollectiveTimes(job, collectives); });
  detectors::Facts facts{{job, collectives, divergences, device_order, rounds, places},
                         barriers,
                         data_parallel,
                         written,
                         names,
                         order,
                         races,
                         reduction_habits,
                         samples,
                         uneven_steps,
                         framework_steps,
                         collective_times};
  const bool runs_on = here && attempt < 0 && live::may_run_on(job, *here);
  run_detectors(facts, only, runs_on, progress, analysis.outcome);
  const detectors::Facts group_facts = groups.facts_in(facts);
  groups.detect(facts, group_facts, is_asked, only, !runs_on, analysis.outcome);
  std::set<std::string> judged = groups.judged(!runs_on);
  bool looks_on = runs_on && is_asked(kHung, only) && !has_hang(analysis.outcome);
  if (looks_on ? find_hangs_now(trace, *here, ended, analysis.outcome) : !runs_on && is_without_hang(job))
    judged.insert(std::string(kHung));
  if (detectors::trains_by_framework(facts)) {
    judged.insert("redundant-accumulation-sync");
    judged.insert("missing-gradient-sync");
  }
  attribution::attribute(analysis.outcome.findings);
  const detectors::RankEnds ends = detectors::find_rank_ends(job);
  analysis.outcome.first_failure = detectors::find_first_failure(job, ends);
  analysis.outcome.failure = detectors::find_job_failure(job, ends);
  if (analysis.outcome.failure) attribution::explain(analysis.outcome.findings, *analysis.outcome.failure);
  tell_lost(job, analysis.errors);
  add_coverage(job, collectives, judged, analysis.errors, analysis.outcome.coverage);
  for (const Error& told : analysis.warnings)
    analysis.outcome.coverage.push_back({told.where, told.what, {}});
  if (!only.empty()) keep_requested(only, analysis.outcome.coverage);
  analysis.nothing_judged = tell_if_nothing_was_judged(job, analysis.outcome);
  if (onlooker.judged) onlooker.judged(analysis);
  if (beside.valid()) beside.get();
  if (onlooker.look) onlooker.look(facts, by_groups ? group_facts : facts, analysis);
  return analysis;
}

}  // namespace

Result<Analysis> analyze(const std::filesystem::path& trace, const std::vector<std::string>& only,
                         reading::Progress& progress, const trace::Identity* here, std::int32_t attempt,
                         const Onlooker& onlooker) {
  bool ended = false, again = false;
  auto analysis = analyze_once(trace, only, progress, here, attempt, onlooker, ended);
  // An onlooker has seen it as it was, and is not to see it twice.
  bool seen = onlooker.begun || onlooker.matched || onlooker.judged || onlooker.look;
  if (!analysis || !ended || seen) return analysis;
  return analyze_once(trace, only, progress, here, attempt, onlooker, again);
}

}  // namespace ddpscope::analysis
