// The driver's memory and addresses, each made for itself, as PyTorch's expandable segments use them.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace {

constexpr size_t kPiece = size_t{2} << 20;
constexpr size_t kDevice = size_t{16} << 30;

CUmemAllocationProp on_device(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

class DriverMemory : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  }

  static CUmemGenericAllocationHandle create(size_t bytes, int device = 0) {
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp properties = on_device(device);
    EXPECT_EQ(cuMemCreate(&handle, bytes, &properties, 0), CUDA_SUCCESS);
    return handle;
  }
  static CUdeviceptr reserve(size_t bytes, size_t alignment = 0) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAddressReserve(&pointer, bytes, alignment, 0, 0), CUDA_SUCCESS);
    return pointer;
  }
  static CUresult allow(CUdeviceptr pointer, size_t bytes, int device = 0,
                        CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
    return cuMemSetAccess(pointer, bytes, &access, 1);
  }
  static size_t used() {
    size_t free_bytes = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
    return total - free_bytes;
  }
  // Its first byte, by a copy of the device.
  static int read(CUdeviceptr pointer) {
    unsigned char byte = 0;
    EXPECT_EQ(cudaMemcpy(&byte, reinterpret_cast<void*>(pointer), 1, cudaMemcpyDefault), cudaSuccess);
    return byte;
  }
  static void fill(CUdeviceptr pointer, int value, size_t bytes) {
    ASSERT_EQ(cudaMemset(reinterpret_cast<void*>(pointer), value, bytes), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
};

TEST_F(DriverMemory, IsSaidToBeThere) {
  int supported = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(supported, 1);
  size_t granularity = 0;
  const CUmemAllocationProp properties = on_device(0);
  for (auto option : {CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
    EXPECT_EQ(cuMemGetAllocationGranularity(&granularity, &properties, option), CUDA_SUCCESS);
    EXPECT_EQ(granularity, kPiece);
  }
}

// A segment grows piece by piece; one copy goes over the border.
TEST_F(DriverMemory, PiecesBesideEachOtherAreOneRange) {
  const CUdeviceptr segment = reserve(8 * kPiece);
  for (size_t i = 0; i < 2; ++i) {
    const auto piece = create(kPiece);
    ASSERT_EQ(cuMemMap(segment + i * kPiece, kPiece, 0, piece, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemRelease(piece), CUDA_SUCCESS);
  }
  ASSERT_EQ(allow(segment, 2 * kPiece), CUDA_SUCCESS);
  EXPECT_EQ(read(segment), 0) << "memory is zeroed";
  fill(segment + kPiece - 100, 7, 200);
  EXPECT_EQ(read(segment + kPiece - 1), 7);
  EXPECT_EQ(read(segment + kPiece + 99), 7);

  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, reinterpret_cast<void*>(segment + kPiece + 5)),
            cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, reinterpret_cast<void*>(segment + 2 * kPiece)),
            cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuMemGetAddressRange(&base, &bytes, segment + kPiece + 5), CUDA_SUCCESS);
  EXPECT_EQ(base, segment + kPiece);
  EXPECT_EQ(bytes, kPiece);
  EXPECT_EQ(cudaFree(reinterpret_cast<void*>(segment)), cudaErrorInvalidValue);
  EXPECT_EQ(cuMemUnmap(segment, 2 * kPiece), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(segment, 8 * kPiece), CUDA_SUCCESS);
}

