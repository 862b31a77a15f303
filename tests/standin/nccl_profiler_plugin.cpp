// A profiler plugin of NCCL's, of the version that is compiled in: writes a line an event to
// $PROFILER_LOG.PID.
//   init MASK-POINTER-IS-SET COMMUNICATOR NAME NODES RANKS RANK | finalize
//   start ID TYPE PARENT FIELDS... | stop ID | record ID STATE TIME
// PROFILER_MASK: the events it wants. PROFILER_FAILS: it fails to initialise. PROFILER_NO_CONTEXT: it makes
// none.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "standin/nccl/profiler_abi.h"

using namespace ddpscope::standin::nccl::profiler;

#define CONCATENATED(a, b) a##b
#define VERSIONED(name, version) CONCATENATED(name, version)

#if PLUGIN_VERSION >= 5
using PluginTable = PluginV5;
using PluginEvent = Event;
#elif PLUGIN_VERSION == 4
using PluginTable = PluginV4;
using PluginEvent = EventV4;
#else
using PluginEvent = VERSIONED(EventV, PLUGIN_VERSION);
using PluginTable = OldPlugin<PluginEvent>;
#endif

namespace {

std::mutex mutex;
std::uintptr_t last_id = 0;

void write_line(const std::string& line) {
  static FILE* const file = [] {
    const std::string path = std::string(std::getenv("PROFILER_LOG")) + "." + std::to_string(getpid());
    return std::fopen(path.c_str(), "a");
  }();
  std::fprintf(file, "%s\n", line.c_str());
  std::fflush(file);
}

[[maybe_unused]] std::string text(const char* value) { return value ? value : "-"; }
std::string text(std::uint64_t value) { return std::to_string(value); }
std::string id_of(void* handle) { return text(reinterpret_cast<std::uintptr_t>(handle)); }

template <class... Fields>
std::string joined(Fields... fields) {
  std::string all;
  ((all += " " + text(fields)), ...);
  return all;
}

ncclResult_t begin(void** context, int* mask, const std::string& communicator) {
  std::lock_guard lock(mutex);
  if (std::getenv("PROFILER_FAILS")) return ncclSystemError;
  *mask = std::atoi(std::getenv("PROFILER_MASK"));
  *context = std::getenv("PROFILER_NO_CONTEXT") ? nullptr : &last_id;
  write_line("init" + communicator);
  return ncclSuccess;
}

std::string fields(const PluginEvent& event) {
  switch (event.type) {
    case kCollective: {
      const auto& collective = event.collective;
      return joined(collective.sequence, collective.function, collective.count, collective.root,
                    collective.datatype, collective.channels, collective.algorithm, collective.protocol);
    }
    case kPointToPoint:
      return joined(event.message.function, event.message.count, event.message.datatype, event.message.peer);
#if PLUGIN_VERSION >= 4
    case kKernelChannel:
      return joined(event.kernel_channel.channel, event.kernel_channel.timer);
#endif
#if PLUGIN_VERSION >= 5
    case kGroupApi:
      return joined(event.group_api.group_depth);
    case kCollectiveApi:
      return joined(event.collective_api.function, event.collective_api.count, event.collective_api.datatype,
                    event.collective_api.root);
    case kPointToPointApi:
      return joined(event.message_api.function, event.message_api.count, event.message_api.datatype);
    case kKernelLaunch:
      return "";
#endif
    default:
      return "";
  }
}

ncclResult_t start(void*, void** handle, PluginEvent* event) {
  std::lock_guard lock(mutex);
  *handle = reinterpret_cast<void*>(++last_id);
  write_line("start " + id_of(*handle) + " " + text(event->type) + " " + id_of(event->parent) +
             fields(*event));
  return ncclSuccess;
}

ncclResult_t stop(void* handle) {
  std::lock_guard lock(mutex);
  write_line("stop " + id_of(handle));
  return ncclSuccess;
}

[[maybe_unused]] ncclResult_t record(void* handle, int state, StateArguments* arguments) {
  std::lock_guard lock(mutex);
  const std::uint64_t time = state == kKernelChannelStop ? arguments->kernel_channel.timer : 0;
  write_line("record " + id_of(handle) + joined(static_cast<std::uint64_t>(state), time));
  return ncclSuccess;
}

ncclResult_t end(void*) {
  std::lock_guard lock(mutex);
  write_line("finalize");
  return ncclSuccess;
}

#if PLUGIN_VERSION >= 5
ncclResult_t init(void** context, std::uint64_t communicator, int* mask, const char* name, int nodes,
                  int ranks, int rank, Logger logger) {
  logger(kLogWarn, 0, __FILE__, __LINE__, "the plugin says %d", rank);
  return begin(context, mask,
               joined(communicator, name, static_cast<std::uint64_t>(nodes),
                      static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(rank)));
}
#elif PLUGIN_VERSION == 4
ncclResult_t init(void** context, int* mask, const char* name, std::uint64_t communicator, int nodes,
                  int ranks, int rank, Logger) {
  return begin(context, mask,
               joined(communicator, name, static_cast<std::uint64_t>(nodes),
                      static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(rank)));
}
#else
ncclResult_t init(void** context, int* mask) { return begin(context, mask, ""); }
ncclResult_t record_old(void* handle, int state, void*) {
  write_line("record " + id_of(handle) + " " + std::to_string(state));
  return ncclSuccess;
}
#endif

}  // namespace

extern "C" [[gnu::visibility("default")]] const PluginTable VERSIONED(ncclProfiler_v, PLUGIN_VERSION) = {
    "test", init, start, stop,
#if PLUGIN_VERSION >= 4
    record,
#else
    record_old,
#endif
    end};
