// A library that uses CUDA until the very end of the process.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "profiler_client.h"

// Calls CUDA as a library's static object does: after the destructors of the main thread's variables. What is
// freed there is free for others.
struct LateLibrary {
  ~LateLibrary() {
    constexpr std::size_t kBlocks = 64, kSizes[] = {8, 24, 40};
    std::vector<char*> blocks;
    for (std::size_t i = 0; i < kBlocks; ++i)
      blocks.push_back(static_cast<char*>(std::memset(std::malloc(kSizes[i % 3]), 0x5a, kSizes[i % 3])));
    for (int i = 0; i < 3; ++i) check(cudaMemset(data, 0, bytes), "fill");
    check(cudaDeviceSynchronize(), "wait");
    for (std::size_t i = 0; i < kBlocks; ++i)
      check(std::count(blocks[i], blocks[i] + kSizes[i % 3], 0x5a) != kSizes[i % 3], "block");
  }
  void* data;
  std::size_t bytes;
};
