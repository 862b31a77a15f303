// NCCL's interface for profiler plugins, versions 1 to 6, in our own words: layouts and numbers are NCCL's.
// A plugin offers a table a version; NCCL 2.23 knows version 1, 2.26 up to 3, 2.27 up to 4, 2.28 up to 5,
// 2.29 up to 6, and takes the newest that both know.
#pragma once
#include <nccl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace ddpscope::injector::profiler {

constexpr int kNewest = 6;

// Types of events, and bits of the mask of those that a plugin wants.
enum EventType : std::uint32_t {
  kGroup = 1 << 0,
  kCollective = 1 << 1,  // an operation as it is enqueued; ended means enqueued
  kMessage = 1 << 2,
  kProxyOp = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyControl = 1 << 5,
  kKernelChannel = 1 << 6,  // a part of an operation's kernel, from version 3
  kNetPlugin = 1 << 7,      // from version 3
  kGroupApi = 1 << 8,       // this and the next three from version 5
  kCollectiveApi = 1 << 9,  // a call of the program
  kMessageApi = 1 << 10,
  kKernelLaunch = 1 << 11,
  kCopyEngine = 7 << 12,  // of version 6: collectives by copy engines, their waits and batches
};

// States that are told of an event, by NCCL's numbers.
enum EventState : int {
  kSendGpuWait = 8,  // up to kReceiveGpuWait: of a proxy step, in all versions
  kReceiveGpuWait = 12,
  kControlIdle = 13,  // up to kControlAppendEnd: of the proxy itself
  kControlAppendEnd = 18,
  kKernelChannelStop = 22,  // from version 4
};

struct GroupApi {
  bool captured;
  int depth;
};
struct CollectiveApi {
  const char* function;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool captured;
};
struct MessageApi {
  const char* function;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool captured;
};
// From version 4 on; of version 5 are the members behind `protocol` and `channels`.
struct Collective {
  std::uint64_t sequence;  // of its function
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char* algorithm;
  const char* protocol;
};
struct CollectiveV5 : Collective {
  void* parent_group;
};
struct Message {
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};
struct MessageV5 : Message {
  void* parent_group;
};
struct Named {
  const char* name;  // of the communicator, and its id: as the next versions tell a plugin at its init
  std::uint64_t communicator;
};
struct CollectiveV3 : Named, Collective {};
struct CollectiveV2 {
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
  std::uint8_t channels, warps;
  const char* algorithm;
  const char* protocol;
};
struct CollectiveV1 {
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
  std::uint8_t channels, warps;
  std::uint8_t algorithm, protocol;
  int is_collnet, is_nvls;
};
struct MessageV3 {  // and 2
  const char* name;
  std::uint64_t communicator;
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
};
struct MessageV1 {
  const char* name;
  std::uint64_t communicator;
  std::uint8_t function;
  void* buffer;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};
struct ProxyOp {
  pid_t pid;  // of the process that asked for it: its parent's handle is that one's
  std::uint8_t channel;
  int peer, steps, chunk_bytes, is_send;
};
struct NetPlugin {
  std::int64_t id;
  void* data;
};
struct KernelChannel {
  std::uint8_t channel;
  std::uint64_t timer;  // ns of the device's own clock; from version 4
};

struct EventV5 {  // and 6, but for the types that only 6 has
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollectiveApi collective_api;
    MessageApi message_api;
    void* launch_stream;
    CollectiveV5 collective;
    MessageV5 message;
    ProxyOp proxy_op;
    int proxy_step;
    KernelChannel kernel_channel;
    NetPlugin net_plugin;
  };
};
struct EventV4 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Collective collective;
    Message message;
    ProxyOp proxy_op;
    int proxy_step;
    KernelChannel kernel_channel;
    NetPlugin net_plugin;
  };
};
struct EventV3 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    CollectiveV3 collective;
    MessageV3 message;
    ProxyOp proxy_op;
    int proxy_step;
    KernelChannel kernel_channel;  // its channel alone
    NetPlugin net_plugin;
  };
};
struct EventV2 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    CollectiveV2 collective;
    MessageV3 message;
    ProxyOp proxy_op;
    int proxy_step;
  };
};
struct EventV1 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    CollectiveV1 collective;
    MessageV1 message;
    ProxyOp proxy_op;
    int proxy_step;
  };
};

template <int version>
struct EventOf;
template <>
struct EventOf<1> {
  using Type = EventV1;
};
template <>
struct EventOf<2> {
  using Type = EventV2;
};
template <>
struct EventOf<3> {
  using Type = EventV3;
};
template <>
struct EventOf<4> {
  using Type = EventV4;
};
template <>
struct EventOf<5> {
  using Type = EventV5;
};
template <>
struct EventOf<6> : EventOf<5> {};

// With a state. Up to version 3 only the proxy's states have any, and that is an int.
union StateArguments {
  std::uint64_t timer;  // kKernelChannelStop
  int appended;         // kControlIdle to kControlAppendEnd
  struct {
    std::size_t bytes;
    int steps;
  } proxy_op;
};

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
constexpr int kWarning = 2;

// What NCCL tells a plugin of a communicator; up to version 3 nothing of it.
struct Introduction {
  std::uint64_t communicator;
  const char* name;
  int nodes, ranks, rank;
  Logger logger;
};

using InitV5 = ncclResult_t(void** context, std::uint64_t communicator, int* mask, const char* name,
                            int nodes, int ranks, int rank, Logger logger);
using InitV4 = ncclResult_t(void** context, int* mask, const char* name, std::uint64_t communicator,
                            int nodes, int ranks, int rank, Logger logger);
using InitV1 = ncclResult_t(void** context, int* mask);
using Stop = ncclResult_t(void* handle);
using Record = ncclResult_t(void* handle, int state, StateArguments* arguments);
using Finalize = ncclResult_t(void* context);

// The table of a version: Init is InitV1 up to version 3, InitV4 of 4, InitV5 of 5 and 6.
template <class Init, class Event>
struct Table {
  const char* name;
  Init* init;
  ncclResult_t (*start)(void* context, void** handle, Event* event);
  Stop* stop;
  Record* record;
  Finalize* finalize;
};

}  // namespace ddpscope::injector::profiler
