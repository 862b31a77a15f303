// CUDA runtime calls with their errors turned into failures.
#include "standin/nccl/cuda.h"

#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {

void check_cuda(cudaError_t error) {
  if (error == cudaSuccess) return;
  throw Failure(ncclUnhandledCudaError, std::string("Cuda failure '") + cudaGetErrorString(error) + "'");
}

int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device));
  return device;
}

CurrentDevice::CurrentDevice(int device) : before_(current_device()), changed_(device != before_) {
  if (changed_) check_cuda(cudaSetDevice(device));
}

CurrentDevice::~CurrentDevice() {
  if (changed_) cudaSetDevice(before_);
}

void order_streams(cudaStream_t first, cudaStream_t second) {
  cudaEvent_t reached = nullptr;
  check_cuda(cudaEventCreateWithFlags(&reached, cudaEventDisableTiming));
  cudaError_t error = cudaEventRecord(reached, first);
  if (error == cudaSuccess) error = cudaStreamWaitEvent(second, reached, 0);
  cudaEventDestroy(reached);
  check_cuda(error);
}

StreamCapture capture_of(cudaStream_t stream) {
  StreamCapture capture;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* before = nullptr;
  std::size_t count = 0;
  check_cuda(
      cudaStreamGetCaptureInfo(stream, &status, &capture.id, &capture.graph, &before, nullptr, &count));
  if (status == cudaStreamCaptureStatusNone) return {};
  if (status != cudaStreamCaptureStatusActive) check_cuda(cudaErrorStreamCaptureInvalidated);
  if (count == 1) capture.last = before[0];
  return capture;
}

bool captures(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

}  // namespace ddpscope::standin::nccl
