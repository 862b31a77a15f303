// Copies and fills of the stand-in: what the host waits for, what is staged, what lands where.
#include <numeric>
#include <vector>

#include "tests/standin/cuda_gate.h"

namespace {

struct CopyTest : CudaTest {
  static constexpr int kCount = 300000;  // floats: enough for a mapping of its own

  void SetUp() override {
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&device, kBytes));
    OK(cudaMallocHost(&pinned, kBytes));
    std::iota(pageable.begin(), pageable.end(), 0.0F);
  }

  std::vector<float> on_device() {
    std::vector<float> values(kCount);
    EXPECT_EQ(cudaMemcpy(values.data(), device, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

  static constexpr std::size_t kBytes = kCount * sizeof(float);
  cudaStream_t stream;
  float* device;
  float* pinned;
  std::vector<float> pageable = std::vector<float>(kCount);
};

TEST_F(CopyTest, GoesThereAndBack) {
  std::vector<float> back(kCount);
  OK(cudaMemcpy(device, pageable.data(), kBytes, cudaMemcpyDefault));
  OK(cudaMemcpy(pinned, device, kBytes, cudaMemcpyDefault));
  OK(cudaMemcpy(back.data(), pinned, kBytes, cudaMemcpyHostToHost));
  EXPECT_EQ(back, pageable);
}

TEST_F(CopyTest, NowhereIsAnError) {
  EXPECT_EQ(cudaMemcpy(nullptr, device, kBytes, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(device, nullptr, kBytes, cudaMemcpyDefault, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(device, 8, nullptr, 8, 8, 2, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault), cudaSuccess);
}

TEST_F(CopyTest, PageableSourceIsTheCallersAgainAtReturn) {
  const std::vector<float> before = pageable;
  OK(gate.put_into(stream));
  OK(cudaMemcpyAsync(device, pageable.data(), kBytes, cudaMemcpyHostToDevice, stream));
  pageable.assign(kCount, -1.0F);
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(on_device(), before);
}

TEST_F(CopyTest, PinnedSourceIsReadWhenTheStreamComesThere) {
  pinned[0] = 1;
  OK(gate.put_into(stream));
  OK(cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice, stream));
  pinned[0] = 2;
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(on_device()[0], 2);
}

TEST_F(CopyTest, RegisteredMemoryIsPinned) {
  OK(cudaHostRegister(pageable.data(), kBytes, cudaHostRegisterDefault));
  EXPECT_EQ(cudaHostRegister(&pageable[7], 4, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
  OK(gate.put_into(stream));
  OK(cudaMemcpyAsync(device, pageable.data(), kBytes, cudaMemcpyHostToDevice, stream));
  pageable[0] = 5;
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(on_device()[0], 5);
  OK(cudaHostUnregister(pageable.data()));
  EXPECT_EQ(cudaHostUnregister(pageable.data()), cudaErrorHostMemoryNotRegistered);
}

TEST_F(CopyTest, PageableTargetIsWaitedFor) {
  OK(gate.put_into(stream));
  OpenLater later(gate);
  OK(cudaMemcpyAsync(pageable.data(), device, kBytes, cudaMemcpyDeviceToHost, stream));
  EXPECT_TRUE(later.opened());
  EXPECT_EQ(pageable[1], 0.0F);
}

TEST_F(CopyTest, PinnedTargetIsNotWaitedFor) {
  pinned[0] = 7;
  OK(gate.put_into(stream));
  OK(cudaMemcpyAsync(pinned, device, kBytes, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(pinned[0], 7);
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(pinned[0], 0);
}

TEST_F(CopyTest, SynchronousCopyWaitsForBlockingStreams) {
  cudaStream_t blocking;
  OK(cudaStreamCreate(&blocking));
  OK(gate.put_into(blocking));
  OpenLater later(gate);
  OK(cudaMemcpy(pinned, device, kBytes, cudaMemcpyDeviceToHost));
  EXPECT_TRUE(later.opened());
}

TEST_F(CopyTest, SynchronousCopyWithinTheDeviceOnlyQueues) {
  float* other;
  OK(cudaMalloc(&other, kBytes));
  OK(gate.put_into(nullptr));
  OK(cudaMemcpy(other, device, kBytes, cudaMemcpyDeviceToDevice));
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
}

TEST_F(CopyTest, MemsetOnlyQueues) {
  OK(gate.put_into(nullptr));
  OK(cudaMemset(device, 1, kBytes));
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  gate.open();
  OK(cudaStreamSynchronize(nullptr));
  int value = 0;
  OK(cudaMemcpy(&value, device + kCount - 1, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT_EQ(value, 0x01010101);
}

TEST_F(CopyTest, MemsetOfPinnedMemoryIsWaitedFor) {
  OK(gate.put_into(nullptr));
  OpenLater later(gate);
  OK(cudaMemset(pinned, 0, kBytes));
  EXPECT_TRUE(later.opened());
}

TEST_F(CopyTest, RefusesPageableMemoryAsDeviceMemory) {
  EXPECT_EQ(cudaMemcpy(pageable.data(), pinned, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(pinned, pageable.data(), 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(pageable.data(), 0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, pageable.data(), 4, static_cast<cudaMemcpyKind>(9)),
            cudaErrorInvalidMemcpyDirection);
}

TEST_F(CopyTest, RowsAndSlicesLandAtTheirPitch) {
  constexpr std::size_t kWidth = 6, kHeight = 3, kDepth = 2;
  cudaPitchedPtr block;
  OK(cudaMalloc3D(&block, {kWidth, kHeight, kDepth}));
  EXPECT_GT(block.pitch, kWidth);
  std::vector<char> source(kWidth * kHeight * kDepth);
  std::iota(source.begin(), source.end(), 1);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {source.data(), kWidth, kWidth, kHeight};
  copy.dstPtr = block;
  copy.extent = {kWidth, kHeight, kDepth};
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));

  std::vector<char> slice(kWidth * kHeight);
  const char* second = static_cast<char*>(block.ptr) + block.pitch * kHeight;
  OK(cudaMemcpy2D(slice.data(), kWidth, second, block.pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
  EXPECT_EQ(slice, std::vector<char>(source.begin() + kWidth * kHeight, source.end()));

  OK(cudaMemset3D(block, 9, {2, kHeight, kDepth}));
  OK(cudaMemcpy2D(slice.data(), kWidth, second, block.pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
  EXPECT_EQ(slice[1], 9);
  EXPECT_EQ(slice[2], source[kWidth * kHeight + 2]);
  EXPECT_EQ(cudaMemcpy2D(slice.data(), 2, second, block.pitch, 3, 1, cudaMemcpyDeviceToHost),
            cudaErrorInvalidPitchValue);
}

}  // namespace