TEST_F(DriverMemory, IsTheSameWhereverItIsMapped) {
  const auto memory = create(kPiece);
  const CUdeviceptr one = reserve(kPiece), other = reserve(kPiece);
  ASSERT_EQ(cuMemMap(one, kPiece, 0, memory, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(other, kPiece, 0, memory, 0), CUDA_SUCCESS);
  ASSERT_EQ(allow(one, kPiece), CUDA_SUCCESS);
  ASSERT_EQ(allow(other, kPiece, 0, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_SUCCESS);
  fill(one, 9, kPiece);
  EXPECT_EQ(read(other), 9);
  ASSERT_EQ(cuMemUnmap(one, kPiece), CUDA_SUCCESS);
  EXPECT_EQ(read(other), 9) << "what is mapped elsewhere stays";

  CUmemGenericAllocationHandle again = 0;
  ASSERT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(other + 10)), CUDA_SUCCESS);
  EXPECT_EQ(again, memory);
  CUmemAllocationProp properties{};
  ASSERT_EQ(cuMemGetAllocationPropertiesFromHandle(&properties, again), CUDA_SUCCESS);
  EXPECT_EQ(properties.location.id, 0);
  unsigned long long flags = 0;
  const CUmemLocation first{CU_MEM_LOCATION_TYPE_DEVICE, 0}, second{CU_MEM_LOCATION_TYPE_DEVICE, 1};
  ASSERT_EQ(cuMemGetAccess(&flags, &first, other), CUDA_SUCCESS);
  EXPECT_EQ(flags, static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_READ));
  ASSERT_EQ(cuMemGetAccess(&flags, &second, other), CUDA_SUCCESS);
  EXPECT_EQ(flags, static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_NONE));
}

