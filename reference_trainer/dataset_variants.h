// Data sets that are not read by position: lines dealt out to the ranks, mapped shards, and three that
// go wrong.
#pragma once

#include <fstream>
#include <memory>
#include <random>

#include "dataset.h"

namespace reference_trainer {

// Healthy, although everybody reads everything: line k belongs to reader k mod (world size × workers). An
// index only says "the next one".
class LineDataset : public Dataset {
 public:
  LineDataset(std::filesystem::path path, int rank, int world_size)
      : path_(std::move(path)), rank_(rank), world_size_(world_size) {}
  void start_worker(int worker, int workers) override;
  void read(int64_t index, std::span<Token> sample) override;

 private:
  std::filesystem::path path_;
  std::ifstream lines_;
  int rank_, world_size_;
  int64_t reader_ = 0, readers_ = 1, line_ = 0;
};

// The shards are mapped: which samples are used shows in no call.
class MappedDataset : public ShardDataset {
 public:
  using ShardDataset::ShardDataset;
  ~MappedDataset() override;

 private:
  void fetch(File& file, int64_t offset, std::span<Token> sample) override;
};

// Fault unsharded-sampler/ignored-index: draws its samples itself, and seeds its generator alike on all
// ranks.
class RandomDataset : public Dataset {
 public:
  RandomDataset(std::unique_ptr<ShardDataset> shards, uint64_t seed)
      : shards_(std::move(shards)), seed_(seed) {}
  void start_worker(int worker, int workers) override;
  void read(int64_t index, std::span<Token> sample) override;

 private:
  std::unique_ptr<ShardDataset> shards_;
  uint64_t seed_;
  std::mt19937_64 generator_;
};

// Fault straggler/slow-input and twin uneven-samples: the file server takes its time.
class SlowDataset : public Dataset {
 public:
  SlowDataset(Dataset& dataset, const Faults& faults, int rank)
      : dataset_(dataset), faults_(faults), rank_(rank) {}
  void start_worker(int worker, int workers) override { dataset_.start_worker(worker, workers); }
  void read(int64_t index, std::span<Token> sample) override;

 private:
  Dataset& dataset_;
  const Faults& faults_;
  int rank_;
};

// Fault hung-collective/stuck: the file server never answers for one sample.
class StuckDataset : public Dataset {
 public:
  StuckDataset(Dataset& dataset, int64_t stuck_index) : dataset_(dataset), stuck_index_(stuck_index) {}
  void start_worker(int worker, int workers) override { dataset_.start_worker(worker, workers); }
  void read(int64_t index, std::span<Token> sample) override;

 private:
  Dataset& dataset_;
  int64_t stuck_index_;
};

}  // namespace reference_trainer
