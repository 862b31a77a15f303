// Follows what is allocated on others' GPUs from one moment that counts to the next.
#include "collector/detectors/foreign_memory.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "trace/allocations.h"

namespace ddpscope::detectors {
namespace {

using model::EventPlace;
using patterns::DeviceUse;
using patterns::Gpu;
using trace::Operation;
using trace::Record;
using trace::payload::Allocation;

constexpr std::uint16_t kOutOfMemory = 2;  // cudaErrorMemoryAllocation

// Pinned memory lies on the host, managed memory where it is used, IPC's is another process's, and that of a
// pool on the pool's device.
bool obtains_device_memory(const Record& record) {
  const trace::CallInfo* info = trace::find_call(record.call);
  std::string_view symbol = info ? info->symbol : "";
  for (const char* other :
       {"cudaMallocHost", "cudaHost", "cudaMallocManaged", "cudaIpc", "cudaMallocFromPool"})
    if (symbol.starts_with(other)) return false;
  return true;
}

struct Moment {
  std::int64_t at_ns;
  bool exhausted;

  bool operator<(const Moment& other) const { return at_ns < other.at_ns; }
};

// When the rank reduces: it has gone on to train.
void add_reductions(const Facts& facts, std::int32_t rank, std::vector<Moment>& moments) {
  for (const matching::Communicator& communicator : facts.collectives.communicators)
    for (const matching::Member& member : communicator.members) {
      if (member.rank != rank) continue;
      for (std::size_t i = 0; i < member.calls.size(); ++i)
        if (patterns::is_reduction(facts.collectives.signature_at(member, i)))
          moments.push_back({facts.collectives.begin_ns_at(member, i), false});
    }
}

// When somebody found no more room on that GPU.
void add_failures(const Facts& facts, const DeviceUse& use, const Gpu& gpu, std::vector<Moment>& moments) {
  for (std::uint32_t process = 0; process < facts.job.processes.size(); ++process) {
    auto meet = [&](EventPlace, const Record& record) {
      auto fields = trace::payload_of<Allocation>(record);
      const Gpu* on = fields.result == kOutOfMemory ? use.find(process, fields.device) : nullptr;
      if (on && *on == gpu && obtains_device_memory(record))
        moments.push_back({facts.job.begin_ns(process, record), true});
    };
    for (const auto& [ordinal, known] : use.of_process(process))
      if (known == gpu) model::for_each(facts.job.processes[process].file, {Operation::kAllocate}, meet);
  }
}

// What one process holds on one device.
class Holder {
 public:
  Holder(const model::Job& job, std::uint32_t process, std::uint8_t ordinal, std::vector<Moment> moments)
      : job_(job), process_(process), ordinal_(ordinal), moments_(std::move(moments)) {
    std::sort(moments_.begin(), moments_.end());
  }

  // Fills in what it finds; bytes stay 0 if nothing is held.
  void follow(ForeignMemory& found) {
    const model::Process& process = job_.processes[process_];
    model::for_each_in_time(
        process.file,
        {Operation::kAllocate, Operation::kFree, Operation::kStreamCreate, Operation::kDeviceReset},
        [&](EventPlace place, const Record& record) {
          settle(job_.begin_ns(process_, record), found);
          take(place, record);
        });
    settle(process.last_ns + 1, found);  // with its process it is gone
    bool overwritten = process.file.health(trace::Health::bulk_records_overwritten) > 0;
    found.certain = !overwritten || (kept_ > 0 && kept_ < trace::kKeptAllocations);
  }

 private:
  struct Held {
    EventPlace place;
    std::uint64_t bytes;
    std::uint64_t begin;
  };

  void take(EventPlace place, const Record& record) {
    switch (trace::operation_of(record.call)) {
      case Operation::kStreamCreate: {
        auto created = trace::payload_of<trace::payload::DeviceOrder>(record);
        streams_[created.stream] = created.device;
        return;
      }
      case Operation::kDeviceReset:
        if (trace::payload_of<trace::payload::Device>(record).device == ordinal_) open_.clear(), bytes_ = 0;
        return;
      case Operation::kAllocate:
        count(place);
        return obtain(place, record);
      default:
        count(place);
        return give_back(trace::payload_of<Allocation>(record).address);
    }
  }
  void count(EventPlace place) {
    const trace::RecordSpan& span = job_.processes[process_].file.records()[place.span];
    kept_ += span.kind != trace::ChunkKind::kBulk;
  }
  void obtain(EventPlace place, const Record& record) {
    auto fields = trace::payload_of<Allocation>(record);
    if (fields.device != ordinal_ || fields.result != 0 || !obtains_device_memory(record)) return;
    // What is allocated in the order of a stream lies on the stream's device.
    auto stream = streams_.find(fields.stream);
    if (stream != streams_.end() && stream->second != ordinal_) return;
    give_back(fields.address);
    open_[fields.address] = {place, fields.bytes, record.begin};
    bytes_ += fields.bytes;
  }
  void give_back(std::uint64_t address) {
    auto held = open_.find(address);
    if (held == open_.end()) return;
    bytes_ -= held->second.bytes;
    open_.erase(held);
  }

  // Of the moments before this time, what was held at them.
  void settle(std::int64_t now_ns, ForeignMemory& found) {
    bool any = false, exhausted = false;
    for (; next_ < moments_.size() && moments_[next_].at_ns < now_ns; ++next_) {
      any = true;
      exhausted |= moments_[next_].exhausted;
    }
    if (!any || open_.empty()) return;
    if (found.allocations == 0) {
      auto earliest = std::min_element(open_.begin(), open_.end(), [](const auto& a, const auto& b) {
        return a.second.begin < b.second.begin;
      });
      found.first = {process_, earliest->second.place};
      found.from_ns = job_.begin_ns(found.first);
    }
    found.to_ns = moments_[next_ - 1].at_ns;
    found.exhausted |= exhausted;
    if (found.allocations && bytes_ <= found.bytes) return;
    found.bytes = bytes_;
    found.allocations = open_.size();
  }

  const model::Job& job_;
  std::uint32_t process_;
  std::uint8_t ordinal_;
  std::vector<Moment> moments_;
  std::size_t next_ = 0;
  std::unordered_map<std::uint64_t, Held> open_;             // by address
  std::unordered_map<std::uint64_t, std::uint8_t> streams_;  // devices of streams
  std::uint64_t bytes_ = 0;
  std::size_t kept_ = 0;  // records that no ring overwrites
};

}  // namespace

std::vector<ForeignMemory> find_foreign_memory(const Facts& facts, const DeviceUse& use) {
  std::vector<ForeignMemory> all;
  for (std::uint32_t process = 0; process < facts.job.processes.size(); ++process) {
    std::int32_t rank = facts.job.processes[process].rank;
    for (const auto& [ordinal, gpu] : use.of_process(process)) {
      if (!use.has_seat(rank) || use.has_seat(rank, gpu)) continue;
      std::set<std::int32_t> owners;
      for (const patterns::Seat& seat : use.seats())
        if (seat.gpu == gpu) owners.insert(seat.rank);
      if (owners.empty()) continue;
      std::vector<Moment> moments;
      add_reductions(facts, rank, moments);
      add_failures(facts, use, gpu, moments);
      ForeignMemory found{.rank = rank,
                          .gpu = gpu,
                          .owners = {owners.begin(), owners.end()},
                          .first = {},
                          .from_ns = 0,
                          .to_ns = 0};
      Holder(facts.job, process, ordinal, std::move(moments)).follow(found);
      if (found.allocations) all.push_back(std::move(found));
    }
  }
  return all;
}

}  // namespace ddpscope::detectors