TEST_F(DriverMemory, CountsUntilNobodyHoldsIt) {
  const size_t before = used();
  const auto memory = create(4 * kPiece);
  EXPECT_EQ(used(), before + 4 * kPiece);
  const CUdeviceptr pointer = reserve(4 * kPiece);
  ASSERT_EQ(cuMemMap(pointer, 4 * kPiece, 0, memory, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(used(), before + 4 * kPiece) << "the mapping holds it";
  ASSERT_EQ(cuMemUnmap(pointer, 4 * kPiece), CUDA_SUCCESS);
  EXPECT_EQ(used(), before);
  EXPECT_EQ(cuMemRelease(memory), CUDA_ERROR_INVALID_VALUE);
}

// A mapping keeps its memory whatever is done with the handle.
TEST_F(DriverMemory, AHandleIsReleasedOnce) {
  const size_t before = used();
  const CUmemGenericAllocationHandle memory = create(kPiece);
  const CUdeviceptr pointer = reserve(2 * kPiece);
  ASSERT_EQ(cuMemMap(pointer, kPiece, 0, memory, 0), CUDA_SUCCESS);
  ASSERT_EQ(allow(pointer, kPiece), CUDA_SUCCESS);
  fill(pointer, 5, kPiece);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(pointer + kPiece, kPiece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(used(), before + kPiece);
  EXPECT_EQ(read(pointer), 5);

  CUmemGenericAllocationHandle again = 0;
  ASSERT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(pointer)), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(pointer + kPiece, kPiece, 0, again, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(again), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(pointer, 2 * kPiece), CUDA_SUCCESS);
  EXPECT_EQ(used(), before);
  EXPECT_EQ(cuMemAddressFree(pointer, 2 * kPiece), CUDA_SUCCESS);
}

TEST_F(DriverMemory, RunsOutAsTheDeviceDoes) {
  const CUmemAllocationProp properties = on_device(0);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, kDevice + kPiece, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  const auto most = create(kDevice);
  EXPECT_EQ(cuMemCreate(&handle, kPiece, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemRelease(most), CUDA_SUCCESS);
  EXPECT_EQ(cuMemCreate(&handle, kPiece, &properties, 0), CUDA_SUCCESS);
}

TEST_F(DriverMemory, RefusesWhatCudaDoes) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties = on_device(0);
  EXPECT_EQ(cuMemCreate(&handle, kPiece + 4096, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, 0, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, kPiece, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  properties.location.id = 99;
  EXPECT_EQ(cuMemCreate(&handle, kPiece, &properties, 0), CUDA_ERROR_INVALID_DEVICE);
  properties = on_device(0);
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(cuMemCreate(&handle, kPiece, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
  properties = on_device(0);
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  EXPECT_EQ(cuMemCreate(&handle, kPiece, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);

  CUdeviceptr pointer = 0;
  EXPECT_EQ(cuMemAddressReserve(&pointer, kPiece + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&pointer, kPiece, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&pointer, size_t{1} << 60, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
  pointer = reserve(4 * kPiece, 8 * kPiece);
  EXPECT_EQ(pointer % (8 * kPiece), 0u);

  const auto memory = create(2 * kPiece);
  EXPECT_EQ(cuMemMap(pointer, kPiece, kPiece, memory, 0), CUDA_ERROR_INVALID_VALUE) << "an offset";
  EXPECT_EQ(cuMemMap(pointer, 3 * kPiece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE) << "more than there is";
  EXPECT_EQ(cuMemMap(pointer + 3 * kPiece, 2 * kPiece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE) << "beyond";
  EXPECT_EQ(cuMemMap(pointer, 2 * kPiece, 0, memory + 77, 0), CUDA_ERROR_INVALID_VALUE) << "whose memory?";
  ASSERT_EQ(cuMemMap(pointer, 2 * kPiece, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(pointer + kPiece, 2 * kPiece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE) << "over another";
  EXPECT_EQ(allow(pointer, 3 * kPiece), CUDA_ERROR_INVALID_VALUE) << "not all of it is mapped";
  EXPECT_EQ(allow(pointer, 2 * kPiece, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMemUnmap(pointer, kPiece), CUDA_ERROR_INVALID_VALUE) << "half a mapping";
  EXPECT_EQ(cuMemAddressFree(pointer, 4 * kPiece), CUDA_ERROR_INVALID_VALUE) << "something is mapped";
  ASSERT_EQ(cuMemUnmap(pointer, 2 * kPiece), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(pointer, 2 * kPiece), CUDA_ERROR_INVALID_VALUE) << "half a reservation";
  EXPECT_EQ(cuMemAddressFree(pointer, 4 * kPiece), CUDA_SUCCESS);
}

// The parent does not know CUDA before it forks: as torch.multiprocessing starts processes.
TEST(DriverMemoryOfAnother, IsMappedByItsDescriptor) {
  int tickets[2], done[2];
  ASSERT_EQ(pipe(tickets), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  const CUmemAllocationProp properties = on_device(0);
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr pointer = 0;
  auto map = [&] {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return cuMemAddressReserve(&pointer, kPiece, 0, 0, 0) == CUDA_SUCCESS &&
           cuMemMap(pointer, kPiece, 0, memory, 0) == CUDA_SUCCESS &&
           cuMemSetAccess(pointer, kPiece, &access, 1) == CUDA_SUCCESS;
  };
  if (child == 0) {
    int file = -1;
    if (cuInit(0) != CUDA_SUCCESS || cuMemCreate(&memory, kPiece, &properties, 0) != CUDA_SUCCESS || !map())
      _exit(1);
    if (cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) !=
        CUDA_SUCCESS)
      _exit(2);
    if (cudaMemset(reinterpret_cast<void*>(pointer), 5, kPiece) != cudaSuccess || cudaDeviceSynchronize())
      _exit(3);
    if (write(tickets[1], &file, sizeof file) != sizeof file) _exit(4);
    char byte = 0;
    if (read(done[0], &byte, 1) != 1) _exit(5);
    _exit(0);
  }
  int theirs = -1;
  ASSERT_EQ(read(tickets[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  FILE* file = std::fopen(("/proc/" + std::to_string(child) + "/fd/" + std::to_string(theirs)).c_str(), "r");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  const auto descriptor = reinterpret_cast<void*>(static_cast<intptr_t>(fileno(file)));
  ASSERT_EQ(cuMemImportFromShareableHandle(&memory, descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  ASSERT_TRUE(map());
  unsigned char byte = 0;
  EXPECT_EQ(cudaMemcpy(&byte, reinterpret_cast<void*>(pointer), 1, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(byte, 5);
  EXPECT_EQ(cuMemImportFromShareableHandle(&memory, reinterpret_cast<void*>(intptr_t{0}),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE)
      << "standard input is none";
  ASSERT_EQ(write(done[1], "x", 1), 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(DriverMemoryWithoutAFile, IsRefused) {
  const rlimit limit{1 << 20, 1 << 20};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = on_device(0);
  EXPECT_EQ(cuMemCreate(&handle, kPiece, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
