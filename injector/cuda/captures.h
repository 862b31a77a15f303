// Streams that capture: what is put into them goes into a graph and does not run.
#pragma once
#include "injector/cuda/recording.h"

namespace ddpscope::injector {

// Whether the program has a capture open, as far as hooks see. All that other calls pay for captures.
extern std::uint32_t open_captures;  // __atomic
inline bool captures_open() { return __atomic_load_n(&open_captures, __ATOMIC_RELAXED) != 0; }

// CUDA's number of the capture that the stream is in, 0: in none, or not known. Leaves the guest's last
// error.
std::uint64_t capture_of(cudaStream_t stream);

// Of a collective, or of the launch of a graph (communicator 0): if its stream captures, the trace says so.
struct CapturableCall {
  cudaStream_t stream;
  std::uint32_t communicator, sequence;
  cudaGraphExec_t graph;
};
bool note_if_captured(const CapturableCall& call);

// An open collective. Must be called before the real call, which may end the capture by failing.
inline bool note_if_captured(const OpenRecord& open, cudaStream_t stream) {
  if (!captures_open() || !file_of(open)) return false;
  const auto& fields = open.payload<trace::payload::Collective>();
  return note_if_captured(CapturableCall{stream, fields.communicator, fields.sequence, nullptr});
}

template <Call call, class... Params, class... Args>
cudaError_t begin_capture(cudaError_t (*self)(Params...), const OrderArguments& arguments, Args... args) {
  auto began = [](auto&) { __atomic_fetch_add(&open_captures, 1, __ATOMIC_RELAXED); };
  return recorded<call>(self, order_payload<call>(arguments), Stack::kTaken, began, args...);
}

void capture_ended(cudaError_t result);

template <Call call>
cudaError_t end_capture(cudaError_t (*self)(cudaStream_t, cudaGraph_t*), cudaStream_t stream,
                        cudaGraph_t* graph) {
  PayloadOf<call> payload = order_payload<call>({stream});
  payload.flags = static_cast<std::uint32_t>(capture_of(stream));
  auto made = [&](auto& fields) { fields.event = as_number(*graph); };
  cudaError_t result = recorded<call>(self, payload, Stack::kTaken, made, stream, graph);
  if (!inside_vendor_call()) capture_ended(result);
  return result;
}

// Launches recur: from the second one on they take 8 bytes each.
template <Call call>
cudaError_t launch_graph(cudaError_t (*self)(cudaGraphExec_t, cudaStream_t), cudaGraphExec_t graph,
                         cudaStream_t stream) {
  if (captures_open() && !inside_vendor_call()) note_if_captured({stream, 0, 0, graph});
  auto begin_call = [&] {
    trace::FileWriter* file = recorder(Weight::kOpens);
    OwnWork work(file);
    if (!work) return OpenRecord{};
    std::uint32_t stack = current_stack(*file);
    return this_thread.writer.open_regular<call>(*file, order_payload<call>({stream, graph}), now(*file),
                                                 stack);
  };
  return recorded_as<call>(self, begin_call, kNothingToFill, graph, stream);
}

template <Call call, class... Params, class... Args>
cudaError_t make_graph(cudaError_t (*self)(Params...), cudaGraph_t graph, const cudaGraphExec_t* made,
                       std::uint64_t flags, Args... args) {
  PayloadOf<call> payload{as_number(graph), 0, static_cast<std::uint32_t>(flags), 0};
  auto fill = [&](auto& fields) { fields.executable = made ? as_number(*made) : 0; };
  return recorded<call>(self, payload, Stack::kTaken, fill, args...);
}

}  // namespace ddpscope::injector
