// An event as an older version of the interface has it, for a plugin that knows no newer one: as NCCL itself
// translates them.
#pragma once
#include "injector/nccl_profiler/interface.h"
#include "injector/nccl_profiler/names.h"

namespace ddpscope::injector::profiler {

template <class To, class From>
void translate_names(const From& from, To& to) {
  if constexpr (requires { to.function = from.function; } && sizeof(to.function) == sizeof(from.function)) {
    to.function = from.function;
    to.datatype = from.datatype;
  } else {
    to.function = function_number(from.function);
    to.datatype = datatype_number(from.datatype);
  }
}

template <class To, class From>
void translate_introduction(const From& from, To& to) {
  if constexpr (
      requires { to.communicator; } && requires { from.communicator; }) {
    to.communicator = from.communicator;
    to.name = from.name;
  }
}

template <class To, class From>
void translate_collective(const From& from, To& to) {
  translate_introduction(from, to);
  translate_names(from, to);
  to.sequence = from.sequence;
  to.send = from.send;
  to.receive = from.receive;
  to.count = from.count;
  to.root = from.root;
  to.channels = from.channels;
  to.warps = from.warps;
  if constexpr (sizeof(to.algorithm) == sizeof(from.algorithm)) {
    to.algorithm = from.algorithm;
    to.protocol = from.protocol;
  } else {
    to.algorithm = algorithm_number(from.algorithm);
    to.protocol = protocol_number(from.protocol);
  }
}

template <class To, class From>
void translate_message(const From& from, To& to) {
  translate_introduction(from, to);
  translate_names(from, to);
  to.buffer = from.buffer;
  to.count = from.count;
  to.peer = from.peer;
  if constexpr (requires { to.channels; }) to.channels = from.channels;
}

// In version 5 the parent of an operation became the call, in place of the group.
template <class From>
void* old_parent(const From& from) {
  if constexpr (requires { from.collective.parent_group; }) {
    if (from.type == kCollective) return from.collective.parent_group;
    if (from.type == kMessage) return from.message.parent_group;
  }
  return from.parent;
}

// False: the older version does not know it.
template <class To, class From>
bool translate(const From& from, To& to) {
  to = To{};
  to.type = static_cast<std::uint8_t>(from.type);
  to.parent = old_parent(from);
  to.rank = from.rank;
  switch (from.type) {
    case kGroup:
    case kProxyControl:
      return true;
    case kCollective:
      translate_collective(from.collective, to.collective);
      return true;
    case kMessage:
      translate_message(from.message, to.message);
      return true;
    case kProxyOp:
      to.proxy_op = from.proxy_op;
      return true;
    case kProxyStep:
      to.proxy_step = from.proxy_step;
      return true;
    case kKernelChannel:
      if constexpr (
          requires { to.kernel_channel; } && requires { from.kernel_channel; }) {
        to.kernel_channel = from.kernel_channel;
        return true;
      }
      return false;
    case kNetPlugin:
      if constexpr (
          requires { to.net_plugin; } && requires { from.net_plugin; }) {
        to.net_plugin = from.net_plugin;
        return true;
      }
      return false;
    default:
      return false;
  }
}

// Which states a plugin of an older version is told.
inline bool is_state_of(int version, int state) {
  bool proxy = state >= kSendGpuWait && state <= kControlAppendEnd;
  return version >= 4 ? true : proxy;
}

}  // namespace ddpscope::injector::profiler
