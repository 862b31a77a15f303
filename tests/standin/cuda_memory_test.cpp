// Memory of the stand-in: what a pointer is, how much there is, when it goes.
#include <vector>

#include "tests/standin/cuda_gate.h"

namespace {

struct MemoryTest : CudaTest {};

cudaPointerAttributes attributes_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
  return attributes;
}

TEST_F(MemoryTest, PointersTellWhatTheyAre) {
  char *device, *pinned, *managed;
  std::vector<char> pageable(100);
  OK(cudaSetDevice(2));
  OK(cudaMalloc(&device, 100));
  OK(cudaMallocHost(&pinned, 100));
  OK(cudaMallocManaged(&managed, 100));
  OK(cudaSetDevice(0));
  EXPECT_EQ(attributes_of(device).type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes_of(device + 99).type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes_of(device).device, 2);
  EXPECT_EQ(attributes_of(device).hostPointer, nullptr);
  EXPECT_EQ(attributes_of(pinned).type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes_of(pinned).devicePointer, pinned);
  EXPECT_EQ(attributes_of(managed + 50).type, cudaMemoryTypeManaged);
  EXPECT_EQ(attributes_of(pageable.data()).type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributes_of(device + 100).type, cudaMemoryTypeUnregistered);
  OK(cudaFree(device));
  EXPECT_EQ(attributes_of(device).type, cudaMemoryTypeUnregistered);
}

TEST_F(MemoryTest, IsZeroedAndAligned) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    unsigned char* pointer;
    OK(cudaMalloc(&pointer, bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 512, 0U);
    std::vector<unsigned char> content(bytes, 1);
    OK(cudaMemcpy(content.data(), pointer, bytes, cudaMemcpyDeviceToHost));
    EXPECT_EQ(content, std::vector<unsigned char>(bytes, 0));
    OK(cudaFree(pointer));
  }
}

TEST_F(MemoryTest, MoreThanTheDeviceHasIsRefused) {
  std::size_t free_before, free_after, total;
  void *most, *more;
  OK(cudaMemGetInfo(&free_before, &total));
  EXPECT_EQ(free_before, total);
  OK(cudaMalloc(&most, total - 4096));  // takes no room before it is touched
  OK(cudaMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_after, 4096U);
  EXPECT_EQ(cudaMalloc(&more, 8192), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&more, ~std::size_t{0}), cudaErrorMemoryAllocation);
  EXPECT_STREQ(cudaGetErrorName(cudaGetLastError()), "cudaErrorMemoryAllocation");
  OK(cudaSetDevice(1));
  OK(cudaMalloc(&more, 8192));  // another device has its own
  OK(cudaFree(most));
  OK(cudaSetDevice(0));
  OK(cudaMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_after, total);
}

TEST_F(MemoryTest, FreeWaitsForTheDevice) {
  cudaStream_t stream;
  void* pointer;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaMalloc(&pointer, 1 << 20));
  OK(gate.put_into(stream));
  OK(cudaMemsetAsync(pointer, 1, 1 << 20, stream));
  OpenLater later(gate);
  OK(cudaFree(pointer));
  EXPECT_TRUE(later.opened());
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
  OK(cudaFree(nullptr));
}

TEST_F(MemoryTest, StreamOrderedFreeComesAfterTheStreamsWork) {
  cudaStream_t stream;
  char* pointer;
  cudaMemPool_t pool;
  std::uint64_t used = 0, most = 0;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  OK(cudaMallocAsync(&pointer, 1 << 20, stream));
  OK(gate.put_into(stream));
  OK(cudaMemsetAsync(pointer, 1, 1 << 20, stream));
  OK(cudaFreeAsync(pointer, stream));
  EXPECT_EQ(attributes_of(pointer).type, cudaMemoryTypeDevice);
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 1U << 20);
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(attributes_of(pointer).type, cudaMemoryTypeUnregistered);
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most));
  EXPECT_EQ(used, 0U);
  EXPECT_EQ(most, 1U << 20);
}

TEST_F(MemoryTest, PoolsKeepWhatTheyAreTold) {
  cudaMemPool_t own, made, current;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 1};
  OK(cudaMemPoolCreate(&made, &properties));
  OK(cudaDeviceGetDefaultMemPool(&own, 1));
  EXPECT_EQ(cudaDeviceSetMemPool(0, made), cudaErrorInvalidValue);
  OK(cudaDeviceSetMemPool(1, made));
  OK(cudaDeviceGetMemPool(&current, 1));
  EXPECT_EQ(current, made);
  std::uint64_t threshold = 12345, read = 0;
  int reuse = 0, read_reuse = 1;
  OK(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cudaMemPoolGetAttribute(made, cudaMemPoolAttrReleaseThreshold, &read));
  OK(cudaMemPoolSetAttribute(made, cudaMemPoolReuseAllowOpportunistic, &reuse));
  OK(cudaMemPoolGetAttribute(made, cudaMemPoolReuseAllowOpportunistic, &read_reuse));
  EXPECT_EQ(read, threshold);
  EXPECT_EQ(read_reuse, 0);
  OK(cudaMemPoolDestroy(made));
  OK(cudaDeviceGetMemPool(&current, 1));
  EXPECT_EQ(current, own);
  EXPECT_EQ(cudaMemPoolTrimTo(made, 0), cudaErrorInvalidResourceHandle);
}

}  // namespace
