// Operation signatures in words.
#include "standin/nccl/signature.h"

namespace ddpscope::standin::nccl {
namespace {

constexpr const char* kKinds[] = {"AllReduce", "AllGather",          "ReduceScatter", "Broadcast",
                                  "Reduce",    "Send and Recv",      "CommSplit",     "CommShrink",
                                  "CommGrow",  "CommWindowRegister", "barrier"};
constexpr const char* kDatatypes[] = {"int8",    "uint8",    "int32",      "uint32",
                                      "int64",   "uint64",   "float16",    "float32",
                                      "float64", "bfloat16", "float8e4m3", "float8e5m2"};
constexpr const char* kReductions[] = {"sum",     "product", "maximum",
                                       "minimum", "average", "pre-multiplied sum"};

template <std::size_t N>
const char* name(const char* const (&names)[N], std::uint32_t index) {
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::string describe(const Signature& signature) {
  std::string text = name(kKinds, static_cast<std::uint32_t>(signature.kind));
  switch (signature.kind) {
    case Kind::kSplit:
    case Kind::kShrink:
    case Kind::kWindow:
    case Kind::kBarrier:
      return text;
    case Kind::kGrow:
      return text + " to " + std::to_string(signature.count) + " ranks";
    case Kind::kPointToPoint:
      return text + " of " + std::to_string(signature.count) + " bytes";
    default:
      break;
  }
  text += " of " + std::to_string(signature.count) + " " + name(kDatatypes, signature.datatype);
  if (signature.kind == Kind::kAllReduce || signature.kind == Kind::kReduceScatter ||
      signature.kind == Kind::kReduce) {
    text += std::string(", ") + name(kReductions, signature.reduction);
  }
  if (signature.root >= 0) text += ", root " + std::to_string(signature.root);
  return text;
}

}  // namespace ddpscope::standin::nccl
