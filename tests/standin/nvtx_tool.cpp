// A tool that NVTX's headers load: writes a line for each thing it is told to $NVTX_LOG.PID.
//   domain NAME | string TEXT | enum ID BYTES NAME=VALUE... | schema ID TYPE BYTES NAME:TYPE:OFFSET;...
//   push TEXT PAYLOAD... | pop PAYLOAD...         PAYLOAD: ID and the bytes of its
//   members, in hexadecimal; what lies between them is nobody's
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

void write_line(const std::string& line) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  static FILE* const file = [] {
    const std::string path = std::string(std::getenv("NVTX_LOG")) + "." + std::to_string(getpid());
    return std::fopen(path.c_str(), "a");
  }();
  std::fprintf(file, "%s\n", line.c_str());
  std::fflush(file);
}

template <class Handle>
Handle kept(const char* text) {
  return reinterpret_cast<Handle>(new std::string(text));
}

std::string text_of(nvtxStringHandle_t handle) { return *reinterpret_cast<const std::string*>(handle); }

std::string number(std::uint64_t value) { return std::to_string(value); }

// Offset and size of each, by schema.
std::map<std::uint64_t, std::vector<std::pair<std::size_t, std::size_t>>> members;

std::size_t size_of(std::uint64_t type) {
  const bool wide = type == NVTX_PAYLOAD_ENTRY_TYPE_UINT64 || type == NVTX_PAYLOAD_ENTRY_TYPE_SIZE;
  return wide ? 8 : 4;
}

std::string payload_text(const nvtxPayloadData_t* payloads, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += " " + number(payloads[i].schemaId) + " ";
    const auto* const bytes = static_cast<const unsigned char*>(payloads[i].payload);
    for (const auto& [offset, size] : members[payloads[i].schemaId]) {
      for (std::size_t byte = offset; byte < offset + size; ++byte) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", bytes[byte]);
        text += digits;
      }
    }
  }
  return text;
}

nvtxDomainHandle_t create_domain(const char* name) {
  write_line(std::string("domain ") + name);
  return kept<nvtxDomainHandle_t>(name);
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  write_line(std::string("string ") + text);
  return kept<nvtxStringHandle_t>(text);
}

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) {
  std::string line = "push " + text_of(event->message.registered);
  if (event->payloadType == NVTX_PAYLOAD_TYPE_EXT)
    line +=
        payload_text(reinterpret_cast<const nvtxPayloadData_t*>(event->payload.ullValue), event->reserved0);
  write_line(line);
  return 0;
}

int pop(nvtxDomainHandle_t) {
  write_line("pop");
  return 0;
}

int pop_payload(nvtxDomainHandle_t, const nvtxPayloadData_t* payloads, std::size_t count) {
  write_line("pop" + payload_text(payloads, count));
  return 0;
}

std::uint64_t register_schema(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t* schema) {
  std::string line = "schema " + number(schema->schemaId) + " " + number(schema->type) + " " +
                     number(schema->payloadStaticSize) + " ";
  for (std::size_t i = 0; i < schema->numEntries; ++i) {
    const nvtxPayloadSchemaEntry_t& entry = schema->entries[i];
    members[schema->schemaId].emplace_back(entry.offset, size_of(entry.type));
    line += std::string(entry.name) + ":" + number(entry.type) + ":" + number(entry.offset) + ";";
  }
  write_line(line + " " + number(schema->fieldMask));
  return schema->schemaId;
}

std::uint64_t register_enum(nvtxDomainHandle_t, const nvtxPayloadEnumAttr_t* attributes) {
  std::string line = "enum " + number(attributes->schemaId) + " " + number(attributes->sizeOfEnum);
  for (std::size_t i = 0; i < attributes->numEntries; ++i)
    line += std::string(" ") + attributes->entries[i].name + "=" + number(attributes->entries[i].value);
  write_line(line + " " + number(attributes->fieldMask));
  return attributes->schemaId;
}

template <class Function>
void fill_in(NvtxFunctionTable table, unsigned size, unsigned place, Function* function) {
  if (place < size && table[place]) *table[place] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  fill_in(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  fill_in(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  fill_in(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push);
  fill_in(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID) return 0;
  const nvtxExtModuleSegment_t& segment = module->segments[0];
  const auto fill_slot = [&](std::size_t slot, auto* function) {
    if (slot < segment.slotCount) segment.functionSlots[slot] = reinterpret_cast<std::intptr_t>(function);
  };
  fill_slot(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, register_schema);
  fill_slot(NVTX3EXT_CBID_nvtxPayloadEnumRegister, register_enum);
  fill_slot(NVTX3EXT_CBID_nvtxRangePopPayload, pop_payload);
  return 1;
}
