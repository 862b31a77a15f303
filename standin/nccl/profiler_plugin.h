// The profiler plugin of this process: found, loaded and spoken to as NCCL 2.28 does it.
#pragma once

#include <memory>
#include <string>

#include "standin/nccl/profiler_abi.h"

namespace ddpscope::standin::nccl::profiler {

/// A plugin of any version behind the newest interface. What an older one does not know it is not told.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual ncclResult_t init(void** context, std::uint64_t communicator, int* mask, const char* name,
                            int nodes, int ranks, int rank) = 0;
  /// The handle, or null.
  virtual void* start(void* context, Event& event) = 0;
  virtual void stop(void* handle) = 0;
  virtual void record(void* handle, int state, StateArguments* arguments) = 0;
  virtual void finalize(void* context) = 0;
};

/// Loads the plugin that NCCL_PROFILER_PLUGIN names (a file, a library, X of libnccl-profiler-X.so,
/// STATIC_PLUGIN for the program itself; libnccl-profiler.so if unset), newest version first. Null without
/// one, and for "none". It is unloaded when the last user lets go, and looked for again then; after a failure
/// never again.
std::shared_ptr<Plugin> use_plugin();

/// The events that the plugin wants: it may change them at any time.
int activation_mask();
int* activation_mask_address();

}  // namespace ddpscope::standin::nccl::profiler
