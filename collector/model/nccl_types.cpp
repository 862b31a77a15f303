// ncclDataType_t and ncclRedOp_t.
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

}  // namespace

std::string datatype_name(std::uint8_t datatype) {
  constexpr std::uint8_t kUnknown = 255;
  if (datatype == kUnknown) return "unknown";
  return datatype < std::size(kTypes) ? kTypes[datatype].name : "type " + std::to_string(datatype);
}

std::uint64_t datatype_bytes(std::uint8_t datatype) {
  return datatype < std::size(kTypes) ? kTypes[datatype].bytes : 1;
}

bool is_float(std::uint8_t datatype) { return datatype < std::size(kTypes) && kTypes[datatype].is_float; }

std::string reduction_name(std::uint8_t reduction) {
  constexpr const char* kNames[] = {"sum", "prod", "max", "min", "avg"};
  return reduction < std::size(kNames) ? kNames[reduction] : "operator " + std::to_string(reduction);
}

}  // namespace ddpscope::model
