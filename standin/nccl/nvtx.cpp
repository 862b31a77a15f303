// The one translation unit that knows NVTX's headers: they load the tool at the first call.
#include "standin/nccl/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstdlib>
#include <vector>

namespace ddpscope::standin::nccl::nvtx {
namespace {

constexpr std::uint64_t kReductionSchema = 20;

bool disabled() {
  const char* const variable = std::getenv("NCCL_NVTX_DISABLE");
  return variable && std::strtoll(variable, nullptr, 0) != 0;
}

/// Null without a tool.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t created = disabled() ? nullptr : nvtxDomainCreateA("NCCL");
  return created;
}

constexpr std::uint64_t id_of(std::uint64_t schema) { return NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + schema; }

std::uint64_t entry_type(Type type) {
  switch (type) {
    case Type::kCommunicator:
      return NVTX_PAYLOAD_ENTRY_TYPE_UINT64;
    case Type::kInt:
      return NVTX_PAYLOAD_ENTRY_TYPE_INT;
    case Type::kSize:
      return NVTX_PAYLOAD_ENTRY_TYPE_SIZE;
    case Type::kReduction:
      return id_of(kReductionSchema);
  }
  return NVTX_PAYLOAD_ENTRY_TYPE_INVALID;
}

}  // namespace

bool enabled() { return domain() != nullptr; }

void register_reductions() {
  if (!enabled()) return;
  static constexpr nvtxPayloadEnum_t kReductions[] = {{"Sum", ncclSum, 0},
                                                      {"Product", ncclProd, 0},
                                                      {"Max", ncclMax, 0},
                                                      {"Min", ncclMin, 0},
                                                      {"Avg", ncclAvg, 0}};
  nvtxPayloadEnumAttr_t attributes{};
  attributes.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
  attributes.entries = kReductions;
  attributes.numEntries = std::size(kReductions);
  attributes.sizeOfEnum = sizeof(ncclRedOp_t);
  attributes.schemaId = id_of(kReductionSchema);
  static const std::uint64_t registered = nvtxPayloadEnumRegister(domain(), &attributes);
  (void)registered;
}

void* register_name(const char* name) { return nvtxDomainRegisterStringA(domain(), name); }

void register_schema(std::uint64_t schema, const Member* members, std::size_t count, std::size_t bytes) {
  // Never freed: a tool may keep what it is given.
  auto* const entries = new std::vector<nvtxPayloadSchemaEntry_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    nvtxPayloadSchemaEntry_t& entry = (*entries)[i];
    entry.type = entry_type(members[i].type);
    entry.name = members[i].name;
    entry.offset = members[i].offset;
  }
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = entries->data();
  attributes.numEntries = count;
  attributes.payloadStaticSize = bytes;
  attributes.schemaId = id_of(schema);
  nvtxPayloadSchemaRegister(domain(), &attributes);
}

void push(void* name, std::uint64_t schema, const void* payload, std::size_t bytes) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = static_cast<nvtxStringHandle_t>(name);
  const nvtxPayloadData_t data{id_of(schema), bytes, payload};
  if (payload) {
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;  // payloads
    event.payload.ullValue = reinterpret_cast<std::uint64_t>(&data);
  }
  nvtxDomainRangePushEx(domain(), &event);
}

void pop(std::uint64_t schema, const void* payload, std::size_t bytes) {
  const nvtxPayloadData_t data{id_of(schema), bytes, payload};
  if (payload) {
    nvtxRangePopPayload(domain(), &data, 1);
  } else {
    nvtxDomainRangePop(domain());
  }
}

}  // namespace ddpscope::standin::nccl::nvtx
