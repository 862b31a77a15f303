// One piece of memory for all of it, mapped when the first name comes.
#include "injector/nvtx/names.h"

#include <string.h>

#include "injector/core/thread_state.h"
#include "trace/write/file_space.h"

namespace ddpscope::injector {
namespace {

constexpr std::size_t kKeptBytes = 256u << 10;
constexpr std::size_t kNcclBytes = 16u << 10;  // of these: for NCCL's names, which come after the program's
constexpr std::uint32_t kExactNames = 4000;
constexpr std::size_t kPlaces = 8192;  // a power of two, well above kExactNames

struct Names {
  std::uint32_t exact;
  std::uint32_t kept_bytes;
  std::uint64_t seen[kPlaces];  // hashes of the names that are written as they are; 0: free
  char kept[kKeptBytes];
};

Names* the_names = nullptr;

Names* names() {
  Names* mapped = __atomic_load_n(&the_names, __ATOMIC_ACQUIRE);
  if (mapped) return mapped;
  auto* fresh = static_cast<Names*>(trace::map_private(sizeof(Names)));
  if (!fresh) return nullptr;
  if (__atomic_compare_exchange_n(&the_names, &mapped, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return fresh;
  trace::unmap(fresh, sizeof(Names));
  return mapped;
}

// Whether this name is one of the first kExactNames. Threads that come at once may each add one beyond.
bool is_exact(std::uint64_t hash) {
  Names* all = names();
  if (!all) return false;
  hash |= 1;
  for (std::size_t place = hash >> 32;; ++place) {
    std::uint64_t* seen = &all->seen[place % kPlaces];
    std::uint64_t known = __atomic_load_n(seen, __ATOMIC_RELAXED);
    if (known == hash) return true;
    if (known != 0) continue;
    if (__atomic_load_n(&all->exact, __ATOMIC_RELAXED) >= kExactNames) return false;
    if (__atomic_compare_exchange_n(seen, &known, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      __atomic_fetch_add(&all->exact, 1, __ATOMIC_RELAXED);
      return true;
    }
    if (known == hash) return true;
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t without_digits(const char* text, std::size_t bytes, char* out) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (!is_digit(text[i]))
      out[size++] = text[i];
    else if (i == 0 || !is_digit(text[i - 1]))
      out[size++] = '#';
  }
  return size;
}

}  // namespace

RangeName::RangeName(const char* text) {
  if (text) {
    bytes_ = strnlen(text, kLongestName);
    memcpy(text_, text, bytes_);
  }
  text_[bytes_] = 0;
}

RangeName::RangeName(const wchar_t* text) {
  constexpr std::size_t kLongestCharacter = 4;
  for (; text && *text && bytes_ + kLongestCharacter <= kLongestName; ++text)
    add(static_cast<char32_t>(*text));
  text_[bytes_] = 0;
}

void RangeName::add(char32_t character) {
  auto put = [this](char32_t byte) { text_[bytes_++] = static_cast<char>(byte); };
  auto put_rest = [&](int shift) { put(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | character >> 6);
    put_rest(0);
  } else if (character < 0x10000) {
    put(0xE0 | character >> 12);
    put_rest(6);
    put_rest(0);
  } else if (character < 0x110000) {
    put(0xF0 | character >> 18);
    put_rest(12);
    put_rest(6);
    put_rest(0);
  } else {
    put('?');
  }
}

const KeptName* keep_name(const RangeName& name, bool is_nccl) {
  Names* all = names();
  if (!all) return nullptr;
  auto size = static_cast<std::uint32_t>(sizeof(KeptName) + name.bytes() + 1);
  std::size_t room = is_nccl ? kKeptBytes : kKeptBytes - kNcclBytes;
  std::uint32_t at = __atomic_load_n(&all->kept_bytes, __ATOMIC_RELAXED);
  do {
    if (at + sizeof(KeptName) + kLongestName >= room) return nullptr;
  } while (!__atomic_compare_exchange_n(&all->kept_bytes, &at, at + size, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  auto* kept = reinterpret_cast<KeptName*>(all->kept + at);
  kept->is_nccl = is_nccl;
  kept->bytes = static_cast<std::uint8_t>(name.bytes());
  memcpy(kept->text, name.text(), name.bytes() + 1);
  return kept;
}

const KeptName* kept_name(const void* handle) {
  const Names* all = __atomic_load_n(&the_names, __ATOMIC_ACQUIRE);
  auto place = reinterpret_cast<std::uintptr_t>(handle);
  auto begin = reinterpret_cast<std::uintptr_t>(all ? all->kept : nullptr);
  // A place in the middle of a name is somebody's mistake, too, but does no harm: all of it is ours to read.
  bool inside = all && begin <= place && place + sizeof(KeptName) + kLongestName < begin + kKeptBytes;
  return inside ? static_cast<const KeptName*>(handle) : nullptr;
}

std::uint32_t range_name_id(trace::FileWriter& file, const char* text, std::size_t bytes) {
  if (bytes == 0) return 0;
  char shortened[kLongestName];
  if (!is_exact(trace::hash_bytes(text, bytes))) {
    bytes = without_digits(text, bytes, shortened);
    text = shortened;
  }
  return this_thread.writer.intern(file, text, bytes);
}

}  // namespace ddpscope::injector
