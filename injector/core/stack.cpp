// Native stacks: return addresses along the frame pointers, each checked once, told apart by their hash.
#include "injector/core/stack.h"

#include "injector/core/modules.h"
#include "injector/core/own_code.h"
#include "injector/core/process.h"
#include "injector/core/safe_read.h"
#include "injector/core/unwind.h"
#include "injector/python/python_stack.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

constexpr int kMaxFrames = 24;
constexpr std::size_t kPage = trace::kPageBytes;

bool is_mapped(std::uintptr_t from, std::size_t bytes) {
  unsigned char resident[64];
  return trace::raw_syscall(SYS_mincore, static_cast<long>(from), static_cast<long>(bytes),
                            trace::as_argument(resident)) == 0;
}

// The end of the part of this thread's stack that is known to be mapped.
std::uintptr_t mapped_end(std::uintptr_t stack_pointer) {
  ThreadState& thread = this_thread;
  if (stack_pointer >= thread.stack_low && stack_pointer < thread.stack_high) return thread.stack_high;
  std::uintptr_t low = stack_pointer & ~(kPage - 1);
  std::size_t pages = 64;
  while (pages && !is_mapped(low, pages * kPage)) pages /= 2;
  thread.stack_low = low;
  thread.stack_high = low + pages * kPage;
  return thread.stack_high;
}

// In code that was compiled without frame pointers the register holds anything, and what looks like the next
// frame may be data that differs from call to call. So an address counts only if a call instruction stands
// before it, and where the chain once led to one that does not, it ends for ever: two bits an address.
constexpr std::uint64_t kChecked = 1ull << 62;
constexpr std::uint64_t kChainEnds = 1ull << 63;
constexpr std::size_t kPlaces = 8192;
std::uint64_t checked_addresses[kPlaces];

std::uint64_t& place_of(std::uintptr_t address) {
  return checked_addresses[address * 0x9E3779B97F4A7C15u >> 51];
}
static_assert(kPlaces == 1u << (64 - 51));

std::uint64_t known(std::uintptr_t address) {
  std::uint64_t entry = __atomic_load_n(&place_of(address), __ATOMIC_RELAXED);
  return (entry & ~(kChecked | kChainEnds)) == address ? entry : 0;
}

// E8 rel32, or FF /2 with its operand: Intel SDM 2A, CALL.
bool follows_call(std::uintptr_t address) {
  unsigned char code[8];
  if (!read_safely(address - sizeof(code), code, sizeof(code))) return false;
  if (code[3] == 0xE8) return true;
  for (int length = 2; length <= 7; ++length)
    if (code[8 - length] == 0xFF && (code[9 - length] >> 3 & 7) == 2) return true;
  return false;
}

bool is_return_address(std::uintptr_t address) {
  if (known(address)) return true;
  Module module;
  if (address < kPage || !find_module(address - 1, &module) || !follows_call(address)) return false;
  __atomic_store_n(&place_of(address), address | kChecked, __ATOMIC_RELAXED);
  return true;
}

void end_chain_at(std::uintptr_t address) {
  __atomic_store_n(&place_of(address), address | kChecked | kChainEnds, __ATOMIC_RELAXED);
}

// The guest's return addresses, innermost first; `addresses[0]` is where it called the hook.
int walk(std::uintptr_t* addresses) {
  const Frame* frame = outermost_own_frame();
  auto at = reinterpret_cast<std::uintptr_t>(frame);
  std::uintptr_t end = mapped_end(at);
  int count = 0;
  while (is_return_address(frame->return_address)) {
    addresses[count++] = frame->return_address;
    if (count == kMaxFrames || known(frame->return_address) & kChainEnds) return count;
    auto next = reinterpret_cast<std::uintptr_t>(frame->caller);
    if (next <= at || next + sizeof(Frame) > end || next % sizeof(void*) != 0) break;
    at = next;
    frame = frame->caller;
  }
  if (count) end_chain_at(addresses[count - 1]);
  return count;
}

std::uint32_t intern_addresses(trace::FileWriter& file, const std::uintptr_t* addresses, int count) {
  trace::StackFrame frames[kMaxFrames];
  std::size_t kept = 0;
  for (int i = 0; i < count; ++i) {
    Module module;
    if (is_own_code(addresses[i])) continue;  // threads start in our code
    // The byte before the return address belongs to the call, also when the call is the last thing in its
    // line.
    if (!find_module(addresses[i] - 1, &module)) continue;
    frames[kept++] = {trace::FrameKind::kNative, module_path(file, module), module_build_id(file, module), 0,
                      addresses[i] - 1 - module.load_bias};
  }
  return kept ? this_thread.writer.intern_stack(file, frames, kept) : 0;
}

std::uint32_t intern_native(trace::FileWriter& file, const std::uintptr_t* addresses, int count) {
  if (!count) return 0;
  // The same addresses are the same stack: what they resolve to is remembered beside strings and stacks.
  std::uint64_t hash = 0x5AC5;
  for (int i = 0; i < count; ++i) hash = (hash ^ addresses[i]) * 0x9E3779B97F4A7C15u;
  trace::FileWriter::Known* place = file.find_known(hash ^ hash >> 32);
  if (!place) return 0;
  std::uint32_t id = place->id.load(std::memory_order_acquire);
  if (id) return id;
  id = intern_addresses(file, addresses, count);
  place->id.store(id, std::memory_order_release);
  return id;
}

}  // namespace

std::uintptr_t call_site() { return outermost_own_frame()->return_address; }

std::uint32_t current_stack(trace::FileWriter& file) {
  if (std::uint32_t python = python_stack(file)) return python;
  std::uintptr_t addresses[kMaxFrames];
  int count = walk(addresses);
  return intern_native(file, addresses, count);
}

std::uint32_t unwound_stack(trace::FileWriter& file) {
  if (std::uint32_t python = python_stack(file)) return python;
  std::uintptr_t addresses[kMaxFrames];
  int count = unwind(addresses, kMaxFrames);
  if (!count) count = walk(addresses);
  return intern_native(file, addresses, count);
}

bool is_first(trace::FileWriter& file, trace::Call call, std::uint64_t kind) {
  const std::uint64_t words[] = {static_cast<std::uint64_t>(call), kind, call_site()};
  std::uint64_t hash = 0xF125;
  for (std::uint64_t word : words) hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  trace::FileWriter::Known* place = file.find_known(hash ^ hash >> 32);
  return place && place->id.exchange(1, std::memory_order_relaxed) == 0;
}

}  // namespace ddpscope::injector
