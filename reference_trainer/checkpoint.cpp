// Saves and restores the state of training.
#include "checkpoint.h"

#include <unistd.h>

#include <chrono>
#include <cstring>

#include "atomic_file.h"

namespace reference_trainer {
namespace {

struct Header {
  char magic[8];
  int64_t step;
  uint64_t values;  // float32 values that follow
};
constexpr char kMagic[sizeof Header::magic + 1] = "RTCKPT01";

// A slice of an array: part `index` of `parts`.
struct Slice {
  size_t index = 0, parts = 1;
};

std::vector<const DeviceBuffer<float>*> arrays_of(const Learners& learners) {
  std::vector<const DeviceBuffer<float>*> arrays;
  for (const Learner& learner : learners) {
    arrays.push_back(&learner.model.values());
    arrays.push_back(&learner.optimizer.first_moments());
    arrays.push_back(&learner.optimizer.second_moments());
  }
  return arrays;
}

class Snapshot {
 public:
  Snapshot(int64_t step, const Learners& learners, const Slice& slice) : header_{{}, step, 0} {
    std::memcpy(header_.magic, kMagic, sizeof header_.magic);
    for (const DeviceBuffer<float>* array : arrays_of(learners)) {
      std::vector<float> all(array->size());
      array->download(all);
      const auto first = all.begin() + static_cast<ptrdiff_t>(all.size() * slice.index / slice.parts);
      const auto last = all.begin() + static_cast<ptrdiff_t>(all.size() * (slice.index + 1) / slice.parts);
      arrays_.emplace_back(first, last);
      header_.values += arrays_.back().size();
    }
  }

  std::vector<Bytes> parts() const {
    std::vector<Bytes> parts{std::as_bytes(std::span(&header_, 1))};
    for (const std::vector<float>& array : arrays_) parts.push_back(std::as_bytes(std::span(array)));
    return parts;
  }

 private:
  Header header_;
  std::vector<std::vector<float>> arrays_;
};

int64_t unix_milliseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

void Checkpoints::save(int64_t step, const Learners& learners) {
  ++saves_;
  group_.watchdog().at(fmt::format("save {}", saves_));
  write(step, learners);
  wait_for_save();
}

void Checkpoints::write(int64_t step, const Learners& learners) const {
  std::filesystem::create_directories(folder_);
  const std::string name = fmt::format("step_{:06}", step);
  const int rank = group_.rank();
  if (faults_.on(Twin::kShardedCheckpoint)) {
    const Slice own = {static_cast<size_t>(rank), static_cast<size_t>(group_.size())};
    write_atomically(folder_ / fmt::format("{}.shard_{}_of_{}.bin", name, rank, group_.size()),
                     Snapshot(step, learners, own).parts());
    return;
  }
  std::filesystem::path path = folder_ / (name + ".bin");
  if (faults_.on(Fault::kDuplicateTimestamped)) {
    // No two names are equal, so nobody notices that all ranks save.
    path = folder_ / fmt::format("{}-{}-{}.bin", name, unix_milliseconds(), getpid());
  }
  if (faults_.on(Fault::kDuplicateAll)) {
    write_in_place(path, Snapshot(step, learners, {}).parts());
  } else if (rank == 0 || faults_.on(Fault::kDuplicateTimestamped)) {
    write_atomically(path, Snapshot(step, learners, {}).parts());
  } else {
    return;
  }
  fmt::print("rank {} saves {}\n", rank, path.filename().native());
  if (rank == 0) write_atomically(folder_ / "latest", path.filename().native() + "\n");
}

void Checkpoints::wait_for_save() {
  if (faults_.hits(Fault::kSkippedBarrierCheckpoint, group_.rank(), saves_)) return;
  const std::string place = fmt::format("the barrier after save {}", saves_);
  group_.barrier(place);
  if (faults_.hits(Fault::kSkippedBarrierExtra, group_.rank(), saves_)) group_.barrier(place);
}

int64_t Checkpoints::load(Learners& learners) const {
  const std::filesystem::path latest = folder_ / "latest";
  if (!std::filesystem::exists(latest)) return 0;
  const std::string name = read_text(latest);
  return load_file(folder_ / name.substr(0, name.find('\n')), learners);
}

int64_t Checkpoints::load_file(const std::filesystem::path& path, Learners& learners) const {
  const std::string bytes = read_text(path);
  Header header = {};
  size_t values = 0;
  for (const DeviceBuffer<float>* array : arrays_of(learners)) values += array->size();
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0 || header.values != values ||
      bytes.size() != sizeof header + values * sizeof(float)) {
    throw std::runtime_error(fmt::format("{} does not fit this model", path.native()));
  }
  const char* next = bytes.data() + sizeof header;
  for (const DeviceBuffer<float>* array : arrays_of(learners)) {
    std::vector<float> host(array->size());
    std::memcpy(host.data(), next, array->bytes());
    array->upload(host);
    next += array->bytes();
  }
  return header.step;
}

}  // namespace reference_trainer
