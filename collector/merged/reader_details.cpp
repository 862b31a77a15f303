// All that is known of one event, printed with the tables of its process.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collector/matching/collectives.h"
#include "collector/merged/collective_refs.h"
#include "collector/merged/packing.h"
#include "collector/merged/reader.h"
#include "collector/merged/reader_state.h"
#include "collector/model/job.h"
#include "collector/reports/escape.h"
#include "collector/reports/phrases.h"

namespace ddpscope::merged {
namespace {

namespace payload = trace::payload;
using trace::PayloadKind;

template <class Kept>
Kept slot_at(const std::vector<unsigned char>& block, std::uint64_t index) {
  Kept kept{};
  std::size_t at = index % kBlockEvents * kSlotBytes;
  if (at + kSlotBytes <= block.size()) std::memcpy(&kept, block.data() + at, kSlotBytes);
  return kept;
}

trace::Record record_of(const CallSlot& slot, const Event& event) {
  trace::Record record{};
  record.begin = static_cast<std::uint64_t>(event.begin_ns);
  record.end = event.open ? 0 : static_cast<std::uint64_t>(event.end_ns);
  record.call = slot.call;
  record.thread = slot.thread;
  record.stack = slot.stack;
  std::memcpy(record.payload, slot.payload, sizeof(slot.payload));
  return record;
}

std::uint64_t collective_bytes(const payload::Collective& data, trace::Operation operation) {
  matching::Signature signature;
  signature.operation = operation;
  signature.datatype = data.datatype;
  signature.count = data.count;
  return matching::bytes_of(signature);
}

// What of a record the viewer asks for by itself.
void add_facts(const trace::Record& record, const ProcessTables& tables, Detail& detail) {
  const trace::CallInfo* info = trace::find_call(record.call);
  if (!info) return;
  detail.calls = model::folded_calls(record, *info);
  auto text = [&](std::uint32_t id) { return std::string(tables.string(id)); };
  switch (info->payload) {
    case PayloadKind::kCollective:
      detail.bytes = collective_bytes(trace::payload_of<payload::Collective>(record), info->operation);
      break;
    case PayloadKind::kCopy:
      detail.bytes = trace::payload_of<payload::Copy>(record).bytes;
      break;
    case PayloadKind::kAllocation:
      detail.bytes = trace::payload_of<payload::Allocation>(record).bytes;
      break;
    case PayloadKind::kStreamIo:
      detail.bytes = trace::payload_of<payload::StreamIo>(record).bytes;
      break;
    case PayloadKind::kFileOpen:
      detail.file = text(trace::payload_of<payload::FileOpen>(record).path);
      break;
    case PayloadKind::kFileName:
      detail.file = text(trace::payload_of<payload::FileName>(record).path);
      break;
    case PayloadKind::kFileLock:
      detail.file = tables.path_of(trace::payload_of<payload::FileLock>(record).file);
      break;
    case PayloadKind::kFileIo: {
      auto data = trace::payload_of<payload::FileIo>(record);
      detail.file = tables.path_of(data.file);
      detail.bytes = data.bytes;
      break;
    }
    case PayloadKind::kFileTransfer: {
      auto data = trace::payload_of<payload::FileTransfer>(record);
      detail.file = tables.path_of(data.source ? data.source : data.target);
      detail.bytes = data.bytes;
      break;
    }
    case PayloadKind::kCopyDigest: {
      auto data = trace::payload_of<payload::CopyDigest>(record);
      detail.bytes = data.bytes;
      detail.digest = data.hash;
      break;
    }
    default:
      break;
  }
}

void add(const CollectiveRef& found, std::vector<CollectiveRef>& all) {
  if (found.communicator != kNone) all.push_back(found);
}

std::uint64_t index_of_begin(const Reader& reader, std::uint32_t track, std::int64_t t_ns) {
  std::uint64_t events = reader.tracks()[track].events;
  for (std::uint64_t index = reader.first_ending_after(track, t_ns - 1); index < events; ++index) {
    std::int64_t begin_ns = reader.event({track, index}).begin_ns;
    if (begin_ns == t_ns) return index;
    if (begin_ns > t_ns) break;
  }
  return events;
}

// The call of that thread that begins then: in the row of the work or, where a process holds several ranks
// and its thread enqueued for all of them, in another one.
EventPlace find_call_at(const Reader& reader, const Track& of, std::uint16_t thread, std::int64_t t_ns) {
  auto find = [&](std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t track = first; track < end; ++track) {
      const Track& each = reader.tracks()[track];
      bool calls = each.kind == TrackKind::kHost || each.kind == TrackKind::kWorker;
      if (!calls || each.process != of.process || each.lane != thread) continue;
      std::uint64_t index = index_of_begin(reader, track, t_ns);
      if (index < each.events) return EventPlace{track, index};
    }
    return kNoEvent;
  };
  const RankRow& row = reader.ranks()[of.rank_row];
  EventPlace own = find(row.first_track, row.first_track + row.tracks);
  return own == kNoEvent ? find(0, static_cast<std::uint32_t>(reader.tracks().size())) : own;
}

void fill_call(const Reader& reader, Reader::State& state, const ProcessDetails& process,
               const CallSlot& slot, EventPlace place, Detail& detail) {
  trace::Record record = record_of(slot, detail.event);
  detail.call = process.printer->call(record);
  detail.fields = process.printer->fields(record);
  detail.stack = process.tables->stack(record.stack);
  detail.thread = record.thread;
  add_facts(record, *process.tables, detail);
  const trace::CallInfo* info = trace::find_call(record.call);
  if (info && info->operation == trace::Operation::kGraphLaunch)
    detail.collectives =
        find_launched(state, state.tracks[place.track].rank_row, detail.event.begin_ns, place);
  if (info && info->operation == trace::Operation::kGroupEnd)
    detail.collectives = find_grouped(reader, place);
  if (!info || info->payload != PayloadKind::kCollective) return;
  std::uint32_t number = trace::payload_of<payload::Collective>(record).communicator;
  bool to_one = info->operation == trace::Operation::kSend || info->operation == trace::Operation::kReceive;
  add(to_one ? find_communicator(state, *process.tables, number)
             : find_collective(state, *process.tables, number, detail.event.begin_ns,
                               [&](const Arrival& arrival) { return arrival.event == place; }),
      detail.collectives);
}

void fill_device(const Reader& reader, Reader::State& state, const ProcessDetails& process,
                 const DeviceSlot& slot, const Track& track, Detail& detail) {
  trace::DeviceWork work{};
  work.subject = slot.subject;
  work.stream = slot.stream;
  work.thread = slot.thread;
  work.kind = static_cast<trace::DeviceWorkKind>(slot.kind);
  work.device = slot.device;
  detail.call = process.printer->device_call(work);
  detail.fields = process.printer->device_fields(work);
  detail.thread = slot.thread;
  bool collective = work.kind == trace::DeviceWorkKind::kCollective;
  if (!collective && work.kind != trace::DeviceWorkKind::kKernel) detail.bytes = work.subject;
  if (slot.called_ns == model::kTimeLimit) return;
  detail.enqueued_by = find_call_at(reader, track, slot.thread, slot.called_ns);
  if (!collective) return;
  // Its call may stand in a group whose end enqueued it: the index knows when the device began.
  add(find_collective(state, *process.tables, static_cast<std::uint32_t>(work.subject), slot.called_ns,
                      [&](const Arrival& arrival) { return arrival.begin_ns == detail.event.begin_ns; }),
      detail.collectives);
}

}  // namespace

