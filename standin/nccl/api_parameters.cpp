// The API's part on parameters (NCCL 2.30): the environment variables that this library reads, by their
// names.
#include <cstdlib>
#include <cstring>
#include <string>

#include "standin/nccl/boundary.h"
#include "standin/nccl/creation.h"
#include "standin/nccl/log.h"

using namespace ddpscope::standin::nccl;

struct ncclParamHandle {
  const char* key;
  bool is_number;  // of 64 bits with a sign; else a text
};

namespace {

constexpr ncclParamHandle kParameters[] = {
    {"NCCL_DEBUG", false},           {"NCCL_HOSTID", false},
    {"NCCL_NVTX_DISABLE", true},     {"NCCL_MULTI_RANK_GPU_ENABLE", true},
    {"NCCL_PROFILER_PLUGIN", false}, {"NCCL_SOCKET_IFNAME", false},
};

const ncclParamHandle& find(const char* key) {
  required(key, "key");
  for (const ncclParamHandle& parameter : kParameters) {
    if (std::strcmp(parameter.key, key) == 0) return parameter;
  }
  throw Failure(ncclInvalidArgument, std::string("no such parameter: ") + key);
}

std::string value_of(const ncclParamHandle& parameter) {
  const char* const value = std::getenv(parameter.key);
  return value ? value : parameter.is_number ? "0" : "";
}

template <typename T>
ncclResult_t get_number(const char* function, ncclParamHandle_t handle, T* out, bool right_type) {
  return guarded(function, [&] {
    const ncclParamHandle& parameter = required(handle, "handle");
    required(out, "out");
    if (!parameter.is_number || !right_type)
      throw Failure(ncclInvalidArgument, std::string(parameter.key) + " is of another type");
    *out = static_cast<T>(std::atoll(value_of(parameter).c_str()));
  });
}

/// A text that stays until this thread asks by the same function again.
template <typename Function>
const char* kept(Function, std::string text) {
  thread_local std::string last;
  last = std::move(text);
  return last.c_str();
}

}  // namespace

ncclResult_t ncclParamBind(ncclParamHandle_t* out, const char* key) {
  return guarded(__func__, [&] { required(out, "out") = const_cast<ncclParamHandle*>(&find(key)); });
}
STANDIN_PROFILING_TWIN(ncclParamBind);

#define STANDIN_NUMBER(suffix, type)                                         \
  ncclResult_t ncclParamGet##suffix(ncclParamHandle_t h, type* out) {        \
    return get_number(__func__, h, out, std::is_same_v<type, std::int64_t>); \
  }                                                                          \
  STANDIN_PROFILING_TWIN(ncclParamGet##suffix)

STANDIN_NUMBER(I8, std::int8_t);
STANDIN_NUMBER(I16, std::int16_t);
STANDIN_NUMBER(I32, std::int32_t);
STANDIN_NUMBER(I64, std::int64_t);
STANDIN_NUMBER(U8, std::uint8_t);
STANDIN_NUMBER(U16, std::uint16_t);
STANDIN_NUMBER(U32, std::uint32_t);
STANDIN_NUMBER(U64, std::uint64_t);

ncclResult_t ncclParamGetStr(ncclParamHandle_t h, const char** out) {
  return guarded(__func__, [&] {
    const std::string value = value_of(required(h, "handle"));
    required(out, "out") = kept([] {}, value);
  });
}
STANDIN_PROFILING_TWIN(ncclParamGetStr);

ncclResult_t ncclParamGet(ncclParamHandle_t h, void* out, int maxLen, int* len) {
  return guarded(__func__, [&] {
    const ncclParamHandle& parameter = required(h, "handle");
    required(static_cast<std::byte*>(out), "out");
    const std::string text = value_of(parameter);
    const std::int64_t number = std::atoll(text.c_str());
    const void* const bytes = parameter.is_number ? static_cast<const void*>(&number) : text.c_str();
    const auto size = static_cast<int>(parameter.is_number ? sizeof number : text.size() + 1);
    if (maxLen < size) throw Failure(ncclInvalidArgument, "the buffer is too small");
    std::memcpy(out, bytes, static_cast<std::size_t>(size));
    required(len, "len") = size;
  });
}
STANDIN_PROFILING_TWIN(ncclParamGet);

ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* valueLen) {
  return guarded(__func__, [&] {
    const std::string text = value_of(find(key));
    required(valueLen, "valueLen") = static_cast<int>(text.size());
    required(value, "value") = kept([] {}, text);
  });
}
STANDIN_PROFILING_TWIN(ncclParamGetParameter);

ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* tableLen) {
  return guarded(__func__, [&] {
    static const char* keys[std::size(kParameters)];
    for (std::size_t i = 0; i < std::size(keys); ++i) keys[i] = kParameters[i].key;
    required(table, "table") = keys;
    required(tableLen, "tableLen") = static_cast<int>(std::size(keys));
  });
}
STANDIN_PROFILING_TWIN(ncclParamGetAllParameterKeys);

void ncclParamDumpAll() {
  for (const ncclParamHandle& parameter : kParameters) inform(parameter.key + ("=" + value_of(parameter)));
}
STANDIN_PROFILING_TWIN(ncclParamDumpAll);
