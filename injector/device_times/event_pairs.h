// Pairs of events around collectives: recorded on their stream by the thread that enqueues them, read by the
// poller (event_poller.h) once the device has passed both.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace ddpscope::injector {

// Collectives of one communicator that follow each other on one stream and are enqueued together: one, or
// some of a group.
struct EnqueuedCollectives {
  cudaStream_t stream;
  std::uint32_t communicator, sequence;  // of the first, as in payload::Collective
  std::uint32_t count;
};

enum class PairState : std::uint32_t { kFree, kTaken, kRecorded };

struct EventPair {
  PairState state;  // __atomic; whoever has taken it owns the rest
  std::uint32_t count;
  cudaEvent_t start, stop;  // made at its first use
  std::uint32_t communicator, sequence;
  std::uint64_t called;  // ticks of the call's begin
  std::uint32_t file_epoch;
  std::uint16_t thread;
  std::uint8_t device;
};

constexpr std::uint32_t kPairs = 512;   // a device: collectives that the host may be ahead
constexpr unsigned kTimedDevices = 64;  // with higher numbers are not timed

// Of one device; made at its first collective, and kept.
struct DevicePairs {
  EventPair pairs[kPairs];
  std::uint32_t next;      // __atomic: where the search for a free pair starts
  std::uint32_t recorded;  // __atomic: pairs that the poller has to read
};
// nullptr: no collective was timed on it.
DevicePairs* pairs_of_device(unsigned device);

// Whether collectives are timed from now on (sampling.h); by the poller.
void choose_sampled(bool sampled);
// Ticks that it would have taken to time all collectives since it was asked for the last time.
std::uint64_t cost_since();

// Records the first event. nullptr, counted: not timed (the stream captures, no pair is free, not sampled);
// leaves the guest's last error as it is.
EventPair* begin_pair(const EnqueuedCollectives& collectives, std::uint8_t device);
// Records the second one after the real call, which began at `called`; or gives the pair up because that
// failed.
void end_pair(EventPair* pair, const EnqueuedCollectives& collectives, std::uint64_t called, bool enqueued);

void forget_event_pairs();  // after fork: the events are the parent's

}  // namespace ddpscope::injector
