// The records of a process: one pass in the order of time.
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "collector/merged/call_kinds.h"
#include "collector/merged/job_ranges.h"
#include "collector/merged/job_sightings.h"
#include "collector/merged/job_tracks.h"
#include "trace/fields.h"

namespace ddpscope::merged {
namespace {

using model::Job;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

// A copy that takes far longer than its bytes need (100 MB/s is slow, for memory) waits: to pageable memory
// also an asynchronous one returns only when what is before it in its stream is done.
bool is_held_up(const Record& record, const Event& event) {
  constexpr std::int64_t kLeastNs = 200'000, kNsPerByte = 10;
  const trace::CallInfo* info = trace::find_call(record.call);
  if (!info || info->payload != trace::PayloadKind::kCopy) return false;
  auto copy = trace::payload_of<payload::Copy>(record);
  if (copy.count > 1) return false;  // from the first's begin to the last's end
  std::int64_t took_ns = event.end_ns - event.begin_ns - kLeastNs;
  return took_ns > 0 && copy.bytes < static_cast<std::uint64_t>(took_ns / kNsPerByte);
}

// Numbers first ... end - 1 of the job's collectives.
struct CallRange {
  std::uint32_t first = 0, end = 0;
};

class CallTracks {
 public:
  CallTracks(Making& making, std::uint32_t process, LaneTracks& tracks, ProcessTables& tables,
             Standing& standing)
      : making_(making),
        job_(making.facts.job),
        process_(process),
        file_(job_.processes[process].file),
        tracks_(tracks),
        tables_(tables),
        standing_(standing),
        next_call_(making.facts.collectives.first_of_process[process]),
        end_call_(making.facts.collectives.first_of_process[process + 1]),
        has_device_work_(!file_.device_work().empty()) {
    tables_.set_schema(file_.schema());
  }

  void write(std::string& device) {
    look_around(device);
    model::for_each_in_time(file_,
                            [&](model::EventPlace place, const Record& record) { take(place, record); });
    for (const ProgramRange& range : ranges_.finish()) write_range(range);
  }
  CallsBySubject take_calls() { return std::move(calls_); }

 private:
  void look_around(std::string& device);
  void take(model::EventPlace place, const Record& record);
  void take_call(model::EventPlace place, const Record& record, const trace::CallInfo& info, CallKind kind);
  void write_range(const ProgramRange& range);
  std::uint32_t name_of(const Record& record, const trace::CallInfo& info, Kind kind);
  CallRange collectives_of(model::EventPlace place, const Record& record, const trace::CallInfo& info);
  void note_file(const Record& record, const trace::CallInfo& info, std::int64_t begin_ns, EventPlace place);
  CallSlot slot_for(const Record& record, const trace::CallInfo& info);
  std::string label_of(std::uint16_t thread) const;
  TrackKind track_kind(Line line) const;
  Event event_of(const Record& record) const;

