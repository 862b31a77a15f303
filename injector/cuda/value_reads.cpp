// The kernel reads, for memory that may be gone.
#include "injector/cuda/value_reads.h"

#include "injector/core/safe_read.h"
#include "injector/cuda/memory_type.h"

namespace ddpscope::injector {
namespace {

bool is_host_memory(const void* address) {
  cudaMemoryType type = memory_type(address);
  return type == cudaMemoryTypeHost || type == cudaMemoryTypeUnregistered;
}

bool look(const LinearCopy& copy, trace::payload::ValueRead& read) {
  std::uint64_t value = 0;
  if (!is_host_memory(copy.destination) || !read_safely(as_number(copy.destination), &value, copy.bytes))
    return false;
  read = {value, copy.source, static_cast<std::uint32_t>(copy.bytes)};
  return true;
}

}  // namespace

void read_value(const OpenRecord& copy, std::uint64_t key, const LinearCopy& what) {
  trace::FileWriter* file = digests_copies() ? file_of(copy) : nullptr;
  trace::payload::ValueRead read;
  if (!file || copy.payload<trace::payload::Copy>().count != 1 || !look(what, read)) return;
  OwnWork work(file);
  if (!work) return;
  record_moment<Call::value_read>(*file, read, current_stack(*file));
  this_thread.writer.go_on_with(copy, key | 1);  // as begin_folded() keeps it
}

void await_value(const OpenRecord& copy, const LinearCopy& what) {
  if (!digests_copies() || !file_of(copy)) return;
  this_thread.awaited_value = {what.destination, what.source, what.stream, what.bytes,
                               this_thread.vendor_calls};
}

void take_awaited_value(const OpenRecord& wait, std::uint64_t stream) {
  const AwaitedValue& awaited = this_thread.awaited_value;
  trace::FileWriter* file = file_of(wait);
  bool is_there =
      awaited.bytes && awaited.vendor_call + 1 == this_thread.vendor_calls && awaited.stream == stream;
  if (!file || !is_there) return;
  VendorCall vendor;
  trace::payload::ValueRead read;
  if (!look({awaited.destination, awaited.source, awaited.bytes, stream, cudaMemcpyDeviceToHost}, read))
    return;
  OwnWork work(file);
  if (work) record_moment<Call::value_read>(*file, read, wait.record->stack);
}

}  // namespace ddpscope::injector
