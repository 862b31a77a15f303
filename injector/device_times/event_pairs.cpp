// No lock, no allocation but for a device's first collective, and four calls of the CUDA runtime a
// collective.
#include "injector/device_times/event_pairs.h"

#include <errno.h>
#include <sys/mman.h>

#include "injector/core/process.h"
#include "injector/device_times/cuda_events.h"
#include "injector/device_times/device_scope.h"
#include "injector/device_times/event_poller.h"
#include "injector/device_times/timing.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

DevicePairs* devices[kTimedDevices];  // __atomic

std::uint32_t left_out;  // __atomic: 1: nothing is timed at the moment
std::uint64_t cheapest;  // __atomic: ticks that a pair costs, without what other programs took of it
std::uint32_t since;     // __atomic: pairs, also those left out, since cost_since()

void note_cost(std::uint64_t ticks) {
  // A busy machine makes single ones dear; what all cost is near the least. It may grow again, slowly.
  std::uint64_t known = __atomic_load_n(&cheapest, __ATOMIC_RELAXED);
  std::uint64_t least = known && known + known / 128 < ticks ? known + known / 128 : ticks;
  __atomic_store_n(&cheapest, least, __ATOMIC_RELAXED);
}

DevicePairs* make_pairs(unsigned device) {
  long memory = trace::raw_syscall(SYS_mmap, 0, sizeof(DevicePairs), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) return nullptr;
  auto* fresh = reinterpret_cast<DevicePairs*>(memory);
  DevicePairs* expected = nullptr;
  if (__atomic_compare_exchange_n(&devices[device], &expected, fresh, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return fresh;
  trace::raw_syscall(SYS_munmap, memory, sizeof(DevicePairs));
  return expected;
}

EventPair* take_pair(DevicePairs& pairs) {
  constexpr std::uint32_t kTries = 8;
  for (std::uint32_t i = 0; i < kTries; ++i) {
    EventPair& pair = pairs.pairs[__atomic_fetch_add(&pairs.next, 1, __ATOMIC_RELAXED) % kPairs];
    PairState expected = PairState::kFree;
    if (__atomic_compare_exchange_n(&pair.state, &expected, PairState::kTaken, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
      return &pair;
  }
  return nullptr;
}

void give_back(EventPair& pair) { __atomic_store_n(&pair.state, PairState::kFree, __ATOMIC_RELEASE); }

bool captures(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  // What is not known is left alone.
  return !CudaEvents::succeeded(CudaEvents::is_capturing.get()(stream, &status)) ||
         status != cudaStreamCaptureStatusNone;
}

bool has_events(EventPair& pair) {
  auto* create = CudaEvents::create.get();
  if (!pair.start && !CudaEvents::succeeded(create(&pair.start, cudaEventDefault))) return false;
  return pair.stop || CudaEvents::succeeded(create(&pair.stop, cudaEventDefault));
}

EventPair* start_pair(const EnqueuedCollectives& collectives, unsigned device) {
  if (device >= kTimedDevices) return nullptr;
  DevicePairs* pairs = pairs_of_device(device);
  if (!pairs) pairs = make_pairs(device);
  if (!pairs || !start_event_poller()) return nullptr;
  // An error that the guest has not looked at yet would be taken for ours, and lost.
  if (CudaEvents::peek_error.get()() != cudaSuccess) return nullptr;
  DeviceScope scope(device);
  if (!scope || captures(collectives.stream)) return nullptr;
  EventPair* pair = take_pair(*pairs);
  if (!pair) return nullptr;
  if (has_events(*pair) && CudaEvents::succeeded(CudaEvents::record.get()(pair->start, collectives.stream)))
    return pair;
  give_back(*pair);
  stop_timing("CUDA refused an event");
  return nullptr;
}

// NCCL may have drawn the stream into another one's capture meanwhile.
bool stop_pair(const EventPair& pair, cudaStream_t stream) {
  if (CudaEvents::peek_error.get()() != cudaSuccess) return false;
  DeviceScope scope(pair.device);
  return scope && !captures(stream) && CudaEvents::succeeded(CudaEvents::record.get()(pair.stop, stream));
}

}  // namespace

DevicePairs* pairs_of_device(unsigned device) { return __atomic_load_n(&devices[device], __ATOMIC_ACQUIRE); }

void choose_sampled(bool sampled) { __atomic_store_n(&left_out, !sampled, __ATOMIC_RELAXED); }

std::uint64_t cost_since() {
  return __atomic_exchange_n(&since, 0, __ATOMIC_RELAXED) * __atomic_load_n(&cheapest, __ATOMIC_RELAXED);
}

EventPair* begin_pair(const EnqueuedCollectives& collectives, std::uint8_t device) {
  trace::FileWriter* file = open_recorder();
  if (!file || !times_by_events(*file)) return nullptr;
  __atomic_fetch_add(&since, 1, __ATOMIC_RELAXED);
  if (__atomic_load_n(&left_out, __ATOMIC_RELAXED)) {
    file->count(trace::Health::device_work_left_out, collectives.count);
    return nullptr;
  }
  std::uint64_t before = trace::read_ticks(file->clock().kind);
  int saved = errno;
  EventPair* pair = start_pair(collectives, device);
  errno = saved;
  if (!pair) {
    file->count(trace::Health::device_work_untimed, collectives.count);
    return nullptr;
  }
  pair->device = device;
  pair->called = trace::read_ticks(file->clock().kind) - before;  // the cost so far, until end_pair()
  return pair;
}

void end_pair(EventPair* pair, const EnqueuedCollectives& collectives, std::uint64_t called, bool enqueued) {
  if (!pair) return;
  trace::FileWriter* file = open_recorder();
  if (!file) return;
  std::uint64_t before = trace::read_ticks(file->clock().kind);
  int saved = errno;
  bool recorded = enqueued && stop_pair(*pair, collectives.stream);
  errno = saved;
  if (!recorded) {
    file->count(trace::Health::device_work_untimed, collectives.count);
    return give_back(*pair);
  }
  std::uint64_t cost_so_far = pair->called;
  pair->communicator = collectives.communicator;
  pair->sequence = collectives.sequence;
  pair->count = collectives.count;
  pair->called = called;
  pair->thread = this_thread.writer.known_number();
  pair->file_epoch = file->epoch();
  __atomic_store_n(&pair->state, PairState::kRecorded, __ATOMIC_RELEASE);
  __atomic_fetch_add(&devices[pair->device]->recorded, 1, __ATOMIC_RELEASE);
  note_cost(cost_so_far + trace::read_ticks(file->clock().kind) - before);
}

void forget_event_pairs() {
  for (DevicePairs*& pairs : devices) pairs = nullptr;
  left_out = 0;
  cheapest = 0;
  since = 0;
}

}  // namespace ddpscope::injector
