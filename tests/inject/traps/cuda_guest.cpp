// CUDA calls of every kind, also as programs with a default stream a thread make them.
#include <cuda_runtime_api.h>

#include <cstring>

extern "C" decltype(cudaMemcpyAsync) cudaMemcpyAsync_ptsz;
extern "C" decltype(cudaMemset3D) cudaMemset3D_ptds;
extern "C" decltype(cudaStreamSynchronize) cudaStreamSynchronize_ptsz;

namespace {

// Whatever the runtime answers: it may have none of them. The last allocation's pitch is the runtime's.
bool arrays() {
  char host[64] = {};
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc floats{32, 32, 0, 0, cudaChannelFormatKindFloat};
  cudaMallocArray(&array, &floats, 16, 2, 0);
  cudaMemcpy2DToArray(array, 0, 0, host, 8, 8, 2, cudaMemcpyHostToDevice);
  cudaMemcpy2DFromArrayAsync(host, 8, array, 0, 0, 8, 3, cudaMemcpyDeviceToHost, cudaStreamLegacy);
  cudaMemcpy3DPeerParms peers{};
  peers.extent = {4, 5, 6};
  cudaMemcpy3DPeer(&peers);
  cudaMemcpy3DBatchOp batch[2] = {};
  batch[0].extent = batch[1].extent = {2, 3, 4};
  cudaMemcpy3DBatchAsync(2, batch, 0, cudaStreamLegacy);
  cudaFreeArray(array);
  cudaGetLastError();
  cudaPitchedPtr block{};
  bool good = cudaMalloc3D(&block, {8, 4, 2}) == cudaSuccess;
  good &= cudaMemset3D(block, 1, {8, 4, 2}) == cudaSuccess;
  good &= cudaMemset3D_ptds(block, 2, {8, 4, 1}) == cudaSuccess;
  return cudaFree(block.ptr) == cudaSuccess && good;
}

// One allocation, then more events than a small ring holds.
bool long_run() {
  void* device = nullptr;
  cudaEvent_t event;
  bool good = cudaSetDevice(1) == cudaSuccess && cudaMalloc(&device, 1000) == cudaSuccess;
  good &= cudaFree(nullptr) == cudaSuccess && cudaEventCreate(&event) == cudaSuccess;
  for (int i = 0; i < 50'000; ++i) good &= cudaEventRecord(event, nullptr) == cudaSuccess;
  return cudaFree(device) == cudaSuccess && good;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return long_run() ? 0 : 1;
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
  good &= arrays();
  good &= cudaFree(device) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess;
  return good ? 0 : 1;
}
