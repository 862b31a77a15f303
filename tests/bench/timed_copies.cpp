// Copies to the device, whose content is digested, and of numbers to the host.
#include <random>
#include <vector>

#include "tests/bench/instant_cuda.h"
#include "tests/bench/measure_calls.h"
#include "tests/bench/timed_calls.h"

using namespace ddpscope::bench;

void time_copies(std::uint64_t calls, std::uint64_t bytes) {
  constexpr std::size_t kBuffers = 16;  // a loader fills them in turn
  make_communicator();
  std::vector<unsigned char> memory(kBuffers * bytes);
  std::mt19937_64 generator;
  for (unsigned char& byte : memory) byte = static_cast<unsigned char>(generator());
  // No two destinations in a row are the same: nothing is folded.
  auto copy = [&](auto* function, std::size_t i) {
    auto* device = reinterpret_cast<void*>(0x7f0000000000 + i * bytes);
    function(device, memory.data() + i % kBuffers * bytes, bytes, cudaMemcpyHostToDevice, nullptr);
  };
  measure(
      calls, [&](std::size_t i) { copy(&cudaMemcpyAsync, i); }, [&](std::size_t i) { copy(&bare_copy, i); });
}

// As PyTorch's .item() does it.
void time_values(std::uint64_t calls) {
  make_communicator();
  double number = 0;
  auto read = [&](auto* copy, auto* wait) {
    copy(&number, reinterpret_cast<const void*>(0x7f0000000000), sizeof(number), cudaMemcpyDeviceToHost,
         nullptr);
    wait(nullptr);
  };
  measure(
      calls, [&](std::size_t) { read(&cudaMemcpyAsync, &cudaStreamSynchronize); },
      [&](std::size_t) { read(&bare_copy, &bare_wait); });
}
