// How a stream is asked whether it captures, and what is written of that.
#include "injector/cuda/captures.h"

#include <errno.h>

namespace ddpscope::injector {
namespace {

// CUDA 12's function of this name takes the first three; what is passed beyond that it does not look at.
constinit NamedFunction<cudaError_t(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*, cudaGraph_t*,
                                    const cudaGraphNode_t**, const cudaGraphEdgeData**, size_t*)>
    capture_info("cudaStreamGetCaptureInfo");
constinit NamedFunction<cudaError_t()> last_error("cudaGetLastError");
constinit NamedFunction<cudaError_t()> peek_error("cudaPeekAtLastError");

std::uint64_t ask(cudaStream_t stream) {
  auto* info = capture_info.get();
  auto *peek = peek_error.get(), *take = last_error.get();
  // An error that the guest has not looked at yet would be taken for ours, and lost.
  if (!info || !peek || !take || peek() != cudaSuccess) return 0;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long number = 0;
  if (info(stream, &status, &number, nullptr, nullptr, nullptr, nullptr) != cudaSuccess) {
    take();
    return 0;
  }
  return status == cudaStreamCaptureStatusActive ? number : 0;
}

}  // namespace

std::uint32_t open_captures = 0;

std::uint64_t capture_of(cudaStream_t stream) {
  // The legacy stream never captures, and asking it beside a capture is an error.
  if (!captures_open() || !stream || stream == cudaStreamLegacy) return 0;
  int saved = errno;
  std::uint64_t number = ask(stream);
  errno = saved;
  return number;
}

bool note_if_captured(const CapturableCall& call) {
  std::uint64_t capture = capture_of(call.stream);
  if (!capture) return false;
  trace::FileWriter* file = recorder(Weight::kOpens);
  OwnWork work(file);
  if (work)
    record_moment<Call::call_captured>(
        *file, {as_number(call.stream), capture, as_number(call.graph), call.communicator, call.sequence});
  return true;
}

// What fails for its thread or its stream goes on.
void capture_ended(cudaError_t result) {
  bool ended = result == cudaSuccess || result == cudaErrorStreamCaptureInvalidated ||
               result == cudaErrorStreamCaptureUnjoined;
  std::uint32_t known = __atomic_load_n(&open_captures, __ATOMIC_RELAXED);
  while (ended && known &&
         !__atomic_compare_exchange_n(&open_captures, &known, known - 1, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}

}  // namespace ddpscope::injector
