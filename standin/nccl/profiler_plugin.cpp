// Where plugins are looked for, and the adapters of the old versions.
#include "standin/nccl/profiler_plugin.h"

#include <dlfcn.h>
#include <strings.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "standin/nccl/log.h"

namespace ddpscope::standin::nccl::profiler {
namespace {

int mask = 0;

void log(int level, unsigned long, const char*, int, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (level == kLogWarn) return warn(text);
  inform(text);
}

class NewestPlugin final : public Plugin {
 public:
  explicit NewestPlugin(const PluginV5& plugin) : plugin_(plugin) {}

  ncclResult_t init(void** context, std::uint64_t communicator, int* wanted, const char* name, int nodes,
                    int ranks, int rank) override {
    return plugin_.init(context, communicator, wanted, name, nodes, ranks, rank, log);
  }
  void* start(void* context, Event& event) override {
    void* handle = nullptr;
    plugin_.start(context, &handle, &event);
    return handle;
  }
  void stop(void* handle) override { plugin_.stop(handle); }
  void record(void* handle, int state, StateArguments* arguments) override {
    plugin_.record(handle, state, arguments);
  }
  void finalize(void* context) override { plugin_.finalize(context); }

 private:
  const PluginV5& plugin_;
};

/// NCCL's numbers, which version 1 has in place of names.
std::uint8_t function_number(std::string_view name) {
  constexpr std::string_view kNames[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                         "AllReduce", "SendRecv", "Send",      "Recv"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<std::uint8_t>(i);
  }
  return 6;
}

std::uint8_t datatype_number(std::string_view name) {
  constexpr std::pair<std::string_view, ncclDataType_t> kNames[] = {
      {"ncclInt8", ncclInt8},       {"ncclInt32", ncclInt32},      {"ncclUint32", ncclUint32},
      {"ncclInt64", ncclInt64},     {"ncclUint64", ncclUint64},    {"ncclFloat16", ncclFloat16},
      {"ncclFloat32", ncclFloat32}, {"ncclBfloat16", ncclBfloat16}};
  for (const auto& [text, type] : kNames) {
    if (name == text) return static_cast<std::uint8_t>(type);
  }
  return ncclFloat64;
}

constexpr std::uint8_t kRing = 1;  // of NCCL's numbers of algorithms; LL is protocol 0

/// The fields that have the same meaning in all versions.
template <class Old, class New>
void copy_collective(Old& old, const New& event) {
  old.sequence = event.sequence;
  old.send = event.send;
  old.receive = event.receive;
  old.count = event.count;
  old.root = event.root;
  old.channels = event.channels;
  old.warps = event.warps;
  if constexpr (std::is_same_v<decltype(old.function), const char*>) {
    old.function = event.function;
    old.datatype = event.datatype;
    old.algorithm = event.algorithm;
    old.protocol = event.protocol;
  } else {
    old.function = function_number(event.function);
    old.datatype = datatype_number(event.datatype);
    old.algorithm = kRing;
  }
}

template <class Old, class New>
void copy_message(Old& old, const New& event) {
  old.buffer = event.buffer;
  old.count = event.count;
  old.peer = event.peer;
  if constexpr (std::is_same_v<decltype(old.function), const char*>) {
    old.function = event.function;
    old.datatype = event.datatype;
  } else {
    old.function = function_number(event.function);
    old.datatype = datatype_number(event.datatype);
  }
  if constexpr (requires { old.channels; }) old.channels = event.channels;
}

/// False for what versions before 5 do not know.
template <class OldEvent>
bool translate(const Event& event, OldEvent& old) {
  old = {};
  old.type = static_cast<std::uint8_t>(event.type);
  old.parent = event.parent;
  old.rank = event.rank;
  switch (event.type) {
    case kGroup:
      return true;
    case kCollective:
      copy_collective(old.collective, event.collective);
      old.parent = event.collective.parent_group;
      return true;
    case kPointToPoint:
      copy_message(old.message, event.message);
      old.parent = event.message.parent_group;
      return true;
    case kKernelChannel:
      if constexpr (requires { old.kernel_channel; }) {
        old.kernel_channel.channel = event.kernel_channel.channel;
        if constexpr (requires { old.kernel_channel.timer; })
          old.kernel_channel.timer = event.kernel_channel.timer;
        return true;
      }
      return false;
    default:
      return false;
  }
}

template <class OldPluginTable, class OldEvent>
class AdaptedPlugin final : public Plugin {
 public:
  explicit AdaptedPlugin(const OldPluginTable& plugin) : plugin_(plugin) {}

