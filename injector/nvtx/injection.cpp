// NVTX: ranges and marks that the program itself puts on its time line. Its headers load the library that
// NVTX_INJECTION64_PATH names and let it fill in their functions, once for each library that uses them.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <string.h>

#include "injector/core/hook.h"
#include "injector/nvtx/names.h"
#include "injector/nvtx/nccl_ranges.h"

namespace ddpscope::injector {
namespace {

// NCCL wraps each of its calls in a range (nccl_ranges.h).
constexpr const char* kNcclDomain = "NCCL";

// Handles of domains and registered strings.
template <class Handle>
Handle handle_of(const KeptName* name) {
  return reinterpret_cast<Handle>(const_cast<KeptName*>(name));
}

bool is_nccl(nvtxDomainHandle_t domain) {
  const KeptName* name = kept_name(domain);
  return name && name->is_nccl;
}

std::uint32_t id_of(trace::FileWriter& file, const KeptName* name) {
  return name ? range_name_id(file, name->text, name->bytes) : 0;
}
std::uint32_t id_of(trace::FileWriter& file, const RangeName& name) {
  return range_name_id(file, name.text(), name.bytes());
}

struct Told {
  nvtxDomainHandle_t domain = nullptr;
  std::uint64_t id = 0;
};

// `name` is asked for the name's id in the trace, once it is known that there is one.
template <Call call, class Name>
void record(const Told& told, std::uint32_t category, std::uint32_t color, const Name& name) {
  if (is_nccl(told.domain)) return;
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work) return;
  std::uint32_t domain = id_of(*file, kept_name(told.domain));
  record_moment<call>(*file, {told.id, name(*file), domain, category, color});
}

template <Call call, class Text>
void record_text(const Told& told, const Text* text) {
  record<call>(told, 0, 0, [&](trace::FileWriter& file) { return id_of(file, RangeName(text)); });
}

std::uint32_t name_of(trace::FileWriter& file, const nvtxEventAttributes_t& event) {
  switch (event.messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return id_of(file, RangeName(event.message.ascii));
    case NVTX_MESSAGE_TYPE_UNICODE:
      return id_of(file, RangeName(event.message.unicode));
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return id_of(file, kept_name(event.message.registered));
    default:
      return 0;
  }
}

// Older headers have shorter attributes: none that lacks a message.
template <Call call>
void record_event(const Told& told, const nvtxEventAttributes_t* event) {
  if (!event || event->size < sizeof(nvtxEventAttributes_t)) return;
  std::uint32_t color = event->colorType == NVTX_COLOR_ARGB ? event->color : 0;
  record<call>(told, event->category, color, [&](trace::FileWriter& file) { return name_of(file, *event); });
}

template <Call call>
void record_end(const Told& told) {
  record<call>(told, 0, 0, [](trace::FileWriter&) { return 0u; });
}

std::uint64_t next_range() {
  static std::uint64_t last = 0;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

void mark_event(const nvtxEventAttributes_t* event) { record_event<Call::nvtxMark>({}, event); }
void domain_mark_event(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  record_event<Call::nvtxMark>({domain}, event);
}
template <class Text>
void mark(const Text* text) {
  record_text<Call::nvtxMark>({}, text);
}

// A push answers how deep the range is nested, or that nobody counts.
int domain_push_event(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if (is_nccl(domain)) {
    push_nccl_range(event);
    return NVTX_NO_PUSH_POP_TRACKING;
  }
  record_event<Call::nvtxRangePush>({domain}, event);
  return NVTX_NO_PUSH_POP_TRACKING;
}
int push_event(const nvtxEventAttributes_t* event) { return domain_push_event(nullptr, event); }
template <class Text>
int push(const Text* text) {
  record_text<Call::nvtxRangePush>({}, text);
  return NVTX_NO_PUSH_POP_TRACKING;
}
int pop_with_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) {
  if (is_nccl(domain))
    pop_nccl_range(payloads, count);
  else
    record_end<Call::nvtxRangePop>({domain});
  return NVTX_NO_PUSH_POP_TRACKING;
}
int domain_pop(nvtxDomainHandle_t domain) { return pop_with_payload(domain, nullptr, 0); }
int pop() { return domain_pop(nullptr); }

// Ids of a tool's own begin where those that programs choose end.
std::uint64_t next_schema() {
  static std::uint64_t last = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START;
  return __atomic_fetch_add(&last, 1, __ATOMIC_RELAXED);
}
std::uint64_t register_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* schema) {
  if (!schema) return 0;
  if (is_nccl(domain)) learn_nccl_schema(*schema);
  bool chosen = schema->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  return chosen ? schema->schemaId : next_schema();
}
std::uint64_t register_enum(nvtxDomainHandle_t, const nvtxPayloadEnumAttr_t* values) {
  if (!values) return 0;
  bool chosen = values->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
  return chosen ? values->schemaId : next_schema();
}

