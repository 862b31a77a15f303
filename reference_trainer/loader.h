// Forked worker processes that read batches ahead and send them through pipes; without any, reads itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "dataset.h"

namespace reference_trainer {

class Loader {
 public:
  // Starts the workers; worker w reads the batches w, w + workers, ... of the `batch` samples each that
  // `indices` falls into. `dataset` must outlive the loader.
  Loader(Dataset& dataset, std::vector<int64_t> indices, int batch, int tokens_per_sample, int workers);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  // Workers that are not done are ended.
  ~Loader();

  int64_t batches() const { return static_cast<int64_t>(indices_.size()) / batch_; }
  // The next batch, sample by sample. Throws std::runtime_error if its worker is gone, or what the data set
  // throws.
  void next(std::span<int32_t> tokens);

 private:
  struct Worker {
    pid_t pid;
    int pipe;
  };
  void start_worker(int worker, int workers);
  // Calls take(sample) for each sample of a batch.
  template <typename Take>
  void read_batch(int64_t batch, Take take);
  [[noreturn]] void run_worker(int worker, int workers, int pipe);

  Dataset& dataset_;
  std::vector<int64_t> indices_;
  int batch_, tokens_per_sample_;
  std::vector<Worker> workers_;
  int64_t next_batch_ = 0;
};

}  // namespace reference_trainer
