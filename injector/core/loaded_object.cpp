// Asks the dynamic linker's lock-free index; before glibc 2.35 there is none.
#include "injector/core/loaded_object.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "injector/core/memory_map.h"
#include "injector/core/safe_read.h"
#include "injector/core/text_lines.h"
#include "injector/core/turn.h"

namespace ddpscope::injector {
namespace {

// As in <dlfcn.h> of glibc 2.35, where this may not be compiled.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* map;
  void* exception_frames;
  unsigned long long reserved[7];
};
extern "C" [[gnu::weak]] int find_in_index(void* address, FoundObject* found) asm("_dl_find_object");

struct Known {
  std::atomic<std::uintptr_t> start;
  std::atomic<std::uintptr_t> end;  // 0: it is no longer loaded
  const link_map* map;
  ElfW(Addr) load_bias;
  ElfW(Dyn) * dynamic;
};

constexpr std::uint32_t kKnown = 1024;
constinit Known known[kKnown];
constinit std::atomic<std::uint32_t> known_count;
constinit std::atomic<bool> adding;

// One file's mappings that follow each other, and memory of no file right behind them: its data goes on
// there.
struct Search {
  std::uintptr_t address;
  LoadedObject found;
  std::uint64_t device, inode;
};

bool take_mapping(const char* line, std::size_t bytes, void* argument) {
  auto* search = static_cast<Search*>(argument);
  const Mapping mapping = parse_mapping(line, bytes);
  const bool is_file = mapping.path.starts_with('/'), is_vdso = mapping.path.starts_with("[vdso]");
  const bool same_file = mapping.device == search->device && mapping.inode == search->inode;
  const bool right_behind = mapping.path.empty() && mapping.start == search->found.end;
  if (search->found.end && (is_file ? same_file : right_behind)) {
    search->found.end = mapping.end;
  } else {
    if (search->address < search->found.end) return false;
    search->found = is_file || is_vdso ? LoadedObject{mapping.start, mapping.end, nullptr} : LoadedObject{};
    search->device = mapping.device;
    search->inode = mapping.inode;
  }
  return search->found.end == 0 || search->address >= search->found.start;
}

// The list that the dynamic linker keeps for debuggers; what another thread takes from it meanwhile may be
// gone.
const link_map* find_map(const LoadedObject& object, link_map* copy) {
  const link_map* next = _r_debug.r_map;
  for (int i = 0; next && i < 1 << 16; ++i) {
    if (!read_safely(reinterpret_cast<std::uintptr_t>(next), copy, sizeof(*copy))) return nullptr;
    auto dynamic = reinterpret_cast<std::uintptr_t>(copy->l_ld);
    if (dynamic >= object.start && dynamic < object.end) return next;
    next = copy->l_next;
  }
  return nullptr;
}

// Behind its last segment; another mapping without a file may lie right behind its data.
std::uintptr_t find_end(std::uintptr_t start, ElfW(Addr) load_bias) {
  constexpr std::uintptr_t kPage = 4096;
  ElfW(Ehdr) header;
  std::uintptr_t end = 0;
  if (!read_safely(start, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!read_safely(start + header.e_phoff + i * sizeof(segment), &segment, sizeof(segment))) break;
    if (segment.p_type == PT_LOAD) end = std::max(end, load_bias + segment.p_vaddr + segment.p_memsz);
  }
  return (end + kPage - 1) & ~(kPage - 1);
}

bool is_loaded(const Known& object) {
  link_map now;
  return read_safely(reinterpret_cast<std::uintptr_t>(object.map), &now, sizeof(now)) &&
         now.l_addr == object.load_bias && now.l_ld == object.dynamic;
}

bool find_known(std::uintptr_t address, LoadedObject* object) {
  std::uint32_t count = known_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uintptr_t start = known[i].start.load(std::memory_order_relaxed);
    std::uintptr_t end = known[i].end.load(std::memory_order_relaxed);
    if (address < start || address >= end) continue;
    if (is_loaded(known[i])) {
      *object = {start, end, known[i].map};
      return true;
    }
    known[i].end.store(0, std::memory_order_relaxed);
  }
  return false;
}

// Where there is no room, or another thread keeps one, it is looked for again.
void keep(const LoadedObject& object, const link_map& content) {
  Turn turn(adding);
  std::uint32_t count = known_count.load(std::memory_order_relaxed);
  if (!turn || count == kKnown) return;
  known[count].map = object.map;
  known[count].load_bias = content.l_addr;
  known[count].dynamic = content.l_ld;
  known[count].start.store(object.start, std::memory_order_relaxed);
  known[count].end.store(object.end, std::memory_order_relaxed);
  known_count.store(count + 1, std::memory_order_release);
}

}  // namespace

bool find_loaded_object_by_maps(std::uintptr_t address, LoadedObject* object) {
  if (find_known(address, object)) return true;
  Search search{address, {}, 0, 0};
  for_each_line("/proc/self/maps", take_mapping, &search);
  if (address < search.found.start || address >= search.found.end) return false;
  link_map content{};
  search.found.map = find_map(search.found, &content);
  if (!search.found.map) return false;
  search.found.end = std::min(search.found.end, find_end(search.found.start, content.l_addr));
  if (address >= search.found.end) return false;
  keep(search.found, content);
  *object = search.found;
  return true;
}

bool find_loaded_object(std::uintptr_t address, LoadedObject* object) {
  if (!find_in_index) return find_loaded_object_by_maps(address, object);
  FoundObject found;
  if (find_in_index(reinterpret_cast<void*>(address), &found) != 0) return false;
  *object = {reinterpret_cast<std::uintptr_t>(found.map_start),
             reinterpret_cast<std::uintptr_t>(found.map_end), found.map};
  return true;
}

}  // namespace ddpscope::injector
