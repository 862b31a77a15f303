// Stream capture: streams that build a graph out of what they get instead of running it.
// The rules: CUDA programming guide, "Creating a Graph Using Stream Capture", and the functions' own pages.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace ddpscope::standin {

class Capture;
class Device;
class Event;
class Graph;
class Stream;
struct Activity;
struct GraphNode;
struct NodeWork;
struct Record;

namespace detail {
extern std::atomic<int> running_captures;
}

/// True while any stream of the process captures: all that other calls pay for captures.
inline bool captures_run() { return detail::running_captures.load(std::memory_order_acquire) != 0; }

/// Where an event stands that was recorded in a capturing stream.
struct CapturedPoint {
  std::weak_ptr<Capture> capture;
  std::vector<GraphNode*> nodes;
};

struct CaptureState {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;  ///< until the stream is used again
  std::size_t count = 0;
};

/// `into` is the program's graph; null: a new one. Fails with cudaErrorIllegalState where the stream captures
/// already, cudaErrorStreamCaptureUnsupported for the legacy stream.
void begin_capture(const std::shared_ptr<Stream>& stream, cudaStreamCaptureMode mode, cudaGraph_t into,
                   std::span<GraphNode* const> dependencies);

/// Ends the capture that began in `stream`, on all its streams.
cudaGraph_t end_capture(const std::shared_ptr<Stream>& stream);

/// The stream is destroyed: what it captured is lost.
void forget_captured(const Stream& stream);

CaptureState capture_state(const Stream& stream);
void update_dependencies(const Stream& stream, std::span<GraphNode* const> nodes, bool replace);

/// Swaps the calling thread's own mode.
void exchange_capture_mode(cudaStreamCaptureMode& mode);

// What follows is asked only while captures_run(). False and null: the stream captures nothing.

bool is_captured(const Stream& stream);
/// The node that `does` has become at the end of the stream.
GraphNode* capture_node(const Stream& stream, NodeWork does);
bool capture_activity(const Stream& stream, const std::function<void()>& work, const Activity& activity);
std::shared_ptr<const CapturedPoint> captured_point(const Stream& stream);
/// A wait of the stream for this record of an event.
bool capture_wait(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event,
                  const Record& record, bool external);

// Calls that a capture does not bear fail, and so does the capture from then on.

/// Something is put into the stream that no graph can have, or into the legacy stream beside a blocking
/// stream that captures.
void refuse_in_capture(const Stream& stream);
/// Somebody waits for the stream.
void refuse_wait(const Stream& stream);
void refuse_wait(Device& device);
/// Somebody waits for the event, or asks for it. Not only while captures_run().
void refuse_captured(const Record& record);
/// A call that may need the device to come to rest, or might run before what is captured.
void refuse_unsafe();
inline void unsafe_in_capture() {
  if (captures_run()) [[unlikely]]
    refuse_unsafe();
}

}  // namespace ddpscope::standin
