// A range of an operation is its record, from its push to its pop.
#include "injector/nvtx/nccl_ranges.h"

#include <string.h>

#include "injector/cuda/device.h"
#include "injector/nccl/unhooked.h"
#include "injector/nccl_profiler/operations.h"
#include "injector/nccl_profiler/sessions.h"
#include "injector/nvtx/names.h"

namespace ddpscope::injector {
namespace {

enum Member { kCommunicator, kBytes, kPeer, kReduction, kSize, kRank, kMembers };

struct NamedMember {
  const char* name;
  Member member;
};
constexpr NamedMember kNames[] = {{"NCCL communicator ID", kCommunicator},
                                  {"Message size [bytes]", kBytes},
                                  {"Root", kPeer},
                                  {"Peer rank", kPeer},
                                  {"Reduction operation", kReduction},
                                  {"No. of ranks", kSize},
                                  {"Rank", kRank}};

struct Schema {
  std::uint64_t id;                // __atomic, 0: the place is free
  std::uint16_t places[kMembers];  // in the payload, from 1; 0: it has none
};
constexpr std::uint64_t kTaken = ~0ull;  // somebody fills the place in
constexpr std::uint32_t kSchemas = 64;
Schema schemas[kSchemas];

struct Payload {
  std::uint64_t communicator = 0, bytes = 0;
  std::int32_t peer = -1, size = 0, rank = -1;
  std::uint32_t reduction = 0xFF;
};

const Schema* find_schema(std::uint64_t id) {
  for (const Schema& schema : schemas)
    if (std::uint64_t known = __atomic_load_n(&schema.id, __ATOMIC_ACQUIRE); known == id || !known)
      return known ? &schema : nullptr;
  return nullptr;
}

template <class Value>
void take(const Schema& schema, const nvtxPayloadData_t& data, Member member, Value& value) {
  std::size_t place = schema.places[member];
  if (!place || place - 1 + sizeof(Value) > data.size) return;
  memcpy(&value, static_cast<const char*>(data.payload) + place - 1, sizeof(Value));
}

Payload read_payload(const nvtxPayloadData_t* payloads, std::size_t count) {
  Payload payload;
  for (std::size_t i = 0; payloads && i < count; ++i) {
    const Schema* schema = find_schema(payloads[i].schemaId);
    if (!schema || !payloads[i].payload) continue;
    take(*schema, payloads[i], kCommunicator, payload.communicator);
    take(*schema, payloads[i], kBytes, payload.bytes);
    take(*schema, payloads[i], kPeer, payload.peer);
    take(*schema, payloads[i], kReduction, payload.reduction);
    take(*schema, payloads[i], kSize, payload.size);
    take(*schema, payloads[i], kRank, payload.rank);
  }
  return payload;
}

Payload payload_of(const nvtxEventAttributes_t& event) {
  if (event.payloadType != NVTX_PAYLOAD_TYPE_EXT) return {};
  constexpr std::int32_t kMost = 16;
  bool sane = event.reserved0 > 0 && event.reserved0 <= kMost;
  return read_payload(reinterpret_cast<const nvtxPayloadData_t*>(event.payload.ullValue),
                      sane ? static_cast<std::size_t>(event.reserved0) : 0);
}

const char* name_of(const nvtxEventAttributes_t& event) {
  if (event.messageType == NVTX_MESSAGE_TYPE_ASCII) return event.message.ascii;
  if (event.messageType != NVTX_MESSAGE_TYPE_REGISTERED) return nullptr;
  const KeptName* name = kept_name(event.message.registered);
  return name ? name->text : nullptr;
}

UnhookedCommunicator* meet(trace::FileWriter& file, const Payload& payload) {
  UnhookedIntroduction introduction{payload.communicator};
  if (payload.size > 0 && payload.rank >= 0) {
    introduction.rank = payload.rank;
    introduction.size = payload.size;
  }
  return meet_unhooked(file, introduction);
}

void begin_operation(std::uint8_t function, const Payload& payload) {
  trace::FileWriter* file = recorder(Weight::kOpens);
  OwnWork work(file);
  UnhookedCommunicator* communicator = work ? meet(*file, payload) : nullptr;
  if (!communicator) return;
  std::uint8_t reduction = payload.reduction < 0xFE ? static_cast<std::uint8_t>(payload.reduction) : 0xFF;
  trace::payload::UnhookedCollective fields{
      0, 0, payload.bytes, 0, 0, payload.peer, function, kUnknownType, reduction, kToldByNvtx};
  OpenRecord open = begin_unhooked(*file, *communicator, fields);
  this_thread.unhooked.open = open;
  if (open && __atomic_load_n(&profiler::any_session, __ATOMIC_RELAXED))
    profiler::ask_operation(*file, {open.record->begin, 0, fields.communicator, fields.sequence,
                                    this_thread.writer.known_number(), current_device(), function});
}

}  // namespace

void learn_nccl_schema(const nvtxPayloadSchemaAttr_t& schema) {
  if (!(schema.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) || !schema.schemaId ||
      find_schema(schema.schemaId))
    return;
  for (Schema& place : schemas) {
    std::uint64_t free = 0;
    if (!__atomic_compare_exchange_n(&place.id, &free, kTaken, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    for (std::size_t i = 0; i < schema.numEntries; ++i)
      for (const NamedMember& known : kNames)
        if (schema.entries[i].name && strcmp(schema.entries[i].name, known.name) == 0)
          place.places[known.member] = static_cast<std::uint16_t>(schema.entries[i].offset + 1);
    __atomic_store_n(&place.id, schema.schemaId, __ATOMIC_RELEASE);
    return;
  }
}

void push_nccl_range(const nvtxEventAttributes_t* event) {
  if (!event || inside_vendor_call()) return;
  UnhookedCalls& calls = this_thread.unhooked;
  const char* name = name_of(*event);
  if (name && strcmp(name, "ncclGroupStart") == 0) ++calls.group_depth;
  if (name && strcmp(name, "ncclGroupEnd") == 0 && calls.group_depth) --calls.group_depth;
  if (calls.ranges++) return;
  if (std::uint8_t function = function_code(name)) begin_operation(function, payload_of(*event));
}

void pop_nccl_range(const nvtxPayloadData_t* payloads, std::size_t count) {
  UnhookedCalls& calls = this_thread.unhooked;
  if (!calls.ranges || inside_vendor_call()) return;
  if (count) {
    trace::FileWriter* file = recorder(Weight::kOpens);
    OwnWork work(file);
    Payload payload = read_payload(payloads, count);
    if (work && payload.communicator) meet(*file, payload);
  }
  if (--calls.ranges) return;
  end(calls.open);
  calls.open = {};
  profiler::end_asking(calls.group_depth != 0);
}

}  // namespace ddpscope::injector
