// The ranks of a job and what they do together: collectives on a communication stream, values shared between
// hosts.
#include "process_group.h"

#include <cstring>

namespace reference_trainer {
namespace {

int select_device(int local_rank) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  const int device = local_rank % devices;
  check(cudaSetDevice(device));
  return device;
}

// On the device selected above.
ncclComm_t create_communicator(const Place& place, std::chrono::milliseconds timeout) {
  ncclUniqueId id = {};
  if (place.rank == 0) check(ncclGetUniqueId(&id));
  if (place.world_size > 1) share_from_rank_0(place, std::span(id.internal), timeout);
  ncclComm_t communicator = nullptr;
  check(ncclCommInitRank(&communicator, place.world_size, id, place.rank));
  return communicator;
}

}  // namespace

ProcessGroup::ProcessGroup(const Place& place, std::chrono::milliseconds timeout, Watchdog& watchdog)
    : device_(select_device(place.local_rank)),
      communicator_(create_communicator(place, timeout)),
      watchdog_(watchdog) {
  register_communicator();
}

ProcessGroup::ProcessGroup(int device, ncclComm_t communicator, Watchdog& watchdog)
    : device_(device), communicator_(communicator), watchdog_(watchdog) {
  register_communicator();
}

void ProcessGroup::register_communicator() {
  check(ncclCommUserRank(communicator_, &rank_));
  check(ncclCommCount(communicator_, &size_));
  watchdog_.watch(communicator_);
}

void ProcessGroup::all_reduce(void* data, size_t count, ncclDataType_t type, ncclRedOp_t operation) {
  check(ncclAllReduce(data, data, count, type, operation, communicator_, stream()));
}

void ProcessGroup::broadcast(void* data, size_t count, ncclDataType_t type, int root) {
  check(ncclBroadcast(data, data, count, type, root, communicator_, stream()));
}

void ProcessGroup::barrier(const std::string& place) {
  watchdog_.at(place);
  check(cudaMemsetAsync(scratch_.data(), 0, sizeof(float), stream()));
  check(ncclAllReduce(scratch_.data(), scratch_.data(), 1, ncclFloat32, ncclSum, communicator_, stream()));
  synchronize();
}

std::vector<uint64_t> ProcessGroup::gather(uint64_t value) {
  std::memcpy(host_scratch_.data(), &value, sizeof value);
  stage(sizeof value);
  std::vector<uint64_t> values(size_);
  // Sent from the end of the scratch space so that it does not overlap with what is received.
  std::byte* const own = scratch_.data() + kScratchBytes - sizeof value;
  check(cudaMemcpyAsync(own, scratch_.data(), sizeof value, cudaMemcpyDeviceToDevice, stream()));
  check(ncclAllGather(own, scratch_.data(), 1, ncclUint64, communicator_, stream()));
  fetch(size_ * sizeof value);
  std::memcpy(values.data(), host_scratch_.data(), size_ * sizeof value);
  return values;
}

void ProcessGroup::average(std::span<double> values) {
  std::memcpy(host_scratch_.data(), values.data(), values.size_bytes());
  stage(values.size_bytes());
  all_reduce(scratch_.data(), values.size(), ncclFloat64, ncclAvg);
  fetch(values.size_bytes());
  std::memcpy(values.data(), host_scratch_.data(), values.size_bytes());
}

int64_t ProcessGroup::agree(int64_t value, int root) {
  std::memcpy(host_scratch_.data(), &value, sizeof value);
  stage(sizeof value);
  broadcast(scratch_.data(), 1, ncclInt64, root);
  fetch(sizeof value);
  std::memcpy(&value, host_scratch_.data(), sizeof value);
  return value;
}

std::unique_ptr<ProcessGroup> ProcessGroup::split(int colour) {
  ncclComm_t part = nullptr;
  check(ncclCommSplit(communicator_, colour, rank_, &part, nullptr));
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(device_, part, watchdog_));
}

void ProcessGroup::synchronize() {
  // The wait is for a stream of this device: another current device must not stand in between.
  check(cudaSetDevice(device_));
  stream_.synchronize();
}

void ProcessGroup::close() {
  watchdog_.at("the end of a communicator");
  watchdog_.forget(communicator_);
  check(ncclCommDestroy(communicator_));
  communicator_ = nullptr;
}

void ProcessGroup::stage(size_t bytes) {
  check(cudaMemcpyAsync(scratch_.data(), host_scratch_.data(), bytes, cudaMemcpyHostToDevice, stream()));
}

void ProcessGroup::fetch(size_t bytes) {
  check(cudaMemcpyAsync(host_scratch_.data(), scratch_.data(), bytes, cudaMemcpyDeviceToHost, stream()));
  synchronize();
}

}  // namespace reference_trainer