std::shared_ptr<const std::vector<unsigned char>> Reader::State::slot_block(std::uint32_t track,
                                                                            std::uint64_t index) {
  std::uint64_t number = extents[track].first_block + index / kBlockEvents;
  if (auto known = slots.find(number)) return known;
  const BlockEntry& entry = blocks[number];
  std::uint64_t left = tracks[track].events - index / kBlockEvents * kBlockEvents;
  if (entry.bytes != std::min<std::uint64_t>(left, kBlockEvents) * kSlotBytes) return nullptr;
  auto bytes = unpack_slots(sections->data(entry.offset, entry.packed_bytes), entry.bytes);
  return bytes ? slots.keep(number, std::move(*bytes)) : nullptr;
}

std::optional<std::vector<unsigned char>> Reader::State::unpacked(const BlockEntry& block) const {
  std::span<const unsigned char> packed = sections->data(block.offset, block.packed_bytes);
  return packed.empty() ? std::nullopt : unpack(packed, block.bytes);
}

const ProcessDetails* Reader::State::details_of(std::uint32_t process) {
  std::lock_guard lock(details_mutex);
  auto [known, fresh] = details.try_emplace(process);
  if (fresh) {
    auto bytes = process < process_blocks.size() ? unpacked(process_blocks[process]) : std::nullopt;
    if (bytes) known->second.tables = ProcessTables::get(*bytes);
    if (known->second.tables)
      known->second.printer = std::make_unique<reports::RecordPrinter>(
          *known->second.tables, [](std::uint64_t ns) { return static_cast<std::int64_t>(ns); });
  }
  return known->second.printer ? &known->second : nullptr;
}

