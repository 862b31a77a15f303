// Data sets that are not read by position: lines dealt out to the ranks, mapped shards, and three that
// go wrong.
#include "dataset_variants.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <system_error>

#include "check.h"

namespace reference_trainer {

void LineDataset::start_worker(int worker, int workers) {
  reader_ = static_cast<int64_t>(rank_) * workers + worker;
  readers_ = static_cast<int64_t>(world_size_) * workers;
  lines_.open(path_);
  if (!lines_) throw std::runtime_error(fmt::format("cannot open {}", path_.native()));
}

void LineDataset::read(int64_t /*index*/, std::span<Token> sample) {
  std::string line;
  do {
    if (std::getline(lines_, line)) continue;
    // Readers that got a line less begin anew.
    lines_.clear();
    lines_.seekg(0);
    line_ = 0;
    std::getline(lines_, line);
  } while (line_++ % readers_ != reader_);
  const char* next = line.data() + line.find('[') + 1;
  const char* const end = line.data() + line.size();
  for (Token& token : sample) {
    const auto [rest, error] = std::from_chars(next, end, token);
    if (error != std::errc())
      throw std::runtime_error(fmt::format("{}: a line is too short", path_.native()));
    next = rest + 1;
  }
}

MappedDataset::~MappedDataset() {
  for (const File& file : files_) {
    if (!file.mapping.empty()) munmap(const_cast<std::byte*>(file.mapping.data()), file.mapping.size());
  }
}

void MappedDataset::fetch(File& file, int64_t offset, std::span<Token> sample) {
  if (file.mapping.empty()) {
    const size_t bytes = std::filesystem::file_size(file.path);
    void* memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor(file), 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), file.path.native());
    file.mapping = {static_cast<const std::byte*>(memory), bytes};
  }
  const auto part = file.mapping.subspan(offset, sample.size_bytes());
  std::copy(part.begin(), part.end(), std::as_writable_bytes(sample).begin());
}

void RandomDataset::start_worker(int worker, int workers) {
  shards_->start_worker(worker, workers);
  generator_.seed(seed_ + worker);
}

void RandomDataset::read(int64_t /*index*/, std::span<Token> sample) {
  shards_->read(static_cast<int64_t>(generator_() % shards_->size()), sample);
}

void SlowDataset::read(int64_t index, std::span<Token> sample) {
  bool slow =
      faults_.hits(Fault::kStragglerInput, rank_) || (faults_.on(Twin::kUnevenSamples) && index % 4 == 0);
  if (slow) faults_.come_late(0.01);
  dataset_.read(index, sample);
}

void StuckDataset::read(int64_t index, std::span<Token> sample) {
  while (index == stuck_index_) pause();
  dataset_.read(index, sample);
}

}  // namespace reference_trainer
