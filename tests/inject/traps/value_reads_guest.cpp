// value_reads_guest: numbers copied to the host in every way. Each has a value of its own, by which the trace
// tells it.
#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace {

bool good = true;
void* device = nullptr;
cudaStream_t stream = nullptr, other = nullptr;

void require(cudaError_t result) { good &= result == cudaSuccess; }

template <class Number>
void begin(void* to, Number value, cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
           std::size_t bytes = sizeof(Number)) {
  require(cudaMemcpy(device, &value, sizeof(value), cudaMemcpyHostToDevice));
  require(cudaMemcpyAsync(to, device, bytes, kind, stream));
}

// Without a call of CUDA's.
void await(volatile float* there, float value) {
  while (*there != value) usleep(100);
}

void read_what_is_recorded(float* pinned) {
  float pageable = 0;
  double number = 0;
  begin(pinned, 1.5f);
  require(cudaStreamSynchronize(stream));
  begin(&number, 2.5);
  require(cudaStreamSynchronize(stream));
  begin(pinned, 0.f);
  require(cudaMemcpy(&pageable, device, sizeof(pageable), cudaMemcpyDeviceToHost));
  begin(pinned, 3.5f);
  require(cudaMemcpy(&pageable, device, sizeof(pageable), cudaMemcpyDeviceToHost));
  for (int i = 0; i < 3; ++i) {  // polls are a run
    double next = 4.5 + i;
    require(cudaMemcpy(device, &next, sizeof(next), cudaMemcpyHostToDevice));
    for (int again = 0; again < 3; ++again)
      require(cudaMemcpy(&number, device, sizeof(number), cudaMemcpyDeviceToHost));
  }
}

// Each number is there before anything is waited for: who looked would see it.
void wait_otherwise(float* pinned) {
  begin(pinned, 101.f);
  await(pinned, 101.f);
  require(cudaStreamSynchronize(other));
  begin(pinned, 102.f);
  await(pinned, 102.f);
  require(cudaMemsetAsync(static_cast<char*>(device) + 64, 0, 64, other));
  require(cudaStreamSynchronize(stream));
  begin(pinned, 103.f);
  await(pinned, 103.f);
  std::thread([] {
    require(cudaStreamSynchronize(nullptr));
    require(cudaStreamSynchronize(stream));
  }).join();
  begin(pinned, 104.f);
  await(pinned, 104.f);
  require(cudaDeviceSynchronize());
}

void copy_otherwise(float* pinned, void* managed) {
  begin(managed, 105.f);
  require(cudaStreamSynchronize(stream));
  begin(pinned, 106.f, cudaMemcpyDefault);
  require(cudaStreamSynchronize(stream));
  begin(pinned, 107.f, cudaMemcpyDeviceToHost, 2);
  require(cudaStreamSynchronize(stream));
  begin(pinned, 108.f, cudaMemcpyDeviceToHost, 16);
  require(cudaStreamSynchronize(stream));
  float zero = 109.f;
  good &= cudaMemcpy(&zero, device, sizeof(zero), static_cast<cudaMemcpyKind>(77)) != cudaSuccess;
  require(cudaGetLastError() == cudaSuccess ? cudaErrorUnknown : cudaSuccess);
}

// A copy to pageable memory may have ended when it returns: its destination goes before the stream is waited
// for.
void unmap() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  begin(page, 111.f);
  await(static_cast<float*>(page), 111.f);
  munmap(page, 4096);
  require(cudaStreamSynchronize(stream));
}

// The copy is the parent's.
void fork_between(float* pinned) {
  begin(pinned, 7.5f);
  await(pinned, 7.5f);
  pid_t child = fork();
  if (child == 0) {
    cudaStreamSynchronize(stream);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  require(cudaStreamSynchronize(stream));
}

}  // namespace

int main() {
  void *pinned = nullptr, *managed = nullptr;
  require(cudaMalloc(&device, 4096));
  require(cudaMallocHost(&pinned, 4096));
  require(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
  require(cudaStreamCreate(&stream));
  require(cudaStreamCreate(&other));
  auto* number = static_cast<float*>(pinned);
  read_what_is_recorded(number);
  wait_otherwise(number);
  copy_otherwise(number, managed);
  unmap();
  fork_between(number);
  return good ? 0 : 1;
}
