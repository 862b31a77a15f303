// Reading one trace file, whatever its bytes are: it ends, and stays inside them.
#include <cstdint>

#include "trace/fields.h"
#include "trace/read/clock_line.h"
#include "trace/read/trace_file.h"

namespace {

using namespace ddpscope::trace;

// Looks at everything that a reader hands out. Volatile: the look must not be optimised away.
volatile std::uint64_t seen;

void look_at(const TraceFile& file, const Record& record) {
  if (const CallInfo* call = find_call(record.call))
    for (const FieldInfo& field : info_of(call->payload).fields) {
      std::uint64_t value = field_value(field, record.payload);
      if (field.format == FieldFormat::text || field.format == FieldFormat::path)
        for (char c : file.string(static_cast<std::uint32_t>(value)))
          seen = seen + static_cast<unsigned char>(c);
    }
  for (const StackFrame& frame : file.stack(record.stack))
    seen = seen + frame.line + frame.address + file.string(frame.file).size() +
           file.string(frame.function).size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto file = TraceFile::parse({data, data + size}, "input");
  if (!file) {
    seen = seen + file.error().what.size() + file.error().hint.size();
    return 0;
  }
  ClockLine clock(file->header().clock, file->header().tick_hz, file->clock_tuples());
  for (const RecordSpan& span : file->records())
    for (const Record& record : span.records) {
      seen = seen + static_cast<std::uint64_t>(clock.realtime_ns(record.begin)) + record.end;
      look_at(*file, record);
    }
  for (const ItemSpan& span : file->items())
    for (const ItemRead& item : span.items) seen = seen + item.offset + item.bytes;
  for (const DeviceSpan& span : file->device_work())
    for (const DeviceWork& work : span.work) seen = seen + work.begin + work.subject;
  for (char c : file->schema()) seen = seen + static_cast<unsigned char>(c);
  seen = seen + file->host().size();
  return 0;
}