  ncclResult_t init(void** context, std::uint64_t communicator, int* wanted, const char* name, int nodes,
                    int ranks, int rank) override {
    if constexpr (std::is_same_v<OldPluginTable, PluginV4>) {
      return plugin_.init(context, wanted, name, communicator, nodes, ranks, rank, log);
    } else {
      return plugin_.init(context, wanted);
    }
  }
  void* start(void* context, Event& event) override {
    void* handle = nullptr;
    OldEvent old;
    if (translate(event, old)) plugin_.start(context, &handle, &old);
    return handle;
  }
  void stop(void* handle) override { plugin_.stop(handle); }
  void record(void* handle, int state, StateArguments* arguments) override {
    if constexpr (std::is_same_v<OldPluginTable, PluginV4>) {
      if (state == kKernelChannelStop) plugin_.record(handle, state, arguments);
    }
  }
  void finalize(void* context) override { plugin_.finalize(context); }

 private:
  const OldPluginTable& plugin_;
};

/// The newest version that is asked for: NCCL 2.28's, unless STANDIN_PROFILER_VERSION names another.
int newest_version() {
  constexpr int kOurs = 5, kNewest = 6;
  const char* const variable = std::getenv("STANDIN_PROFILER_VERSION");
  const int asked = variable ? std::atoi(variable) : kOurs;
  return asked >= 1 && asked <= kNewest ? asked : kOurs;
}

template <class Table>
const Table* find_table(void* library, int version) {
  if (version > newest_version()) return nullptr;
  const std::string name = "ncclProfiler_v" + std::to_string(version);
  return static_cast<const Table*>(dlsym(library, name.c_str()));
}

std::shared_ptr<Plugin> adapt(void* library) {
  for (const int version : {6, 5})
    if (const auto* newest = find_table<PluginV5>(library, version))
      return std::make_shared<NewestPlugin>(*newest);
  if (const auto* v4 = find_table<PluginV4>(library, 4))
    return std::make_shared<AdaptedPlugin<PluginV4, EventV4>>(*v4);
  if (const auto* v3 = find_table<OldPlugin<EventV3>>(library, 3))
    return std::make_shared<AdaptedPlugin<OldPlugin<EventV3>, EventV3>>(*v3);
  if (const auto* v2 = find_table<OldPlugin<EventV2>>(library, 2))
    return std::make_shared<AdaptedPlugin<OldPlugin<EventV2>, EventV2>>(*v2);
  if (const auto* v1 = find_table<OldPlugin<EventV1>>(library, 1))
    return std::make_shared<AdaptedPlugin<OldPlugin<EventV1>, EventV1>>(*v1);
  return nullptr;
}

std::vector<std::string> candidates(const std::string& name) {
  const std::string prefix = "libnccl-profiler";
  if (name.empty()) return {prefix + ".so"};
  const bool path = name.find('/') != name.npos;
  const bool file = name.starts_with("lib") && name.ends_with(".so");
  if (path || file) return {name};
  return {name, prefix + "-" + name + ".so"};
}

void* open_library(const std::string& name) {
  if (strcasecmp(name.c_str(), "STATIC_PLUGIN") == 0) return dlopen(nullptr, RTLD_NOW | RTLD_LOCAL);
  for (const std::string& candidate : candidates(name)) {
    if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    inform("PROFILER/Plugin: " + candidate + ": " + dlerror());
  }
  return nullptr;
}

struct Loaded {
  std::mutex mutex;
  bool failed = false;
  std::weak_ptr<Plugin> plugin;
};

Loaded& loaded() {
  static auto* const state = new Loaded;
  return *state;
}

}  // namespace

int activation_mask() { return __atomic_load_n(&mask, __ATOMIC_RELAXED); }
int* activation_mask_address() { return &mask; }

std::shared_ptr<Plugin> use_plugin() {
  Loaded& state = loaded();
  std::lock_guard lock(state.mutex);
  if (auto plugin = state.plugin.lock()) return plugin;
  if (state.failed) return nullptr;
  const char* const variable = std::getenv("NCCL_PROFILER_PLUGIN");
  const std::string name = variable ? variable : "";
  void* const library = strcasecmp(name.c_str(), "none") == 0 ? nullptr : open_library(name);
  const std::shared_ptr<Plugin> adapted = library ? adapt(library) : nullptr;
  if (!adapted) {
    if (library) {
      inform("External profiler plugin " + name + " is unsupported");
      dlclose(library);
    }
    state.failed = true;
    return nullptr;
  }
  // The library goes after the plugin's last call.
  std::shared_ptr<Plugin> plugin(adapted.get(),
                                 [used = std::shared_ptr<Plugin>(adapted), library](Plugin*) mutable {
                                   used.reset();
                                   dlclose(library);
                                 });
  state.plugin = plugin;
  return plugin;
}

}  // namespace ddpscope::standin::nccl::profiler
