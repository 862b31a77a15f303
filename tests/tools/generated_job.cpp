// The ranks in lockstep: each runs to its next wait, then all go on from the latest of them.
#include "tests/tools/generated_job.h"

#include <algorithm>
#include <numeric>

namespace ddpscope::tests {
namespace {

constexpr std::uint64_t kCommunicatorId = 0xD15C0;
constexpr std::uint32_t kBatch = 8;
constexpr std::uint64_t kSampleBytes = 4'096;
constexpr std::uint64_t kMessageBytes = 64;
constexpr std::uint64_t kDataInode = 5'000;
constexpr std::uint64_t kSharedInode = 10'000'000;
constexpr std::uint64_t kCheckpointBytes = 4u << 20;
constexpr std::int64_t kTransferNs = 40'000;
constexpr std::int64_t kHangNs = 30'000'000'000;  // how long it is left hanging

std::uint64_t bucket_count(std::uint32_t bucket) { return 1'000'000u + bucket * 4'096u; }

Result<std::unique_ptr<TraceScribe>> open_rank(const JobShape& shape, std::uint32_t rank,
                                               const std::filesystem::path& folder) {
  ScribeIdentity identity;
  std::uint32_t host = rank / shape.ranks_per_host;
  identity.host = "node" + std::to_string(host);
  identity.pid = static_cast<std::int32_t>(10'000 + rank);
  identity.folds = shape.fold != 0;
  identity.clock.monotonic_offset_ns = host * 3'000'000'000ll;
  identity.clock.realtime_offset_ns = host * 40'000ll;
  auto scribe = TraceScribe::create(folder, identity);
  if (!scribe) return scribe.error();
  auto setting = [&](const char* name, std::uint64_t value) {
    trace::payload::Setting payload{(*scribe)->intern(1, name), (*scribe)->intern(1, std::to_string(value))};
    (*scribe)->write<trace::Call::environment>(1, payload, 0, 0);
  };
  setting("RANK", rank);
  setting("WORLD_SIZE", shape.ranks);
  setting("LOCAL_RANK", rank % shape.ranks_per_host);
  return scribe;
}

class Simulation {
 public:
  Simulation(const JobShape& shape, std::vector<GeneratedRank> ranks)
      : shape_(shape), ranks_(std::move(ranks)), random_(shape.seed) {
    drawn_.rank = static_cast<std::int32_t>(draw(shape.ranks));
    drawn_.epoch = draw(shape.epochs);
    drawn_.step = draw(shape.steps);
    drawn_.bucket = draw(shape.buckets);
  }

  GeneratedJob run() {
    for (GeneratedRank& rank : ranks_) {
      rank.join(shape_.ranks, kCommunicatorId);
      if (shape_.hand_overs) rank.start_thread();
      if (shape_.messages) rank.connect(shape_.ranks);
      if (shape_.timed) rank.tell_timing();
    }
    await_all(0);
    prepare();
    for (GeneratedRank& rank : ranks_) rank.broadcast(10'000'000);
    bool runs = true;
    for (epoch_ = 0; runs && epoch_ < shape_.epochs; ++epoch_) runs = epoch();
    return runs ? finish() : hang();
  }

 private:
  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  bool fault(std::string_view slug) const { return shape_.fault == slug; }
  bool at_fault(const GeneratedRank& rank) const {
    return static_cast<std::int32_t>(rank.rank()) == drawn_.rank;
  }

  void tell(const char* call, std::string_view place, bool all_ranks = false) {
    drawn_.call = call;
    drawn_.place = place.substr(0, place.find(" < "));
    if (all_ranks) drawn_.rank = -1;
  }

  // All wait on a stream for a collective that the last of them has just enqueued.
  void await_all(std::uint64_t stream) {
    std::int64_t latest_ns = 0;
    for (const GeneratedRank& rank : ranks_) latest_ns = std::max(latest_ns, rank.now_ns());
    for (GeneratedRank& rank : ranks_) rank.wait_for_stream(stream, latest_ns + 50'000);
    if (shape_.timed) run_collectives();
  }

  // What all have enqueued: none ends before the last has begun with it.
  void run_collectives() {
    std::vector<std::int64_t> ends_ns(ranks_[0].unfinished().size());
    std::int64_t latest_ns = 0;
    for (const GeneratedRank& rank : ranks_) latest_ns = std::max(latest_ns, rank.device_free_ns());
    for (std::size_t i = 0; i < ends_ns.size(); ++i) {
      for (const GeneratedRank& rank : ranks_) latest_ns = std::max(latest_ns, rank.unfinished()[i]);
      ends_ns[i] = latest_ns += kTransferNs;
    }
    for (GeneratedRank& rank : ranks_) rank.finish_collectives(ends_ns);
  }

  void barrier(std::string_view place) {
    for (GeneratedRank& rank : ranks_) rank.all_reduce(1, place, GeneratedRank::kReduceStream);
    await_all(GeneratedRank::kReduceStream);
  }

  void prepare() {
    if (!shape_.data_there) write_data(ranks_[0]);
    for (GeneratedRank& rank : ranks_) data_.push_back(rank.open("data/train.bin", kDataInode, false, kLoad));
  }

  void write_data(GeneratedRank& first) {
    std::uint32_t written = first.open("data/train.bin", kDataInode, true, kPrepare);
    for (std::uint64_t part = 0; part < 8; ++part) first.write_file(written, part << 20, 1u << 20);
    first.close(written);
    if (fault("missing-barrier"))
      tell("open", kPrepare, true);
    else
      barrier(kBarrier);
  }

  bool epoch() {
    std::vector<std::uint32_t> order(shape_.steps * shape_.accumulation * kBatch * shape_.ranks);
    std::iota(order.begin(), order.end(), 0u);
    std::mt19937_64 shuffle(shape_.seed * 31 + epoch_);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[shuffle() % i]);
    for (step_ = 0; step_ < shape_.steps; ++step_)
      if (!step(order)) return false;
    return save();
  }

  bool faulty_step() const { return epoch_ == drawn_.epoch && step_ == drawn_.step; }

  // False: the job hangs from here on.
  bool step(const std::vector<std::uint32_t>& order) {
    for (std::uint32_t micro = 0; micro < shape_.accumulation; ++micro) {
      bool last = micro + 1 == shape_.accumulation;
      bool redundant = fault("redundant-accumulation-sync") && !last;
      if (redundant) tell("ncclAllReduce", kBackward, true);
      for (GeneratedRank& rank : ranks_) {
        load(rank, order, micro);
        rank.launch(6);
        if (fault("hung-collective") && faulty_step() && last && at_fault(rank))
          leave(rank);
        else if (last || redundant)
          reduce(rank);
      }
    }
    if (faulty_step() && (fault("hung-collective") || fault("mismatched-collective"))) return false;
    if (shape_.timed) update();
    talk();
    share_files();
    if (step_ % 50 == 49) {
      for (GeneratedRank& rank : ranks_) rank.copy_to_host(4);
      await_all(GeneratedRank::kComputeStream);
    }
    return true;
  }

  void update() {
    run_collectives();
    for (GeneratedRank& rank : ranks_) rank.update();
  }

  // Within each process and around the ring of processes: what is received was sent in the same step.
  void talk() {
    for (GeneratedRank& rank : ranks_)
      for (std::uint32_t i = 0; i < shape_.hand_overs; ++i) rank.hand_over_and_back();
    for (std::uint32_t i = 0; i < shape_.messages; ++i) {
      for (GeneratedRank& rank : ranks_) rank.send(kMessageBytes);
      std::int64_t latest_ns = 0;
      for (const GeneratedRank& rank : ranks_) latest_ns = std::max(latest_ns, rank.now_ns());
      for (GeneratedRank& rank : ranks_) rank.idle(latest_ns - rank.now_ns()), rank.receive(kMessageBytes);
    }
  }

  // This step's part of the files: each has a writer and, after a barrier, a reader.
  void share_files() {
    std::uint64_t steps = std::uint64_t{shape_.steps} * shape_.epochs;
    std::uint64_t number = std::uint64_t{epoch_} * shape_.steps + step_;
    auto first = static_cast<std::uint32_t>(number * shape_.shared_files / steps);
    auto end = static_cast<std::uint32_t>((number + 1) * shape_.shared_files / steps);
    if (first == end) return;
    auto use = [&](std::uint32_t file, std::uint32_t user, bool writes) {
      GeneratedRank& rank = ranks_[(file + user) % shape_.ranks];
      std::uint32_t opened = rank.open("cache/" + std::to_string(file) + ".bin", kSharedInode + file, writes,
                                       writes ? kSave : kLoad);
      writes ? rank.write_file(opened, 0, kSampleBytes) : rank.read_file(opened, 0, kSampleBytes);
      rank.close(opened);
    };
    for (std::uint32_t file = first; file < end; ++file) use(file, 0, true);
    barrier(kSaveBarrier);
    for (std::uint32_t file = first; file < end; ++file) use(file, 1, false);
  }

  void load(GeneratedRank& rank, const std::vector<std::uint32_t>& order, std::uint32_t micro) {
    std::uint32_t shard = fault("unsharded-sampler") ? 0 : rank.rank();
    if (fault("unsharded-sampler")) tell("pread64", kLoad, true);
    std::size_t first = (step_ * shape_.accumulation + micro) * kBatch * shape_.ranks;
    for (std::uint32_t i = 0; i < kBatch; ++i)
      rank.read_file(data_[rank.rank()], order[first + i * shape_.ranks + shard] * kSampleBytes,
                     kSampleBytes);
    rank.copy_to_device(kBatch * kSampleBytes);
  }

  void reduce(GeneratedRank& rank) {
    for (std::uint32_t bucket = 0; bucket < shape_.buckets; ++bucket) {
      std::uint64_t count = bucket_count(bucket);
      if (fault("mismatched-collective") && faulty_step() && at_fault(rank) && bucket == drawn_.bucket) {
        count /= 2;
        tell("ncclAllReduce", kBackward);
      }
      rank.launch(2);
      rank.all_reduce(count, kBackward, GeneratedRank::kReduceStream);
    }
  }

  void leave(GeneratedRank& rank) {
    tell("exit", kBackward);
    rank.exit(1);
  }

  bool save() {
    std::string path = "out/epoch" + std::to_string(epoch_) + ".pt";
    for (GeneratedRank& rank : ranks_)
      if (rank.rank() == 0 || fault("duplicate-checkpoint-write")) write_checkpoint(rank, path);
    if (fault("duplicate-checkpoint-write")) tell("open", kSave, true);
    if (fault("skipped-barrier") && epoch_ == drawn_.epoch) return skip_barrier();
    barrier(kSaveBarrier);
    return true;
  }

  void write_checkpoint(GeneratedRank& rank, const std::string& path) {
    std::uint64_t inode = 6'000 + epoch_ * 1'000 + rank.rank();
    std::uint32_t file = rank.open(path + ".tmp", inode, true, kSave);
    for (std::uint64_t offset = 0; offset < kCheckpointBytes; offset += 1u << 20)
      rank.write_file(file, offset, 1u << 20);
    rank.close(file);
    rank.rename(path + ".tmp", path, inode);
  }

  // The others' barrier meets the first collective of its next epoch.
  bool skip_barrier() {
    tell("ncclAllReduce", kSaveBarrier);
    for (GeneratedRank& rank : ranks_) {
      if (at_fault(rank)) {
        rank.launch(6);
        rank.all_reduce(bucket_count(0), kBackward, GeneratedRank::kReduceStream);
      } else {
        rank.all_reduce(1, kSaveBarrier, GeneratedRank::kReduceStream);
      }
    }
    return false;
  }

  GeneratedJob hang() {
    std::int64_t last_ns = 0;
    for (GeneratedRank& rank : ranks_) {
      bool gone = fault("hung-collective") && at_fault(rank);
      if (!gone) rank.wait_for_stream(GeneratedRank::kReduceStream, TraceScribe::kInside);
      last_ns = std::max(last_ns, rank.now_ns() + kHangNs);
    }
    for (GeneratedRank& rank : ranks_)
      if (!(fault("hung-collective") && at_fault(rank))) rank.finish(last_ns);
    return total();
  }

  GeneratedJob finish() {
    await_all(GeneratedRank::kReduceStream);
    for (GeneratedRank& rank : ranks_) {
      rank.close(data_[rank.rank()]);
      rank.exit(0);
      rank.finish(rank.now_ns());
    }
    return total();
  }

  GeneratedJob total() {
    if (drawn_.call.empty()) drawn_.rank = -1;
    for (const GeneratedRank& rank : ranks_) drawn_.records += rank.records();
    complete_ =
        std::all_of(ranks_.begin(), ranks_.end(), [](const GeneratedRank& rank) { return rank.complete(); });
    return drawn_;
  }

 public:
  bool complete() const { return complete_; }

 private:
  const JobShape& shape_;
  std::vector<GeneratedRank> ranks_;
  std::mt19937_64 random_;
  GeneratedJob drawn_;
  std::vector<std::uint32_t> data_;  // each rank's opening of the data
  std::uint32_t epoch_ = 0;
  std::uint32_t step_ = 0;
  bool complete_ = true;
};

}  // namespace

Result<GeneratedJob> generate_job(const JobShape& shape, const std::filesystem::path& folder) {
  auto known = [&shape](const FaultInfo& fault) { return fault.slug == shape.fault; };
  if (!shape.fault.empty() && std::none_of(kFaults.begin(), kFaults.end(), known))
    return Error{"no fault '" + shape.fault + "'", {}, "--list-faults names them"};
  if (auto refusal = prepare_folder(folder)) return *refusal;
  JobShape fitting = shape;
  if (shape.fault == "redundant-accumulation-sync") fitting.accumulation = std::max(shape.accumulation, 2u);
  std::vector<GeneratedRank> ranks;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    auto scribe = open_rank(shape, rank, folder);
    if (!scribe) return scribe.error();
    ranks.emplace_back(std::move(*scribe), rank, shape.seed);
  }
  Simulation simulation(fitting, std::move(ranks));
  GeneratedJob job = simulation.run();
  if (!simulation.complete()) return Error{"no room for a record", folder.string(), "is the disk full?"};
  return job;
}

}  // namespace ddpscope::tests
