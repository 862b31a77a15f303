// Native stacks: return addresses along the frame pointers, each checked once, told apart by their hash.
#include "injector/core/stack.h"

#include "injector/core/modules.h"
#include "injector/core/own_code.h"
#include "injector/core/process.h"
#include "injector/core/safe_read.h"
#include "injector/core/unwind.h"
#include "injector/python/interpreter.h"
#include "injector/python/python_stack.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

constexpr int kMaxFrames = 24;
constexpr std::size_t kPage = trace::kPageBytes;
constexpr std::size_t kMostPages = 64;                       // of a stack that are looked at
constexpr std::size_t kLargestStack = std::size_t{8} << 20;  // as a rule

bool is_mapped(std::uintptr_t from, std::size_t bytes) {
  unsigned char resident[kMostPages];
  return trace::raw_syscall(SYS_mincore, static_cast<long>(from), static_cast<long>(bytes),
                            trace::as_argument(resident)) == 0;
}

// The end of the part of this thread's stack that is known to be mapped.
std::uintptr_t mapped_end(std::uintptr_t stack_pointer) {
  ThreadState& thread = this_thread;
  if (stack_pointer >= thread.stack_low && stack_pointer < thread.stack_high) return thread.stack_high;
  std::uintptr_t low = stack_pointer & ~(kPage - 1);
  std::size_t pages = 0;
  for (std::size_t more = kMostPages; more; more /= 2)
    if (pages + more <= kMostPages && is_mapped(low + pages * kPage, more * kPage)) pages += more;
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

// What is known of a return address; 0: it is none.
std::uint64_t return_address(std::uintptr_t address) {
  if (std::uint64_t entry = known(address)) return entry;
  Module module;
  if (address < kPage || !find_module(address - 1, &module) || !follows_call(address)) return 0;
  __atomic_store_n(&place_of(address), address | kChecked, __ATOMIC_RELAXED);
  return address | kChecked;
}

void end_chain_at(std::uintptr_t address) {
  __atomic_store_n(&place_of(address), address | kChecked | kChainEnds, __ATOMIC_RELAXED);
}

struct Addresses {
  std::uintptr_t of[kMaxFrames];  // innermost first
  int count = 0;
  std::uint64_t hash = 0x5AC5;

  void add(std::uintptr_t address) {
    of[count++] = address;
    hash = (hash ^ address) * 0x9E3779B97F4A7C15u;
  }
};

// The guest's return addresses from the frame of the hook on, which says where the guest called it.
void walk(const Frame* frame, Addresses& addresses) {
  auto at = reinterpret_cast<std::uintptr_t>(frame);
  std::uintptr_t end = mapped_end(at);
  while (std::uint64_t checked = return_address(frame->return_address)) {
    addresses.add(frame->return_address);
    if (addresses.count == kMaxFrames || checked & kChainEnds) return;
    auto next = reinterpret_cast<std::uintptr_t>(frame->caller);
    if (next <= at || next % sizeof(void*) != 0 || next - at > kLargestStack) break;
    if (next + sizeof(Frame) > end) return;  // from another depth it may be within reach
    at = next;
    frame = frame->caller;
  }
  if (addresses.count) end_chain_at(addresses.of[addresses.count - 1]);
}

std::uint32_t intern_addresses(trace::FileWriter& file, const Addresses& addresses) {
  trace::StackFrame frames[kMaxFrames];
  std::size_t kept = 0;
  for (int i = 0; i < addresses.count; ++i) {
    std::uintptr_t address = addresses.of[i];
    Module module;
    if (is_own_code(address)) continue;  // threads start in our code
    // The byte before the return address belongs to the call, also when the call is the last thing in its
    // line.
    if (!find_module(address - 1, &module)) continue;
    frames[kept++] = {trace::FrameKind::kNative, module_path(file, module), module_build_id(file, module), 0,
                      address - 1 - module.load_bias};
  }
  return kept ? this_thread.writer.intern_stack(file, frames, kept) : 0;
}

// The same addresses are the same stack: what they resolve to is remembered beside strings and stacks.
std::uint32_t known_stack(trace::FileWriter& file, const Addresses& addresses) {
  trace::FileWriter::Known* place = file.find_known(addresses.hash ^ addresses.hash >> 32);
  if (!place) return 0;
  std::uint32_t id = place->id.load(std::memory_order_acquire);
  if (id) return id;
  id = intern_addresses(file, addresses);
  place->id.store(id, std::memory_order_release);
  return id;
}

// A thread calls again and again from where it called last.
std::uint32_t intern_native(trace::FileWriter& file, const Addresses& addresses) {
  if (!addresses.count) return 0;
  ThreadState& thread = this_thread;
  if (thread.native_hash == addresses.hash) return thread.native_stack;
  std::uint32_t id = known_stack(file, addresses);
  bool leads_on = addresses.count > 1 || !(known(addresses.of[0]) & kChainEnds);
  thread.native_site = id && !leads_on ? addresses.of[0] : 0;
  thread.native_stack = id;
  thread.native_hash = id ? addresses.hash : 0;
  return id;
}

}  // namespace

std::uintptr_t call_site() { return outermost_own_frame()->return_address; }

std::uint32_t python_place(trace::FileWriter& file) { return python::is_present ? python_stack(file) : 0; }

std::uint32_t own_python_place(trace::FileWriter& file) {
  return python::is_present ? own_python_stack(file) : 0;
}

std::uint32_t current_stack(trace::FileWriter& file) {
  if (std::uint32_t python = python_place(file)) return python;
  const Frame* frame = outermost_own_frame();
  // Code without frame pointers: the call site is all of the stack.
  if (this_thread.native_site == frame->return_address) return this_thread.native_stack;
  Addresses addresses;
  walk(frame, addresses);
  return intern_native(file, addresses);
}

std::uint32_t unwound_stack(trace::FileWriter& file) {
  if (std::uint32_t python = python_stack(file)) return python;
  Addresses addresses;
  std::uintptr_t unwound[kMaxFrames];
  int count = unwind(unwound, kMaxFrames);
  for (int i = 0; i < count; ++i) addresses.add(unwound[i]);
  if (!count) walk(outermost_own_frame(), addresses);
  return intern_native(file, addresses);
}

bool is_first(trace::FileWriter& file, trace::Call call, std::uint64_t kind) {
  const std::uint64_t words[] = {static_cast<std::uint64_t>(call), kind, call_site()};
  std::uint64_t hash = 0xF125;
  for (std::uint64_t word : words) hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  trace::FileWriter::Known* place = file.find_known(hash ^ hash >> 32);
  // Read first, as it is seldom the first: an exchange would take the cache line from all other threads.
  return place && place->id.load(std::memory_order_relaxed) == 0 &&
         place->id.exchange(1, std::memory_order_relaxed) == 0;
}

}  // namespace ddpscope::injector
