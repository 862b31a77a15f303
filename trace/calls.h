// Calls, their operations and payloads, made from calls.def; compile-time tables, no code at run time.
#pragma once
#include <array>
#include <cstdint>

#include "trace/payloads.h"

namespace ddpscope::trace {

// The event id of a record. 0 is no call: an unused slot.
enum class Call : std::uint16_t {
  kNone = 0,
#define DDPSCOPE_CALL(number, symbol, operation, payload, budget, since, sentence) symbol = number,
#include "trace/calls.def"
#undef DDPSCOPE_CALL
};

enum class Operation : std::uint8_t {
  kNone,
#define DDPSCOPE_OPERATION(name) k##name,
#include "trace/operations.def"
#undef DDPSCOPE_OPERATION
};

enum class Budget : std::uint8_t { kKept, kBulk };

struct CallInfo {
  Call call;
  const char* symbol;
  Operation operation;
  PayloadKind payload;
  Budget budget;
  std::uint16_t since;  // format version
  const char* sentence;
};

namespace detail {
constexpr Budget kept = Budget::kKept;
constexpr Budget bulk = Budget::kBulk;
}  // namespace detail

inline constexpr CallInfo kCalls[] = {
#define DDPSCOPE_CALL(number, symbol, operation, payload, budget, since, sentence) \
  {Call::symbol, #symbol, Operation::k##operation, PayloadKind::k##payload, detail::budget, since, sentence},
#include "trace/calls.def"
#undef DDPSCOPE_CALL
};

constexpr std::uint16_t kCallNumbers = 1024;  // every number in calls.def is below this

// nullptr for a number that this version does not know.
const CallInfo* find_call(std::uint16_t number);

namespace detail {
constexpr std::array<Operation, kCallNumbers> operations_by_number() {
  std::array<Operation, kCallNumbers> operations{};
  for (const CallInfo& info : kCalls) operations[static_cast<std::uint16_t>(info.call)] = info.operation;
  return operations;
}
inline constexpr auto kOperationsByNumber = operations_by_number();
}  // namespace detail

// Of a record's call; kNone for a number that this version does not know.
inline Operation operation_of(std::uint16_t number) {
  return number < kCallNumbers ? detail::kOperationsByNumber[number] : Operation::kNone;
}
inline Operation operation_of(Call call) { return operation_of(static_cast<std::uint16_t>(call)); }

// PayloadOf<Call::ncclAllReduce> is payload::Collective: a hook that fills another payload does not compile.
template <Call call>
struct PayloadOfCall;
#define DDPSCOPE_CALL(number, symbol, operation, payload_name, budget, since, sentence) \
  template <>                                                                           \
  struct PayloadOfCall<Call::symbol> {                                                  \
    using Type = payload::payload_name;                                                 \
    static constexpr PayloadKind kPayload = PayloadKind::k##payload_name;               \
    static constexpr Budget kBudget = detail::budget;                                   \
  };
#include "trace/calls.def"
#undef DDPSCOPE_CALL

template <Call call>
using PayloadOf = typename PayloadOfCall<call>::Type;
template <Call call>
constexpr PayloadKind kPayloadOf = PayloadOfCall<call>::kPayload;
template <Call call>
constexpr Budget kBudgetOf = PayloadOfCall<call>::kBudget;

}  // namespace ddpscope::trace
