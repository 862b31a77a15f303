// What a detector is: a slug and a function from the facts of a job to findings. No detector knows another;
// which finding explains which is decided afterwards, in attribution/.
#pragma once
#include <span>
#include <string_view>

#include "collector/detectors/code_places.h"
#include "collector/files/written_files.h"
#include "collector/findings/finding.h"
#include "collector/matching/collectives.h"
#include "collector/matching/divergence.h"
#include "collector/model/job.h"
#include "collector/model/lazy.h"
#include "collector/ordering/device_order.h"
#include "collector/patterns/collective_times.h"
#include "collector/patterns/data_parallel_groups.h"
#include "collector/patterns/file_races.h"
#include "collector/patterns/framework_steps.h"
#include "collector/patterns/reduction_habits.h"
#include "collector/patterns/rounds.h"
#include "collector/patterns/training_steps.h"
#include "collector/patterns/uneven_steps.h"

namespace ddpscope::detectors {

struct SampleGroups;

// What is known of collectives and of who waits for them: enough for hangs, and derived in a fraction of a
// second of the latest part of a trace.
struct CallFacts {
  const model::Job& job;
  const matching::Collectives& collectives;
  const matching::Divergences& divergences;
  const ordering::DeviceOrder& device_order;
  const patterns::Rounds& rounds;
  const CodePlaces& places;
};

// Everything that was derived from the trace, computed once.
struct Facts : CallFacts {
  const std::vector<bool>& barriers;  // by call, as in collectives.calls
  const std::vector<patterns::DataParallelGroup>& data_parallel;
  const std::vector<files::WrittenFile>& written;
  const files::SharedNames& names;
  const ordering::HappensBefore& order;  // knows the threads that touch files of several ranks
  const patterns::FileRaces& file_races;
  const model::Lazy<patterns::ReductionHabits>& reduction_habits;
  const model::Lazy<SampleGroups>& samples;
  const model::Lazy<std::vector<patterns::UnevenSteps>>& uneven_steps;
  const model::Lazy<std::vector<patterns::FrameworkSteps>>& framework_steps;  // by process
  const model::Lazy<patterns::CollectiveTimes>& collective_times;
};

struct Detector {
  std::string_view slug;
  void (*detect)(const Facts& facts, findings::Outcome& outcome);
};

// In the order of the catalogue.
std::span<const Detector> all_detectors();

void detect_skipped_barrier(const Facts& facts, findings::Outcome& outcome);
void detect_missing_barrier(const Facts& facts, findings::Outcome& outcome);
void detect_ineffective_barrier(const Facts& facts, findings::Outcome& outcome);
void detect_divergent_existence_check(const Facts& facts, findings::Outcome& outcome);
void detect_mismatched_collective(const Facts& facts, findings::Outcome& outcome);
void detect_hung_collective(const Facts& facts, findings::Outcome& outcome);
void detect_no_process_group(const Facts& facts, findings::Outcome& outcome);
void detect_duplicate_checkpoint_write(const Facts& facts, findings::Outcome& outcome);
void detect_checkpoint_race(const Facts& facts, findings::Outcome& outcome);
void detect_unsharded_sampler(const Facts& facts, findings::Outcome& outcome);
void detect_repeated_epoch_order(const Facts& facts, findings::Outcome& outcome);
void detect_uneven_steps(const Facts& facts, findings::Outcome& outcome);
void detect_redundant_accumulation_sync(const Facts& facts, findings::Outcome& outcome);
void detect_missing_gradient_sync(const Facts& facts, findings::Outcome& outcome);
void detect_rank_divergence(const Facts& facts, findings::Outcome& outcome);
void detect_shared_device(const Facts& facts, findings::Outcome& outcome);
void detect_rank_mismatch(const Facts& facts, findings::Outcome& outcome);
void detect_slow_checkpoint(const Facts& facts, findings::Outcome& outcome);
void detect_straggler(const Facts& facts, findings::Outcome& outcome);
void detect_exposed_communication(const Facts& facts, findings::Outcome& outcome);
void detect_filesystem_lag(const Facts& facts, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
