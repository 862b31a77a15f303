// Writes a story down.
#include "tests/tools/text_trace.h"

#include <algorithm>
#include <cstring>

#include "tests/tools/mistake.h"
#include "tests/tools/text_fields.h"
#include "tests/tools/text_story.h"

namespace ddpscope::tests {
namespace {

// Times within a payload are written in true time, too.
void convert_times(const HostClock& clock, Event& event) {
  for (const trace::FieldInfo& field : trace::info_of(event.call->payload).fields)
    if (field.format == trace::FieldFormat::ticks)
      put(event, field, clock.ticks(static_cast<std::int64_t>(get(event, field))));
}

bool write_event(TraceScribe& scribe, const HostClock& clock, Event event) {
  for (const Text& text : event.texts) {
    std::uint32_t id = scribe.intern(event.thread, text.text);
    std::memcpy(event.payload.data() + text.offset, &id, sizeof(id));
  }
  if (event.statement == Statement::kItem) {
    trace::ItemRead item;
    std::memcpy(&item, event.payload.data(), sizeof(item));
    return scribe.write_item(event.thread, item, event.begin_ns);
  }
  if (event.statement == Statement::kDevice) {
    DeviceStatement device;
    std::memcpy(&device, event.payload.data(), sizeof(device));
    if (device.called)
      device.work.called = trace::call_time(clock.ticks(static_cast<std::int64_t>(device.called)));
    return scribe.write_device_work(event.thread, device.work, event.begin_ns, event.end_ns);
  }
  convert_times(clock, event);
  std::uint32_t stack = event.stack.empty() ? 0 : scribe.intern_stack(event.thread, event.stack);
  return scribe.write(event.thread, event.call->call, event.payload.data(), event.begin_ns, event.end_ns,
                      stack);
}

// What a recording process leaves in its header: how it ended, when it was last heard of, what it lost.
void finish_header(TraceScribe& scribe, const Process& process) {
  std::int64_t latest_ns = process.until_ns.value_or(process.identity.start_ns);
  for (const Event& event : process.events) {
    if (!event.call) continue;  // device work is written without a look at the host's clock
    latest_ns = std::max({latest_ns, event.begin_ns, event.end_ns});
    if (event.call->operation != trace::Operation::kExit) continue;
    trace::payload::Process exit;
    std::memcpy(&exit, event.payload.data(), sizeof(exit));
    scribe.header().ended = 1;
    scribe.header().exit_code = exit.status;
  }
  scribe.set_latest(latest_ns);
  for (auto [index, count] : process.health) scribe.header().health[index] = count;
}

Result<CompiledTrace> write_story(const Story& story, const std::filesystem::path& folder) {
  CompiledTrace compiled{};
  for (const Process& process : story.processes) {
    auto scribe = TraceScribe::create(folder, process.identity);
    if (!scribe) return scribe.error();
    for (const Event& event : process.events) {
      if (!write_event(**scribe, process.identity.clock, event))
        return Error{"no room for a record", "line " + std::to_string(event.line), "is the disk full?"};
      if (event.label.empty()) continue;
      const ScribeIdentity& own = process.identity;
      compiled.labels.push_back(
          {event.label, own.host, own.pid, event.thread, event.call->call, own.clock.ticks(event.begin_ns)});
    }
    finish_header(**scribe, process);
    ++compiled.processes;
    compiled.records += process.events.size();
  }
  return compiled;
}

}  // namespace

Result<CompiledTrace> compile_text_trace(std::string_view text, const std::filesystem::path& folder) {
  if (auto refusal = prepare_folder(folder)) return *refusal;
  try {
    Story story = read_story(text);
    if (story.processes.empty()) throw Mistake{"no process is declared", "write: process r0 rank=0 world=1"};
    complete_story(story);
    return write_story(story, folder);
  } catch (const Mistake& mistake) {
    return Error{mistake.what, mistake.line ? "line " + std::to_string(mistake.line) : "", mistake.hint};
  }
}

}  // namespace ddpscope::tests
