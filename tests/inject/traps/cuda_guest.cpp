// CUDA calls of every kind, also as programs with a default stream a thread make them.
#include <cuda_runtime_api.h>

#include <cstring>

extern "C" decltype(cudaMemcpyAsync) cudaMemcpyAsync_ptsz;
extern "C" decltype(cudaStreamSynchronize) cudaStreamSynchronize_ptsz;

int main() {
  char host[4096] = {};
  void* device = nullptr;
  cudaStream_t stream;
  cudaEvent_t event;
  int count = 0;
  bool good = cudaGetDeviceCount(&count) == cudaSuccess && count > 2 && cudaSetDevice(2) == cudaSuccess;
  for (int i = 0; i < 100; ++i) good &= cudaSetDevice(2) == cudaSuccess;  // no change
  good &= cudaMalloc(&device, sizeof(host)) == cudaSuccess;
  good &= cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
  good &= cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess;
  good &= cudaMemsetAsync(device, 7, sizeof(host), stream) == cudaSuccess;
  for (int i = 0; i < 10; ++i)
    good &= cudaMemcpyAsync(host, device, 1000, cudaMemcpyDeviceToHost, stream) == cudaSuccess;
  good &= cudaEventRecord(event, stream) == cudaSuccess;
  good &= cudaStreamWaitEvent(cudaStreamLegacy, event, 0) == cudaSuccess;
  good &= cudaEventSynchronize(event) == cudaSuccess;
  for (int i = 0; i < 50; ++i) good &= cudaEventQuery(event) == cudaSuccess;
  good &= cudaStreamSynchronize(stream) == cudaSuccess && host[999] == 7;
  good &= cudaMemcpyAsync_ptsz(device, host, 500, cudaMemcpyHostToDevice, nullptr) == cudaSuccess;
  good &= cudaStreamSynchronize_ptsz(nullptr) == cudaSuccess;
  good &= cudaMemcpy(device, nullptr, 500, static_cast<cudaMemcpyKind>(99)) != cudaSuccess;
  good &= cudaGetLastError() != cudaSuccess && cudaPeekAtLastError() == cudaSuccess;
  good &= cudaFree(device) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess;
  return good ? 0 : 1;
}
