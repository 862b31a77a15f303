// Names and sizes of NCCL's data types and reductions, as numbered in nccl.h 2.28.
#pragma once
#include <cstdint>
#include <string>

namespace ddpscope::model {

std::string datatype_name(std::uint8_t datatype);    // ncclFloat32 is "float32"
std::string reduction_name(std::uint8_t reduction);  // ncclSum is "sum"; others are a program's own operators
std::uint64_t datatype_bytes(std::uint8_t datatype);
bool is_float(std::uint8_t datatype);

}  // namespace ddpscope::model
