// The interface of NCCL's profiler plugins, versions 1 to 6 (NCCL 2.28 looks for those up to 5), in our own
// words: layouts and numbers are NCCL's, as plugins are compiled against its headers.
#pragma once

#include <nccl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace ddpscope::standin::nccl::profiler {

/// Kinds of events: bits of the activation mask, and the type of a descriptor.
enum EventType : int {
  kGroup = 1 << 0,
  kCollective = 1 << 1,
  kPointToPoint = 1 << 2,
  kProxyOp = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyControl = 1 << 5,
  kKernelChannel = 1 << 6,
  kNetPlugin = 1 << 7,
  kGroupApi = 1 << 8,
  kCollectiveApi = 1 << 9,
  kPointToPointApi = 1 << 10,
  kKernelLaunch = 1 << 11,
};

/// The states that the stand-in tells; NCCL's numbers.
enum EventState : int { kKernelChannelStop = 22, kGroupStartApiStop = 23, kGroupEndApiStart = 24 };

/// Levels and subsystems of the logger that a plugin is given.
enum LogLevel : int { kLogWarn = 2, kLogInfo = 3 };
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

/// The newest descriptor.
struct Event {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      bool graph_captured;
      int group_depth;
    } group_api;
    struct {
      const char* function;
      std::size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graph_captured;
    } collective_api;
    struct {
      const char* function;
      std::size_t count;
      const char* datatype;
      void* stream;
      bool graph_captured;
    } message_api;
    struct {
      void* stream;
    } kernel_launch;
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      int root;
      const char* datatype;
      std::uint8_t channels;
      std::uint8_t warps;
      const char* algorithm;
      const char* protocol;
      void* parent_group;  ///< the parent in versions before 5
    } collective;
    struct {
      const char* function;
      void* buffer;
      const char* datatype;
      std::size_t count;
      int peer;
      std::uint8_t channels;
      void* parent_group;
    } message;
    struct {
      std::uint8_t channel;
      std::uint64_t timer;  ///< ns, of the device's clock
    } kernel_channel;
  };
};

union StateArguments {
  struct {
    std::size_t bytes;
  } proxy_step;
  struct {
    std::uint64_t timer;
  } kernel_channel;
};

/// Versions 4 and 5 differ in `init` and in what an event may be; 6 (NCCL 2.29) is 5 with events that the
/// stand-in has not.
struct PluginV5 {
  const char* name;
  ncclResult_t (*init)(void** context, std::uint64_t communicator, int* mask, const char* communicator_name,
                       int nodes, int ranks, int rank, Logger logger);
  ncclResult_t (*start)(void* context, void** handle, Event* event);
  ncclResult_t (*stop)(void* handle);
  ncclResult_t (*record)(void* handle, int state, StateArguments* arguments);
  ncclResult_t (*finalize)(void* context);
};

struct EventV4 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      int root;
      const char* datatype;
      std::uint8_t channels;
      std::uint8_t warps;
      const char* algorithm;
      const char* protocol;
    } collective;
    struct {
      const char* function;
      void* buffer;
      const char* datatype;
      std::size_t count;
      int peer;
      std::uint8_t channels;
    } message;
    struct {
      std::uint8_t channel;
      std::uint64_t timer;
    } kernel_channel;
    std::uint64_t room[8];
  };
};

struct PluginV4 {
  const char* name;
  ncclResult_t (*init)(void** context, int* mask, const char* communicator_name, std::uint64_t communicator,
                       int nodes, int ranks, int rank, Logger logger);
  ncclResult_t (*start)(void* context, void** handle, EventV4* event);
  ncclResult_t (*stop)(void* handle);
  ncclResult_t (*record)(void* handle, int state, StateArguments* arguments);
  ncclResult_t (*finalize)(void* context);
};

/// Version 2 has one field more than 3, which NCCL no longer fills.
struct EventV3 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    struct {
      const char* name;
      std::uint64_t communicator;
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      int root;
      const char* datatype;
      std::uint8_t channels;
      std::uint8_t warps;
      const char* algorithm;
      const char* protocol;
    } collective;
    struct {
      const char* name;
      std::uint64_t communicator;
      const char* function;
      void* buffer;
      const char* datatype;
      std::size_t count;
      int peer;
    } message;
    struct {
      std::uint8_t channel;
    } kernel_channel;
  };
};

struct EventV2 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    struct {
      const char* name;
      std::uint64_t communicator;
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      int root;
      const char* datatype;
      std::size_t traffic_bytes;
      std::uint8_t channels;
      std::uint8_t warps;
      const char* algorithm;
      const char* protocol;
    } collective;
    decltype(EventV3::message) message;
  };
};

struct EventV1 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    struct {
      const char* name;
      std::uint64_t communicator;
      std::uint64_t sequence;
      std::uint8_t function;
      const void* send;
      void* receive;
      std::size_t count;
      int root;
      std::uint8_t datatype;
      std::uint32_t reduction;
      std::size_t traffic_bytes;
      std::uint8_t channels;
      std::uint8_t warps;
      std::uint8_t algorithm;
      std::uint8_t protocol;
      int is_collnet;
      int is_nvls;
    } collective;
    struct {
      const char* name;
      std::uint64_t communicator;
      std::uint8_t function;
      void* buffer;
      std::uint8_t datatype;
      std::size_t count;
      int peer;
    } message;
  };
};

/// Versions 1 to 3 share all but the descriptor.
template <class OldEvent>
struct OldPlugin {
  const char* name;
  ncclResult_t (*init)(void** context, int* mask);
  ncclResult_t (*start)(void* context, void** handle, OldEvent* event);
  ncclResult_t (*stop)(void* handle);
  ncclResult_t (*record)(void* handle, int state, void* arguments);
  ncclResult_t (*finalize)(void* context);
};

}  // namespace ddpscope::standin::nccl::profiler
