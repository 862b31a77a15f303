// The tables agree with themselves.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "trace/calls.h"
#include "trace/fields.h"
#include "trace/format.h"
#include "trace/health.h"

namespace ddpscope::trace {
namespace {

TEST(Calls, NumbersAreUniqueAndBelowTheLimit) {
  std::set<std::uint16_t> numbers;
  for (const CallInfo& call : kCalls) {
    auto number = static_cast<std::uint16_t>(call.call);
    EXPECT_NE(number, 0) << call.symbol;
    EXPECT_LT(number, kCallNumbers) << call.symbol;
    EXPECT_TRUE(numbers.insert(number).second) << call.symbol << " has a number that is taken";
    EXPECT_EQ(find_call(number), &call);
  }
}

TEST(Calls, SymbolsAreUnique) {
  std::set<std::string> symbols;
  for (const CallInfo& call : kCalls) EXPECT_TRUE(symbols.insert(call.symbol).second) << call.symbol;
}

TEST(Calls, SinceIsAVersionThatThereWas) {
  for (const CallInfo& call : kCalls) {
    EXPECT_GE(call.since, 1u) << call.symbol;
    EXPECT_LE(call.since, kVersion) << call.symbol;
  }
}

TEST(Calls, UnknownNumbersAreNoCall) {
  EXPECT_EQ(find_call(0), nullptr);
  EXPECT_EQ(find_call(kCallNumbers - 1), nullptr);
  EXPECT_EQ(find_call(kCallNumbers), nullptr);
  EXPECT_EQ(find_call(0xFFFF), nullptr);
}

TEST(Calls, EveryOperationIsSomeCalls) {
  std::set<Operation> used;
  for (const CallInfo& call : kCalls) used.insert(call.operation);
#define DDPSCOPE_OPERATION(name) EXPECT_TRUE(used.count(Operation::k##name)) << #name;
#include "trace/operations.def"
#undef DDPSCOPE_OPERATION
}

TEST(Calls, EveryPayloadIsSomeCalls) {
  std::set<PayloadKind> used;
  for (const CallInfo& call : kCalls) used.insert(call.payload);
  EXPECT_EQ(used.size(), std::size(kPayloads));
}

TEST(Payloads, FieldsLieOneBehindTheOther) {
  for (const PayloadInfo& payload : kPayloads) {
    std::size_t at = 0;
    for (const FieldInfo& field : payload.fields) {
      EXPECT_EQ(field.offset, at) << payload.name << "." << field.name << ": a hole would hold old bytes";
      at = field.offset + field.bytes;
    }
  }
}

TEST(Payloads, FieldValuesAreSignExtended) {
  payload::Collective payload{};
  payload.peer = -1;
  payload.datatype = 0xFF;
  unsigned char bytes[sizeof(payload)];
  std::memcpy(bytes, &payload, sizeof(payload));
  for (const FieldInfo& field : info_of(PayloadKind::kCollective).fields) {
    if (field.name == "peer") {
      EXPECT_EQ(static_cast<std::int64_t>(field_value(field, bytes)), -1);
    }
    if (field.name == "datatype") {
      EXPECT_EQ(field_value(field, bytes), 0xFFu);
    }
  }
}

TEST(NamedValues, AreUniqueWithinTheirFormat) {
  std::set<std::pair<FieldFormat, std::string_view>> names;
  std::set<std::pair<FieldFormat, std::uint64_t>> values;
  for (const NamedValue& value : kNamedValues) {
    EXPECT_TRUE(names.insert({value.format, value.name}).second) << value.name;
    EXPECT_TRUE(values.insert({value.format, value.value}).second) << value.name;
  }
}

TEST(HealthCounters, IndicesAreUniqueAndFitIntoTheHeader) {
  std::set<std::size_t> indices;
  std::set<std::string> severities = {"loss", "degraded", "note"};
  for (const HealthInfo& counter : kHealth) {
    auto index = static_cast<std::size_t>(counter.index);
    EXPECT_LT(index, kHealthCounters) << counter.name;
    EXPECT_TRUE(indices.insert(index).second) << counter.name;
    EXPECT_TRUE(severities.count(counter.severity)) << counter.name;
  }
}

}  // namespace
}  // namespace ddpscope::trace
