// In: cudaMemcpyAsync to pinned memory; the plan is a function of the host; out: cudaMemcpyAsync back.
#include "standin/nccl/staging.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "standin/cuda/runtime_table.h"
#include "standin/nccl/communicator.h"
#include "standin/nccl/cuda.h"
#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {
namespace {

/// Pinned memory is dear to get: it is kept, by size.
class Pool {
 public:
  void* take(std::size_t bytes) {
    {
      std::lock_guard lock(mutex_);
      std::vector<void*>& free = free_[bytes];
      if (!free.empty()) {
        void* const memory = free.back();
        free.pop_back();
        return memory;
      }
      free.reserve(++made_[bytes]);  // so that give_back() allocates nothing
    }
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
    return memory;
  }
  void give_back(void* memory, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    free_[bytes].push_back(memory);
  }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> free_;
  std::map<std::size_t, std::size_t> made_;
};

Pool& pool() {
  static auto* const pool = new Pool;
  return *pool;
}

bool host_reaches_devices() {
  static const bool reaches = [] {
    const char* const wanted = std::getenv("STANDIN_NCCL_STAGING");
    return standin_cudart_runtime && !(wanted && std::strcmp(wanted, "1") == 0);
  }();
  return reaches;
}

bool on_device(const void* memory) {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type == cudaMemoryTypeDevice;
}

/// Bytes that one rank reads and writes.
struct Extent {
  std::size_t send, recv;
};

Extent extent_of(const Collective& collective, int rank, int size) {
  const std::size_t bytes = collective.bytes(), all = bytes * static_cast<std::size_t>(size);
  const bool at_root = collective.signature.root == rank;
  switch (collective.signature.kind) {
    case Kind::kAllGather:
      return {bytes, all};
    case Kind::kReduceScatter:
      return {all, bytes};
    case Kind::kBroadcast:
      return {at_root ? bytes : 0, bytes};
    case Kind::kReduce:
      return {bytes, at_root ? bytes : 0};
    default:
      return {bytes, bytes};
  }
}

}  // namespace

bool Staging::is_on() { return !host_reaches_devices(); }

std::unique_ptr<Staging> Staging::begin(Plan& plan, cudaStream_t stream) {
  if (host_reaches_devices()) return nullptr;
  const int rank = plan.communicator->rank(), size = plan.communicator->size();
  std::unique_ptr<Staging> staging(new Staging(stream));
  for (Collective& collective : plan.collectives) {
    const auto [send, recv] = extent_of(collective, rank, size);
    collective.send = staging->bring(collective.send, send);
    collective.recv = staging->hand_out(collective.recv, recv);
    auto& factor = collective.reduction.factor;
    if (factor && factor->device)
      factor->device = staging->bring(factor->device, element_size(collective.datatype()));
  }
  for (Message& message : plan.messages) {
    message.buffer = message.direction == Message::kSend
                         ? const_cast<void*>(staging->bring(message.buffer, message.bytes))
                         : staging->hand_out(message.buffer, message.bytes);
  }
  return staging;
}

void* Staging::take(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(bytes, 4096));
  pinned_.reserve(pinned_.size() + 1);
  pinned_.emplace_back(pool().take(size), size);
  return pinned_.back().first;
}

const void* Staging::bring(const void* device, std::size_t bytes) {
  if (bytes == 0 || !on_device(device)) return device;
  void* const pinned = take(bytes);
  check_cuda(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream_));
  return pinned;
}

void* Staging::hand_out(void* device, std::size_t bytes) {
  if (bytes == 0 || !on_device(device)) return device;
  void* const pinned = take(bytes);
  out_.push_back({device, pinned, bytes});
  return pinned;
}

void Staging::end(std::unique_ptr<Staging> staging) {
  if (!staging) return;
  for (const Copy& copy : staging->out_)
    check_cuda(
        cudaMemcpyAsync(copy.device, copy.pinned, copy.bytes, cudaMemcpyHostToDevice, staging->stream_));
  const auto free = [](void* done) {
    for (const auto& [memory, size] : static_cast<Staging*>(done)->pinned_) pool().give_back(memory, size);
    static_cast<Staging*>(done)->pinned_.clear();
    delete static_cast<Staging*>(done);
  };
  check_cuda(cudaLaunchHostFunc(staging->stream_, free, staging.get()));
  staging.release();
}

// What is still there was not handed to the stream: copies into it may be under way.
Staging::~Staging() {
  if (pinned_.empty()) return;
  cudaStreamSynchronize(stream_);
  for (const auto& [memory, size] : pinned_) pool().give_back(memory, size);
}

void StagedOrder::enter(cudaStream_t stream) {
  if (left_) check_cuda(cudaStreamWaitEvent(stream, left_, 0));
}

void StagedOrder::leave(cudaStream_t stream) {
  if (!left_) check_cuda(cudaEventCreateWithFlags(&left_, cudaEventDisableTiming));
  check_cuda(cudaEventRecord(left_, stream));
}

}  // namespace ddpscope::standin::nccl
