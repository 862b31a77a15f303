// Their order is their number.
#include "injector/nccl_profiler/names.h"

#include <nccl.h>
#include <string.h>

#include <cstddef>

#include "injector/nccl/unhooked.h"

namespace ddpscope::injector::profiler {
namespace {

constexpr const char* kFunctions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                      "AllReduce", "SendRecv", "Send",      "Recv"};
constexpr const char* kAlgorithms[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                       "NVLS_TREE", "PAT"};
constexpr const char* kProtocols[] = {"LL", "LL128", "SIMPLE"};

template <std::size_t count>
const char* name_of(const char* const (&names)[count], std::uint8_t number) {
  return number < count ? names[number] : nullptr;
}

template <std::size_t count>
std::uint8_t number_of(const char* const (&names)[count], const char* name, std::uint8_t otherwise) {
  for (std::size_t i = 0; name && i < count; ++i)
    if (strcmp(names[i], name) == 0) return static_cast<std::uint8_t>(i);
  return otherwise;
}

}  // namespace

const char* function_name(std::uint8_t number) { return name_of(kFunctions, number); }
const char* algorithm_name(std::uint8_t number) { return name_of(kAlgorithms, number); }
const char* protocol_name(std::uint8_t number) { return name_of(kProtocols, number); }

std::uint8_t function_number(const char* name) { return number_of(kFunctions, name, 6); }
std::uint8_t algorithm_number(const char* name) { return number_of(kAlgorithms, name, 6); }
std::uint8_t protocol_number(const char* name) { return number_of(kProtocols, name, 2); }
std::uint8_t datatype_number(const char* name) {
  std::uint8_t code = datatype_code(name);
  return code == kUnknownType ? static_cast<std::uint8_t>(ncclFloat64) : code;
}

}  // namespace ddpscope::injector::profiler
