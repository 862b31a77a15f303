// Found and loaded as NCCL does it.
#include "injector/nccl_profiler/other_plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "injector/core/own_code.h"
#include "injector/core/real.h"
#include "injector/nccl_profiler/translate.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector::profiler {
namespace {

constexpr const char* kTables[kNewest + 1] = {"",
                                              "ncclProfiler_v1",
                                              "ncclProfiler_v2",
                                              "ncclProfiler_v3",
                                              "ncclProfiler_v4",
                                              "ncclProfiler_v5",
                                              "ncclProfiler_v6"};
constexpr char kDefaultLibrary[] = "libnccl-profiler.so";

enum class Loading : std::uint32_t { kNone, kRuns, kDone };
struct Other {
  Loading loading;  // __atomic, a futex
  bool named;
  char name[PATH_MAX];
  const void* tables[kNewest + 1];
};
Other other;

// The environment is read once, before the guest can change it.
__attribute__((constructor(102))) void load() {
  const char* name = getenv("DDPSCOPE_NCCL_PROFILER_PLUGIN");
  other.named = name && strlen(name) < sizeof(other.name);
  if (other.named) strcpy(other.name, name);
}

bool is_ours(const void* table) {
  Dl_info object;
  return dladdr(table, &object) && object.dli_fbase == static_cast<const void*>(__ehdr_start);
}

void find_tables(void* library) {
  for (int version = 1; version <= kNewest; ++version) {
    const void* table = real_dlsym(library, kTables[version]);
    if (table && !is_ours(table)) other.tables[version] = table;
  }
}

void* open_library(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

bool is_file_name(const char* name) {
  std::size_t bytes = strlen(name);
  bool suffix = bytes >= 3 && strcmp(name + bytes - 3, ".so") == 0;
  return strchr(name, '/') || (strncmp(name, "lib", 3) == 0 && suffix);
}

// "X" may also be libnccl-profiler-X.so.
void* open_by_name(const char* name) {
  if (!*name) return open_library(kDefaultLibrary);
  if (void* library = open_library(name)) return library;
  if (is_file_name(name)) return nullptr;
  char long_name[PATH_MAX + sizeof(kDefaultLibrary) + 1];
  strcpy(long_name, "libnccl-profiler-");
  strcat(long_name, name);
  strcat(long_name, ".so");
  return open_library(long_name);
}

void find_other() {
  if (!other.named || strcasecmp(other.name, "STATIC_PLUGIN") == 0) {
    find_tables(RTLD_NEXT);
    return find_tables(RTLD_DEFAULT);
  }
  if (strcasecmp(other.name, "none") == 0) return;
  if (void* library = open_by_name(other.name)) find_tables(library);
}

// Without a lock: the plugin's own initialisation runs here. Its thread does not wait for itself.
void load_other() {
  static thread_local bool loads __attribute__((tls_model("initial-exec")));
  Loading none = Loading::kNone;
  if (loads) return;
  if (__atomic_compare_exchange_n(&other.loading, &none, Loading::kRuns, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    loads = true;
    find_other();
    loads = false;
    __atomic_store_n(&other.loading, Loading::kDone, __ATOMIC_RELEASE);
    trace::raw_syscall(SYS_futex, trace::as_argument(&other.loading), FUTEX_WAKE_PRIVATE, INT_MAX);
  }
  timespec patience{1, 0};
  constexpr int kTries = 5;
  for (int i = 0; i < kTries && __atomic_load_n(&other.loading, __ATOMIC_ACQUIRE) != Loading::kDone; ++i)
    trace::raw_syscall(SYS_futex, trace::as_argument(&other.loading), FUTEX_WAIT_PRIVATE,
                       static_cast<long>(Loading::kRuns), trace::as_argument(&patience));
}

// All tables have the same shape but for the types of init and of start's event.
template <class Init, class Event>
const Table<Init, Event>& as(const OtherPlugin& plugin) {
  return *static_cast<const Table<Init, Event>*>(plugin.table);
}
const Table<InitV1, EventV1>& common(const OtherPlugin& plugin) { return as<InitV1, EventV1>(plugin); }

template <class Event>
ncclResult_t start(const OtherPlugin& plugin, void* context, void** handle, Event* event) {
  return as<InitV1, Event>(plugin).start(context, handle, event);
}

template <int to, int from>
ncclResult_t start_translated(const OtherPlugin& plugin, void* context, void** handle,
                              const typename EventOf<from>::Type& event) {
  if constexpr (to < from && to < 5) {
    typename EventOf<to>::Type old;
    if (translate(event, old)) return start(plugin, context, handle, &old);
  }
  return ncclSuccess;
}

constexpr std::uint32_t kBelow = kProxyOp | kProxyStep | kKernelChannel | kNetPlugin;

}  // namespace

OtherPlugin other_plugin(int newest) {
  load_other();
  if (__atomic_load_n(&other.loading, __ATOMIC_ACQUIRE) != Loading::kDone) return {};
  for (int version = newest; version > 0; --version)
    if (other.tables[version]) return {version, other.tables[version]};
  return {};
}

bool wants(std::uint32_t mask, std::uint32_t type) {
  switch (type) {
    case kGroup:
      return mask & (kGroup | kCollective | kMessage | kBelow);
    case kCollective:
      return mask & (kCollective | kBelow);
    case kMessage:
      return mask & (kMessage | kBelow);
    case kProxyOp:
      return mask & (kProxyOp | kProxyStep | kNetPlugin);
    case kProxyStep:
      return mask & (kProxyStep | kNetPlugin);
    case kGroupApi:
      return mask & (kGroupApi | kCollectiveApi | kMessageApi | kKernelLaunch | kGroup | kCollective |
                     kMessage | kBelow);
    case kCollectiveApi:
      return mask & (kCollectiveApi | kCollective | kBelow);
    case kMessageApi:
      return mask & (kMessageApi | kMessage | kBelow);
    default:
      return mask & (type & kCopyEngine ? static_cast<std::uint32_t>(kCopyEngine) : type);
  }
}

ncclResult_t init_other(const OtherPlugin& plugin, void** context, int* mask, const Introduction& told) {
  if (plugin.version >= 5)
    return as<InitV5, EventV5>(plugin).init(context, told.communicator, mask, told.name, told.nodes,
                                            told.ranks, told.rank, told.logger);
  if (plugin.version == 4)
    return as<InitV4, EventV4>(plugin).init(context, mask, told.name, told.communicator, told.nodes,
                                            told.ranks, told.rank, told.logger);
  return as<InitV1, EventV1>(plugin).init(context, mask);
}

template <int version>
ncclResult_t start_other(const OtherPlugin& plugin, void* context, void** handle,
                         typename EventOf<version>::Type* event) {
  if (plugin.version == version) return start(plugin, context, handle, event);
  switch (plugin.version) {
    case 5:  // of version 6: the same but for the types that only 6 has
      if constexpr (version == 6)
        if (!(event->type & kCopyEngine)) return start(plugin, context, handle, event);
      return ncclSuccess;
    case 4:
      return start_translated<4, version>(plugin, context, handle, *event);
    case 3:
      return start_translated<3, version>(plugin, context, handle, *event);
    case 2:
      return start_translated<2, version>(plugin, context, handle, *event);
    default:
      return start_translated<1, version>(plugin, context, handle, *event);
  }
}

template ncclResult_t start_other<1>(const OtherPlugin&, void*, void**, EventV1*);
template ncclResult_t start_other<2>(const OtherPlugin&, void*, void**, EventV2*);
template ncclResult_t start_other<3>(const OtherPlugin&, void*, void**, EventV3*);
template ncclResult_t start_other<4>(const OtherPlugin&, void*, void**, EventV4*);
template ncclResult_t start_other<5>(const OtherPlugin&, void*, void**, EventV5*);
template ncclResult_t start_other<6>(const OtherPlugin&, void*, void**, EventV5*);

ncclResult_t stop_other(const OtherPlugin& plugin, void* handle) { return common(plugin).stop(handle); }

ncclResult_t record_other(const OtherPlugin& plugin, void* handle, int state, StateArguments* arguments) {
  if (!is_state_of(plugin.version, state)) return ncclSuccess;
  return common(plugin).record(handle, state, arguments);
}

ncclResult_t finalize_other(const OtherPlugin& plugin, void* context) {
  return common(plugin).finalize(context);
}

}  // namespace ddpscope::injector::profiler
