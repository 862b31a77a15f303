// copy_digests_guest: copies of every kind of memory. Each stands under a stream of its own (1 is a stream
// that CUDA knows), its digest too.
#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr std::size_t kBytes = 1 << 20;
bool good = true;

void require(cudaError_t result) { good &= result == cudaSuccess; }

std::vector<unsigned char> make_batch(unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<unsigned char> batch(kBytes);
  for (unsigned char& byte : batch) byte = static_cast<unsigned char>(generator());
  return batch;
}

// A size of its own tells a copy from the others in the trace.
void upload(void* device, const void* from, std::size_t bytes, cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  require(cudaMemcpyAsync(device, from, bytes, kind, cudaStreamLegacy));
  require(cudaStreamSynchronize(cudaStreamLegacy));
}

// Up to the last byte before a page that is not there.
void upload_from_the_edge(void* device) {
  auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* edge = static_cast<unsigned char*>(pages) + page;
  std::memcpy(pages, make_batch(4).data(), page);
  mprotect(edge, page, PROT_NONE);
  upload(device, edge - 1007, 1007);
}

void upload_what_is_not_read(void* device, void* other) {
  upload(device, other, 2001, cudaMemcpyDefault);
  upload(device, other, 2002, cudaMemcpyDeviceToDevice);
  void* managed = nullptr;
  require(cudaMallocManaged(&managed, kBytes, cudaMemAttachGlobal));
  upload(device, managed, 2003);
  char small[32] = {};
  upload(device, small, sizeof(small));
  std::vector<unsigned char> a = make_batch(5), b = make_batch(6);
  upload(a.data(), b.data(), 2004, cudaMemcpyDefault);
  void* combined = nullptr;
  require(cudaHostAlloc(&combined, kBytes, cudaHostAllocWriteCombined));
  upload(device, combined, 2005);
}

// One record, one digest.
void upload_in_a_run(void* device, unsigned last) {
  std::vector<unsigned char> batch = make_batch(7);
  for (unsigned i = 0; i < 10; ++i) {
    batch[0] = static_cast<unsigned char>(i == 9 ? last : i);
    require(cudaMemcpy(device, batch.data(), 3000, cudaMemcpyHostToDevice));
  }
}

}  // namespace

int main() {
  void *device = nullptr, *other = nullptr, *pinned = nullptr;
  require(cudaMalloc(&device, kBytes));
  require(cudaMalloc(&other, kBytes));
  require(cudaMallocHost(&pinned, kBytes));
  std::vector<unsigned char> batch = make_batch(1), zeros(kBytes);
  std::memcpy(pinned, batch.data(), kBytes);
  upload(device, batch.data(), 1001);
  upload(device, pinned, 1001);
  upload(device, pinned, 1002, cudaMemcpyDefault);
  upload(device, zeros.data(), 1003);
  upload(device, batch.data(), 100'000);
  upload(device, pinned, 100'000);
  batch[99'999] ^= 1;
  upload(device, batch.data(), 100'000);
  upload_from_the_edge(device);
  upload_in_a_run(device, 9);
  upload(other, batch.data(), 1004);
  upload_in_a_run(device, 8);
  upload_what_is_not_read(device, other);
  return good ? 0 : 1;
}
