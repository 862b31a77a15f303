// ncclDataType_t and ncclRedOp_t, and what PyTorch has besides (trace/named_values.def).
#include "collector/model/nccl_types.h"

#include <iterator>

namespace ddpscope::model {
namespace {

struct DataType {
  const char* name;
  std::uint8_t bytes;
  bool is_float;
};
constexpr DataType kTypes[] = {{"int8", 1, false},    {"uint8", 1, false},     {"int32", 4, false},
                               {"uint32", 4, false},  {"int64", 8, false},     {"uint64", 8, false},
                               {"float16", 2, true},  {"float32", 4, true},    {"float64", 8, true},
                               {"bfloat16", 2, true}, {"float8e4m3", 1, true}, {"float8e5m2", 1, true}};

struct OtherType {
  std::uint8_t datatype;
  DataType type;
};
constexpr OtherType kOthers[] = {{130, {"int16", 2, false}},    {136, {"complex32", 4, true}},
                                 {137, {"complex64", 8, true}}, {138, {"complex128", 16, true}},
                                 {139, {"bool", 1, false}},     {155, {"uint16", 2, false}}};

const DataType* find_type(std::uint8_t datatype) {
  if (datatype < std::size(kTypes)) return &kTypes[datatype];
  for (const OtherType& other : kOthers)
    if (other.datatype == datatype) return &other.type;
  return nullptr;
}

}  // namespace

std::string datatype_name(std::uint8_t datatype) {
  constexpr std::uint8_t kUnknown = 255;
  if (datatype == kUnknown) return "unknown";
  const DataType* type = find_type(datatype);
  return type ? type->name : "type " + std::to_string(datatype);
}

std::uint64_t datatype_bytes(std::uint8_t datatype) {
  const DataType* type = find_type(datatype);
  return type ? type->bytes : 1;
}

bool is_float(std::uint8_t datatype) {
  const DataType* type = find_type(datatype);
  return type && type->is_float;
}

std::string reduction_name(std::uint8_t reduction) {
  constexpr const char* kNames[] = {"sum", "prod", "max", "min", "avg"};
  constexpr const char* kBitwise[] = {"band", "bor", "bxor"};
  constexpr std::uint8_t kFirstBitwise = 16;
  constexpr std::uint8_t kUnknown = 253, kNone = 255;
  if (reduction == kNone) return "none";
  if (reduction == kUnknown) return "unknown";
  if (reduction < std::size(kNames)) return kNames[reduction];
  if (reduction >= kFirstBitwise && reduction < kFirstBitwise + std::size(kBitwise))
    return kBitwise[reduction - kFirstBitwise];
  return "operator " + std::to_string(reduction);
}

}  // namespace ddpscope::model
