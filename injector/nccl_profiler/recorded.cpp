// Calls that the hooks saw are known by the thread that is inside of them; all others are recorded here.
#include "injector/nccl_profiler/recorded.h"

#include "injector/cuda/device.h"
#include "injector/nccl_profiler/device_timer.h"

namespace ddpscope::injector::profiler {
namespace {

using trace::payload::UnhookedCollective;

constexpr int kHasCalls = 5, kHasTimer = 4;  // versions
constexpr std::uint8_t kAllGather = row_of(Call::ncclAllGather), kBroadcast = row_of(Call::ncclBroadcast),
                       kSend = row_of(Call::ncclSend);

UnhookedCommunicator* communicator_of(trace::FileWriter& file, const Session& session, const Told& told) {
  UnhookedIntroduction introduction{session.communicator, session.name, session.rank, session.size,
                                    kToldByProfiler};
  if (!introduction.id) introduction.id = told.communicator;
  if (told.name && !*session.name) introduction.name = told.name;
  return meet_unhooked(file, introduction);
}

UnhookedCollective describe(const Told& told) {
  // When they are enqueued, NCCL counts these in bytes.
  bool bytes = told.type == kCollective && told.datatype == ncclInt8 &&
               (told.function == kAllGather || told.function == kBroadcast);
  return {0,
          0,
          told.count,
          as_number(told.stream),
          as_number(told.receive),
          told.peer,
          told.function,
          bytes ? kUnknownType : told.datatype,
          0xFF,
          kToldByProfiler};
}

// Nobody told of it so far. Its record stays open.
OperationRef record_unhooked(const Session& session, const Told& told, OpenRecord& open) {
  trace::FileWriter* file = recorder(Weight::kOpens);
  OwnWork work(file);
  UnhookedCommunicator* communicator = work ? communicator_of(*file, session, told) : nullptr;
  if (!communicator) return 0;
  UnhookedCollective fields = describe(told);
  open = begin_unhooked(*file, *communicator, fields);
  if (!open) return 0;
  return ask_operation(*file, {open.record->begin, fields.buffer, fields.communicator, fields.sequence,
                               this_thread.writer.known_number(), current_device(), fields.function});
}

// What NVTX has opened a record for; its own count is in bytes.
void complete(const Told& told) {
  if (!file_of(this_thread.unhooked.open)) return;
  auto& fields = this_thread.unhooked.open.payload<UnhookedCollective>();
  UnhookedCollective more = describe(told);
  if (more.datatype != kUnknownType) {
    fields.count = more.count;
    fields.datatype = more.datatype;
  }
  if (more.stream) fields.stream = more.stream;
  if (more.buffer) fields.buffer = more.buffer;
  if (told.peer >= 0 && fields.function == told.function) fields.peer = told.peer;
  fields.told_by |= kToldByProfiler;
}

// A call of the program, from version 5 on. Its record lasts as long as the event.
OperationRef begin_call(const Session& session, const Told& told) {
  if (inside_vendor_call()) return this_thread.asking;
  if (this_thread.unhooked.ranges) {
    complete(told);
    return this_thread.asking;
  }
  if (told.function >= kSend) return 0;  // its peer is told when it is enqueued
  return record_unhooked(session, told, this_thread.unhooked.open);
}

OperationRef record_enqueued(const Session& session, const Told& told) {
  OpenRecord open{};
  OperationRef operation = record_unhooked(session, told, open);
  if (!operation) return 0;
  end_asking(false);
  end(open);
  return operation;
}

void record_choice(Session& session, const Told& told, const AskedOperation& asked) {
  std::uint64_t kind = fold_key({told.function, told.count, told.datatype});
  std::uint64_t choice = fold_key({kind, as_number(told.algorithm), as_number(told.protocol), told.channels,
                                   told.warps, asked.communicator}) |
                         1;
  std::uint64_t& known = session.choices[(kind >> 32) % kChoices];
  if (known == choice) return;
  known = choice;
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return;
  auto text = [&](const char* name) { return name ? this_thread.writer.intern(*file, name) : 0; };
  std::uint32_t algorithm = text(told.algorithm), protocol = text(told.protocol);
  record_moment<Call::collective_choice>(
      *file, {told.count, asked.communicator, asked.sequence, algorithm, protocol, told.function,
              told.datatype, told.channels, told.warps});
}

OperationRef begin_enqueued(Session& session, const Told& told, OperationRef parents) {
  OperationRef operation = parents;
  bool inside = inside_vendor_call();
  if (!operation && session.version < kHasCalls)
    operation = find_asked(told.function, told.send, told.receive);
  // With NVTX the call has its record, if it is not in a graph that runs now.
  bool ranges = this_thread.unhooked.ranges != 0;
  if (!operation && !inside && !session.hooked && !ranges) operation = record_enqueued(session, told);
  const AskedOperation* asked = asked_operation(operation);
  if (!asked) return 0;
  if (ranges && operation == this_thread.asking) complete(told);
  bool counts_parts = session.version >= kHasTimer || told.type == kCollective;
  expect_parts(operation, counts_parts ? told.channels : 0);
  if (told.type == kCollective) record_choice(session, told, *asked);
  return operation;
}

PartTime host_time() {
  trace::FileWriter* file = open_recorder();
  return {file ? trace::read_ticks(file->clock().kind) : 0, false};
}

}  // namespace

OperationRef begin_recorded(Session& session, const Told& told, OperationRef parents) {
  OperationRef operation = 0;
  switch (told.type) {
    case kCollectiveApi:
    case kMessageApi:
      operation = begin_call(session, told);
      if (told.captured) mark_captured(operation);
      return operation;
    case kCollective:
    case kMessage:
      return begin_enqueued(session, told, parents);
    case kKernelChannel:
      if (parents)
        begin_part(parents, session.version >= kHasTimer ? PartTime{told.timer, true} : host_time());
      return parents;
    default:
      return 0;
  }
}

void end_recorded(const Session& session, std::uint32_t type, OperationRef operation) {
  if (type == kKernelChannel) {
    if (session.version < kHasTimer) note_end(operation, host_time());
    return end_part(operation);
  }
  bool call = type == kCollectiveApi || type == kMessageApi;
  if (!call || this_thread.unhooked.ranges || inside_vendor_call()) return;
  end(this_thread.unhooked.open);
  this_thread.unhooked.open = {};
  end_asking(false);
}

}  // namespace ddpscope::injector::profiler
