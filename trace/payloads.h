// Payload structs, made from payloads.def. All are plain bytes: they go to the file as they are.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::trace {

constexpr std::size_t kPayloadBytes = 40;

namespace payload {
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;

#define F(type, field, format) type field;
#define DDPSCOPE_PAYLOAD(name, sentence, ...) \
  struct name {                               \
    __VA_ARGS__                               \
  };                                          \
  static_assert(sizeof(name) <= kPayloadBytes, #name " does not fit into a record");
#include "trace/payloads.def"
#undef DDPSCOPE_PAYLOAD
#undef F
}  // namespace payload

// Bytes that a payload's fields take: without the padding behind the last one, which may hold anything that
// was on the guest's stack.
template <class Payload>
inline constexpr std::size_t kContentBytes = 0;
#define F(type, field, format) +sizeof(payload::type)
#define DDPSCOPE_PAYLOAD(name, sentence, ...) \
  template <>                                 \
  inline constexpr std::size_t kContentBytes<payload::name> = 0 __VA_ARGS__;
#include "trace/payloads.def"
#undef DDPSCOPE_PAYLOAD
#undef F

enum class PayloadKind : std::uint8_t {
#define DDPSCOPE_PAYLOAD(name, sentence, ...) k##name,
#include "trace/payloads.def"
#undef DDPSCOPE_PAYLOAD
};

// Whether calls with this payload are numbered per communicator: its first fields are communicator and
// sequence.
constexpr bool is_numbered(PayloadKind kind) {
  return kind == PayloadKind::kCollective || kind == PayloadKind::kGroupCollective ||
         kind == PayloadKind::kGroupWork;
}

}  // namespace ddpscope::trace
