// The data set: what a loader worker reads a sample from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "arguments.h"
#include "corpus.h"

namespace reference_trainer {

// Made in the main process, used in its workers: opens nothing before the first read.
class Dataset {
 public:
  virtual ~Dataset() = default;
  // In a worker, once, before it reads.
  virtual void start_worker(int /*worker*/, int /*workers*/) {}
  // Fills `sample` with sample number `index`. Throws std::runtime_error.
  virtual void read(int64_t index, std::span<Token> sample) = 0;
};

// Samples spread evenly over token shards.
class ShardDataset : public Dataset {
 public:
  // `samples` windows of `tokens_per_sample` tokens. Throws std::invalid_argument if the shards hold fewer.
  ShardDataset(std::filesystem::path folder, const std::vector<Shard>& shards, int64_t samples,
               int tokens_per_sample, int targets);
  ~ShardDataset() override;
  void read(int64_t index, std::span<Token> sample) override;
  int64_t size() const { return samples_; }

 protected:
  struct File {
    std::filesystem::path path;
    int64_t windows;
    int descriptor;
    std::span<const std::byte> mapping = {};
  };
  int descriptor(File& file);
  // A sample from where it lies in the file, in bytes: by one pread.
  virtual void fetch(File& file, int64_t offset, std::span<Token> sample);

  std::vector<File> files_;

 private:
  int64_t samples_;
  int targets_;
  int64_t stride_;  // windows from one sample to the next
};

// The data set that the arguments ask for. `rank` and `world_size` matter to the one that shards by itself.
std::unique_ptr<Dataset> open_dataset(const Arguments& arguments, const std::filesystem::path& folder,
                                      const Manifest& manifest, int rank, int world_size);

}  // namespace reference_trainer
