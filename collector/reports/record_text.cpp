// Schema text to fields, fields to text.
#include "collector/reports/record_text.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <bit>
#include <charconv>

#include "collector/model/nccl_types.h"
#include "collector/model/system_names.h"
#include "collector/reports/escape.h"
#include "trace/fields.h"
#include "trace/schema.h"

namespace ddpscope::reports {
namespace {

std::string_view take_word(std::string_view& line, char separator = ' ') {
  std::size_t end = line.find(separator);
  std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

std::size_t size_of(std::string_view type) {
  if (type == "u8") return 1;
  if (type == "u16") return 2;
  if (type == "u32" || type == "i32") return 4;
  if (type == "u64") return 8;
  return 0;
}

template <std::size_t size>
std::string from_table(const char* const (&names)[size], std::uint64_t value) {
  return value < size ? names[value] : fmt::format("{}", value);
}

std::string open_flags(std::uint64_t flags) {
  constexpr const char* kAccess[] = {"O_RDONLY", "O_WRONLY", "O_RDWR"};
  constexpr std::pair<std::uint64_t, const char*> kFlags[] = {{O_CREAT, "O_CREAT"},
                                                              {O_EXCL, "O_EXCL"},
                                                              {O_TRUNC, "O_TRUNC"},
                                                              {O_APPEND, "O_APPEND"},
                                                              {O_DIRECTORY, "O_DIRECTORY"}};
  std::string text = from_table(kAccess, flags & O_ACCMODE);
  for (auto [bit, name] : kFlags)
    if (flags & bit) text += fmt::format("|{}", name);
  return text;
}

std::string bits(trace::FieldFormat format, std::uint64_t value) {
  std::string text;
  for (const trace::NamedValue& bit : trace::kNamedValues)
    if (bit.format == format && (bit.value ? (value & bit.value) == bit.value : value == 0))
      text += fmt::format("{}{}", text.empty() ? "" : "|", bit.name);
  return text.empty() ? fmt::format("{:#x}", value) : text;
}

std::string name_of(trace::FieldFormat format, std::uint64_t value) {
  for (const trace::NamedValue& named : trace::kNamedValues)
    if (named.format == format && named.value == value) return std::string(named.name);
  return fmt::format("{}", value);
}

std::string errno_name(std::uint64_t number) {
  if (number == 0) return "0";
  const char* name = model::name_of_error(static_cast<int>(number));
  return name ? name : fmt::format("{}", number);
}

}  // namespace

RecordPrinter::RecordPrinter(const RecordTexts& texts, std::function<std::int64_t(std::uint64_t)> time_ns)
    : texts_(texts), time_ns_(std::move(time_ns)) {
  read_schema({trace::kSchemaText, trace::kSchemaBytes});
  read_schema(texts.schema());  // the file's own word on what it holds comes last and wins
}

void RecordPrinter::read_schema(std::string_view schema) {
  while (!schema.empty()) {
    std::string_view line = take_word(schema, '\n');
    std::string_view kind = take_word(line);
    if (kind == "payload") read_payload(line);
    if (kind == "call") read_call(line);
  }
}

void RecordPrinter::read_payload(std::string_view line) {
  std::vector<Field>& fields = payloads_[take_word(line)];
  fields.clear();
  std::size_t offset = 0;
  while (!line.empty()) {
    std::string_view word = take_word(line);
    Field field{};
    field.name = take_word(word, ':');
    field.type = take_word(word, ':');
    field.format = word;
    field.bytes = size_of(field.type);
    if (field.bytes == 0) return;
    offset = (offset + field.bytes - 1) / field.bytes * field.bytes;  // as the compiler laid the struct out
    field.offset = offset;
    offset += field.bytes;
    if (offset > trace::kPayloadBytes) return;
    fields.push_back(field);
  }
}

void RecordPrinter::read_call(std::string_view line) {
  std::string_view number = take_word(line);
  std::uint16_t call = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), call).ec != std::errc{}) return;
  CallRow row;
  row.symbol = take_word(line);
  auto payload = payloads_.find(take_word(line));
  if (payload != payloads_.end()) row.fields = &payload->second;
  calls_[call] = row;
}

std::string RecordPrinter::call(const trace::Record& record) const {
  auto row = calls_.find(record.call);
  return row == calls_.end() ? fmt::format("call {}", record.call) : escape(row->second.symbol);
}

