// Parses values by the format of their field.
#include "tests/tools/text_fields.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <string>

#include "tests/tools/mistake.h"
#include "tests/tools/text_lines.h"
#include "trace/listing.h"

namespace ddpscope::tests {
namespace {

using trace::FieldFormat;
using trace::FieldInfo;

std::optional<std::uint64_t> named_value(FieldFormat format, std::string_view name) {
  for (const trace::NamedValue& value : trace::kNamedValues)
    if (value.format == format && value.name == name) return value.value;
  if (format == FieldFormat::errno_)
    for (int number = 1; number < 256; ++number)
      if (const char* word = strerrorname_np(number); word && name == word)
        return static_cast<std::uint64_t>(number);
  return std::nullopt;
}

// 0.25, nan: the bits of the double.
std::uint64_t parse_real(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Mistake{"'" + std::string(text) + "' is no number"};
  return std::bit_cast<std::uint64_t>(value);
}

// wronly|creat|0x40 and plain numbers.
std::uint64_t parse_value(FieldFormat format, std::string_view text) {
  if (format == FieldFormat::real) return parse_real(text);
  std::uint64_t value = 0;
  while (true) {
    bool bits = format == FieldFormat::openflags || format == FieldFormat::handoverflags ||
                format == FieldFormat::streamflags || format == FieldFormat::teller ||
                format == FieldFormat::groupflags || format == FieldFormat::workflags ||
                format == FieldFormat::trainingflags;
    std::size_t bar = bits ? text.find('|') : text.npos;
    std::string_view word = text.substr(0, bar);
    std::optional<std::uint64_t> named = named_value(format, word);
    value |= named ? *named : static_cast<std::uint64_t>(parse_integer(word));
    if (bar == text.npos) return value;
    text.remove_prefix(bar + 1);
  }
}

bool fits(const FieldInfo& field, std::uint64_t value) {
  if (field.bytes == 8) return true;
  unsigned bits = 8u * field.bytes;
  auto number = static_cast<std::int64_t>(value);
  std::int64_t low = -(std::int64_t{1} << (bits - 1));  // unsigned fields take -1 for "all ones"
  std::int64_t high = field.is_signed ? -low - 1 : (std::int64_t{1} << bits) - 1;
  return number >= low && number <= high;
}

std::string field_names(const trace::PayloadInfo& payload) {
  std::string names = "fields of " + std::string(payload.name) + ":";
  for (const FieldInfo& field : payload.fields) names.append(" ").append(field.name);
  return names;
}

}  // namespace

std::int64_t parse_integer(std::string_view text) {
  std::string copy(text);
  int shift = 0;
  if (!copy.empty() && !copy.starts_with("0x")) {
    char unit = copy.back();
    shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    if (shift) copy.pop_back();
  }
  char* end = nullptr;
  bool negative = copy.starts_with("-");
  std::uint64_t magnitude = std::strtoull(copy.c_str() + negative, &end, 0);
  if (copy.size() == negative || *end) throw Mistake{"'" + std::string(text) + "' is no number"};
  auto value = static_cast<std::int64_t>(magnitude << shift);
  return negative ? -value : value;
}

int field_index(const trace::PayloadInfo& payload, std::string_view name) {
  for (std::size_t i = 0; i < payload.fields.size(); ++i)
    if (payload.fields[i].name == name) return static_cast<int>(i);
  return -1;
}

std::uint64_t get(const Event& event, const FieldInfo& field) {
  return trace::field_value(field, event.payload.data());
}

void put(Event& event, const FieldInfo& field, std::uint64_t value) {
  std::memcpy(event.payload.data() + field.offset, &value, field.bytes);
}

void set_field(Event& event, const trace::PayloadInfo& payload, std::string_view name,
               std::string_view text) {
  int index = field_index(payload, name);
  if (index < 0) throw Mistake{"no field '" + std::string(name) + "'", field_names(payload)};
  const FieldInfo& field = payload.fields[static_cast<std::size_t>(index)];
  event.given |= std::uint64_t{1} << index;
  if (field.format == FieldFormat::text || field.format == FieldFormat::path) {
    event.texts.push_back({field.offset, std::string(text)});
    return;
  }
  std::uint64_t value = field.format == FieldFormat::ticks ? static_cast<std::uint64_t>(parse_seconds(text))
                                                           : parse_value(field.format, text);
  if (!fits(field, value))
    throw Mistake{"'" + std::string(text) + "' does not fit into the field '" + std::string(name) + "'"};
  put(event, field, value);
}

void tell_entries(Event& event, const trace::PayloadInfo& payload, std::string_view names) {
  if (payload.name != "Listing") throw Mistake{"only a listing tells names"};
  trace::ListingBlock block{};
  std::uint64_t entries = 0;
  for (std::size_t at = 0; at < names.size(); ++entries) {
    std::string_view name = names.substr(at, names.find(',', at) - at);
    trace::add_entry(block, trace::hash_entry(name));
    at += name.size() + 1;
  }
  for (std::size_t i = 0; i < trace::kListingWords; ++i)
    put(event, payload.fields[static_cast<std::size_t>(field_index(payload, "first")) + i], block.words[i]);
  put(event, payload.fields[static_cast<std::size_t>(field_index(payload, "entries"))], entries);
}

void set_defaults(Event& event, const trace::PayloadInfo& payload) {
  if (payload.name == "Listing") {
    put(event, payload.fields[static_cast<std::size_t>(field_index(payload, "blocks"))], 1);
  } else if (payload.name == "Collective" || payload.name == "UnhookedCollective") {
    put(event, payload.fields[static_cast<std::size_t>(field_index(payload, "peer"))], ~std::uint64_t{0});
  } else if (int count = field_index(payload, "count"); count >= 0) {
    put(event, payload.fields[static_cast<std::size_t>(count)], 1);
  }
}

}  // namespace ddpscope::tests
