// All detectors, listed by hand.
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {
namespace {

constexpr Detector kDetectors[] = {
    {"skipped-barrier", detect_skipped_barrier},
    {"missing-barrier", detect_missing_barrier},
    {"ineffective-barrier", detect_ineffective_barrier},
    {"divergent-existence-check", detect_divergent_existence_check},
    {"mismatched-collective", detect_mismatched_collective},
    {"hung-collective", detect_hung_collective},
    {"no-process-group", detect_no_process_group},
    {"duplicate-checkpoint-write", detect_duplicate_checkpoint_write},
    {"checkpoint-race", detect_checkpoint_race},
    {"slow-checkpoint", detect_slow_checkpoint},
    {"unsharded-sampler", detect_unsharded_sampler},
    {"repeated-epoch-order", detect_repeated_epoch_order},
    {"uneven-steps", detect_uneven_steps},
    {"redundant-accumulation-sync", detect_redundant_accumulation_sync},
    {"missing-gradient-sync", detect_missing_gradient_sync},
    {"rank-divergence", detect_rank_divergence},
    {"shared-device", detect_shared_device},
    {"rank-mismatch", detect_rank_mismatch},
    {"straggler", detect_straggler},
    {"exposed-communication", detect_exposed_communication},
    {"filesystem-lag", detect_filesystem_lag},
};

}  // namespace

std::span<const Detector> all_detectors() { return kDetectors; }

}  // namespace ddpscope::detectors