Fields RecordPrinter::fields(const trace::Record& record) const {
  auto row = calls_.find(record.call);
  if (row == calls_.end() || !row->second.fields) return {};
  Fields fields;
  for (const Field& field : *row->second.fields)
    if (field.name != "unused") fields.emplace_back(escape(field.name), value(field, record));
  return fields;
}

std::string RecordPrinter::value(const Field& field, const trace::Record& record) const {
  std::uint64_t raw = 0;
  std::memcpy(&raw, record.payload + field.offset, field.bytes);
  static constexpr const char* kCopyKinds[] = {"host-to-host", "host-to-device", "device-to-host",
                                               "device-to-device", "default"};
  std::int64_t number = field.type == "i32" ? static_cast<std::int32_t>(raw) : static_cast<std::int64_t>(raw);
  if (field.format == "hex") return fmt::format("{:#x}", raw);
  if (field.format == "text" || field.format == "path")
    return raw ? fmt::format("\"{}\"", escape(texts_.string(static_cast<std::uint32_t>(raw)))) : "-";
  if (field.format == "errno") return errno_name(raw);
  if (field.format == "openflags") return open_flags(raw);
  if (field.format == "datatype") return model::datatype_name(static_cast<std::uint8_t>(raw));
  if (field.format == "reduction") return model::reduction_name(static_cast<std::uint8_t>(raw));
  if (field.format == "handover") return name_of(trace::FieldFormat::handover, raw);
  if (field.format == "handoverflags") return bits(trace::FieldFormat::handoverflags, raw);
  if (field.format == "streamflags") return bits(trace::FieldFormat::streamflags, raw);
  if (field.format == "storeoperation") return name_of(trace::FieldFormat::storeoperation, raw);
  if (field.format == "ncclfunction") return name_of(trace::FieldFormat::ncclfunction, raw);
  if (field.format == "teller") return bits(trace::FieldFormat::teller, raw);
  if (field.format == "groupflags") return bits(trace::FieldFormat::groupflags, raw);
  if (field.format == "workflags") return bits(trace::FieldFormat::workflags, raw);
  if (field.format == "trainingflags") return bits(trace::FieldFormat::trainingflags, raw);
  if (field.format == "real") return fmt::format("{:.9g}", std::bit_cast<double>(raw));
  if (field.format == "outcome") return name_of(trace::FieldFormat::outcome, raw);
  if (field.format == "ticks" && time_ns_)
    return fmt::format("{:.9f}", static_cast<double>(time_ns_(raw)) * 1e-9);
  if (field.format == "copykind") return from_table(kCopyKinds, raw);
  return number < 0 || field.type == "i32" ? fmt::format("{}", number) : fmt::format("{}", raw);
}

std::string RecordPrinter::device_call(const trace::DeviceWork& work) const {
  return name_of(trace::FieldFormat::devicework, static_cast<std::uint64_t>(work.kind));
}

Fields RecordPrinter::device_fields(const trace::DeviceWork& work) const {
  Fields fields;
  auto low = static_cast<std::uint32_t>(work.subject);
  if (work.kind == trace::DeviceWorkKind::kKernel) {
    fields.emplace_back("name", fmt::format("\"{}\"", escape(texts_.string(low))));
  } else if (work.kind == trace::DeviceWorkKind::kCollective) {
    fields.emplace_back("communicator", fmt::format("{}", low));
    fields.emplace_back("sequence", fmt::format("{}", work.subject >> 32));
  } else {
    fields.emplace_back("bytes", fmt::format("{}", work.subject));
  }
  fields.emplace_back("device", fmt::format("{}", work.device));
  if (work.stream) fields.emplace_back("stream", fmt::format("{}", work.stream));
  return fields;
}

std::string to_text(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

std::string stack_text(const trace::TraceFile& file, std::uint32_t id, const char* separator) {
  std::string text;
  for (const trace::StackFrame& frame : file.stack(id)) {
    if (!text.empty()) text += separator;
    std::string source = escape(file.string(frame.file));
    if (frame.kind == trace::FrameKind::kPython)
      text += fmt::format("{}:{} {}", source, frame.line, escape(file.string(frame.function)));
    else
      text += fmt::format("{}+{:#x}", source, frame.address);
  }
  return text;
}

}  // namespace ddpscope::reports
