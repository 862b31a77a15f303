// An event as we need it, whatever the version in which NCCL told it.
#pragma once
#include "injector/nccl/functions.h"
#include "injector/nccl/unhooked.h"
#include "injector/nccl_profiler/interface.h"
#include "injector/nccl_profiler/names.h"

namespace ddpscope::injector::profiler {

struct Told {
  std::uint32_t type;
  void* parent;
  // Of operations and calls:
  std::uint8_t function, datatype;  // numbers as in AskedOperation and ncclDataType_t
  std::uint8_t channels, warps;
  bool captured;
  std::int32_t peer;  // -1: none, or not told
  std::uint64_t count;
  const void *send, *receive;
  void* stream;
  const char *algorithm, *protocol;
  // Up to version 3:
  std::uint64_t communicator;
  const char* name;
  std::uint64_t timer;  // of parts of kernels, from version 4
};

inline std::uint8_t code_of_function(const char* name) { return function_code(name); }
inline std::uint8_t code_of_function(std::uint8_t number) { return function_code(function_name(number)); }
inline std::uint8_t code_of_datatype(const char* name) { return datatype_code(name); }
inline std::uint8_t code_of_datatype(std::uint8_t number) { return number; }
inline const char* name_of_algorithm(const char* name) { return name; }
inline const char* name_of_algorithm(std::uint8_t number) { return algorithm_name(number); }
inline const char* name_of_protocol(const char* name) { return name; }
inline const char* name_of_protocol(std::uint8_t number) { return protocol_name(number); }

// NCCL has root 0 where there is none.
inline std::int32_t root_of(std::uint8_t function, int root) {
  bool has_root =
      function == row_of(trace::Call::ncclBroadcast) || function == row_of(trace::Call::ncclReduce);
  return has_root ? root : -1;
}

template <class Operation>
void read_operation(const Operation& operation, Told& told) {
  told.function = code_of_function(operation.function);
  told.datatype = code_of_datatype(operation.datatype);
  told.count = operation.count;
  if constexpr (requires { operation.stream; }) {
    told.stream = operation.stream;
    told.captured = operation.captured;
  }
  if constexpr (requires { operation.root; }) told.peer = root_of(told.function, operation.root);
  if constexpr (requires { operation.peer; }) told.peer = operation.peer;
  if constexpr (requires { operation.buffer; }) told.send = told.receive = operation.buffer;
  if constexpr (requires { operation.channels; }) told.channels = operation.channels;
  if constexpr (requires { operation.communicator; }) {
    told.communicator = operation.communicator;
    told.name = operation.name;
  }
  if constexpr (requires { operation.algorithm; }) {
    told.send = operation.send;
    told.receive = operation.receive;
    told.warps = operation.warps;
    told.algorithm = name_of_algorithm(operation.algorithm);
    told.protocol = name_of_protocol(operation.protocol);
  }
}

template <int version>
Told read(const typename EventOf<version>::Type& event) {
  Told told{};
  told.type = static_cast<std::uint32_t>(event.type);
  told.parent = event.parent;
  told.peer = -1;
  if (told.type == kCollective) read_operation(event.collective, told);
  if (told.type == kMessage) read_operation(event.message, told);
  if constexpr (version >= 5) {
    if (told.type == kCollectiveApi) read_operation(event.collective_api, told);
    if (told.type == kMessageApi) read_operation(event.message_api, told);
  }
  if constexpr (version >= 4)
    if (told.type == kKernelChannel) told.timer = event.kernel_channel.timer;
  return told;
}

}  // namespace ddpscope::injector::profiler
