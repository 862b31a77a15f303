// Native stacks: return addresses along the frame pointers, told apart by their hash, resolved to modules
// once.
#include "injector/core/stack.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include "injector/core/process.h"
#include "injector/core/thread_state.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

constexpr int kMaxFrames = 24;
constexpr std::size_t kPage = trace::kPageBytes;

// The part of the stack that is known to be mapped: frame pointers of code built without them may lead
// anywhere.
bool is_mapped(std::uintptr_t from, std::size_t bytes) {
  unsigned char resident[64];
  return trace::raw_syscall(SYS_mincore, static_cast<long>(from), static_cast<long>(bytes),
                            trace::as_argument(resident)) == 0;
}

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

struct Frame {
  const Frame* caller;
  std::uintptr_t return_address;
};

int walk(std::uintptr_t* addresses) {
  const auto* frame = static_cast<const Frame*>(__builtin_frame_address(0));
  auto at = reinterpret_cast<std::uintptr_t>(frame);
  std::uintptr_t end = mapped_end(at);
  int count = 0;
  while (count < kMaxFrames && at + sizeof(Frame) <= end && at % sizeof(void*) == 0) {
    if (frame->return_address < kPage) break;
    addresses[count++] = frame->return_address;
    auto next = reinterpret_cast<std::uintptr_t>(frame->caller);
    if (next <= at) break;
    at = next;
    frame = frame->caller;
  }
  return count;
}

bool is_ours(const Dl_info& info) {
  static Dl_info self;
  if (!self.dli_fbase) dladdr(reinterpret_cast<const void*>(&current_stack), &self);
  return info.dli_fbase == self.dli_fbase;
}

std::uint32_t intern_addresses(trace::FileWriter& file, const std::uintptr_t* addresses, int count) {
  trace::StackFrame frames[kMaxFrames];
  std::size_t kept = 0;
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    // The byte before the return address belongs to the call, also when the call is the last thing in its
    // line.
    if (!dladdr(reinterpret_cast<const void*>(addresses[i] - 1), &info) || !info.dli_fname || is_ours(info))
      continue;
    std::uint64_t offset = addresses[i] - 1 - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    frames[kept++] = {trace::FrameKind::kNative, this_thread.writer.intern(file, info.dli_fname), 0, 0,
                      offset};
  }
  return kept ? this_thread.writer.intern_stack(file, frames, kept) : 0;
}

}  // namespace

std::uint32_t current_stack(trace::FileWriter& file) {
  std::uintptr_t addresses[kMaxFrames];
  int count = walk(addresses);
  if (!count) return 0;
  // The same addresses are the same stack: what they resolve to is remembered beside strings and stacks.
  std::uint64_t hash =
      trace::hash_bytes(addresses, static_cast<std::size_t>(count) * sizeof(addresses[0])) ^ 0x5AC5;
  trace::FileWriter::Known* known = file.find_known(hash);
  if (!known) return 0;
  std::uint32_t id = known->id.load(std::memory_order_acquire);
  if (id) return id;
  id = intern_addresses(file, addresses, count);
  known->id.store(id, std::memory_order_release);
  return id;
}

}  // namespace ddpscope::injector
