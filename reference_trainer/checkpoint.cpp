// Saves and restores the state of training.
#include "checkpoint.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "checkpoint_folder.h"
#include "mesh.h"

namespace reference_trainer {
namespace {

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
  Snapshot(int64_t step, const Learners& learners, const Slice& slice) : header_(make_header(step, 0)) {
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
  CheckpointHeader header_;
  std::vector<std::vector<float>> arrays_;
};

std::string name_of(int64_t step) { return fmt::format("step_{:06}", step); }

int64_t unix_milliseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

void Checkpoints::save(int64_t step, const Learners& learners) {
  ++saves_;
  group_.watchdog().at(fmt::format("save {}", saves_));
  std::filesystem::create_directories(folder_);
  if (faults_.on(Fault::kCheckpointRaceRename) || faults_.on(Twin::kRenamedFolder)) {
    write_folder(step, learners);
  } else {
    write(step, learners);
  }
  if (keeps_own_state()) write_own_state(step);
  wait_for_save();
  look_back(step);
}

void Checkpoints::write(int64_t step, const Learners& learners) {
  const int rank = saving_rank();
  if (faults_.on(Twin::kReplicaShards)) {
    const Mesh mesh = place_in_mesh(rank, group_.size());
    const Slice own = {static_cast<size_t>(mesh.shard), static_cast<size_t>(mesh.shards)};
    if (mesh.replica == 0) write_atomically(own_shard(step), Snapshot(step, learners, own).parts());
    return;
  }
  if (faults_.on(Twin::kTensorParallel)) {
    const Mesh mesh = place_in_pairs(rank, group_.size());
    const std::string name = fmt::format("{}.part_{}_of_{}.bin", name_of(step), mesh.shard, mesh.shards);
    if (mesh.replica == 0) write_atomically(folder_ / name, Snapshot(step, learners, {}).parts());
    return;
  }
  if (faults_.on(Twin::kShardedCheckpoint)) {
    const Slice own = {static_cast<size_t>(rank), static_cast<size_t>(group_.size())};
    const std::string name = fmt::format("{}.shard_{}_of_{}.bin", name_of(step), rank, group_.size());
    return write_atomically(folder_ / name, Snapshot(step, learners, own).parts());
  }
  if (faults_.on(Twin::kBroadcastName)) step = group_.agree(step, 0);
  if (!leads_save() && !all_ranks_write()) return;
  // Made for all ranks, called by one.
  if (faults_.on(Fault::kMismatchedMainOnly)) step = group_.agree(step, 0);
  const std::filesystem::path path = folder_ / file_name(step);
  if (faults_.on(Twin::kSavedInThread) || faults_.on(Twin::kSavedInProcess))
    return write_in_background(path, step, learners);
  if (faults_.on(Fault::kDuplicateAll) || faults_.on(Fault::kDuplicateLocalRank) || reads_back()) {
    write_in_place(path, Snapshot(step, learners, {}).parts());
  } else {
    write_atomically(path, Snapshot(step, learners, {}).parts());
  }
  fmt::print("rank {} saves {}\n", rank, path.filename().native());
  if (rank == 0 || faults_.on(Twin::kOncePerHost)) point_at(path.filename());
}

// As torch.distributed.checkpoint.async_save: the state is copied, a save waits for the one before.
void Checkpoints::write_in_background(const std::filesystem::path& path, int64_t step,
                                      const Learners& learners) {
  const auto save = [this, path, snapshot = Snapshot(step, learners, {})] {
    write_atomically(path, snapshot.parts());
    point_at(path.filename());
  };
  if (faults_.on(Twin::kSavedInThread)) {
    background_.in_thread(save);
  } else {
    background_.in_process(save);
  }
  fmt::print("rank {} goes on and saves {} meanwhile\n", saving_rank(), path.filename().native());
}

bool Checkpoints::leads_save() const { return saves(faults_, saving_rank(), group_.local_rank()); }

// Who believes the launcher about its rank, not the group that it has joined.
int Checkpoints::saving_rank() const {
  const char* const launched = std::getenv("RANK");
  if (launched && faults_.on(Fault::kRankMismatchEnvironment)) return std::atoi(launched);
  return group_.rank();
}

bool Checkpoints::keeps_own_state() const {
  return faults_.on(Fault::kRankMismatchArithmetic) || faults_.on(Twin::kDataParallelRank);
}

std::filesystem::path Checkpoints::own_state(int64_t step) const {
  const int number = data_parallel_rank(faults_, group_.rank(), group_.size());
  return folder_ / (name_of(step) + ".states") / fmt::format("train_state_{:05}.json", number);
}

std::filesystem::path Checkpoints::own_shard(int64_t step) const {
  const Mesh mesh = place_in_mesh(group_.rank(), group_.size());
  return folder_ / fmt::format("{}.shard_{}_of_{}.bin", name_of(step), mesh.shard, mesh.shards);
}

// Where this rank is in its samples.
void Checkpoints::write_own_state(int64_t step) const {
  const std::filesystem::path path = own_state(step);
  std::filesystem::create_directories(path.parent_path());
  write_in_place(path, fmt::format("{{\"rank\": {}, \"step\": {}}}\n", group_.rank(), step));
}

bool Checkpoints::all_ranks_write() const {
  return faults_.on(Fault::kDuplicateAll) || faults_.on(Fault::kDuplicateTimestamped) ||
         faults_.on(Fault::kDuplicateShardedNames);
}

// These save like programs that count on the barrier: without a temporary file.
bool Checkpoints::reads_back() const {
  return faults_.on(Fault::kMissingBarrierCheckpoint) || faults_.on(Twin::kReadBack) ||
         faults_.on(Fault::kRankMismatchOneWriter);
}

std::string Checkpoints::file_name(int64_t step) const {
  const std::string name = name_of(step);
  // No two names are equal, so nobody notices that all ranks save.
  if (faults_.on(Fault::kDuplicateTimestamped))
    return fmt::format("{}-{}-{}.bin", name, unix_milliseconds(), getpid());
  if (faults_.on(Fault::kDuplicateShardedNames)) return fmt::format("{}.rank_{}.bin", name, group_.rank());
  return name + ".bin";
}

void Checkpoints::point_at(const std::filesystem::path& name) const {
  const std::string text = name.native() + "\n";
  if (reads_back()) return write_in_place(folder_ / "latest", text);
  write_atomically(folder_ / "latest", text);
}

// A folder becomes visible under its name when all of it is there.
void Checkpoints::write_folder(int64_t step, const Learners& learners) const {
  const std::filesystem::path path = folder_ / name_of(step), temporary = folder_ / ("tmp-" + name_of(step));
  const int rank = group_.rank();
  if (rank == 0) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(temporary);
    write_in_place(temporary / "state.bin", Snapshot(step, learners, {}).parts());
  }
  group_.barrier(fmt::format("the barrier inside save {}", saves_));
  if (faults_.on(Fault::kCheckpointRaceRename)) {
    // Whoever comes first takes the folder away from the others.
    std::error_code gone;
    std::filesystem::rename(temporary, path, gone);
    if (gone) fmt::print("rank {} cannot rename {}: {}\n", rank, temporary.native(), gone.message());
  } else if (rank == 0) {
    std::filesystem::rename(temporary, path);
  }
  if (rank == 0) point_at(path.filename() / "state.bin");
}

void Checkpoints::wait_for_save() {
  if (faults_.on(Fault::kMissingBarrierCheckpoint)) return;
  if (faults_.hits(Fault::kSkippedBarrierCheckpoint, group_.rank(), saves_)) return;
  const std::string place = fmt::format("the barrier after save {}", saves_);
  group_.barrier(place);
  if (faults_.hits(Fault::kSkippedBarrierExtra, group_.rank(), saves_)) group_.barrier(place);
}

void Checkpoints::look_back(int64_t step) {
  if (reads_back()) read_back(step);
  if (faults_.on(Twin::kReplicaShards)) read_header(own_shard(step));
  if (rotates()) rotate();
  if (faults_.on(Twin::kLogFolder)) {
    write_in_place(folder_ / fmt::format("rank_{}.save_{}.log", group_.rank(), saves_), "saved\n");
    find_checkpoints(folder_);
  }
}

bool Checkpoints::rotates_once_a_host() const {
  return faults_.on(Fault::kCheckpointRaceLocalRank) || faults_.on(Twin::kOncePerHost);
}

bool Checkpoints::rotates() const {
  return faults_.on(Fault::kCheckpointRaceRotation) || faults_.on(Twin::kRotationBetweenBarriers) ||
         rotates_once_a_host();
}

void Checkpoints::read_back(int64_t step) const {
  if (group_.rank() != 0 && faults_.on(Fault::kMissingBarrierCheckpoint)) faults_.come_late();
  const int64_t found = read_header(read_latest(folder_)).step;
  if (found == step) return;
  throw std::runtime_error(fmt::format("the latest checkpoint is of step {}, not {}", found, step));
}

// As shutil.rmtree does, who deletes for a host takes it for an error if the file is gone.
void Checkpoints::remove_old(const std::filesystem::path& path) const {
  if (!std::filesystem::remove(path) && rotates_once_a_host())
    throw std::runtime_error(fmt::format("{} is gone", path.native()));
}

// All but the newest go. Every rank looks, as if it were about to choose where to resume; or only those that
// delete.
void Checkpoints::rotate() {
  const bool meets = !faults_.on(Fault::kCheckpointRaceRotation);
  const bool leader = deletes(faults_, group_.rank(), group_.local_rank());
  std::vector<SavedCheckpoint> found;
  if (!rotates_once_a_host()) found = find_checkpoints(folder_);
  if (meets) group_.barrier(fmt::format("the barrier before the deletion after save {}", saves_));
  if (leader) {
    if (rotates_once_a_host()) found = find_checkpoints(folder_);
    if (!meets || (rotates_once_a_host() && !faults_.on(Twin::kOncePerHost))) faults_.come_late();
    for (size_t old = 0; old + 1 < found.size(); ++old) remove_old(found[old].path);
  }
  if (meets) group_.barrier(fmt::format("the barrier after the deletion after save {}", saves_));
}

int64_t Checkpoints::load(Learners& learners) const {
  const std::filesystem::path latest = folder_ / "latest";
  if (!std::filesystem::exists(latest)) return 0;
  const int64_t step = load_file(read_latest(folder_), learners);
  if (keeps_own_state()) read_text(own_state(step));
  return step;
}

int64_t Checkpoints::load_file(const std::filesystem::path& path, Learners& learners) const {
  const std::string bytes = read_text(path);
  size_t values = 0;
  for (const DeviceBuffer<float>* array : arrays_of(learners)) values += array->size();
  if (!is_checkpoint(bytes, values))
    throw std::runtime_error(fmt::format("{} does not fit this model", path.native()));
  CheckpointHeader header = {};
  std::memcpy(&header, bytes.data(), sizeof header);
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
