// Names, counts and look-ups of the job.
#include "collector/model/job.h"

#include <cmath>
#include <set>

namespace ddpscope::model {

using trace::PayloadKind;

const char* name_of(CallClass call_class) {
  constexpr const char* kNames[kCallClasses] = {"NCCL",      "CUDA",           "files", "sockets and pipes",
                                                "processes", "PyTorch and MPI"};
  return kNames[static_cast<std::size_t>(call_class)];
}

const char* name_of(Role role) {
  constexpr const char* kNames[] = {"rank", "worker", "launcher", "other"};
  return kNames[static_cast<std::size_t>(role)];
}

CallClass class_of(PayloadKind payload) {
  switch (payload) {
    case PayloadKind::kCollective:
    case PayloadKind::kCommunicator:
    case PayloadKind::kCommunicatorCall:
    case PayloadKind::kGroup:
    case PayloadKind::kNothing:
    case PayloadKind::kCollectiveChoice:
    case PayloadKind::kUnhookedCollective:
    case PayloadKind::kUnhookedCommunicator:
      return CallClass::kNccl;
    case PayloadKind::kCopy:
    case PayloadKind::kCopyDigest:
    case PayloadKind::kValueRead:
    case PayloadKind::kRange:
    case PayloadKind::kLaunch:
    case PayloadKind::kDeviceOrder:
    case PayloadKind::kDevice:
    case PayloadKind::kDeviceTiming:
    case PayloadKind::kDeviceClock:
    case PayloadKind::kAllocation:
      return CallClass::kCuda;
    case PayloadKind::kConnection:
    case PayloadKind::kStreamIo:
    case PayloadKind::kStoreKey:
    case PayloadKind::kExchange:
      return CallClass::kSockets;
    case PayloadKind::kProcess:
    case PayloadKind::kEnding:
    case PayloadKind::kOutOfMemory:
    case PayloadKind::kTraceback:
    case PayloadKind::kSetting:
    case PayloadKind::kThread:
    case PayloadKind::kSignal:
      return CallClass::kProcess;
    case PayloadKind::kProcessGroup:
    case PayloadKind::kGroupCollective:
    case PayloadKind::kGroupWork:
    case PayloadKind::kTrainingCall:
    case PayloadKind::kParameterSample:
    case PayloadKind::kLoaderBatch:
      return CallClass::kProcessGroups;
    default:
      return CallClass::kFiles;
  }
}

std::int64_t job_ns(const std::vector<ClockPiece>& pieces, std::int64_t own_ns) {
  auto later = [](std::int64_t ns, const ClockPiece& piece) { return ns < piece.own_ns; };
  auto next = std::upper_bound(pieces.begin(), pieces.end(), own_ns, later);
  const ClockPiece& piece = next == pieces.begin() ? *next : *std::prev(next);
  auto gone = static_cast<double>(own_ns - piece.own_ns);
  std::int64_t ns = piece.job_ns + (own_ns - piece.own_ns) + std::llround(gone * (piece.rate - 1));
  return limited(next == pieces.end() ? ns : std::min(ns, next->job_ns));
}

std::int64_t Job::host_error_between(std::uint32_t a, std::uint32_t b) const {
  if (a == b) return 0;
  if (hosts[a].group != hosts[b].group) return kUnaligned;
  return hosts[a].clock_error_ns + hosts[b].clock_error_ns;
}

bool is_one_process(const Process& a, const Process& b) {
  const trace::FileHeader &one = a.header(), &other = b.header();
  return one.host_id == other.host_id && one.pid == other.pid && one.start_time == other.start_time;
}

bool becomes_rank(const Job& job, const Process& process) {
  return std::any_of(job.processes.begin(), job.processes.end(), [&](const Process& other) {
    return other.role == Role::kRank && is_one_process(other, process);
  });
}

std::uint64_t folded_calls(const trace::Record& record, const trace::CallInfo& info) {
  namespace payload = trace::payload;
  using trace::payload_of;
  // No two calls begin at one tick: a run that would not fit between its begin and its end is damaged.
  auto at_least_one = [&](std::uint32_t count) {
    bool fits = count <= 1 || !record.end || record.end - record.begin >= count - 1;
    return std::uint64_t{count && fits ? count : 1};
  };
  switch (info.payload) {
    case PayloadKind::kCopy:
      return at_least_one(payload_of<payload::Copy>(record).count);
    case PayloadKind::kLaunch:
      return at_least_one(payload_of<payload::Launch>(record).count);
    case PayloadKind::kDeviceOrder:
      return at_least_one(payload_of<payload::DeviceOrder>(record).count);
    case PayloadKind::kDevice:
      return at_least_one(payload_of<payload::Device>(record).count);
    case PayloadKind::kAllocation:
      return at_least_one(payload_of<payload::Allocation>(record).count);
    case PayloadKind::kFileIo:  // a mapping has its protection there
      return info.operation == trace::Operation::kMap
                 ? 1
                 : at_least_one(payload_of<payload::FileIo>(record).count);
    case PayloadKind::kFileName:
      return at_least_one(payload_of<payload::FileName>(record).count);
    case PayloadKind::kStreamIo:
      return at_least_one(payload_of<payload::StreamIo>(record).count);
    case PayloadKind::kExchange:
      return at_least_one(payload_of<payload::Exchange>(record).count);
    default:
      return 1;
  }
}

std::vector<std::int32_t> Job::ranks() const {
  std::set<std::int32_t> numbers;
  for (const Process& process : processes) {
    if (process.role != Role::kRank) continue;
    numbers.insert(process.rank);
    for (const Membership& member : process.memberships)  // one process may hold several
      if (member.size == world_size && member.parent == 0) numbers.insert(member.rank);
  }
  return {numbers.begin(), numbers.end()};
}

std::uint64_t Job::calls() const {
  std::uint64_t sum = 0;
  for (const Process& process : processes)
    for (std::uint64_t calls : process.calls) sum += calls;
  return sum;
}

std::uint64_t Job::lost() const {
  std::uint64_t sum = 0;
  for (const Process& process : processes)
    sum += process.file.health(trace::Health::kept_records_lost) +
           process.file.health(trace::Health::bulk_records_lost) +
           process.file.health(trace::Health::bulk_records_overwritten);
  return sum;
}

std::int32_t Job::process_of_rank(std::int32_t rank) const {
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (processes[i].role == Role::kRank && processes[i].rank == rank) return static_cast<std::int32_t>(i);
  return -1;
}

}  // namespace ddpscope::model
