// The prefix stores that were made, each with the one behind it, in a small table without a lock.
#include "injector/torch/group_names.h"

#include <string.h>

#include "injector/torch/handlers.h"

namespace ddpscope::injector::torch {
namespace {

constexpr std::size_t kMaxPrefix = 64;

struct PrefixStore {
  const void* store;   // __atomic; null: the place is free
  const void* vtable;  // what its first word was once it was made: another object may lie there later
  const void* parent;
  char prefix[kMaxPrefix];
};
constexpr std::uint32_t kStores = 512;
constexpr std::uint32_t kProbes = 8;
PrefixStore stores[kStores];
constexpr int kMostLevels = 8;

const void* first_word(const void* object) { return *static_cast<const void* const*>(object); }

std::uint32_t place_of(const void* store) {
  return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(store) >> 4) * 0x9E3779B97F4A7C15u >>
                                    40);
}

const PrefixStore* find(const void* store) {
  for (std::uint32_t probe = 0; store && probe < kProbes; ++probe) {
    const PrefixStore& known = stores[(place_of(store) + probe) % kStores];
    if (__atomic_load_n(&known.store, __ATOMIC_ACQUIRE) == store)
      return known.vtable == first_word(store) ? &known : nullptr;
  }
  return nullptr;
}

// The place of a store that was here before, a free one, or the first that it may have.
PrefixStore& place_for(const void* store) {
  PrefixStore* free = nullptr;
  for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
    PrefixStore& place = stores[(place_of(store) + probe) % kStores];
    if (place.store == store) return place;
    if (!free && !place.store) free = &place;
  }
  return free ? *free : stores[place_of(store) % kStores];
}

// Python's lock is held where stores are made: one thread at a time is here.
void remember(const void* store, const char* prefix, std::size_t length, const void* parent) {
  PrefixStore& place = place_for(store);
  __atomic_store_n(&place.store, static_cast<const void*>(nullptr), __ATOMIC_RELEASE);
  if (length >= kMaxPrefix) length = kMaxPrefix - 1;
  memcpy(place.prefix, prefix, length);
  place.prefix[length] = 0;
  place.vtable = first_word(store);
  place.parent = parent;
  __atomic_store_n(&place.store, store, __ATOMIC_RELEASE);
}

// The arguments of a constructor, which has no hidden result: this, the prefix, the parent's intrusive_ptr.
// Both live until it returns, but may have been moved from then: they are read before.
constexpr Argument kStore = Argument::kResult, kPrefix = Argument::kThis, kParent = Argument::kFirst;

struct Text {
  const char* begin;
  std::size_t length;
};

// libstdc++'s std::string since GCC 5: pointer and length.
Text text_of(const HookedCall& call) {
  const auto* words = call.pointer<const std::uint64_t*>(kPrefix);
  return {reinterpret_cast<const char*>(words[0]), words[1]};
}

// Before (_GLIBCXX_USE_CXX11_ABI=0): a pointer, with the length three words before what it points to.
Text old_text_of(const HookedCall& call) {
  const char* begin = *call.pointer<const char* const*>(kPrefix);
  return {begin, *reinterpret_cast<const std::size_t*>(begin - 24)};
}

void note(const HookedCall& call, const Text& prefix) {
  remember(call.pointer<const void*>(kStore), prefix.begin, prefix.length,
           *call.pointer<const void* const*>(kParent));
}

bool old_strings;  // __atomic

void enter_prefix(HookedCall& call) { note(call, text_of(call)); }
void enter_old_prefix(HookedCall& call) {
  __atomic_store_n(&old_strings, true, __ATOMIC_RELAXED);
  note(call, old_text_of(call));
}

// Its first word is the vtable's address only now.
void leave_prefix(HookedCall& call, bool threw) {
  const auto* store = call.pointer<const void*>(kStore);
  PrefixStore& place = place_for(store);
  if (place.store != store) return;
  if (threw)
    __atomic_store_n(&place.store, static_cast<const void*>(nullptr), __ATOMIC_RELEASE);
  else
    place.vtable = first_word(store);
}

}  // namespace

const Handler handlers::make_prefix{enter_prefix, leave_prefix};
const Handler handlers::make_old_prefix{enter_old_prefix, leave_prefix};

bool has_old_strings() { return __atomic_load_n(&old_strings, __ATOMIC_RELAXED); }

std::size_t name_of_store(const void* store, char (&name)[kMaxGroupName]) {
  const PrefixStore* levels[kMostLevels];
  int count = 0;
  for (const PrefixStore* level = find(store); level && count < kMostLevels; level = find(level->parent))
    levels[count++] = level;
  std::size_t length = 0;
  while (count-- > 0) {
    const char* prefix = levels[count]->prefix;
    std::size_t bytes = strlen(prefix);
    while (bytes && prefix[bytes - 1] == '/') --bytes;  // "0/" in newer versions, "0" in older ones
    if (length && length + 1 < kMaxGroupName) name[length++] = '/';
    if (length + bytes >= kMaxGroupName) bytes = kMaxGroupName - 1 - length;
    memcpy(name + length, prefix, bytes);
    length += bytes;
  }
  name[length] = 0;
  return length;
}

}  // namespace ddpscope::injector::torch