Result<std::string> Reader::State::text_in(const BlockEntry& block, const char* what) const {
  auto bytes = unpacked(block);
  if (!bytes) return damaged(what);
  return std::string(bytes->begin(), bytes->end());
}

Result<std::string> Reader::info() const {
  if (state_->info_block.empty()) return std::string();
  return state_->text_in(state_->info_block[0], "what `info` says");
}

Result<std::string> Reader::summary() const {
  if (!state_->summary_block.empty())
    return state_->text_in(state_->summary_block[0], "what `diff` compares");
  if (!problems().empty()) return problems().front();
  return Error{"the merged file has no summary: it was made by an earlier version", path().string(),
               "export the trace again, or name its folder"};
}

Result<Detail> Reader::detail(EventPlace place) const {
  State& state = *state_;
  if (!state.is_event(place)) return Error{"there is no such event", state.path.string(), ""};
  const Track& track = state.tracks[place.track];
  const ProcessDetails* process = state.details_of(track.process);
  auto block = state.slot_block(place.track, place.index);
  if (!block || !process) return state.damaged("details of events");
  Detail detail;
  detail.event = event(place);
  detail.track = place.track;
  detail.process = state.facts.processes[track.process].name;
  if (track.kind == TrackKind::kStream) {
    fill_device(*this, state, *process, slot_at<DeviceSlot>(*block, place.index), track, detail);
  } else if (track.kind == TrackKind::kSteps || track.kind == TrackKind::kSightings) {
    detail.call = reports::escape(state.names[detail.event.name].text);
    if (track.kind == TrackKind::kSteps)
      detail.fields.emplace_back("number", fmt::format("{}", slot_at<StepSlot>(*block, place.index).number));
  } else {
    fill_call(*this, state, *process, slot_at<CallSlot>(*block, place.index), place, detail);
  }
  return detail;
}

Result<std::vector<std::uint64_t>> Reader::digests(std::uint32_t track, std::uint64_t first,
                                                   std::uint64_t count) const {
  State& state = *state_;
  std::vector<std::uint64_t> digests;
  if (track >= state.tracks.size() || state.tracks[track].kind != TrackKind::kInput) return digests;
  std::uint64_t events = state.tracks[track].events;
  for (std::uint64_t index = first; index < events && index - first < count; ++index) {
    auto block = state.slot_block(track, index);
    if (!block) return state.damaged("details of events");
    payload::CopyDigest data;
    std::memcpy(&data, slot_at<CallSlot>(*block, index).payload, sizeof(data));
    digests.push_back(data.hash);
  }
  return digests;
}

std::string to_text(const Reader& file, const Detail& detail) {
  const Track& track = file.tracks()[detail.track];
  std::string text = fmt::format(
      "{:.9f} {} {}", reports::seconds(detail.event.begin_ns),
      detail.event.open ? "(inside)" : fmt::format("+{}ns", detail.event.end_ns - detail.event.begin_ns),
      reports::escape(detail.process));
  if (std::int32_t rank = file.processes()[track.process].rank; rank >= 0)
    text += fmt::format(" rank {}", rank);
  if (track.kind == TrackKind::kStream)
    text += " gpu";
  else if (track.kind == TrackKind::kSightings)
    text += " seen";
  else if (track.kind != TrackKind::kSteps)
    text += fmt::format(" thread {}", detail.thread);
  text += fmt::format(" {} {}", detail.call, reports::to_text(detail.fields));
  if (detail.enqueued_by != kNoEvent) {
    Event call = file.event(detail.enqueued_by);
    text += fmt::format(" call={} thread={} at={:.9f}", reports::escape(file.names()[call.name].text),
                        detail.thread, reports::seconds(call.begin_ns));
  }
  for (std::size_t i = 0; i < detail.stack.size(); ++i)
    text += fmt::format("{}{}", i ? " < " : " @ ", reports::escape(detail.stack[i]));
  return text;
}

}  // namespace ddpscope::merged