  Making& making_;
  const Job& job_;
  std::uint32_t process_;
  const trace::TraceFile& file_;
  LaneTracks& tracks_;
  ProcessTables& tables_;
  Standing& standing_;
  std::uint32_t next_call_, end_call_;
  bool has_device_work_;
  CallsBySubject calls_;
  std::map<std::uint16_t, std::string> thread_names_;
  std::map<std::pair<trace::Call, Kind>, std::uint32_t> names_;  // by call
  std::map<std::uint32_t, std::string> paths_;                   // of openings
  RangePairs ranges_;
};

void CallTracks::look_around(std::string& device) {
  model::for_each(file_, {Operation::kThread, Operation::kDeviceIdentity}, [&](auto, const Record& record) {
    if (trace::operation_of(record.call) == Operation::kThread) {
      thread_names_[record.thread] = file_.string(trace::payload_of<payload::Thread>(record).name);
      return;
    }
    auto data = trace::payload_of<payload::Device>(record);
    if (device.empty()) device = fmt::format("cuda:{}", data.device);
  });
}

std::string CallTracks::label_of(std::uint16_t thread) const {
  auto name = thread_names_.find(thread);
  std::string text = thread == model::kMainThread ? "main" : fmt::format("thread {}", thread);
  if (name != thread_names_.end() && !name->second.empty()) text += " " + name->second;
  if (job_.processes[process_].role == model::Role::kWorker)
    text = fmt::format("worker {} {}", job_.processes[process_].header().pid, text);
  return text;
}

TrackKind CallTracks::track_kind(Line line) const {
  bool worker = job_.processes[process_].role == model::Role::kWorker;
  if (line == Line::kFiles) return worker ? TrackKind::kWorkerFiles : TrackKind::kFiles;
  if (line == Line::kInput) return TrackKind::kInput;
  if (line == Line::kPass) return TrackKind::kRanges;
  return worker ? TrackKind::kWorker : TrackKind::kHost;
}

Event CallTracks::event_of(const Record& record) const {
  Event event;
  event.begin_ns = job_.begin_ns(process_, record);
  event.end_ns = std::max(event.begin_ns, job_.end_ns(process_, record));
  event.open = record.end == 0;
  return event;
}

// Ticks become times of the job; strings and stacks that it refers to are kept.
CallSlot CallTracks::slot_for(const Record& record, const trace::CallInfo& info) {
  CallSlot slot{static_cast<std::uint16_t>(info.call), record.thread, record.stack, {}};
  std::memcpy(slot.payload, record.payload, sizeof(slot.payload));
  if (record.stack && !tables_.has_stack(record.stack))
    tables_.set_stack(record.stack, making_.frames.of(file_, record.stack));
  for (const trace::FieldInfo& field : trace::info_of(info.payload).fields) {
    std::uint64_t value = trace::field_value(field, record.payload);
    if (field.format == trace::FieldFormat::ticks) {
      std::int64_t ns = job_.time_ns(process_, value);
      std::memcpy(slot.payload + field.offset, &ns, sizeof(ns));
    } else if (field.format == trace::FieldFormat::text || field.format == trace::FieldFormat::path) {
      auto id = static_cast<std::uint32_t>(value);
      if (id && !tables_.has_string(id)) tables_.set_string(id, file_.string(id));
    }
  }
  return slot;
}

// What call it is is read once: whoever cuts the file off meanwhile leaves zeros of it.
void CallTracks::take(model::EventPlace place, const Record& record) {
  const trace::CallInfo* info = trace::find_call(record.call);
  if (!info) return;
  if (record.thread == model::kMainThread) standing_.take(record, model::folded_calls(record, *info) > 1);
  CallKind kind = kind_of(*info);
  if (kind.line == Line::kRange) return ranges_.take(record);
  if (kind.line != Line::kNone) take_call(place, record, *info, kind);
}

// The call among the job's collectives, which were numbered in this order; of a graph's launch all that it
// runs.
CallRange CallTracks::collectives_of(model::EventPlace place, const Record& record,
                                     const trace::CallInfo& info) {
  CallRange range{next_call_, next_call_};
  while (range.end < end_call_ && making_.facts.collectives.calls.is_at(range.end, place)) ++range.end;
  next_call_ = range.end;
  if (has_device_work_ && range.first < range.end && info.payload == trace::PayloadKind::kCollective) {
    auto data = trace::payload_of<payload::Collective>(record);
    calls_[std::uint64_t{data.sequence} << 32 | data.communicator] = range.first;
  }
  return range;
}

// Of a pass what PyTorch calls it for its profiler, if it does.
std::uint32_t CallTracks::name_of(const Record& record, const trace::CallInfo& info, Kind kind) {
  if (info.payload == trace::PayloadKind::kTrainingCall)
    if (auto name = trace::payload_of<payload::TrainingCall>(record).name)
      return making_.writer.name(file_.string(name), kind);
  auto [name, fresh] = names_.try_emplace({info.call, kind}, 0);
  if (fresh) name->second = making_.writer.name(info.symbol, kind);
  return name->second;
}

void CallTracks::take_call(model::EventPlace place, const Record& record, const trace::CallInfo& info,
                           CallKind kind) {
  CallRange calls;
  bool may_be_one = kind.kind == Kind::kCollective || kind.kind == Kind::kBarrier;
  if (may_be_one || info.operation == Operation::kGraphLaunch) calls = collectives_of(place, record, info);
  bool is_one = may_be_one && calls.first < calls.end;
  if (is_one && making_.facts.barriers[calls.first]) kind.kind = Kind::kBarrier;
  Event event = event_of(record);
  if (kind.kind == Kind::kCopy && kind.line == Line::kCalls && is_held_up(record, event))
    kind.kind = Kind::kWait;
  event.name = name_of(record, info, kind.kind);
  CallSlot slot = slot_for(record, info);
  if (tracks_.shares().row_of(record, info) != tracks_.row()) return;
  // The thread does something else between them.
  bool looks = kind.kind == Kind::kTick && !event.open && model::folded_calls(record, info) > 1;
  auto stands = tracks_.add(looks ? TrackKind::kLooks : track_kind(kind.line), record.thread, event,
                            slot_of(slot), [&] { return label_of(record.thread); });
  if (!stands) return;
  for (std::uint32_t call = calls.first; call < calls.end; ++call) making_.places.set(call, *stands);
  if (kind.line == Line::kFiles) note_file(record, info, event.begin_ns, *stands);
}

void CallTracks::note_file(const Record& record, const trace::CallInfo& info, std::int64_t begin_ns,
                           EventPlace place) {
  std::string_view path;
  if (info.payload == trace::PayloadKind::kFileOpen) {
    auto data = trace::payload_of<payload::FileOpen>(record);
    path = file_.string(data.path);
    if (data.file) {
      tables_.set_opening(data.file, path);
      paths_[data.file] = path;
    }
  } else if (info.payload == trace::PayloadKind::kFileName) {
    path = file_.string(trace::payload_of<payload::FileName>(record).path);
  } else if (info.payload == trace::PayloadKind::kFileIo) {
    auto opened = paths_.find(trace::payload_of<payload::FileIo>(record).file);
    if (opened != paths_.end()) path = opened->second;
  }
  if (!path.empty()) making_.accesses.note(path, begin_ns, place);
}

void CallTracks::write_range(const ProgramRange& range) {
  Record record = range.record;
  const trace::CallInfo* info = trace::find_call(record.call);
  if (!info) return;
  record.end = range.end_ticks;
  Event event = event_of(record);
  event.name =
      making_.writer.name(file_.string(trace::payload_of<payload::Range>(record).name), Kind::kRange);
  CallSlot slot = slot_for(record, *info);
  if (tracks_.shares().row_of(record, *info) != tracks_.row()) return;
  tracks_.add(TrackKind::kRanges, record.thread, event, slot_of(slot),
              [&] { return label_of(record.thread); });
}

}  // namespace

CallsBySubject write_calls(Making& making, std::uint32_t process, LaneTracks& tracks, ProcessTables& tables,
                           Standing& standing, std::string& device) {
  CallTracks calls(making, process, tracks, tables, standing);
  calls.write(device);
  return calls.take_calls();
}

}  // namespace ddpscope::merged
