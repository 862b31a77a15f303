// The training loop of one rank.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>

#include "arguments.h"
#include "batch_feed.h"
#include "checkpoint.h"
#include "evaluation.h"
#include "host_parameters.h"
#include "learner.h"
#include "loader.h"
#include "process_group.h"
#include "sampler.h"
#include "tensor_parallel.h"

namespace reference_trainer {

class Training {
 public:
  Training(const Arguments& arguments, ProcessGroup& group);

  // From data preparation to the comparison of the final parameters. Throws std::runtime_error.
  void run();

 private:
  void create_learners();
  // All ranks go on with rank 0's parameters and optimizer state.
  void broadcast_state();
  void run_epoch(int64_t epoch);
  // Returns this rank's mean loss.
  double run_step(Loader& loader);
  // Of a rank that has no data left: takes part in the reductions, and adds nothing.
  double shadow_step();
  // Whether this rank has data left, or any, if all ask each other.
  bool goes_on(bool has_data);
  // The rank's part of an epoch.
  std::vector<int64_t> samples_of_epoch() const;
  void run_micro_batch(const int32_t* tokens, int index);
  void update(const int32_t* last_batch);
  bool alternates() const { return arguments_.faults.on(Twin::kAlternatingUpdates); }
  void average_parameters();
  void write_down_gradients();
  const int32_t* next_batch(Loader& loader);
  void copy_mask();
  double read_loss();
  void report_epoch(int64_t epoch, double mean_loss);
  void evaluate();
  void save();
  // Throws std::runtime_error if the ranks' parameters differ.
  void compare_parameters();
  bool finished() const { return arguments_.steps > 0 && step_ >= arguments_.steps; }

  // Faults and twins that strike inside the loop.
  void strike_before_step();
  void agree_on_epoch(int64_t epoch);
  void exchange_in_subgroup(double loss);
  // The sample at which this rank's loader gets stuck, of those that are left of the epoch; -1: none.
  int64_t stuck_sample(const std::vector<int64_t>& indices) const;

  const Arguments& arguments_;
  ProcessGroup& group_;
  const std::filesystem::path data_folder_;
  TensorParallel parallel_;
  Sampler sampler_;
  Stream compute_;
  BatchFeed feed_;
  std::optional<BatchFeed> masks_;  // twin shared-masks
  std::mt19937_64 mask_generator_;
  static constexpr size_t kMostLearners = 2;
  DeviceBuffer<double> losses_{kMostLearners};  // this step's, of each learner; the first one's is reported
  PinnedBuffer<double> host_loss_{1};
  Learners learners_;
  std::optional<HostParameters> host_parameters_;  // twin offloaded-parameters
  DeviceBuffer<float> saved_weights_;              // empty but for a fault
  Checkpoints checkpoints_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<Evaluation> evaluation_;
  std::unique_ptr<ProcessGroup> subgroup_;

  int64_t step_ = 0;     // optimizer steps done
  uint64_t digest_ = 0;  // of the epoch's batches
  int64_t samples_ = 0;  // of the epoch
  std::chrono::steady_clock::duration step_time_{};
  int64_t timed_steps_ = 0;
};

}  // namespace reference_trainer