nvtxRangeId_t domain_start_event(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  std::uint64_t id = next_range();
  record_event<Call::nvtxRangeStart>({domain, id}, event);
  return id;
}
nvtxRangeId_t start_event(const nvtxEventAttributes_t* event) { return domain_start_event(nullptr, event); }
template <class Text>
nvtxRangeId_t start(const Text* text) {
  std::uint64_t id = next_range();
  record_text<Call::nvtxRangeStart>({nullptr, id}, text);
  return id;
}
void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) { record_end<Call::nvtxRangeEnd>({domain, id}); }
void end_range(nvtxRangeId_t id) { domain_end(nullptr, id); }

template <class Text>
nvtxDomainHandle_t create_domain(const Text* text) {
  RangeName name(text);
  return handle_of<nvtxDomainHandle_t>(keep_name(name, strcmp(name.text(), kNcclDomain) == 0));
}
template <class Text>
nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const Text* text) {
  return handle_of<nvtxStringHandle_t>(keep_name(RangeName(text), is_nccl(domain)));
}

template <class Function>
void fill_in(NvtxFunctionTable table, unsigned size, unsigned place, Function* function) {
  if (place < size && table[place]) *table[place] = reinterpret_cast<NvtxFunctionPointer>(function);
}

void fill_in_core(NvtxFunctionTable table, unsigned size) {
  fill_in(table, size, NVTX_CBID_CORE_MarkEx, mark_event);
  fill_in(table, size, NVTX_CBID_CORE_MarkA, mark<char>);
  fill_in(table, size, NVTX_CBID_CORE_MarkW, mark<wchar_t>);
  fill_in(table, size, NVTX_CBID_CORE_RangeStartEx, start_event);
  fill_in(table, size, NVTX_CBID_CORE_RangeStartA, start<char>);
  fill_in(table, size, NVTX_CBID_CORE_RangeStartW, start<wchar_t>);
  fill_in(table, size, NVTX_CBID_CORE_RangeEnd, end_range);
  fill_in(table, size, NVTX_CBID_CORE_RangePushEx, push_event);
  fill_in(table, size, NVTX_CBID_CORE_RangePushA, push<char>);
  fill_in(table, size, NVTX_CBID_CORE_RangePushW, push<wchar_t>);
  fill_in(table, size, NVTX_CBID_CORE_RangePop, pop);
}

void fill_in_domains(NvtxFunctionTable table, unsigned size) {
  fill_in(table, size, NVTX_CBID_CORE2_DomainMarkEx, domain_mark_event);
  fill_in(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, domain_start_event);
  fill_in(table, size, NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
  fill_in(table, size, NVTX_CBID_CORE2_DomainRangePushEx, domain_push_event);
  fill_in(table, size, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  fill_in(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_string<char>);
  fill_in(table, size, NVTX_CBID_CORE2_DomainRegisterStringW, register_string<wchar_t>);
  fill_in(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain<char>);
  fill_in(table, size, NVTX_CBID_CORE2_DomainCreateW, create_domain<wchar_t>);
}

}  // namespace
}  // namespace ddpscope::injector

// 0: no tool; all functions do nothing from then on.
DDPSCOPE_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  using namespace ddpscope::injector;
  if (!may_record()) return 0;
  auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (!callbacks || !callbacks->GetModuleFunctionTable) return 0;
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
  fill_in_core(table, size);
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) fill_in_domains(table, size);
  return 1;
}

// NVTX's payloads come as an extension: 0 for all others.
DDPSCOPE_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  using namespace ddpscope::injector;
  if (!may_record() || !module || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || !module->segmentsCount)
    return 0;
  const nvtxExtModuleSegment_t& segment = module->segments[0];
  auto fill_in_slot = [&](std::size_t slot, auto* function) {
    if (slot < segment.slotCount) segment.functionSlots[slot] = reinterpret_cast<std::intptr_t>(function);
  };
  fill_in_slot(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, register_schema);
  fill_in_slot(NVTX3EXT_CBID_nvtxPayloadEnumRegister, register_enum);
  fill_in_slot(NVTX3EXT_CBID_nvtxRangePopPayload, pop_with_payload);
  return 1;
}
