// Finding the runtime: never by linking, so that loading this library loads nothing else.
#include "standin/driver/runtime.h"

#include <dlfcn.h>

#include "standin/cuda/find_runtime.h"
#include "standin/driver/boundary.h"

namespace ddpscope::standin::driver {
namespace {

void* runtime_library() {
  Dl_info object{};
  const auto* symbol = reinterpret_cast<const void*>(runtime().used);
  require(dladdr(symbol, &object) != 0, CUDA_ERROR_SYSTEM_NOT_READY);
  void* library = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  require(library != nullptr, CUDA_ERROR_SYSTEM_NOT_READY);
  return library;
}

}  // namespace

const Runtime& runtime() {
  const Runtime* known = find_runtime_for("libcuda", "no call can work");
  if (!known) throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  return *known;
}

void* runtime_function(const char* name) {
  static void* const kLibrary = runtime_library();
  void* function =
      dlvsym(kLibrary, name, kRuntimeLibrary);  // a tool's hook of dlsym would give its own wrapper
  require(function != nullptr, CUDA_ERROR_NOT_FOUND);
  return function;
}

}  // namespace ddpscope::standin::driver
