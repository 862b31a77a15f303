// Runs reading, alignment, matching, ordering, the detectors and attribution.
#include "collector/analysis/analyze.h"

#include <algorithm>
#include <map>
#include <set>

#include "collector/alignment/align.h"
#include "collector/analysis/coverage.h"
#include "collector/attribution/attribute.h"
#include "collector/detectors/detector.h"
#include "collector/detectors/first_failure.h"
#include "collector/detectors/sample_groups.h"
#include "collector/patterns/barriers.h"
#include "collector/patterns/existence_checks.h"
#include "collector/patterns/late_files.h"
#include "collector/patterns/message_saves.h"

namespace ddpscope::analysis {
namespace {

void run_detectors(const detectors::Facts& facts, const std::vector<std::string>& only,
                   reading::Progress& progress, findings::Outcome& outcome) {
  auto detectors = detectors::all_detectors();
  for (std::size_t i = 0; i < detectors.size(); ++i) {
    progress.at("looking for findings", i, detectors.size());
    if (only.empty() || std::find(only.begin(), only.end(), detectors[i].slug) != only.end())
      detectors[i].detect(facts, outcome);
  }
}

// Those that the engine will be asked about: they use files of several ranks, ask for them, or write where
// others write.
std::vector<ordering::ThreadId> threads_of_files(const model::Job& job, const files::SharedNames& names,
                                                 const std::vector<files::Object>& objects,
                                                 const std::vector<files::WrittenFile>& written,
                                                 const matching::Collectives& collectives) {
  std::vector<ordering::ThreadId> threads = patterns::judged_threads(names, objects);
  std::vector<ordering::ThreadId> looking = patterns::looking_threads(job, names);
  threads.insert(threads.end(), looking.begin(), looking.end());
  looking = patterns::late_looking_threads(job, names);
  threads.insert(threads.end(), looking.begin(), looking.end());
  looking = patterns::threads_of_message_saves(job, collectives, written);
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

}  // namespace

Result<Analysis> analyze(const std::filesystem::path& trace, const std::vector<std::string>& only,
                         reading::Progress& progress) {
  auto reading = reading::read_trace(trace, progress);
  if (!reading) return reading.error();
  Analysis analysis{
      std::move(reading->job), {{}, {}, only}, std::move(reading->errors), std::move(reading->warnings)};
  const model::Job& job = analysis.job;
  progress.at("aligning clocks", 0, 1);
  alignment::align(analysis.job);
  progress.at("matching collectives", 0, 1);
  matching::Collectives collectives = matching::find_collectives(job);
  matching::Divergences divergences = matching::find_divergences(collectives);
  progress.at("ordering", 0, 1);
  ordering::DeviceOrder device_order = ordering::find_device_order(job, collectives);
  std::vector<bool> barriers = patterns::find_barriers(job, collectives, device_order);
  patterns::Rounds rounds(job, collectives, device_order);
  detectors::CodePlaces places(job);
  model::Lazy<patterns::ReductionHabits> reduction_habits(
      [&] { return patterns::find_reduction_habits(job, collectives); });
  auto data_parallel = patterns::find_data_parallel_groups(job, collectives, reduction_habits);
  std::vector<files::WrittenFile> written = files::find_written_files(job);
  files::SharedNames names = files::find_shared_names(job);
  std::vector<files::Object> objects = files::find_objects(job, names);
  ordering::HappensBefore order(job, collectives, device_order, names,
                                threads_of_files(job, names, objects, written, collectives));
  patterns::FileRaces races = patterns::find_file_races(job, names, objects, order);
  model::Lazy<detectors::SampleGroups> samples(
      [&] { return detectors::find_sample_groups(job, collectives, data_parallel); });
  model::Lazy<std::vector<patterns::UnevenSteps>> uneven_steps(
      [&] { return patterns::find_uneven_steps(job, collectives, divergences, data_parallel); });
  detectors::Facts facts{{job, collectives, divergences, device_order, rounds, places},
                         barriers,
                         data_parallel,
                         written,
                         names,
                         order,
                         races,
                         reduction_habits,
                         samples,
                         uneven_steps};
  run_detectors(facts, only, progress, analysis.outcome);
  attribution::attribute(analysis.outcome.findings);
  analysis.outcome.first_failure = detectors::find_first_failure(job);
  tell_lost(job, analysis.errors);
  add_coverage(job, collectives, analysis.errors, analysis.outcome.coverage);
  for (const Error& told : analysis.warnings)
    analysis.outcome.coverage.push_back({told.where, told.what, {}});
  if (!only.empty()) keep_requested(only, analysis.outcome.coverage);
  analysis.nothing_judged = tell_if_nothing_was_judged(job, analysis.outcome);
  return analysis;
}

}  // namespace ddpscope::analysis
