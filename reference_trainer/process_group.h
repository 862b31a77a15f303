// The ranks of a job and what they do together: collectives on a communication stream, values shared between
// hosts.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "communicators.h"
#include "device.h"
#include "faults.h"
#include "store.h"
#include "watchdog.h"

namespace reference_trainer {

class ProcessGroup {
 public:
  // Selects this rank's device and meets the others; throws std::runtime_error when they don't come in time.
  ProcessGroup(const Place& place, std::chrono::milliseconds timeout, Watchdog& watchdog,
               const Faults& faults);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return joined_.rank; }
  int size() const { return joined_.size; }
  int local_rank() const { return local_rank_; }  // among those of this host
  int device() const { return device_; }
  Watchdog& watchdog() const { return watchdog_; }

  // Collectives: enqueued on stream(), in place; the host does not wait.
  void all_reduce(void* data, size_t count, ncclDataType_t type, ncclRedOp_t operation);
  void broadcast(void* data, size_t count, ncclDataType_t type, int root);
  // `count`: of each rank's part. Where all ranks are in one communicator.
  void reduce_scatter(const void* data, void* part, size_t count, ncclDataType_t type, ncclRedOp_t operation);
  void all_gather(void* data, size_t count, ncclDataType_t type);  // each has its part in place

  // The host returns when every rank has come, with kLater at once: then synchronize() waits for the barrier.
  enum class Wait { kNow, kLater };
  void barrier(const std::string& place, Wait wait = Wait::kNow);
  // The others' hosts return when rank 0 has come; by way of the store, without a collective.
  void wait_for_rank_0();
  // One value of each rank, in the order of ranks; the host waits.
  std::vector<uint64_t> gather(uint64_t value);
  // values[i] becomes its average over the ranks; at most 8 values; the host waits.
  void average(std::span<double> values);
  // Root's value; the host waits.
  int64_t agree(int64_t value, int root);

  // A group of the ranks with the same colour, in the order of their keys. Collective over this group.
  std::unique_ptr<ProcessGroup> split(int colour, int key);

  cudaStream_t stream() const { return stream_.get(); }
  // The host waits for all collectives enqueued so far.
  void synchronize();
  // After the last collective, when nothing went wrong. A rank that failed leaves its communicator to the end
  // of the process: destroying it would wait for peers.
  void close();

 private:
  ProcessGroup(const ProcessGroup& whole, ncclComm_t part);
  std::vector<ncclComm_t> communicators() const;
  void wait_for_barrier();
  void wait_on_default_device();
  void query_until_done();

  static constexpr size_t kScratchBytes = 4096;
  int local_rank_;
  int device_;  // selected before the communicators are created
  const Faults& faults_;
  Watchdog& watchdog_;
  std::shared_ptr<Store> store_;
  Communicators joined_;
  Stream stream_;
  Event barrier_done_;
  DeviceBuffer<std::byte> scratch_{kScratchBytes};
  PinnedBuffer<std::byte> host_scratch_{kScratchBytes};

  // Copies `bytes` of host scratch to the device, or back (the host waits).
  void stage(size_t bytes);
  void fetch(size_t bytes);
};

}  // namespace reference_trainer
