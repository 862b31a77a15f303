// What each descriptor of the process stands for: filled where descriptors are made, looked up at every read
// and write without a lock or a system call.
#pragma once
#include "injector/files/opening.h"
#include "injector/files/pool.h"
#include "injector/processes/generation.h"
#include "injector/streams/stream_end.h"

namespace ddpscope::injector {

enum class DescriptorKind : std::uint32_t {
  kUnknown,    // not met yet, or met while nothing was recorded: asked from the kernel at its first use
  kIgnored,    // device, event, ignored path
  kFile,       // index into openings
  kDirectory,  // index into directories
  kStream,     // socket or pipe: index into stream_ends
  kEvent,      // eventfd: its number in the kernel, 0 if that is not known
  kNotices,    // inotify
};

struct Descriptor {
  DescriptorKind kind;
  std::uint32_t index;
};

constexpr int kDescriptors = 65536;  // beyond: unknown for ever, never recorded (counted)

extern std::atomic<std::uint32_t> descriptor_words[kDescriptors];
extern Pool<Opening, 8192> openings;
extern Pool<Directory, 512> directories;
extern Pool<StreamEnd, 8192> stream_ends;

constexpr unsigned kIndexBits = 24;

// The child of vfork() has its own table in the kernel, of which nothing is known: ignored.
inline Descriptor descriptor(int fd) {
  if (static_cast<unsigned>(fd) >= kDescriptors || in_vfork_child()) return {DescriptorKind::kIgnored, 0};
  std::uint32_t word = descriptor_words[fd].load(std::memory_order_acquire);
  return {static_cast<DescriptorKind>(word >> kIndexBits), word & ((1u << kIndexBits) - 1)};
}

// Takes over the caller's reference to what `is` names; what the descriptor stood for before is given back.
void set_descriptor(int fd, Descriptor is);

// `to` is a duplicate of `from`.
void share_descriptor(int from, int to);

// The descriptor is about to be closed. Before the real close: after it the number may be another thread's.
inline void forget_descriptor(int fd) { set_descriptor(fd, {DescriptorKind::kUnknown, 0}); }
void forget_descriptors(unsigned first, unsigned last);

}  // namespace ddpscope::injector
