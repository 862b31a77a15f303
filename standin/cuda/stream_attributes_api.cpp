// Entry points for attributes of streams. They are hints to a GPU; here they are kept for who asks, and the
// priority is the one that the stream was made with until it is set.
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include "standin/cuda/entry.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

using Values = std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue>;

// By the stream's id, which is never used again. Few streams have any.
struct Attributes {
  std::mutex mutex;
  std::map<std::uint64_t, Values> by_stream;
};

Attributes& attributes() {
  static auto* instance = new Attributes;
  return *instance;
}

bool is_known(cudaLaunchAttributeID attribute) {
  return attribute == cudaLaunchAttributeAccessPolicyWindow ||
         attribute == cudaLaunchAttributeSynchronizationPolicy || attribute == cudaLaunchAttributePriority ||
         attribute == cudaLaunchAttributeMemSyncDomainMap || attribute == cudaLaunchAttributeMemSyncDomain;
}

cudaLaunchAttributeValue unless_set(const Stream& stream, cudaLaunchAttributeID attribute) {
  cudaLaunchAttributeValue value{};
  if (attribute == cudaLaunchAttributePriority) value.priority = stream.priority();
  if (attribute == cudaLaunchAttributeSynchronizationPolicy) value.syncPolicy = cudaSyncPolicyAuto;
  if (attribute == cudaLaunchAttributeMemSyncDomainMap) value.memSyncDomainMap.remote = 1;
  return value;
}

}  // namespace

extern "C" {

RUNTIME_API(cudaStreamSetAttribute,
            (cudaStream_t stream, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue* value),
            (stream, attribute, value)) {
  return enter([&] {
    require(value != nullptr && is_known(attribute), cudaErrorInvalidValue);
    const StreamRef target = find_stream(stream);
    std::lock_guard lock(attributes().mutex);
    attributes().by_stream[target->id()][attribute] = *value;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamGetAttribute,
            (cudaStream_t stream, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue* value),
            (stream, attribute, value)) {
  return enter([&] {
    require(value != nullptr && is_known(attribute), cudaErrorInvalidValue);
    const StreamRef asked = find_stream(stream);
    std::lock_guard lock(attributes().mutex);
    const Values& set = attributes().by_stream[asked->id()];
    const auto found = set.find(attribute);
    *value = found == set.end() ? unless_set(*asked, attribute) : found->second;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamCopyAttributes, (cudaStream_t to, cudaStream_t from), (to, from)) {
  return enter([&] {
    const StreamRef target = find_stream(to), source = find_stream(from);
    std::lock_guard lock(attributes().mutex);
    Values& values = attributes().by_stream[target->id()];
    values = attributes().by_stream[source->id()];
    values.try_emplace(cudaLaunchAttributePriority, unless_set(*source, cudaLaunchAttributePriority));
    return cudaSuccess;
  });
}

}  // extern "C"
