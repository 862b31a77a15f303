// Token shards, read by position.
#include "dataset.h"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>

#include "check.h"
#include "dataset_variants.h"

namespace reference_trainer {

ShardDataset::ShardDataset(std::filesystem::path folder, const std::vector<Shard>& shards, int64_t samples,
                           int tokens_per_sample, int targets)
    : samples_(samples), targets_(targets) {
  int64_t windows = 0;
  for (const Shard& shard : shards) {
    // Neighbouring windows overlap by the context, so that every token is a target once.
    const int64_t own =
        shard.tokens < tokens_per_sample ? 0 : (shard.tokens - tokens_per_sample) / targets + 1;
    files_.push_back({folder / shard.name, own, -1});
    windows += own;
  }
  stride_ = windows / samples;
  if (stride_ == 0) {
    throw std::invalid_argument(fmt::format("the text gives {} samples, {} are asked for", windows, samples));
  }
}

ShardDataset::~ShardDataset() {
  for (const File& file : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
  }
}

int ShardDataset::descriptor(File& file) {
  if (file.descriptor < 0) {
    file.descriptor = check_system(open(file.path.c_str(), O_RDONLY | O_CLOEXEC), file.path.native());
  }
  return file.descriptor;
}

void ShardDataset::read(int64_t index, std::span<Token> sample) {
  int64_t window = index * stride_;
  size_t which = 0;
  for (; window >= files_[which].windows; ++which) window -= files_[which].windows;
  File& file = files_[which];
  fetch(file, window * targets_ * static_cast<int64_t>(sizeof(Token)), sample);
}

void ShardDataset::fetch(File& file, int64_t offset, std::span<Token> sample) {
  const ssize_t got = pread(descriptor(file), sample.data(), sample.size_bytes(), offset);
  if (got != static_cast<ssize_t>(sample.size_bytes())) {
    throw std::runtime_error(fmt::format("{} ends before the sample at {}", file.path.native(), offset));
  }
}

std::unique_ptr<Dataset> open_dataset(const Arguments& arguments, const std::filesystem::path& folder,
                                      const Manifest& manifest, int rank, int world_size) {
  if (arguments.faults.on(Twin::kInterleavedLines)) {
    return std::make_unique<LineDataset>(folder / "train.jsonl", rank, world_size);
  }
  const Faults& faults = arguments.faults;
  if (faults.on(Fault::kUnshardedInMemory) || faults.on(Twin::kMemoryMapped) ||
      faults.on(Twin::kSharedMasks) || faults.on(Twin::kOffloadedParameters)) {
    return std::make_unique<MappedDataset>(folder, manifest.train, arguments.samples,
                                           arguments.tokens_per_sample(), arguments.targets);
  }
  auto shards = std::make_unique<ShardDataset>(folder, manifest.train, arguments.samples,
                                               arguments.tokens_per_sample(), arguments.targets);
  if (arguments.faults.on(Fault::kUnshardedIgnoredIndex)) {
    return std::make_unique<RandomDataset>(std::move(shards), arguments.seed);
  }
  return shards;
}

}  // namespace reference_trainer
