// Functions by name: what a program that is compiled today would call under it.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "standin/driver/boundary.h"

using namespace ddpscope::standin::driver;

namespace {

struct Current {
  const char* name;
  const char* function;
};

#define CURRENT(name, function) {#name, #function},
constexpr Current kCurrent[] = {
#include "driver_current.def"
};
#undef CURRENT

const char* current_function(const char* name) {
  for (const Current& known : kCurrent) {
    if (std::strcmp(known.name, name) == 0) return known.function;
  }
  return name;
}

void* own_library() {
  Dl_info self{};
  if (!dladdr(reinterpret_cast<void*>(&own_library), &self)) return nullptr;
  return dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void* find_function(const char* name, cuuint64_t flags) {
  static void* const kLibrary = own_library();
  if (!kLibrary || std::strncmp(name, "cu", 2) != 0) return nullptr;
  const std::string function = current_function(name);
  if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
    for (const char* form : {"_ptsz", "_ptds"}) {
      if (void* found = dlsym(kLibrary, (function + form).c_str())) return found;
    }
  }
  return dlsym(kLibrary, function.c_str());
}

}  // namespace

#undef cuGetProcAddress

extern "C" {

// Which version of a function is wanted is not looked at: of those that work here there is one.
CUresult cuGetProcAddress_v2(const char* symbol, void** function, [[maybe_unused]] int cuda_version,
                             cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  if (!symbol || !function) return CUDA_ERROR_INVALID_VALUE;
  *function = find_function(symbol, flags);
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int cuda_version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, cuda_version, flags, nullptr);
}

}  // extern "C"
