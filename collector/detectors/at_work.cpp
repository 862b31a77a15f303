// Asks a rank's records, and where `ddpscope run` saw its threads.
#include "collector/detectors/at_work.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "collector/detectors/patience.h"
#include "collector/detectors/whereabouts.h"
#include "collector/model/enclosing_calls.h"
#include "collector/ordering/device_replay.h"
#include "collector/ordering/stream_ends.h"

namespace ddpscope::detectors {
namespace {

using model::Job;
using model::Sighting;
using trace::Operation;
using trace::OperationSet;
using trace::Record;

bool is_own(const Record& record, const Threads& threads) {
  return record.thread == model::kMainThread || threads.contains(record.thread);
}

const Sighting* seen_at(const Job& job, std::uint32_t process, std::int64_t at_ns) {
  for (const Sighting& sighting : job.processes[process].sightings)
    if (job.time_ns(process, sighting.first_ticks) <= at_ns &&
        job.time_ns(process, sighting.last_ticks) + kLongWait >= at_ns)
      return &sighting;
  return nullptr;
}

// Of a connection whose making is not in what was read nobody knows whom it leads to.
bool leads_outside(const ordering::StreamEnds& streams, ordering::EndId id, std::uint32_t process) {
  const ordering::StreamEnd& end = streams.ends.at(id);
  auto peer = end.peer ? streams.ends.find(*end.peer) : streams.ends.end();
  auto by_others = [&](const ordering::StreamEnd& held) {
    return std::any_of(held.holders.begin(), held.holders.end(),
                       [&](const auto& holder) { return holder.first != process; });
  };
  return end.made && !end.of_store && !by_others(end) &&
         (peer == streams.ends.end() || !by_others(peer->second));
}

// The call of one of these threads that was under way at that moment.
std::optional<model::EventPlace> under_way(const Job& job, std::uint32_t process, const Threads& threads,
                                           const OperationSet& operations, std::int64_t at_ns) {
  std::optional<model::EventPlace> found;
  model::for_each(job.processes[process].file, operations,
                  [&](model::EventPlace place, const Record& record) {
                    if (!is_own(record, threads) || job.time_ns(process, record.begin) > at_ns) return;
                    if (record.end == 0 || job.time_ns(process, record.end) > at_ns) found = place;
                  });
  return found;
}

// Loader workers are no programs, and a rank that hangs waits for them as well.
bool has_started_a_program(const Job& job, std::uint32_t process, const Threads& threads,
                           std::int64_t at_ns) {
  constexpr std::int32_t kByPopen = -1;          // whose pid is the library's own
  std::map<std::int32_t, std::int64_t> started;  // by pid, when
  std::int64_t spoke_ns = 0;                     // to the job: a collective, a message
  const trace::TraceFile& file = job.processes[process].file;
  model::for_each_in_time(file, [&](model::EventPlace, const Record& record) {
    std::int64_t begin_ns = job.time_ns(process, record.begin);
    const trace::CallInfo* info = trace::find_call(record.call);
    if (begin_ns > at_ns || !info) return;
    if (info->payload == trace::PayloadKind::kCollective ||
        (info->operation == Operation::kStreamSend && !is_own(record, threads)))
      spoke_ns = begin_ns;
    if (info->payload != trace::PayloadKind::kProcess) return;
    auto call = trace::payload_of<trace::payload::Process>(record);
    bool starts = info->operation == Operation::kFork || info->operation == Operation::kSpawn;
    bool by_popen = record.call == static_cast<std::uint16_t>(trace::Call::popen);
    if (starts && call.path && (call.pid > 0 || by_popen)) started[by_popen ? kByPopen : call.pid] = begin_ns;
    if (info->operation == Operation::kWaitChild && record.end)
      started.erase(record.call == static_cast<std::uint16_t>(trace::Call::pclose) ? kByPopen : call.pid);
  });
  return std::any_of(started.begin(), started.end(),
                     [&](const auto& program) { return program.second > spoke_ns; });
}

}  // namespace

Saving saving(const Job& job, std::uint32_t process, std::int64_t at_ns) {
  constexpr OperationSet kSaving{Operation::kWrite, Operation::kSync, Operation::kClose, Operation::kTruncate,
                                 Operation::kTransfer};
  Saving found = Saving::kNone;
  model::for_each(job.processes[process].file, kSaving, [&](model::EventPlace, const Record& record) {
    std::int64_t begin_ns = job.time_ns(process, record.begin);
    if (begin_ns > at_ns) return;
    bool under_way = !record.end || job.time_ns(process, record.end) > at_ns;
    bool moves = at_ns - (under_way ? begin_ns : job.time_ns(process, record.end)) < kLongWait;
    if (moves || under_way) found = std::max(found, moves ? Saving::kMoves : Saving::kInside);
  });
  for (std::uint32_t child = 0; child < job.processes.size(); ++child)
    if (job.processes[child].parent == static_cast<std::int32_t>(process) && child != process)
      found = std::max(found, saving(job, child, at_ns));
  return found;
}

bool computed(const Job& job, std::uint32_t process, std::int64_t from_ns, std::int64_t at_ns) {
  const Sighting* now = seen_at(job, process, at_ns);
  if (!now) return false;
  double used_ns = 0, seen_ns = 0, running = 0, looks = 0;
  for (const Sighting& sighting : job.processes[process].sightings) {
    std::int64_t first_ns = job.time_ns(process, sighting.first_ticks);
    std::int64_t last_ns = job.time_ns(process, sighting.last_ticks);
    auto inside_ns = static_cast<double>(std::min(last_ns, at_ns) - std::max(first_ns, from_ns));
    if (inside_ns <= 0) continue;
    double part = inside_ns / static_cast<double>(last_ns - first_ns);  // that lies in between
    used_ns += static_cast<double>(sighting.cpu_ns) * part;
    seen_ns += inside_ns;
    running += sighting.running * part;
    looks += sighting.looks * part;
  }
  return now->inside.empty() || used_ns * 2 > seen_ns || running * 2 > looks;
}

std::string_view seen_inside(const Job& job, std::uint32_t process, std::int64_t at_ns) {
  const Sighting* now = seen_at(job, process, at_ns);
  return now ? std::string_view(now->inside) : std::string_view{};
}

std::optional<model::EventPlace> device_wait(const Job& job, std::uint32_t process, const Threads& threads,
                                             std::int64_t at_ns) {
  return under_way(job, process, threads, ordering::kDeviceWaits | OperationSet{Operation::kCopy}, at_ns);
}

bool waits_by_mpi(const Job& job, std::uint32_t process, const Threads& threads, std::int64_t at_ns) {
  constexpr OperationSet kWaits{Operation::kProcessGroup, Operation::kGroupCollective,
                                Operation::kGroupBarrier, Operation::kGroupPointToPoint,
                                Operation::kGroupWait};
  auto call = under_way(job, process, threads, kWaits, at_ns);
  return call && model::is_of_mpi(job.record({process, *call}).call);
}

bool awaits_own(const Job& job, std::uint32_t process, const Threads& threads, bool on_descriptor,
                std::int64_t at_ns) {
  // A shell's command is awaited by the call that starts it.
  constexpr OperationSet kWaits{Operation::kWaitChild, Operation::kThreadJoin, Operation::kSpawn};
  return under_way(job, process, threads, kWaits, at_ns) ||
         (on_descriptor && has_started_a_program(job, process, threads, at_ns));
}

bool spoke_with_an_outsider(const Job& job, std::uint32_t process, const Threads& threads,
                            std::int64_t at_ns) {
  constexpr OperationSet kSpeaking{Operation::kStreamSend, Operation::kStreamReceive, Operation::kConnect};
  std::optional<Record> last;
  model::for_each(job.processes[process].file, [&](model::EventPlace, const Record& record) {
    if (!is_own(record, threads) || !brings_on(record) || job.time_ns(process, record.begin) > at_ns) return;
    if (!last || record.begin >= last->begin) last = record;
  });
  if (!last || !kSpeaking.has(trace::operation_of(last->call))) return false;
  std::uint64_t inode = trace::operation_of(last->call) == Operation::kConnect
                            ? trace::payload_of<trace::payload::Connection>(*last).inode
                            : trace::payload_of<trace::payload::StreamIo>(*last).inode;
  return leads_outside(ordering::find_stream_ends(job), {job.processes[process].host, inode}, process);
}

bool sleeps(const Job& job, std::uint32_t process, const Threads& threads, std::string_view inside,
            std::int64_t acted_ns, std::int64_t at_ns) {
  if (inside != "clock_nanosleep" && inside != "nanosleep") return false;
  constexpr OperationSet kOfLibraries{Operation::kHandOver, Operation::kRelease, Operation::kSetting};
  bool asked = false;
  model::for_each(job.processes[process].file, [&](model::EventPlace, const Record& record) {
    if (!is_own(record, threads) || kOfLibraries.has(trace::operation_of(record.call))) return;
    std::int64_t latest_ns = job.time_ns(process, std::max(record.begin, record.end));
    asked = asked || (latest_ns > acted_ns && job.time_ns(process, record.begin) <= at_ns);
  });
  return !asked;
}

bool awaits_a_peer(std::string_view inside) {
  constexpr std::array<std::string_view, 6> kOnAny{"poll",     "ppoll",      "select",
                                                   "pselect6", "epoll_wait", "epoll_pwait"};
  return std::find(kOnAny.begin(), kOnAny.end(), inside) != kOnAny.end() ||
         inside.find("socket:") != std::string_view::npos || inside.find("pipe:") != std::string_view::npos;
}

}  // namespace ddpscope::detectors
