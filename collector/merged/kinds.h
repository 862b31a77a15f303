// What an event on a time line is, and which tracks a rank has. Numbers are stored in merged files: they are
// never used again for something else.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::merged {

// How an event is coloured, and by what it is searched and summed up. A node's mask has a bit for each.
enum class Kind : std::uint8_t {
  kOther = 0,
  kCompute = 1,     // a kernel that the device ran
  kOptimizer = 2,   // one that updates parameters, by its name
  kCollective = 3,  // on the device or in a thread that runs it; on the host the call that enqueued it
  kBarrier = 4,     // a collective that only orders: nobody reads what it yields
  kFileRead = 5,
  kFileWrite = 6,
  kTick = 7,      // a file's name: stat, open, close, rename, unlink, listings
  kCopy = 8,      // between host and device, or within one
  kWait = 9,      // the host waits: for a stream, an event, a device, another thread, a child
  kStep = 10,     // an optimizer step, or a micro-batch
  kRange = 11,    // of the program's own (NVTX), or a pass of PyTorch
  kEnqueue = 12,  // a launch, and every other short call of CUDA or NCCL
  kMessage = 13,  // sockets, pipes, what processes of a host exchange
  kProcess = 14,  // fork, exec, exit, threads
  kSeen = 15,     // where `ddpscope run` saw a thread at several looks
};
constexpr std::size_t kKinds = 16;
const char* name_of(Kind kind);  // "file read"; for a number that this version does not know "other"

// In the order in which a rank's tracks stand.
// The name of a sighting at which the thread was in no call.
constexpr const char* kOwnCode = "code of its own";

enum class TrackKind : std::uint8_t {
  kSteps = 0,        // lane 0: optimizer steps, lane 1: micro-batches
  kRanges = 1,       // NVTX, and passes of PyTorch; lane: thread
  kHost = 2,         // calls of a thread of the rank's own process that are not of kFiles; lane: thread
  kFiles = 3,        // file access of a thread; lane: thread
  kStream = 4,       // what the device did; lane: device << 32 | stream
  kInput = 5,        // digests of what was copied to the device: a chip each; lane: thread
  kWorker = 6,       // calls of a process that works for the rank (loaders); lane: thread
  kWorkerFiles = 7,  // file access of such a process; lane: thread
  kSightings = 8,    // where `ddpscope run` saw the main thread; lane 0
  kLooks =
      9,  // look-ups of one name that a record holds several of, from the first to the last; lane: thread
};
constexpr std::size_t kTrackKinds = 10;
const char* name_of(TrackKind kind);  // "files"

// What a rank is in at a time, for summaries: one of these at a time, by order of what outweighs what.
enum class Activity : std::uint8_t {
  kFileWrite = 0,
  kFileRead = 1,
  kCollective = 2,  // barriers too
  kCompute = 3,     // optimizer too
  kCopy = 4,
  kWaiting = 5,
  kOther = 6,  // some call
  kNone = 7,   // no event: its own code, or nothing was recorded
};
constexpr std::size_t kActivities = 8;
const char* name_of(Activity activity);
Activity activity_of(Kind kind);

}  // namespace ddpscope::merged
