// Asks CUDA whose memory the source is, then hashes all of it or blocks spread over it.
#include "injector/cuda/copy_digests.h"

#include <string.h>

#include <algorithm>

#include "injector/cuda/memory_type.h"

namespace ddpscope::injector {
namespace {

constexpr std::uint64_t kWhole = 32 * 1024;  // up to here all bytes count: two microseconds
constexpr std::uint64_t kBlocks = 64;        // of longer copies, the first and the last bytes among them
constexpr std::uint64_t kBlockBytes = 128;
constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;

// Write-combined and device memory in the host's address space (cudaHostAllocWriteCombined,
// cudaHostRegisterIoMemory): the host reads it at a hundredth of the speed.
constexpr unsigned kSlowToRead = 0x04;
static_assert(kSlowToRead == cudaHostAllocWriteCombined && kSlowToRead == cudaHostRegisterIoMemory);
bool slow_memory = false;

// Managed memory would move to the host if it was read there. Of memory that CUDA does not know the copy has
// just shown that it can be read.
bool comes_from_host(const LinearCopy& copy) {
  cudaMemoryType source = memory_type(reinterpret_cast<const void*>(copy.source));
  bool slow = __atomic_load_n(&slow_memory, __ATOMIC_RELAXED);
  if (source != cudaMemoryTypeUnregistered && (source != cudaMemoryTypeHost || slow)) return false;
  if (copy.kind == cudaMemcpyHostToDevice) return true;
  cudaMemoryType destination = memory_type(copy.destination);
  return destination != cudaMemoryTypeUnregistered && destination != cudaMemoryTypeHost;
}

// How many of the words are surely distinct, up to 64: as many as have a bit of their own.
class DistinctWords {
 public:
  // Of long content, words spread over all of it.
  void add(const unsigned char* bytes, std::uint64_t size) {
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);
    std::uint64_t step = std::max(kWord, size / kMostSeen / kWord * kWord);
    for (std::uint64_t at = 0; at + kWord <= size && count_ < kEnough; at += step) {
      std::uint64_t word;
      memcpy(&word, bytes + at, sizeof(word));
      std::uint64_t place = word * kMix >> (64 - kPlaceBits);
      std::uint64_t bit = std::uint64_t{1} << (place & 63);
      count_ += (bits_[place >> 6] & bit) == 0;
      bits_[place >> 6] |= bit;
    }
  }
  std::uint32_t count() const { return count_; }

 private:
  static constexpr unsigned kPlaceBits = 10;
  static constexpr std::uint32_t kEnough = 64, kMostSeen = 1024;

  std::uint64_t bits_[(1u << kPlaceBits) / 64] = {};
  std::uint32_t count_ = 0;
};

std::uint64_t mix(std::uint64_t hash, std::uint64_t next) { return (hash ^ next) * kMix + (next >> 32); }

trace::payload::CopyDigest digest_of(const LinearCopy& copy) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(copy.source);
  DistinctWords words;
  std::uint64_t hash = 0;
  if (copy.bytes <= kWhole) {
    hash = trace::hash_bytes(bytes, copy.bytes);
    words.add(bytes, copy.bytes);
  } else {
    std::uint64_t last = copy.bytes - kBlockBytes;
    for (std::uint64_t block = 0; block < kBlocks; ++block) {
      const unsigned char* begin = bytes + last / (kBlocks - 1) * block;
      if (block == kBlocks - 1) begin = bytes + last;
      hash = mix(hash, trace::hash_bytes(begin, kBlockBytes));
      words.add(begin, kBlockBytes);
    }
  }
  return {copy.source, copy.bytes, hash, copy.stream, words.count(), 1};
}

bool same(const OpenRecord& a, const OpenRecord& b) {
  return a.record == b.record && a.generation == b.generation && a.epoch == b.epoch;
}

void begin_digest(trace::FileWriter& file, const OpenRecord& copy, std::uint64_t key,
                  const trace::payload::CopyDigest& payload) {
  std::uint64_t ticks = now(file);
  OpenRecord digest = this_thread.writer.open<Call::copy_digest>(file, payload, ticks);
  trace::ThreadWriter::close(file, digest, ticks);
  this_thread.writer.go_on_with(copy, key | 1);  // as begin_folded() keeps it
  this_thread.digested = {copy, digest};
}

// Of a run of which the first copy has one.
void add_to_digest(trace::FileWriter& file, const OpenRecord& copy,
                   const trace::payload::CopyDigest& payload) {
  const DigestedCopy& run = this_thread.digested;
  OpenRecord digest = same(run.copy, copy) ? this_thread.writer.resume(file, run.digest) : OpenRecord{};
  if (!digest) return;
  auto& sum = digest.payload<trace::payload::CopyDigest>();
  sum.hash = mix(sum.hash, payload.hash);
  sum.bytes += payload.bytes;
  sum.words = std::max(sum.words, payload.words);
  ++sum.count;
  trace::ThreadWriter::close(file, digest, now(file));
}

}  // namespace

void digest_copy(const OpenRecord& copy, std::uint64_t key, const LinearCopy& what) {
  trace::FileWriter* file = digests_copies() ? file_of(copy) : nullptr;
  if (!file || !comes_from_host(what)) return;
  OwnWork work(file);
  if (!work) return;
  if (copy.payload<trace::payload::Copy>().count == 1)
    begin_digest(*file, copy, key, digest_of(what));
  else
    add_to_digest(*file, copy, digest_of(what));
}

void note_host_memory(unsigned flags) {
  if (flags & kSlowToRead) __atomic_store_n(&slow_memory, true, __ATOMIC_RELAXED);
}

}  // namespace ddpscope::injector
