// Saves and restores the state of training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include "background_save.h"
#include "learner.h"

namespace reference_trainer {

using Learners = std::list<Learner>;

class Checkpoints {
 public:
  Checkpoints(std::filesystem::path folder, ProcessGroup& group, const Faults& faults)
      : folder_(std::move(folder)), group_(group), faults_(faults) {}

  // Collective. Rank 0 writes FOLDER/step_NNNNNN.bin and points FOLDER/latest at it; then a barrier.
  void save(int64_t step, const Learners& learners);
  // Restores what `latest` points at and returns its step; 0 if nothing has been saved. Throws
  // std::runtime_error if it does not fit the learners.
  int64_t load(Learners& learners) const;
  // Returns when all that is saved is on the disk.
  void finish() { background_.wait(); }

 private:
  void write(int64_t step, const Learners& learners);
  void write_in_background(const std::filesystem::path& path, int64_t step, const Learners& learners);
  void write_folder(int64_t step, const Learners& learners) const;
  std::string file_name(int64_t step) const;
  void point_at(const std::filesystem::path& name) const;
  void wait_for_save();

  // What some faults and their twins do besides.
  int saving_rank() const;
  bool keeps_own_state() const;
  std::filesystem::path own_state(int64_t step) const;
  std::filesystem::path own_shard(int64_t step) const;
  void write_own_state(int64_t step) const;
  bool leads_save() const;
  bool all_ranks_write() const;
  bool reads_back() const;
  void look_back(int64_t step);
  void read_back(int64_t step) const;
  bool rotates_once_a_host() const;
  bool rotates() const;
  void remove_old(const std::filesystem::path& path) const;
  void rotate();

  int64_t load_file(const std::filesystem::path& path, Learners& learners) const;

  std::filesystem::path folder_;
  ProcessGroup& group_;
  const Faults& faults_;
  int64_t saves_ = 0;
  BackgroundSave background_;  // of who leads the save
};

}  // namespace reference_trainer
