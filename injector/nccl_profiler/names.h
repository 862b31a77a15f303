// The names that NCCL's profiler interface has for functions, types, algorithms and protocols, and the
// numbers that its version 1 has in their place.
#pragma once
#include <cstdint>

namespace ddpscope::injector::profiler {

// By version 1's number; nullptr: none has it.
const char* function_name(std::uint8_t number);
const char* algorithm_name(std::uint8_t number);
const char* protocol_name(std::uint8_t number);

// As NCCL itself translates them for a plugin of version 1.
std::uint8_t function_number(const char* name);
std::uint8_t datatype_number(const char* name);
std::uint8_t algorithm_number(const char* name);
std::uint8_t protocol_number(const char* name);

}  // namespace ddpscope::injector::profiler
