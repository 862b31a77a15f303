// Device work: streams of a process as lanes.
#include <fmt/format.h>

#include "collector/merged/job_tracks.h"
#include "collector/model/device_work.h"
#include "collector/patterns/optimizer_names.h"
#include "collector/symbols/function_names.h"

namespace ddpscope::merged {
namespace {

using model::DeviceInterval;
using trace::DeviceWorkKind;

// Of work that whoever timed it did not number the stream of: the call's own handle, told by this bit.
constexpr std::uint64_t kByHandle = std::uint64_t{1} << 31;

class DeviceTracks {
 public:
  DeviceTracks(Making& making, std::uint32_t process, LaneTracks& tracks, ProcessTables& tables,
               const CallsBySubject& calls)
      : making_(making),
        job_(making.facts.job),
        process_(process),
        file_(job_.processes[process].file),
        tracks_(tracks),
        tables_(tables),
        calls_(calls) {}

  void write() {
    std::vector<DeviceInterval> intervals = model::device_intervals(job_, process_, model::is_any);
    std::vector<model::EventPlace> by = model::calls_of(job_.processes[process_], intervals);
    for (std::size_t i = 0; i < intervals.size(); ++i) write(intervals[i], by[i]);
  }

 private:
  struct Stream {
    std::uint64_t lane;
    std::string label;
  };

  void write(const DeviceInterval& interval, model::EventPlace by);
  std::uint32_t name_of(const DeviceInterval& interval, std::uint32_t call);
  std::uint32_t kernel_name(std::uint32_t id, const trace::DeviceWork& work);
  std::uint32_t row_of(const trace::DeviceWork& work) const {
    const RankShares& shares = tracks_.shares();
    return work.kind == DeviceWorkKind::kCollective
               ? shares.row_of_communicator(static_cast<std::uint32_t>(work.subject))
               : shares.row_of_device(work.device);
  }
  Stream stream_of(const trace::DeviceWork& work, std::uint32_t call);

  Making& making_;
  const model::Job& job_;
  std::uint32_t process_;
  const trace::TraceFile& file_;
  LaneTracks& tracks_;
  ProcessTables& tables_;
  const CallsBySubject& calls_;
  std::unordered_map<std::uint32_t, std::uint32_t> kernels_;  // names by string
  std::map<std::uint64_t, std::uint64_t> handles_;            // numbered as they come
};

std::uint32_t DeviceTracks::kernel_name(std::uint32_t id, const trace::DeviceWork& work) {
  auto [known, fresh] = kernels_.try_emplace(id, 0);
  if (!fresh) return known->second;
  std::string name(file_.string(id));
  tables_.set_string(id, name);
  Kind kind = model::is_nccl_kernel(file_, work)    ? Kind::kCollective
              : patterns::is_optimizer_kernel(name) ? Kind::kOptimizer
                                                    : Kind::kCompute;
  name = symbols::demangled(name.c_str());
  known->second = making_.writer.name(name.empty() ? "kernel" : name, kind);
  return known->second;
}

std::uint32_t DeviceTracks::name_of(const DeviceInterval& interval, std::uint32_t call) {
  const trace::DeviceWork& work = interval.work;
  switch (work.kind) {
    case DeviceWorkKind::kKernel:
      return kernel_name(static_cast<std::uint32_t>(work.subject), work);
    case DeviceWorkKind::kCollective: {
      if (call == kNone) return making_.writer.name("collective", Kind::kCollective);
      const auto& signature = making_.facts.collectives.calls.signature(call);
      bool barrier = making_.facts.barriers[call];
      return making_.writer.name(barrier ? "barrier" : matching::name_of(signature.operation),
                                 barrier ? Kind::kBarrier : Kind::kCollective);
    }
    case DeviceWorkKind::kCopyToDevice:
      return making_.writer.name("copy to device", Kind::kCopy);
    case DeviceWorkKind::kCopyToHost:
      return making_.writer.name("copy to host", Kind::kCopy);
    case DeviceWorkKind::kFill:
      return making_.writer.name("fill", Kind::kCopy);
    default:
      return making_.writer.name("copy", Kind::kCopy);
  }
}

DeviceTracks::Stream DeviceTracks::stream_of(const trace::DeviceWork& work, std::uint32_t call) {
  std::uint64_t device = std::uint64_t{work.device} << 32;
  if (work.stream) return {device | work.stream, fmt::format("cuda:{} stream {}", work.device, work.stream)};
  std::uint64_t handle = call == kNone ? 0 : making_.facts.collectives.calls.form(call).stream;
  auto [known, fresh] = handles_.try_emplace(handle, handles_.size());
  return {device | kByHandle | known->second, fmt::format("cuda:{} stream {:#x}", work.device, handle)};
}

void DeviceTracks::write(const DeviceInterval& interval, model::EventPlace by) {
  const trace::DeviceWork& work = interval.work;
  std::uint32_t call = kNone;
  if (work.kind == DeviceWorkKind::kCollective)
    if (auto found = calls_.find(work.subject); found != calls_.end()) call = found->second;
  Event event;
  event.begin_ns = interval.begin_ns;
  event.end_ns = std::max(interval.begin_ns, interval.end_ns);
  event.name = name_of(interval, call);
  if (row_of(work) != tracks_.row()) return;
  DeviceSlot slot{};
  slot.subject = work.subject;
  slot.called_ns = model::kTimeLimit;
  if (by != model::kNoCall) slot.called_ns = job_.begin_ns({process_, by});
  slot.stream = work.stream;
  slot.thread = work.thread;
  slot.kind = static_cast<std::uint8_t>(work.kind);
  slot.device = work.device;
  Stream stream = stream_of(work, call);
  tracks_.add(TrackKind::kStream, stream.lane, event, slot_of(slot), [&] { return stream.label; });
}

}  // namespace

void write_device_work(Making& making, std::uint32_t process, LaneTracks& tracks, ProcessTables& tables,
                       const CallsBySubject& calls) {
  DeviceTracks(making, process, tracks, tables, calls).write();
}

}  // namespace ddpscope::merged
