// Fields by name, for any payload: made from the tables, no code per call.
#pragma once
#include <cstdint>
#include <string_view>

#include "tests/tools/text_story.h"
#include "trace/fields.h"

namespace ddpscope::tests {

// Puts `text` into the event's field `name`; a string goes to event.texts. Throws Mistake.
void set_field(Event& event, const trace::PayloadInfo& payload, std::string_view name, std::string_view text);

// Puts the names of a listing, with commas in between, into the words of its only block. Throws Mistake.
void tell_entries(Event& event, const trace::PayloadInfo& payload, std::string_view names);

// What a field holds when the text does not name it: 0, but -1 for no peer and 1 for a single folded call.
void set_defaults(Event& event, const trace::PayloadInfo& payload);

// Position of a field in its payload, or -1.
int field_index(const trace::PayloadInfo& payload, std::string_view name);

std::uint64_t get(const Event& event, const trace::FieldInfo& field);
void put(Event& event, const trace::FieldInfo& field, std::uint64_t value);

// Decimal, 0x..., negative, or with K, M, G for powers of 1024. Throws Mistake.
std::int64_t parse_integer(std::string_view text);

}  // namespace ddpscope::tests
