// Initialisation, which is counted, and texts that are written into the program's buffers.
#include "standin/nvml/boundary.h"

#include <atomic>
#include <cstring>

namespace ddpscope::standin::nvml {
namespace {

std::atomic<int> initialised{0};

}  // namespace

void initialise() { initialised.fetch_add(1, std::memory_order_relaxed); }

void shut_down() {
  int before = initialised.load(std::memory_order_relaxed);
  do {
    require(before > 0, NVML_ERROR_UNINITIALIZED);
  } while (!initialised.compare_exchange_weak(before, before - 1, std::memory_order_relaxed));
}

void require_initialised() {
  require(initialised.load(std::memory_order_relaxed) > 0, NVML_ERROR_UNINITIALIZED);
}

void write_text(char* to, unsigned int length, std::string_view text) {
  require_given(to);
  require(length > text.size(), NVML_ERROR_INSUFFICIENT_SIZE);
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
}

}  // namespace ddpscope::standin::nvml
