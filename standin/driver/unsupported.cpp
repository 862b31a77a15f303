// Every function of the driver that the stand-in does not provide: says once who asked, and returns
// CUDA_ERROR_NOT_SUPPORTED. The stubs are weak, so whatever another file defines takes their place; the list
// of names (driver_exported.def) is made from cuda.h, which is not included here: the calling convention lets
// a function ignore the arguments it is given.
#include <atomic>
#include <cstdio>

#include "standin/cuda/asker.h"

namespace {

constexpr int kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED

int refuse(const char* function, std::atomic<bool>& said) {
  if (!said.exchange(true)) {
    std::fprintf(stderr, "standin libcuda: %s is not provided; %s asked and got CUDA_ERROR_NOT_SUPPORTED\n",
                 function, ddpscope::standin::asker_of(function).c_str());
  }
  return kNotSupported;
}

}  // namespace

#define EXPORTED(function)                  \
  extern "C" [[gnu::weak]] int function() { \
    static std::atomic<bool> said{false};   \
    return refuse(#function, said);         \
  }
#include "driver_exported.def"
