// The ranks of a job and what they do together: collectives on a communication stream, values shared between
// hosts.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device.h"
#include "store.h"
#include "watchdog.h"

namespace reference_trainer {

class ProcessGroup {
 public:
  // Selects this rank's device and meets the others; throws std::runtime_error when they don't come in time.
  ProcessGroup(const Place& place, std::chrono::milliseconds timeout, Watchdog& watchdog);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  Watchdog& watchdog() const { return watchdog_; }

  // Collectives: enqueued on stream(), in place; the host does not wait.
  void all_reduce(void* data, size_t count, ncclDataType_t type, ncclRedOp_t operation);
  void broadcast(void* data, size_t count, ncclDataType_t type, int root);

  // The host returns when every rank has come.
  void barrier(const std::string& place);
  // One value of each rank, in the order of ranks; the host waits.
  std::vector<uint64_t> gather(uint64_t value);
  // values[i] becomes its average over the ranks; at most 8 values; the host waits.
  void average(std::span<double> values);
  // Root's value; the host waits.
  int64_t agree(int64_t value, int root);

  // A group of the ranks with the same colour, ranks in the same order. Collective over this group.
  std::unique_ptr<ProcessGroup> split(int colour);

  cudaStream_t stream() const { return stream_.get(); }
  // The host waits for all collectives enqueued so far.
  void synchronize();
  // After the last collective, when nothing went wrong. A rank that failed leaves its communicator to the end
  // of the process: destroying it would wait for peers.
  void close();

 private:
  ProcessGroup(int device, ncclComm_t communicator, Watchdog& watchdog);
  void register_communicator();

  static constexpr size_t kScratchBytes = 4096;
  int device_;  // selected before the communicator is created
  ncclComm_t communicator_;
  Watchdog& watchdog_;
  int rank_ = 0;
  int size_ = 1;
  Stream stream_;
  DeviceBuffer<std::byte> scratch_{kScratchBytes};
  PinnedBuffer<std::byte> host_scratch_{kScratchBytes};

  // Copies `bytes` of host scratch to the device, or back (the host waits).
  void stage(size_t bytes);
  void fetch(size_t bytes);
};

}  // namespace reference_trainer
