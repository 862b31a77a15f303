// Collects devices' UUIDs and the devices of communicators.
#include "collector/patterns/device_use.h"

#include <fmt/format.h>

#include <algorithm>

namespace ddpscope::patterns {
namespace {

using model::EventPlace;
using trace::Operation;

constexpr std::uint8_t kInProgress = 7;  // ncclInProgress: it comes to be later

// A process that uses MIG sees one slice; whether the runtime reports the slice's UUID or that of the whole
// GPU depends on its version.
std::string_view slice_of(const model::Process& process) {
  auto visible = process.environment.find("CUDA_VISIBLE_DEVICES");
  bool is_slice = visible != process.environment.end() && visible->second.starts_with("MIG-");
  return is_slice ? visible->second : std::string_view();
}

Seat seat_of(const model::Job& job, model::EventRef made, const trace::Record& record, const Gpu& gpu) {
  auto fields = trace::payload_of<trace::payload::Communicator>(record);
  bool refused = record.end && fields.result != 0 && fields.result != kInProgress;
  std::int32_t rank = job.processes[made.process].rank;
  return {rank, rank, fields.rank, fields.id, gpu, fields.device, refused, made};
}

}  // namespace

std::string name_of(const model::Job& job, const Gpu& gpu) {
  std::string_view host = job.hosts[gpu.host].name;
  if (!gpu.slice.empty()) return fmt::format("{} of {}", gpu.slice, host);
  return fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x} of {}", gpu.uuid_high >> 32,
                     gpu.uuid_high >> 16 & 0xFFFF, gpu.uuid_high & 0xFFFF, gpu.uuid_low >> 48,
                     gpu.uuid_low & 0xFFFF'FFFF'FFFF, host);
}

DeviceUse::DeviceUse(const model::Job& job) : gpus_(job.processes.size()) {
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (job.processes[process].rank >= 0) find_gpus(job, process);
    if (!gpus_[process].empty()) find_seats(job, process);
  }
}

void DeviceUse::find_gpus(const model::Job& job, std::uint32_t process) {
  const model::Process& own = job.processes[process];
  model::for_each(own.file, {Operation::kDeviceIdentity}, [&](EventPlace, const trace::Record& record) {
    auto device = trace::payload_of<trace::payload::Device>(record);
    if (device.result != 0 || (device.uuid_high == 0 && device.uuid_low == 0)) return;
    gpus_[process].emplace(static_cast<std::uint8_t>(device.device),
                           Gpu{own.host, device.uuid_high, device.uuid_low, slice_of(own)});
  });
}

void DeviceUse::find_seats(const model::Job& job, std::uint32_t process) {
  auto first = static_cast<std::ptrdiff_t>(seats_.size());
  model::for_each_in_time(job.processes[process].file, {Operation::kCommunicatorInit},
                          [&](EventPlace place, const trace::Record& record) {
                            auto fields = trace::payload_of<trace::payload::Communicator>(record);
                            const Gpu* gpu = find(process, fields.device);
                            if (gpu && fields.id)
                              seats_.push_back(seat_of(job, {process, place}, record, *gpu));
                          });
  // One process may hold several ranks.
  for (auto seat = seats_.begin() + first; seat != seats_.end(); ++seat)
    if (std::any_of(seats_.begin() + first, seats_.end(), [&](const Seat& other) {
          return other.communicator == seat->communicator &&
                 other.rank_in_communicator != seat->rank_in_communicator;
        }))
      seat->rank = seat->rank_in_communicator;
}

const Gpu* DeviceUse::find(std::uint32_t process, std::uint8_t ordinal) const {
  auto found = gpus_[process].find(ordinal);
  return found == gpus_[process].end() ? nullptr : &found->second;
}

bool DeviceUse::has_seat(std::int32_t process_rank) const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [&](const Seat& seat) { return seat.process_rank == process_rank; });
}

bool DeviceUse::has_seat(std::int32_t process_rank, const Gpu& gpu) const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [&](const Seat& seat) { return seat.process_rank == process_rank && seat.gpu == gpu; });
}

model::EventRef choice_of(const model::Job& job, model::EventRef event, std::uint8_t ordinal) {
  const trace::Record made = job.record(event);
  model::EventRef choice = event;
  model::for_each_in_time(job.processes[event.process].file, {Operation::kSetDevice},
                          [&](EventPlace place, const trace::Record& record) {
                            auto set = trace::payload_of<trace::payload::Device>(record);
                            bool chosen = set.device == ordinal && set.result == 0;
                            if (chosen && record.thread == made.thread && record.begin <= made.begin)
                              choice.place = place;
                          });
  return choice;
}

}  // namespace ddpscope::patterns
