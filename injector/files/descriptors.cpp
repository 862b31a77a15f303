// The table of descriptors and the pools behind it.
#include "injector/files/descriptors.h"

#include "injector/files/io.h"
#include "injector/processes/generation.h"
#include "injector/streams/stream_io.h"

namespace ddpscope::injector {

std::atomic<std::uint32_t> descriptor_words[kDescriptors];
constinit Pool<Opening, 8192> openings;
constinit Pool<Directory, 512> directories;
constinit Pool<StreamEnd, 8192> stream_ends;

namespace {

std::atomic<unsigned> highest;  // descriptor ever set, so that closing a range need not look at all

std::uint32_t word_of(Descriptor d) { return static_cast<std::uint32_t>(d.kind) << kIndexBits | d.index; }

Descriptor descriptor_of(std::uint32_t word) {
  return {static_cast<DescriptorKind>(word >> kIndexBits), word & ((1u << kIndexBits) - 1)};
}

void retain(Descriptor d) {
  if (d.kind == DescriptorKind::kFile) openings.retain(d.index);
  if (d.kind == DescriptorKind::kDirectory) directories.retain(d.index);
  if (d.kind == DescriptorKind::kStream) stream_ends.retain(d.index);
}

// `fd` stood for it, or was to.
void release(int fd, Descriptor d) {
  if (d.kind == DescriptorKind::kFile) {
    // While it cannot be taken anew yet.
    if (openings[d.index].references.load(std::memory_order_relaxed) == 1) finish_io(openings[d.index]);
    openings.release(d.index);
  }
  if (d.kind == DescriptorKind::kDirectory) directories.release(d.index);
  if (d.kind == DescriptorKind::kStream) {
    StreamEnd& end = stream_ends[d.index];
    if (end.references.load(std::memory_order_relaxed) == 1)
      note_given_up(Call::stream_close, fd, end, trace::kSendingEnds | trace::kReceivingEnds);
    stream_ends.release(d.index);
  }
}

void note_highest(unsigned fd) {
  unsigned known = highest.load(std::memory_order_relaxed);
  while (fd > known && !highest.compare_exchange_weak(known, fd, std::memory_order_relaxed)) {
  }
}

}  // namespace

void set_descriptor(int fd, Descriptor is) {
  if (static_cast<unsigned>(fd) >= kDescriptors) {
    release(fd, is);
    return;
  }
  std::atomic<std::uint32_t>& word = descriptor_words[fd];
  // Most closes are of descriptors that were never used while something was recorded.
  if (is.kind == DescriptorKind::kUnknown && !word.load(std::memory_order_relaxed)) return;
  if (in_vfork_child()) {  // it has a table of its own, in the kernel
    release(fd, is);
    return;
  }
  note_highest(static_cast<unsigned>(fd));
  std::uint32_t was = word.exchange(word_of(is), std::memory_order_acq_rel);
  if (was) release(fd, descriptor_of(was));
}

void share_descriptor(int from, int to) {
  if (from == to) return;
  Descriptor is = descriptor(from);
  retain(is);
  set_descriptor(to, is);
}

void forget_descriptors(unsigned first, unsigned last) {
  unsigned end = highest.load(std::memory_order_relaxed);
  if (last < end) end = last;
  for (unsigned fd = first; fd <= end; ++fd) forget_descriptor(static_cast<int>(fd));
}

}  // namespace ddpscope::injector
