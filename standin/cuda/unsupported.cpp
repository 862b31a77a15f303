// Everything the real library exports and the stand-in does not provide: says once who asked, and returns
// cudaErrorNotSupported. The stubs are weak, so whatever another file defines takes their place; the list of
// names (exported.def) is the real library's symbol table, read when the build is configured. No declaration
// of these functions is included: the calling convention lets a function ignore the arguments it is given.
#include <driver_types.h>

#include <atomic>
#include <cstdio>

#include "standin/cuda/asker.h"
#include "standin/cuda/entry.h"

namespace ddpscope::standin {
namespace {

cudaError_t refuse(const char* function, std::atomic<bool>& said) {
  if (!said.exchange(true)) {
    std::fprintf(stderr, "standin libcudart: %s is not provided; %s asked and got cudaErrorNotSupported\n",
                 function, asker_of(function).c_str());
  }
  return record_error(forked_from_user() ? cudaErrorInitializationError : cudaErrorNotSupported);
}

}  // namespace
}  // namespace ddpscope::standin

#define EXPORTED(function)                             \
  extern "C" [[gnu::weak]] cudaError_t function() {    \
    static std::atomic<bool> said{false};              \
    return ddpscope::standin::refuse(#function, said); \
  }
#include "exported.def"
