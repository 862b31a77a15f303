// The ranks of a job and what they do together: collectives on a communication stream, values shared between
// hosts.
#include "process_group.h"

#include <cstring>
#include <thread>

namespace reference_trainer {
namespace {

int select_device(int local_rank, const Faults& faults) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  const int device = faults.on(Fault::kSharedSameDevice) ? 0 : local_rank % devices;
  check(cudaSetDevice(device));
  return device;
}

Communicators only(ncclComm_t communicator) {
  Communicators joined;
  joined.ranks = communicator;
  check(ncclCommUserRank(communicator, &joined.rank));
  check(ncclCommCount(communicator, &joined.size));
  return joined;
}

}  // namespace

ProcessGroup::ProcessGroup(const Place& place, std::chrono::milliseconds timeout, Watchdog& watchdog,
                           const Faults& faults)
    : local_rank_(place.local_rank),
      device_(select_device(place.local_rank, faults)),
      faults_(faults),
      watchdog_(watchdog),
      store_(std::make_shared<Store>(place, timeout)),
      joined_(join_communicators(place, *store_, faults)) {
  for (ncclComm_t communicator : communicators()) watchdog_.watch(communicator);
}

ProcessGroup::ProcessGroup(const ProcessGroup& whole, ncclComm_t part)
    : local_rank_(whole.local_rank_),
      device_(whole.device_),
      faults_(whole.faults_),
      watchdog_(whole.watchdog_),
      store_(whole.store_),
      joined_(only(part)) {
  watchdog_.watch(part);
}

std::vector<ncclComm_t> ProcessGroup::communicators() const {
  std::vector<ncclComm_t> own;
  if (joined_.ranks) own.push_back(joined_.ranks);
  if (joined_.column) own.push_back(joined_.column);
  return own;
}

// Along the row, then along the column: so do averages of averages come out, and everybody meets everybody.
void ProcessGroup::all_reduce(void* data, size_t count, ncclDataType_t type, ncclRedOp_t operation) {
  for (ncclComm_t communicator : communicators())
    check(ncclAllReduce(data, data, count, type, operation, communicator, stream()));
}

void ProcessGroup::reduce_scatter(const void* data, void* part, size_t count, ncclDataType_t type,
                                  ncclRedOp_t operation) {
  check(ncclReduceScatter(data, part, count, type, operation, joined_.ranks, stream()));
}

// float32 and float64.
void ProcessGroup::all_gather(void* data, size_t count, ncclDataType_t type) {
  const size_t bytes = count * (type == ncclFloat64 ? sizeof(double) : sizeof(float));
  const auto* own = static_cast<const std::byte*>(data) + static_cast<size_t>(rank()) * bytes;
  check(ncclAllGather(own, data, count, type, joined_.ranks, stream()));
}

void ProcessGroup::broadcast(void* data, size_t count, ncclDataType_t type, int root) {
  if (!joined_.ranks) return;
  // Down the columns, of which one is the root's, then from that one along the rows.
  if (joined_.column)
    check(ncclBroadcast(data, data, count, type, root / joined_.row_size, joined_.column, stream()));
  const int in_row = joined_.column ? root % joined_.row_size : root;
  check(ncclBroadcast(data, data, count, type, in_row, joined_.ranks, stream()));
}

void ProcessGroup::barrier(const std::string& place, Wait wait) {
  watchdog_.at(place);
  void* const token = scratch_.data();
  check(cudaMemsetAsync(token, 0, sizeof(float), stream()));
  for (ncclComm_t communicator : communicators())
    check(ncclAllReduce(token, token, 1, ncclFloat32, ncclSum, communicator, stream()));
  if (wait == Wait::kNow) wait_for_barrier();
}

void ProcessGroup::wait_for_barrier() {
  if (faults_.on(Fault::kIneffectiveNeverWaited)) return;
  if (faults_.on(Fault::kIneffectiveWrongDevice)) return wait_on_default_device();
  if (faults_.on(Twin::kBarrierAlreadyDone)) return query_until_done();
  synchronize();
}

// What waits for the barrier is the null stream of this rank's device, but the null stream that the host
// waits for is that of the current device: 0, where nobody has selected another one for this thread.
void ProcessGroup::wait_on_default_device() {
  barrier_done_.record(stream());
  barrier_done_.hold(nullptr);
  check(cudaSetDevice(0));
  check(cudaStreamSynchronize(nullptr));
  check(cudaSetDevice(device_));
}

// Twin barrier-already-done: no call waits.
void ProcessGroup::query_until_done() {
  barrier_done_.record(stream());
  while (!barrier_done_.done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void ProcessGroup::wait_for_rank_0() {
  char come = 0;
  store_->share(std::span(&come, 1));
}

std::vector<uint64_t> ProcessGroup::gather(uint64_t value) {
  std::memcpy(host_scratch_.data(), &value, sizeof value);
  stage(sizeof value);
  // Sent from the end of the scratch space so that it does not overlap with what is received.
  std::byte* const end = scratch_.data() + kScratchBytes;
  size_t known = 1;
  for (ncclComm_t communicator : communicators()) {
    int members = 0;
    check(ncclCommCount(communicator, &members));
    std::byte* const own = end - known * sizeof value;
    check(cudaMemcpyAsync(own, scratch_.data(), known * sizeof value, cudaMemcpyDeviceToDevice, stream()));
    check(ncclAllGather(own, scratch_.data(), known, ncclUint64, communicator, stream()));
    known *= members;
  }
  fetch(known * sizeof value);
  std::vector<uint64_t> values(known);
  std::memcpy(values.data(), host_scratch_.data(), known * sizeof value);
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

std::unique_ptr<ProcessGroup> ProcessGroup::split(int colour, int key) {
  ncclComm_t part = nullptr;
  check(ncclCommSplit(joined_.ranks, colour, key, &part, nullptr));
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(*this, part));
}

void ProcessGroup::synchronize() {
  // The wait is for a stream of this device: another current device must not stand in between.
  check(cudaSetDevice(device_));
  stream_.synchronize();
}

void ProcessGroup::close() {
  watchdog_.at("the end of a communicator");
  for (ncclComm_t communicator : communicators()) {
    watchdog_.forget(communicator);
    check(ncclCommDestroy(communicator));
  }
  joined_.ranks = joined_.column = nullptr;
}

void ProcessGroup::stage(size_t bytes) {
  check(cudaMemcpyAsync(scratch_.data(), host_scratch_.data(), bytes, cudaMemcpyHostToDevice, stream()));
}

void ProcessGroup::fetch(size_t bytes) {
  check(cudaMemcpyAsync(host_scratch_.data(), scratch_.data(), bytes, cudaMemcpyDeviceToHost, stream()));
  synchronize();
}

}  // namespace reference_trainer
