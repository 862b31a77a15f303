// A made-up data-parallel training job of any size, drawn from a seed: healthy, or with one fault.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/generated_rank.h"
#include "trace/result.h"

namespace ddpscope::tests {

struct JobShape {
  std::uint32_t ranks = 4;
  std::uint32_t steps = 100;  // per epoch
  std::uint32_t epochs = 2;
  std::uint32_t buckets = 4;
  std::uint32_t accumulation = 1;  // micro-batches a step
  std::uint32_t ranks_per_host = 8;
  std::uint64_t seed = 1;
  std::uint32_t fold = 0;  // 1: collectives are written folded
  std::uint32_t data_there =
      0;  // 1: the data exists before the job, so that ranks share no file that one writes
  std::uint32_t shared_files =
      0;  // written by one rank, read by the next after a barrier; dealt out over all steps
  std::uint32_t hand_overs = 0;  // a step and rank: between its two threads, there and back
  std::uint32_t messages = 0;    // a step and rank: over a socket to the next rank
  std::uint32_t timed = 0;       // 1: collectives have times of the device, and steps an update
  std::string fault = {};        // one of kFaults, or empty
};

struct FaultInfo {
  std::string_view slug;
  std::string_view sentence;
};
inline constexpr std::array<FaultInfo, 7> kFaults = {{
    {"skipped-barrier", "one rank does not run the barrier after the drawn epoch's checkpoint"},
    {"missing-barrier", "nobody runs the barrier between rank 0's preparation and the others' reading"},
    {"mismatched-collective", "one rank reduces one bucket with half its elements"},
    {"hung-collective", "one rank exits in the middle of a step"},
    {"duplicate-checkpoint-write", "every rank writes the checkpoint"},
    {"unsharded-sampler", "every rank reads the samples of rank 0"},
    {"redundant-accumulation-sync", "gradients are reduced after every micro-batch"},
}};

// What was drawn, to be compared with what is found.
struct GeneratedJob {
  std::uint64_t records = 0;
  std::int32_t rank = -1;  // at fault, -1: all
  std::uint32_t epoch = 0;
  std::uint32_t step = 0;  // in its epoch
  std::uint32_t bucket = 0;
  std::string call;
  std::string place;  // innermost frame, "train.py:88 prepare_data"
};

// Writes the job's traces into `folder`. Equal shapes give equal bytes. Errors: an unknown fault, a folder
// that cannot be written, a full disk.
Result<GeneratedJob> generate_job(const JobShape& shape, const std::filesystem::path& folder);

}  // namespace ddpscope::tests
