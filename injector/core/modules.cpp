// What there is to know of a module is read from its memory and from /proc.
#include "injector/core/modules.h"

#include <link.h>

#include "injector/core/loaded_object.h"
#include "injector/core/memory_map.h"
#include "injector/core/process.h"
#include "injector/core/safe_read.h"
#include "injector/core/text_lines.h"

namespace ddpscope::injector {
namespace {

constexpr std::size_t kMostIdBytes = 64;  // SHA-1, the linkers' default, has 20

struct Search {
  std::uintptr_t start;
  trace::FileWriter* file;
  std::uint32_t id;
};

bool take_path(const char* line, std::size_t bytes, void* argument) {
  auto* search = static_cast<Search*>(argument);
  const Mapping mapping = parse_mapping(line, bytes);
  if (mapping.start != search->start) return true;
  if (mapping.path.starts_with('/'))
    search->id = this_thread.writer.intern(*search->file, mapping.path.data(), mapping.path.size());
  return false;
}

std::uint32_t intern_hex(trace::FileWriter& file, const unsigned char* bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  char text[2 * kMostIdBytes];
  for (std::size_t i = 0; i < count; ++i) {
    text[2 * i] = kDigits[bytes[i] >> 4];
    text[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return this_thread.writer.intern(file, text, 2 * count);
}

// A note is its header, its name and its content, each filled up to four bytes (gABI, "Note Section").
std::uint32_t find_in_notes(trace::FileWriter& file, std::uintptr_t at, std::uintptr_t end) {
  constexpr char kName[] = "GNU";
  ElfW(Nhdr) note;
  while (at + sizeof(note) <= end && read_safely(at, &note, sizeof(note))) {
    std::uintptr_t content = at + sizeof(note) + ((note.n_namesz + 3ull) & ~3ull);
    char name[sizeof(kName)];
    unsigned char id[kMostIdBytes];
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(kName) && note.n_descsz <= kMostIdBytes &&
        read_safely(at + sizeof(note), name, sizeof(name)) && memcmp(name, kName, sizeof(kName)) == 0 &&
        read_safely(content, id, note.n_descsz))
      return intern_hex(file, id, note.n_descsz);
    at = content + ((note.n_descsz + 3ull) & ~3ull);
  }
  return 0;
}

std::uint32_t find_build_id(trace::FileWriter& file, const Module& module) {
  ElfW(Ehdr) header;
  if (!read_safely(module.start, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!read_safely(module.start + header.e_phoff + i * sizeof(segment), &segment, sizeof(segment))) break;
    if (segment.p_type != PT_NOTE) continue;
    std::uintptr_t notes = module.load_bias + segment.p_vaddr;
    if (std::uint32_t id = find_in_notes(file, notes, notes + segment.p_memsz)) return id;
  }
  return 0;
}

// What was found out about a loading of a module, beside the strings and stacks that are known.
template <class Find>
std::uint32_t remembered(trace::FileWriter& file, const Module& module, std::uint64_t what, Find&& find) {
  std::uint64_t hash = (module.start ^ what) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ reinterpret_cast<std::uintptr_t>(module.identity)) * 0x9E3779B97F4A7C15u;
  trace::FileWriter::Known* place = file.find_known(hash ^ hash >> 32);
  std::uint32_t id = place ? place->id.load(std::memory_order_acquire) : 0;
  if (id) return id;
  id = find();
  if (place) place->id.store(id, std::memory_order_release);
  return id;
}

}  // namespace

bool find_module(std::uintptr_t address, Module* module) {
  LoadedObject object;
  if (!find_loaded_object(address, &object)) return false;
  module->start = object.start;
  module->load_bias = object.map->l_addr;
  module->identity = object.map;
  return true;
}

std::uint32_t module_path(trace::FileWriter& file, const Module& module) {
  return remembered(file, module, 0x30D, [&] {
    Search search{module.start, &file, 0};
    for_each_line("/proc/self/maps", take_path, &search);
    return search.id;
  });
}

std::uint32_t module_build_id(trace::FileWriter& file, const Module& module) {
  return remembered(file, module, 0xB1D, [&] { return find_build_id(file, module); });
}

}  // namespace ddpscope::injector
