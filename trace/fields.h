// What the fields of a payload are: where they lie, how they are read and printed. Made from payloads.def and
// named_values.def; `dump` and the text-trace compiler need no code of their own for a call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>

#include "trace/payloads.h"

namespace ddpscope::trace {

enum class FieldFormat : std::uint8_t {
  dec,
  hex,
  text,  // string id
  path,  // string id
  errno_,
  datatype,
  reduction,
  copykind,
  openflags,
  result,
  ticks,
  handover,
  handoverflags,  // bits
  streamflags,    // bits
  storeoperation,
  devicework,
  ncclfunction,
  teller,         // bits
  groupflags,     // bits
  workflags,      // bits
  trainingflags,  // bits
  outcome,
  real,  // bits of a double
};

struct FieldInfo {
  std::string_view name;
  std::uint8_t offset;  // in the payload
  std::uint8_t bytes;   // 1, 2, 4 or 8
  bool is_signed;
  FieldFormat format;
};

namespace detail {
constexpr FieldFormat field_format(std::string_view word) {
  constexpr std::string_view words[] = {
      "dec",           "hex",         "text",           "path",       "errno",        "datatype",
      "reduction",     "copykind",    "openflags",      "result",     "ticks",        "handover",
      "handoverflags", "streamflags", "storeoperation", "devicework", "ncclfunction", "teller",
      "groupflags",    "workflags",   "trainingflags",  "outcome",    "real"};
  for (std::size_t i = 0; i < std::size(words); ++i)
    if (words[i] == word) return static_cast<FieldFormat>(i);
  throw "a format that payloads.def does not name";  // not a constant expression: does not compile
}

#define F(type, field, format)                                                                         \
  FieldInfo{#field, offsetof(Payload, field), sizeof(Payload::field), std::is_signed_v<payload::type>, \
            field_format(#format)},
#define DDPSCOPE_PAYLOAD(name, sentence, ...)             \
  struct name##Fields {                                   \
    using Payload = payload::name;                        \
    static constexpr FieldInfo kFields[] = {__VA_ARGS__}; \
  };
#include "trace/payloads.def"
#undef DDPSCOPE_PAYLOAD
#undef F
}  // namespace detail

struct PayloadInfo {
  std::string_view name;
  std::string_view sentence;
  std::uint8_t bytes;
  std::span<const FieldInfo> fields;  // in memory order
};

// Indexed by PayloadKind.
inline constexpr PayloadInfo kPayloads[] = {
#define DDPSCOPE_PAYLOAD(name, sentence, ...) \
  {#name, sentence, kContentBytes<payload::name>, detail::name##Fields::kFields},
#include "trace/payloads.def"
#undef DDPSCOPE_PAYLOAD
};

constexpr const PayloadInfo& info_of(PayloadKind kind) { return kPayloads[static_cast<std::size_t>(kind)]; }

struct NamedValue {
  FieldFormat format;
  std::string_view name;
  std::uint64_t value;
};

inline constexpr NamedValue kNamedValues[] = {
#define DDPSCOPE_VALUE(format, name, value) {FieldFormat::format, #name, value},
#include "trace/named_values.def"
#undef DDPSCOPE_VALUE
};

// The field's bits, sign-extended to 64.
inline std::uint64_t field_value(const FieldInfo& field, const unsigned char* payload) {
  std::uint64_t value = 0;
  std::memcpy(&value, payload + field.offset, field.bytes);
  unsigned unused_bits = 64u - 8u * field.bytes;
  if (field.is_signed && unused_bits)
    value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused_bits) >> unused_bits);
  return value;
}

}  // namespace ddpscope::trace
