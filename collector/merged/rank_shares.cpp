// By the records that made the process's communicators, each of which names a rank and its device.
#include "collector/merged/rank_shares.h"

#include <fmt/format.h>

namespace ddpscope::merged {
namespace {

using trace::PayloadKind;
namespace payload = trace::payload;

constexpr std::uint32_t kNoDevice = ~0u;

std::uint32_t device_in(const trace::Record& record, PayloadKind kind) {
  switch (kind) {
    case PayloadKind::kCopy:
      return trace::payload_of<payload::Copy>(record).device;
    case PayloadKind::kLaunch:
      return trace::payload_of<payload::Launch>(record).device;
    case PayloadKind::kDeviceOrder:
      return trace::payload_of<payload::DeviceOrder>(record).device;
    case PayloadKind::kAllocation:
      return trace::payload_of<payload::Allocation>(record).device;
    case PayloadKind::kDevice:
      return static_cast<std::uint32_t>(trace::payload_of<payload::Device>(record).device);
    default:
      return kNoDevice;
  }
}

std::uint32_t communicator_in(const trace::Record& record, PayloadKind kind) {
  switch (kind) {
    case PayloadKind::kCollective:
      return trace::payload_of<payload::Collective>(record).communicator;
    case PayloadKind::kCommunicator:
      return trace::payload_of<payload::Communicator>(record).communicator;
    case PayloadKind::kCommunicatorCall:
      return trace::payload_of<payload::CommunicatorCall>(record).communicator;
    default:
      return 0;
  }
}

}  // namespace

RankShares::RankShares(const analysis::Matched& facts, const JobRows& rows, std::uint32_t process)
    : own_row_(rows.row_of_process[process]) {
  for (const matching::Communicator& communicator : facts.collectives.communicators)
    for (const matching::Member& member : communicator.members) {
      if (member.process != process) continue;
      std::uint32_t row = rows.row_of_rank(member.rank);
      if (row == kNone) row = own_row_;
      several_ = several_ || row != own_row_;
      rows_by_communicator_[member.number] = row;
      trace::Record made = facts.job.record({process, member.made});
      const trace::CallInfo* info = trace::find_call(made.call);
      if (!info || info->payload != PayloadKind::kCommunicator) continue;
      std::uint32_t device = trace::payload_of<payload::Communicator>(made).device;
      auto [known, fresh] = rows_by_device_.try_emplace(device, row);
      if (!fresh && known->second != row) known->second = own_row_;
    }
}

std::uint32_t RankShares::row_of(const trace::Record& record, const trace::CallInfo& info) const {
  if (!several_) return own_row_;
  if (std::uint32_t number = communicator_in(record, info.payload)) return row_of_communicator(number);
  return row_of_device(device_in(record, info.payload));
}

std::uint32_t RankShares::row_of_device(std::uint32_t device) const {
  auto found = rows_by_device_.find(device);
  return several_ && found != rows_by_device_.end() ? found->second : own_row_;
}

std::uint32_t RankShares::row_of_communicator(std::uint32_t number) const {
  auto found = rows_by_communicator_.find(number);
  return found == rows_by_communicator_.end() ? own_row_ : found->second;
}

std::string RankShares::device_of(std::uint32_t row) const {
  for (const auto& [device, its_row] : rows_by_device_)
    if (its_row == row) return fmt::format("cuda:{}", device);
  return {};
}

}  // namespace ddpscope::merged
